import type { QueueCaller } from '../fair-queue.js'
import { ignoreFailure } from '../promises.js'
import type { ServiceOptions } from '../types.js'
import type { IncomingRequest } from './answer.js'

/** A signed-in caller as queues know it (CONTRACT.md §6, "Fairness"). */
export const nameUser = (id: string): string => `user ${id}`

/**
 * The sender of an anonymous request as queues know it: its address, with that of `clientAddress` found when it is first
 * needed, because it costs a request object. `undefined` where the address is not known.
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

/** What the host cannot tell is not known here: where an address counts, as in logins, the request fails. */
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

/** An address of IPv4 that is written as one of IPv6. */
const MAPPED = /^::ffff:([\d.]+)$/i

/** The groups of an address of IPv6 that a provider gives to one customer: the first 64 bits. */
const GROUPS = 4

/** The name of an address: one customer has all of an IPv6 network of 64 bits. */
export function nameAddress(address: string): string {
  const plain = MAPPED.exec(address)?.[1] ?? address
  if (!plain.includes(':')) return `client ${plain}`
  const [head = '', tail] = plain.replace(/%.*$/, '').toLowerCase().split('::')
  const first = head.split(':').filter((group) => group !== '')
  const last = tail?.split(':').filter((group) => group !== '') ?? []
  const zeros = tail === undefined ? 0 : Math.max(0, 8 - first.length - last.length)
  const groups = [...first, ...Array<string>(zeros).fill('0'), ...last].slice(0, GROUPS)
  return `client ${groups.map((group) => group.replace(/^0+(?=.)/, '')).join(':')}::/64`
}
