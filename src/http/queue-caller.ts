import type { QueueCaller } from '../fair-queue.js'
import { ignoreFailure } from '../promises.js'
import type { ServiceOptions } from '../types.js'
import type { IncomingRequest } from './answer.js'
import { networkOf } from './network.js'

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

/** The name of an address: one customer has all of an IPv6 network of 64 bits. */
export const nameAddress = (address: string): string => `client ${networkOf(address)}`
