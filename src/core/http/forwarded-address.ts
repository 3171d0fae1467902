import { createAddressFinder, type Proxies, requireProxies } from '../addresses/address-finder.js'
import { DEFAULT_HEADER } from '../addresses/read-header.js'
import { ignoreFailure } from '../promises.js'
import type { Connection } from '../types.js'

/** The options of `forwardedAddress`. */
export interface ForwardedOptions extends Proxies {
  /**
   * Returns the address at the other end of the connection. Default: the address of the socket under the Node mount.
   * In other hosts it is `server.requestIP(request)` (Bun), `info.remoteAddr` (Deno) or `getConnInfo(c)` (Hono).
   */
  readonly address?: (request: Request) => string | null | undefined
}

/**
 * Creates the option `clientAddress` of a service with reverse proxies in front of it. It reads the address of the
 * client from `X-Forwarded-For` or `Forwarded` (RFC 7239), from right to left, so that entries which a client has
 * written itself have no effect (CONTRACT.md §7, "Addresses"). Throws `ConfigError` for invalid options.
 *
 * @example
 * ```ts
 * // Each request passes through one proxy, which adds the address of its client.
 * createCollectionService(config, adapter, { clientAddress: forwardedAddress({ trust: 1 }) })
 * ```
 */
export function forwardedAddress(
  options: ForwardedOptions,
): (request: Request, connection?: Connection) => string | undefined {
  requireProxies(options)
  const find = createAddressFinder(options)
  const { header = DEFAULT_HEADER, address } = options
  return (request, connection) =>
    find(request.headers.get(header), address ? askHost(address, request) : connection?.address)
}

/** Returns the address of a connection as the host knows it. Throws a `TypeError` if the host returns anything else. */
function askHost(ask: NonNullable<ForwardedOptions['address']>, request: Request): string | undefined {
  const address: unknown = ask(request)
  if (typeof address === 'string') return address
  if (address === undefined || address === null) return undefined
  ignoreFailure(address)
  throw new TypeError('the option "address" of forwardedAddress must return a string')
}
