import { isClientError } from './client-error.js'
import { pathOf } from './requests.js'
import { join, read, type Transport } from './transport.js'
import { follow, pause, pauseAfter, watch } from './waiting.js'
import { writeQuery } from './write-query.js'

/** An event as the service sends it. */
export interface Sent {
  readonly id: string
  readonly event: string
  // biome-ignore lint/suspicious/noExplicitAny: the service guarantees the form of events
  readonly data: any
}

/** Reads a response with the type `text/event-stream`. Yields the events that have arrived together. */
async function* readEvents(response: Response): AsyncGenerator<readonly Sent[], void, undefined> {
  const reader = response.body?.getReader()
  if (!reader) return
  const decoder = new TextDecoder()
  const give = (): void => void reader.cancel().catch(() => {})
  let text = ''
  let told: Sent[] = []
  let reading = reader.read()
  try {
    for (;;) {
      const { done, value } = await watch(reading, give)
      if (done) return
      const blocks = (text + decoder.decode(value, { stream: true })).split('\n\n')
      text = blocks.pop() ?? ''
      for (const block of blocks) {
        // Only a line feed ends a line. The flag `s` lets `.` also match U+2028, which JSON may contain unescaped.
        const lines = block.split('\n').map((line) => line.split(/: (.*)/s))
        const { id, event, data } = Object.fromEntries(lines)
        if (event && data) told.push({ id, event, data: JSON.parse(data) })
      }
      reading = reader.read()
      // The caller may be busy when the connection breaks. It gets the error when it continues.
      reading.catch(() => {})
      const next = await Promise.race([reading, undefined])
      if (told[0] && next?.value === undefined) {
        yield told
        told = []
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
  readonly project?: readonly string[] | undefined
  readonly signal?: AbortSignal | undefined
}

/**
 * Yields the events of the stream of changes at a path, those together that have arrived together. Reconnects, and
 * resumes after the last event.
 */
export function followEvents(path: string, { reach }: Transport, asked: FollowedQuery) {
  const target = join(`${path}/changes`, writeQuery(asked))
  let last: string | undefined
  return persist(async function* (connection) {
    const response = await reach('GET', target, { connection, headers: { 'last-event-id': last } })
    const isStream = /event-stream/.test(response.headers.get('content-type') ?? '')
    if (!isStream) await read(response, { isRight: () => false })
    for await (const told of readEvents(response)) {
      // The service has ended the stream. The next request has no event id; if the service rejects that request, the
      // caller gets the reason as an error.
      const changes = told.filter(({ event }) => event !== 'end')
      last = changes.length < told.length ? undefined : told.at(-1)?.id
      if (changes[0]) yield changes
    }
  }, asked.signal)
}

/** Creates the call `changes` of a collection. */
export function createChanges(name: string, transport: Transport) {
  const path = pathOf(name)
  return {
    async *changes(asked: FollowedQuery = {}) {
      for await (const told of followEvents(path, transport, asked))
        for (const { event, data } of told)
          yield event === 'enter' || event === 'change' ? { event, document: data } : { event, ...data }
    },
  }
}
