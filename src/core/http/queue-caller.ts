import type { QueueCaller } from '../fair-queue.js'
import { ignoreFailure } from '../promises.js'
import type { ServiceOptions } from '../types.js'
import type { IncomingRequest } from './answer.js'
import { networkOf } from './network.js'

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
