import { type IpAddress, isIPv4, parseAddress, printAddress } from '../addresses/ip-address.js'
import { HEADERS } from '../addresses/read-header.js'
import type { QueueCaller } from '../fair-queue.js'
import { ignoreFailure } from '../promises.js'
import type { Logger } from '../types/host.js'
import type { Connection, ServiceOptions } from '../types.js'
import type { IncomingRequest } from './answer.js'

/** Matches an IPv4 address that is written as an IPv6 address. */
const MAPPED = /^::ffff:([\d.]+)$/i

/**
 * Returns the network of a client's address. A client with one IPv6 address usually has all addresses with the same
 * first 64 bits, so these count as one (CONTRACT.md §4, "Throttle"). Any other text is returned unchanged.
 */
export function networkOf(address: string): string {
  if (!address.includes(':')) return address
  // Node writes IPv4 addresses in this form, so it does not take the slower way.
  const [, mapped] = MAPPED.exec(address) ?? []
  if (mapped !== undefined) return mapped
  const parsed = parseAddress(address)
  if (!parsed) return address
  return isIPv4(parsed) ? printAddress(parsed) : printPrefix(parsed)
}

const printPrefix = (address: IpAddress): string =>
  `${address
    .slice(0, 4)
    .map((group) => group.toString(16))
    .join(':')}::/64`

/**
 * Returns the network of the client's address; `undefined` if the address is unknown. It comes from the host's
 * `clientAddress`, or from the edge if the host has set none.
 */
export function readClient({ clientAddress }: ServiceOptions, incoming: IncomingRequest): string | undefined {
  const address: unknown = clientAddress
    ? clientAddress(incoming.toRequest(), connectionOf(incoming))
    : incoming.clientAddress
  if (address === undefined || address === null || address === '') return undefined
  if (typeof address === 'string') return networkOf(address)
  ignoreFailure(address)
  throw new TypeError('options.clientAddress must return a string')
}

const connectionOf = ({ clientAddress }: IncomingRequest): Connection => ({ address: clientAddress })

/** Returns the name of a signed-in caller in queues (CONTRACT.md §6, "Scheduling"). */
export const nameUser = (id: string): string => `user ${id}`

/**
 * Returns the name of an anonymous sender in queues, which is its address. The host's `clientAddress` is called only
 * when a queue needs the name, because the call needs a `Request` object, which is costly to create. `undefined` if the
 * address is unknown.
 */
export function nameClient(
  { clientAddress }: ServiceOptions,
  incoming: IncomingRequest,
): QueueCaller | undefined {
  // Also read if the host is asked later: Node forgets an address that nothing read while the client was connected.
  const { clientAddress: address } = incoming
  if (!clientAddress) return address ? nameAddress(address) : undefined
  let known: { readonly name: string | undefined } | undefined
  return () => {
    known ??= { name: askHost(clientAddress, incoming) }
    return known.name
  }
}

/**
 * Calls the host's `clientAddress`. If it throws, the address counts as unknown here. If the address decides something,
 * as at a login, the request fails instead.
 */
function askHost(
  clientAddress: NonNullable<ServiceOptions['clientAddress']>,
  incoming: IncomingRequest,
): string | undefined {
  try {
    const address: unknown = clientAddress(incoming.toRequest(), connectionOf(incoming))
    ignoreFailure(address)
    return typeof address === 'string' && address !== '' ? nameAddress(address) : undefined
  } catch {
    return undefined
  }
}

/**
 * Returns the name of an address in queues. All addresses of an IPv6 network of 64 bits have the same name, because
 * they usually belong to one customer.
 */
export const nameAddress = (address: string): string => `client ${networkOf(address)}`

/** The number of requests whose headers are looked at. */
const FIRST_REQUESTS = 1000

/** Notices headers of proxies that nothing reads. */
export interface ForwardedWarning {
  /** Called for each request. Only the first requests are looked at, so that the others cost nothing. */
  onRequest(incoming: IncomingRequest): void
  /** Called for each request in which the address of the client decides something, such as a login. */
  onUse(incoming: IncomingRequest): void
}

/**
 * Creates the warning that a header with the address of the client arrives, but the host has set no `clientAddress`.
 * All clients of a proxy then count as one, so that failed logins of one of them lock out the others. A service warns
 * once.
 */
export function createForwardedWarning({ clientAddress }: ServiceOptions, logger: Logger): ForwardedWarning {
  let isOver = clientAddress !== undefined
  let left = FIRST_REQUESTS
  const onUse = (incoming: IncomingRequest): void => {
    if (isOver) return
    const header = HEADERS.find((name) => incoming.header(name) !== undefined)
    if (header === undefined) return
    isOver = true
    logger.warn(UNREAD, { code: 'forwarded_header_unread', header })
  }
  return {
    onUse,
    onRequest(incoming) {
      if (isOver || left === 0) return
      left -= 1
      onUse(incoming)
    },
  }
}

const UNREAD =
  'a request has a header with the address of its client, which nothing reads. If a proxy is in front of the service, all its clients count as one at failed logins and in queues: set options.clientAddress to forwardedAddress({ trust }), or --trust-proxy of the command'
