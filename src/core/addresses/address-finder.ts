import { ConfigError } from '../errors.js'
import { isObject } from '../json/own-properties.js'
import { ANY, type Expectations, FUNCTION, judgeOptions } from '../options.js'
import { findByCount, findByNetworks } from './find-client.js'
import { parseAddress, printAddress } from './ip-address.js'
import { DEFAULT_HEADER, type ForwardedHeader, HEADERS, READERS } from './read-header.js'
import { judgeTrust, readNetworks } from './trust.js'

/** The proxies in front of a service, and the header that they write. */
export interface Proxies {
  /**
   * The trusted proxies. A number: each request passes through so many. Or an array of their addresses and of networks
   * in CIDR notation; the words `loopback` and `private` stand for networks.
   */
  readonly trust: number | readonly string[]
  /** The header that the proxies write. The other one is not read. Default `x-forwarded-for`. */
  readonly header?: ForwardedHeader
}

/** The expected values of the options of `forwardedAddress`. `trust` is checked by `judgeTrust`. */
const OPTIONS: Expectations = {
  trust: ANY,
  header: [
    (value) => HEADERS.some((header) => header === value),
    HEADERS.map((header) => `"${header}"`).join(' or '),
  ],
  address: FUNCTION,
}

/** Throws `ConfigError` if the options of `forwardedAddress` are invalid. */
export function requireProxies(options: unknown): void {
  const faults = judgeOptions(options, OPTIONS)
  const all = isObject(options) ? [...faults, ...judgeTrust(options.trust, 'trust')] : faults
  if (all.length > 0) throw new ConfigError(all)
}

/**
 * Creates the function that finds the address of a client from the value of the header and the address at the other end
 * of the connection.
 */
export function createAddressFinder({
  trust,
  header = DEFAULT_HEADER,
}: Proxies): (list: string | null | undefined, connection: string | undefined) => string | undefined {
  const reader = READERS[header]
  const find = typeof trust === 'number' ? findByCount(trust) : findByNetworks(readNetworks(trust))
  return (list, connection) => {
    const found = find(reader, list ?? '', connection ? parseAddress(connection) : undefined)
    return found && printAddress(found)
  }
}
