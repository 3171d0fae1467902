import { isClientError } from './client-error.js'

/** An event as the service sends it. */
interface Sent {
  readonly id: string
  readonly event: string
  // biome-ignore lint/suspicious/noExplicitAny: what an event holds is the service's promise
  readonly data: any
}

/** The milliseconds after which a stream that is silent has lost its service: that sends a comment every 15 s. */
const SILENCE = 45_000

/** Calls `give` where work takes as long as a stream may be silent, or another time. */
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

/** A controller that aborts with a signal too. */
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
        // By its line feeds alone: for the flag m, U+2028 ends a line too, and stands in JSON as it is.
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
 * What `connect` gives, over as many connections as it takes, with growing pauses. Ends with the signal; throws
 * `ClientError` where the service refuses.
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
