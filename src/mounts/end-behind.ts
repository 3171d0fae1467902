import type { IncomingMessage, ServerResponse } from 'node:http'
import { bounds } from '../bounds.js'
import type { Bytes } from '../json/bytes.js'

/**
 * Whether a response is sent before the whole body was read: the connection cannot be used again. In HTTP/2 a request
 * has a stream of its own, and no such header.
 */
export const leavesBodyUnread = (request: IncomingMessage): boolean =>
  request.readableEnded === false && request.httpVersionMajor !== 2 && hasBody(request)

/** Whether a request was sent with a body; some frameworks' requests have no headers. */
export const hasBody = ({ headers }: Partial<IncomingMessage>): boolean =>
  headers?.['transfer-encoding'] !== undefined || Number(headers?.['content-length'] ?? 0) > 0

/** How long an unread body is drained, in milliseconds. */
const LONGEST = 2000

/**
 * Sends a response, and ends it after draining the rest of the request, within limits of time and size. A connection
 * that is closed while data comes in loses what has been sent (RFC 9112 §9.6): the client would not receive the error
 * response.
 */
export function endBehind(response: ServerResponse, body: string | Bytes | null): void {
  const { req: request } = response
  if (body === null) response.flushHeaders()
  else response.write(body)
  let left = bounds.unreadBytes
  const end = (): void => {
    clearTimeout(timer)
    response.end()
  }
  const timer = setTimeout(end, LONGEST)
  request
    .on('data', ({ length }: Uint8Array) => {
      left -= length
      if (left < 0) end()
    })
    .once('end', end)
    .once('close', end)
    .once('error', end)
    .resume()
}
