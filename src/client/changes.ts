import { isClientError } from './client-error.js'

/** An event as the service sends it. */
interface Sent {
  readonly id: string
  readonly event: string
  // biome-ignore lint/suspicious/noExplicitAny: the service guarantees the form of events
  readonly data: any
}

/** The milliseconds of silence after which a stream counts as lost: the service sends a comment every 15 s. */
const SILENCE = 45_000

/** Calls `give` if work takes longer than a stream may be silent, or than `milliseconds`. */
export async function watch<T>(work: Promise<T>, give: () => void, milliseconds = SILENCE): Promise<T> {
  const timer = setTimeout(give, milliseconds)
  try {
    return await work
  } finally {
    clearTimeout(timer)
  }
}

/** The milliseconds before the next attempt: half a second, doubled with each failure, at most half a minute. */
const pauseAfter = (failures: number): number =>
  (Math.min(30_000, 500 * 2 ** failures) * (1 + Math.random())) / 2

/** A controller that also aborts with a signal. */
function follow(signal: AbortSignal | undefined): AbortController {
  const own = new AbortController()
  signal?.addEventListener('abort', () => own.abort(), { signal: own.signal })
  return own
}

/** Reads the events of an answer. */
export async function* readEvents(response: Response): AsyncGenerator<Sent, void, undefined> {
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
        // Split at line feeds only: with the flag m, U+2028 would end a line too, and JSON contains it unescaped.
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
 * The results of `connect`, which is called again with growing pauses when a connection ends. Ends with the signal;
 * throws `ClientError` if the service rejects the request.
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
    const pause = follow(signal)
    await watch(
      new Promise((resolve) => pause.signal.addEventListener('abort', resolve)),
      () => pause.abort(),
      Math.max(pauseAfter(failures), asked),
    )
  }
}
