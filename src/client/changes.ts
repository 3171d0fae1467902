import { ClientError, isClientError } from './client-error.js'

/** An event as the service sends it. */
interface Sent {
  readonly id: string
  readonly event: string
  // biome-ignore lint/suspicious/noExplicitAny: what an event holds is the service's promise
  readonly data: any
}

/** The milliseconds after which a stream that is silent has lost its service: that sends a comment every 15 s. */
const SILENCE = 45_000

/** The milliseconds before the next attempt: half a second, doubled with each failure, at most half a minute. */
const pauseAfter = (failures: number): number =>
  Math.min(30_000, 500 * 2 ** failures) * (0.5 + Math.random() / 2)

const wait = (milliseconds: number, signal: AbortSignal | undefined): Promise<void> =>
  new Promise((resolve) => {
    const finish = (): void => {
      clearTimeout(timer)
      signal?.removeEventListener('abort', finish)
      resolve()
    }
    const timer = setTimeout(finish, milliseconds)
    signal?.addEventListener('abort', finish)
    if (signal?.aborted) finish()
  })

/** Whether an attempt that failed will fail again: the service answered, and means it. */
const isRefused = (thrown: unknown): boolean =>
  isClientError(thrown) && thrown.status < 500 && thrown.status !== 429

/** Tries until there is a result or a refusal, with growing pauses. Throws when the signal aborts. */
export async function persist<T>(attempt: () => Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  for (let failures = 0; ; failures++) {
    try {
      return await attempt()
    } catch (thrown) {
      if (isRefused(thrown) || signal?.aborted) throw thrown
      const asked = isClientError(thrown) ? thrown.retryAfter : undefined
      await wait(Math.max(pauseAfter(failures), (asked ?? 0) * 1000), signal)
      signal?.throwIfAborted()
    }
  }
}

/** Reads the events of one answer. */
async function* readEvents(response: Response): AsyncGenerator<Sent, void, undefined> {
  const reader = response.body?.getReader()
  if (!reader) return
  const decoder = new TextDecoder()
  const give = (): void => void reader.cancel().catch(() => {})
  let text = ''
  try {
    for (;;) {
      const timer = setTimeout(give, SILENCE)
      const { done, value } = await reader.read().finally(() => clearTimeout(timer))
      if (done) return
      const blocks = (text + decoder.decode(value, { stream: true })).split('\n\n')
      text = blocks.pop() ?? ''
      for (const block of blocks) {
        // By its line feeds alone: for the flag m, U+2028 ends a line too, and stands in JSON as it is.
        const lines = block.split('\n').map((line) => line.split(/: (.*)/s))
        const { id = '', event, data } = Object.fromEntries(lines)
        if (event && data) yield { id, event, data: JSON.parse(data) }
      }
    }
  } finally {
    give()
  }
}

/**
 * The events of a stream, over as many connections as it takes; each goes on behind the last event. Ends with the
 * signal. `open` rejects with `ClientError` where it is refused.
 */
export async function* follow(
  open: (lastEventId: string | undefined) => Promise<Response>,
  signal: AbortSignal | undefined,
): AsyncGenerator<Sent, void, undefined> {
  let last: string | undefined
  for (let failures = 0; ; failures++) {
    try {
      for await (const sent of readEvents(await persist(() => open(last), signal))) {
        failures = 0
        // Asked again, the service says why.
        last = sent.event === 'end' ? undefined : sent.id
        if (last) yield sent
      }
    } catch (thrown) {
      if (signal?.aborted) return
      if (isClientError(thrown)) throw thrown
    }
    await wait(pauseAfter(failures), signal)
    if (signal?.aborted) return
  }
}

/** An answer that is a stream of events. */
export function expectEvents(response: Response): Response {
  if (/^text\/event-stream\b/.test(response.headers.get('content-type') ?? '')) return response
  throw new ClientError(response, undefined)
}
