import type { IncomingMessage } from 'node:http'
import { createAddressFinder, type Proxies } from '../../core/addresses/address-finder.js'
import { parseAddress, printAddress } from '../../core/addresses/ip-address.js'
import { DEFAULT_HEADER } from '../../core/addresses/read-header.js'

/**
 * Creates the function that returns the address of the client of a request, as the service finds it. Without proxies it
 * is the address of the connection.
 */
export function createAddressReader(
  proxies: Proxies | undefined,
): (request: IncomingMessage) => string | undefined {
  if (!proxies) return ({ socket }) => printConnection(socket.remoteAddress)
  const find = createAddressFinder(proxies)
  const { header = DEFAULT_HEADER } = proxies
  return ({ headers, socket }) => {
    const value = headers[header]
    return find(Array.isArray(value) ? value.join() : value, socket.remoteAddress)
  }
}

/** Returns the address of a connection in its canonical form, because Node may write IPv4 as IPv6. */
export function printConnection(address = ''): string | undefined {
  const parsed = parseAddress(address)
  return parsed && printAddress(parsed)
}
