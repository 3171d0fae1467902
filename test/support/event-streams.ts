import type { StorageAdapter } from '../../src/index.js'

/** An event as a client sees it. */
export interface SeenEvent {
  readonly event: string
  // biome-ignore lint/suspicious/noExplicitAny: tests look into documents of every shape
  readonly data: any
  readonly id: string | undefined
}

/** A stream that is read as fast as it is sent. */
export interface OpenStream {
  readonly response: Response
  /** What has come so far; comments are not in it. */
  readonly events: readonly SeenEvent[]
  /** The number of comments so far. */
  readonly comments: number
  /** The text so far. */
  readonly text: string
  /** Settles when there are as many events, or the stream is over. */
  until(count: number): Promise<readonly SeenEvent[]>
  /** Settles when the stream is over. */
  readonly ended: Promise<void>
  close(): Promise<void>
}

/** The event that a block of lines is; `undefined` for a comment. */
export function readBlock(block: string): SeenEvent | undefined {
  const fields = block.split('\n').map((line) => /^(id|event|data): (.*)$/.exec(line)?.slice(1) ?? [])
  const { id, event, data } = Object.fromEntries(fields)
  if (event === undefined || data === undefined) return undefined
  return { event, data: JSON.parse(data), id }
}

/** Reads the stream of a response. */
export function readStream(response: Response): OpenStream {
  const events: SeenEvent[] = []
  let text = ''
  let comments = 0
  let isOver = false
  let wake = (): void => {}
  const reader = response.body?.getReader()
  const read = async (): Promise<void> => {
    if (!reader) return
    const decoder = new TextDecoder()
    let rest = ''
    for (;;) {
      const { done, value } = await reader.read()
      if (done) return
      const part = decoder.decode(value, { stream: true })
      text += part
      const blocks = (rest + part).split('\n\n')
      rest = blocks.pop() ?? ''
      for (const block of blocks) {
        const event = readBlock(block)
        if (event) events.push(event)
        else comments += 1
      }
      wake()
    }
  }
  const ended = read()
    .catch(() => {})
    .then(() => {
      isOver = true
      wake()
    })
  return {
    response,
    events,
    ended,
    get comments() {
      return comments
    },
    get text() {
      return text
    },
    async until(count) {
      while (events.length < count && !isOver) {
        await new Promise<void>((resolve) => {
          wake = resolve
        })
      }
      return events
    },
    async close() {
      await reader?.cancel()
      await ended
    },
  }
}

/** What was told: names and documents, without ids. */
export const told = (events: readonly SeenEvent[]): readonly (readonly [string, unknown])[] =>
  events.map(({ event, data }) => [event, data])

/** A storage that says when all that was written has been told. */
export interface QuietAdapter {
  readonly adapter: StorageAdapter
  /** Looks at what is written from now on. */
  begin(): Promise<void>
  /** Settles when the reader of the log has taken what was written since. */
  quiet(): Promise<void>
  /** Keeps the log from those who wait for more, until the result is called: what is written meanwhile comes together. */
  hold(): () => Promise<void>
  /** How often somebody has read the log. */
  reads(): number
}

/** Watches how far the log of a storage is read by those who wait for more. */
export function watchLog(inner: StorageAdapter): QuietAdapter {
  const places = new Set<string>()
  /** Those who wait for a place to be taken: some wait for ever, where nobody listens. */
  const waiting: (() => void)[] = []
  let cursor: string | null = null
  let reads = 0
  let held: Promise<void> | undefined
  let holds = 0
  const { changes } = inner
  if (!changes) throw new Error('this storage keeps no log')
  const adapter: StorageAdapter = {
    ...inner,
    async changes(after, query) {
      reads += 1
      const isWaiting = after !== null && query.wait !== undefined
      if (isWaiting) {
        places.add(after)
        for (const wake of waiting.splice(0)) wake()
      }
      for (;;) {
        if (isWaiting) await held
        const before = holds
        const page = await changes.call(inner, after, query)
        // What was read while it was held may be a part.
        if (!isWaiting || holds === before) return page
      }
    },
  }
  let last: string | undefined
  /** Reads the log to its end: by then, all that was written has its place in it. */
  const follow = async (): Promise<void> => {
    for (let more = true; more; ) {
      const page = await changes.call(inner, cursor, { limit: 1000 })
      cursor = page.position
      more = page.more
      if (page.changes.length > 0) last = page.position
    }
  }
  return {
    adapter,
    reads: () => reads,
    hold() {
      let release = (): void => {}
      holds += 1
      held = new Promise((resolve) => {
        release = resolve
      })
      return async () => {
        await follow()
        held = undefined
        release()
      }
    },
    async begin() {
      cursor = (await changes.call(inner, null, { limit: 1 })).position
      last = undefined
    },
    async quiet() {
      await follow()
      const wanted = last
      last = undefined
      while (wanted !== undefined && !places.has(wanted)) {
        await new Promise<void>((resolve) => waiting.push(resolve))
      }
    },
  }
}
