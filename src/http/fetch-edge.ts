import { ServiceError } from '../errors.js'
import type { Deadline } from '../service/deadline.js'
import { endOfTurn } from '../slices.js'
import type { Respond } from './answer.js'
import { type Answer, type IncomingRequest, isStream } from './answer.js'
import { createBodyBytes, tooLarge, tooSlow } from './body-bytes.js'
import { calledByNode, calledWithout, findNodeResponse, isRequest } from './misuse.js'
import { toReadableStream } from './send-stream.js'

/** Creates a handler of web-standard requests. `fail` answers a call without a valid request. */
export const createFetchHandler =
  (respond: Respond, fail: (cause: unknown) => Answer) =>
  async (request: Request, second?: unknown): Promise<Response> => {
    try {
      const response = second === undefined ? undefined : findNodeResponse(request, second)
      if (!response) {
        const answer = await respond(fromRequest(request))
        await endOfTurn()
        return toResponse(answer, request.method)
      }
      const { status, headers, body } = fail(calledByNode())
      // Otherwise the client would wait for ever.
      response.writeHead(status, headers)
      response.end(String(body))
      return new Response(null, { status })
    } catch (cause) {
      // The argument is not a request, or the runtime refuses the answer.
      return toResponse(fail(isRequest(request) ? cause : calledWithout()), 'GET')
    }
  }

/** A web-standard request in plain data. */
function fromRequest(request: Request): IncomingRequest {
  const { url } = request
  return {
    method: request.method,
    target: targetOf(url),
    mountPath: '',
    clientAddress: undefined,
    header: (name) => request.headers.get(name) ?? undefined,
    readBody: (limit, time) => readRequestBody(request, limit, time),
    onGone(listener) {
      const { signal } = request
      if (signal.aborted) listener()
      signal.addEventListener('abort', listener, { once: true })
      return () => signal.removeEventListener('abort', listener)
    },
    toRequest: () => request,
  }
}

/** The path and query of an absolute URL. */
function targetOf(url: string): string {
  const start = url.indexOf('/', url.indexOf('://') + 3)
  const end = url.indexOf('#')
  if (start < 0) return '/'
  return end < 0 ? url.slice(start) : url.slice(start, end)
}

async function readRequestBody(
  request: Request,
  limit: number,
  time: Pick<Deadline, 'onOver'>,
): Promise<Uint8Array> {
  if (request.bodyUsed || request.body?.locked) {
    throw new TypeError(
      'the host has read the body of this request: hand over another one, new Request(request, { body: JSON.stringify(body) })',
    )
  }
  if (Number(request.headers.get('content-length') ?? 0) > limit) throw tooLarge(limit)
  const reader = request.body?.getReader()
  if (!reader) return new Uint8Array()
  let isOver = false
  const stopListening = time.onOver(() => {
    isOver = true
    void reader.cancel().catch(() => {})
  })
  try {
    const bytes = await collectBytes(reader, limit)
    // A cancelled stream looks like a complete one.
    if (isOver) throw tooSlow()
    return bytes
  } finally {
    stopListening()
  }
}

async function collectBytes(
  reader: ReadableStreamDefaultReader<Uint8Array>,
  limit: number,
): Promise<Uint8Array> {
  const body = createBodyBytes()
  for (;;) {
    // A stream that breaks counts as a body that did not arrive.
    const { done, value } = await reader.read().catch(() => {
      throw tooSlow()
    })
    if (done) return body.join()
    // A stream from the host can yield anything.
    if (!((value as unknown) instanceof Uint8Array))
      throw new ServiceError('invalid_json', 'The body must be bytes.')
    if (body.length + value.length > limit) {
      void reader.cancel().catch(() => {})
      throw tooLarge(limit)
    }
    body.add(value)
  }
}

/** An answer as a web-standard response. A 204 and an answer to HEAD have no body. */
function toResponse(answer: Answer, method: string): Response {
  const body = method === 'HEAD' ? null : answer.body
  return new Response(isStream(body) ? toReadableStream(body) : body, {
    status: answer.status,
    headers: answer.headers,
  })
}
