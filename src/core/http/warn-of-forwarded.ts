import { HEADERS } from '../addresses/read-header.js'
import type { Logger } from '../types/host.js'
import type { ServiceOptions } from '../types.js'
import type { IncomingRequest } from './answer.js'

/** The number of requests whose headers are looked at, whatever they ask for. */
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
