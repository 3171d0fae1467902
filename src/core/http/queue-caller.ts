import type { QueueCaller } from '../fair-queue.js'
import { ignoreFailure } from '../promises.js'
import type { ServiceOptions } from '../types.js'
import type { IncomingRequest } from './answer.js'
import { networkOf } from './network.js'

/** The name of a signed-in caller in queues (CONTRACT.md §6, "Scheduling"). */
export const nameUser = (id: string): string => `user ${id}`

/**
 * The name of an anonymous sender in queues: its address. `clientAddress` is called when first needed, because it costs
 * a request object. `undefined` where the address is not known.
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
 * Calls `clientAddress`; an error counts as unknown here: where the address decides, as in logins, the request fails.
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

/** The name of an address: one customer has all of an IPv6 network of 64 bits. */
export const nameAddress = (address: string): string => `client ${networkOf(address)}`
