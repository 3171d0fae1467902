import type { QueueCaller } from '../fair-queue.js'
import { ignoreFailure } from '../promises.js'
import type { ServiceOptions } from '../types.js'
import type { IncomingRequest } from './answer.js'

/** Matches an IPv4 address that is written as an IPv6 address. */
const MAPPED = /^::ffff:([\d.]+)$/i

/**
 * Returns the network of a client's address. A client with one IPv6 address usually has all addresses with the same
 * first 64 bits, so these count as one (CONTRACT.md §4, "Throttle"). Any other text is returned unchanged.
 */
export function networkOf(address: string): string {
  const mapped = MAPPED.exec(address)?.[1]
  if (mapped) return mapped
  if (!/^[\da-f:]+(?:%[^%]*)?$/i.test(address)) return address
  const [start = '', end, ...others] = (address.split('%')[0] ?? '').split('::')
  const [first, last] = [start, end ?? ''].map((part) => (part === '' ? [] : part.split(':')))
  if (!first || !last || others.length > 0 || (end === undefined && first.length !== 8)) return address
  const zeros = Array.from({ length: Math.max(0, 8 - first.length - last.length) }, () => '0')
  const groups = end === undefined ? first : [...first, ...zeros, ...last]
  if (groups.length !== 8) return address
  return `${groups
    .slice(0, 4)
    .map((group) => Number.parseInt(group, 16).toString(16))
    .join(':')}::/64`
}

/**
 * Returns the network of the client's address; `undefined` if the address is unknown. It comes from the host's
 * `clientAddress`, or from the edge if the host has set none.
 */
export function readClient({ clientAddress }: ServiceOptions, incoming: IncomingRequest): string | undefined {
  const address: unknown = clientAddress ? clientAddress(incoming.toRequest()) : incoming.clientAddress
  if (address === undefined || address === null || address === '') return undefined
  if (typeof address === 'string') return networkOf(address)
  ignoreFailure(address)
  throw new TypeError('options.clientAddress must return a string')
}

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
  if (!clientAddress) return incoming.clientAddress ? nameAddress(incoming.clientAddress) : undefined
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
    const address: unknown = clientAddress(incoming.toRequest())
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
