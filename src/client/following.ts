import { isClientError } from './client-error.js'
import { pathOf } from './requests.js'
import { join, read, type Transport } from './transport.js'
import { follow, pause, pauseAfter, watch } from './waiting.js'
import { writeQuery } from './write-query.js'

/** An event as the service sends it. */
interface Sent {
  readonly id: string
  readonly event: string
  // biome-ignore lint/suspicious/noExplicitAny: the service guarantees the form of events
  readonly data: any
}

/** Reads the events of a response with the type `text/event-stream`. */
async function* readEvents(response: Response): AsyncGenerator<Sent, void, undefined> {
  const reader = response.body?.getReader()
  if (!reader) return
  const decoder = new TextDecoder()
  const give = (): void => void reader.cancel().catch(() => {})
  let text = ''
  try {
    for (;;) {
      const { done, value } = await watch(reader.read(), give)
      if (done) return
      const blocks = (text + decoder.decode(value, { stream: true })).split('\n\n')
      text = blocks.pop() ?? ''
      for (const block of blocks) {
        // Only a line feed ends a line. The flag `s` lets `.` also match U+2028, which JSON may contain unescaped.
        const lines = block.split('\n').map((line) => line.split(/: (.*)/s))
        const { id, event, data } = Object.fromEntries(lines)
        if (event && data) yield { id, event, data: JSON.parse(data) }
      }
    }
  } finally {
    give()
  }
}

/**
 * Yields the results of `connect`. When a connection ends, it calls `connect` again, after pauses that grow. Ends when
 * the signal aborts; throws `ClientError` if the service rejects the request.
 */
export async function* persist<T>(
  connect: (connection: AbortController) => AsyncGenerator<T, void, undefined>,
  signal: AbortSignal | undefined,
): AsyncGenerator<T, void, undefined> {
  for (let failures = 0; !signal?.aborted; failures++) {
    const connection = follow(signal)
    let asked = 0
    try {
      for await (const given of connect(connection)) {
        failures = 0
        yield given
      }
    } catch (thrown) {
      if (isClientError(thrown)) {
        if (thrown.status < 500 && thrown.status !== 429 && !signal?.aborted) throw thrown
        asked = (thrown.retryAfter ?? 0) * 1000
      }
    } finally {
      connection.abort()
    }
    if (signal?.aborted) return
    await pause(Math.max(pauseAfter(failures), asked), signal)
  }
}

/** The query of a stream, and the signal that ends it. */
export interface FollowedQuery {
  readonly q?: object | undefined
  readonly signal?: AbortSignal | undefined
}

/** Yields the events of the stream of changes at a path. Reconnects, and resumes after the last event. */
export function followEvents(path: string, { reach }: Transport, asked: FollowedQuery) {
  const target = join(`${path}/changes`, writeQuery(asked))
  let last: string | undefined
  return persist(async function* (connection) {
    const response = await reach('GET', target, { connection, headers: { 'last-event-id': last } })
    const isStream = /event-stream/.test(response.headers.get('content-type') ?? '')
    if (!isStream) await read(response, { isRight: () => false })
    for await (const sent of readEvents(response)) {
      // The service has ended the stream. The next request has no event id; if the service rejects that request, the
      // caller gets the reason as an error.
      last = sent.event === 'end' ? undefined : sent.id
      if (last) yield sent
    }
  }, asked.signal)
}

/** Creates the call `changes` of a collection. */
export function createChanges(name: string, transport: Transport) {
  const path = pathOf(name)
  return {
    async *changes(asked: FollowedQuery = {}) {
      for await (const { event, data } of followEvents(path, transport, asked))
        yield event === 'enter' || event === 'change' ? { event, document: data } : { event, ...data }
    },
  }
}
