import type { ConfigFault } from '../errors.js'
import { suggest } from '../fields/schema/names.js'
import { isIPv4, maskNetwork, type Network, parseNetwork, printNetwork } from './ip-address.js'

/** The networks that a word stands for. */
const WORDS: ReadonlyMap<string, readonly string[]> = new Map([
  ['loopback', ['127.0.0.0/8', '::1/128']],
  // RFC 1918 and RFC 4193
  ['private', ['10.0.0.0/8', '172.16.0.0/12', '192.168.0.0/16', 'fc00::/7']],
])

/** The shortest prefixes that can be trusted, which are those of the largest private networks. */
const SHORTEST = { ipv4: parseNetwork('10.0.0.0/8'), ipv6: parseNetwork('fc00::/7') } as const

/** The largest number of proxies. */
const MOST = 100

const ALLOWED =
  'the number of proxies, or an array of their addresses and networks, like ["10.0.0.0/8"], "loopback" and "private"'

/** Returns the faults of `trust`. `path` is its path in these. */
export function judgeTrust(trust: unknown, path: string): readonly ConfigFault[] {
  if (trust === undefined) {
    const message = `is required: ${ALLOWED}. Without it, clients could choose their address`
    return [{ path, message }]
  }
  if (typeof trust === 'number') {
    if (Number.isInteger(trust) && trust >= 1 && trust <= MOST) return []
    return [{ path, message: `must be a whole number of proxies from 1 to ${MOST}, found ${trust}` }]
  }
  if (!Array.isArray(trust) || trust.length === 0) return [{ path, message: `must be ${ALLOWED}` }]
  return Array.from(trust as readonly unknown[]).flatMap((one, i) => {
    const fault = describeFault(one)
    return fault === undefined ? [] : [{ path: `${path}[${i}]`, message: fault }]
  })
}

/** Returns what is wrong with one entry of a list; `undefined` if it is valid. */
function describeFault(one: unknown): string | undefined {
  if (typeof one !== 'string') return 'must be a text like "10.0.0.0/8"'
  if (WORDS.has(one)) return undefined
  const network = parseNetwork(one)
  const found = JSON.stringify(one)
  if (!network) {
    const near = suggest(one, [...WORDS.keys()]) || ';'
    return `${found} is neither an address nor a network${near} allowed: ${[...WORDS.keys()].join(', ')}, addresses like "192.0.2.7" and networks like "10.0.0.0/8" or "fd00::/8"`
  }
  const shortest = isIPv4(network.address) ? SHORTEST.ipv4 : SHORTEST.ipv6
  if (shortest && network.bits < shortest.bits) {
    return `${found} is too wide: it contains addresses of clients, which could then choose their address; the shortest prefix is that of ${printNetwork(shortest)}`
  }
  const masked = printNetwork(maskNetwork(network))
  if (masked !== printNetwork(network)) return `${found} has bits after its prefix; did you mean "${masked}"?`
  return undefined
}

/** Returns the networks of a valid list. */
export const readNetworks = (trust: readonly string[]): readonly Network[] =>
  trust.flatMap((one) => (WORDS.get(one) ?? [one]).flatMap((text) => parseNetwork(text) ?? []))
