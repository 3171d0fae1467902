import { placeOf } from './answers.js'
import { isClientError } from './client-error.js'
import { refuseOthers, writeQuery } from './write-query.js'

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
async function* persist<T>(
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

/** A document of a list. */
interface ListedDocument {
  readonly _id: string
}

/** A list in its order. */
interface LiveList {
  readonly documents: readonly ListedDocument[]
  /** The most documents of the list; where the limit is unknown, the largest length so far. */
  readonly most: number
  readonly isKnown: boolean
}

/** The longest list without a limit of its own for which the service says whether it was cut. */
const MOST_TOLD = 1000

type CompareValues = (a: unknown, b: unknown) => number

/**
 * The rank of a value that is not text (CONTRACT.md §3.6): missing, false, true; numbers. Any text comes after them.
 */
const rankOf = (value: unknown): number => (typeof value === 'string' ? Infinity : Number(value ?? -Infinity))

/** The common first bits of all surrogates. */
const SURROGATE = 0xd800 >> 11

/** Compares texts by code points. */
function compareText(a: string, b: string): number {
  let i = 0
  while (i < a.length && a[i] === b[i]) i++
  // Surrogates stand for characters that come after all others; the end of a text comes before them.
  const rank = (text: string): number => {
    const unit = text.charCodeAt(i)
    return unit >> 11 === SURROGATE ? unit + 0x10000 : unit || -1
  }
  return rank(a) - rank(b)
}

const valueAt = (document: unknown, path: string): unknown =>
  // biome-ignore lint/suspicious/noExplicitAny: a document may have any form
  path.split('.').reduce<any>((value, name) => value?.[name], document)

/** The order of a list by its `sort`, completed by `_id` in the direction of the last key. */
function compileOrder(sort: object | undefined): CompareValues {
  // The text of a direction decides: it is also the text that is sent to the service.
  const keys = Object.entries(sort ?? {}).map(([path, to]) => [path, /^(desc|-1)$/.test(String(to))] as const)
  const all = [...keys, ['_id', keys.at(-1)?.[1]] as const]
  return (a, b) => {
    for (const [path, isDescending] of all) {
      const [x, y] = [valueAt(a, path), valueAt(b, path)]
      const order = typeof x === 'string' && typeof y === 'string' ? compareText(x, y) : rankOf(x) - rankOf(y)
      // For two missing values the difference is NaN.
      if (order) return isDescending ? -order : order
    }
    return 0
  }
}

/**
 * The list after an event: a document is put in, or removed. `undefined` where only the service knows how long the list
 * may become, or which document now follows the last one.
 */
function applyEvent(
  { documents, most, isKnown }: LiveList,
  document: ListedDocument,
  isGone: boolean,
  order: CompareValues,
): LiveList | undefined {
  const others = documents.filter(({ _id }) => _id !== document._id)
  const next = isGone ? others : [...others, document].sort(order)
  const isCut = next.length > most
  const hasLost = others.length < documents.length && (isGone || next.at(-1) === document)
  if (isKnown ? hasLost && documents.length >= most : isCut || (hasLost && most > MOST_TOLD)) return undefined
  return { documents: next.slice(0, most), most, isKnown }
}

interface FollowedQuery {
  readonly q?: object | undefined
  readonly signal?: AbortSignal | undefined
}

interface LiveQuery extends FollowedQuery {
  readonly sort?: object
  readonly limit?: number
}

/** Opens a stream that resumes after an event. */
type Open = (query: string, lastEventId: string | undefined, connection: AbortController) => Promise<Response>

/** Reads a list. */
type List = (
  query: string,
  asked: { readonly connection: AbortController },
) => Promise<{ readonly body: LiveList['documents']; readonly headers: Headers }>

/** Creates the calls that follow a list. */
export function createFollowing(open: Open, list: List) {
  const events = (asked: FollowedQuery) => {
    const query = writeQuery(asked)
    let last: string | undefined
    return persist(async function* (connection) {
      for await (const sent of readEvents(await open(query, last, connection))) {
        // A new request receives the reason as an error.
        last = sent.event === 'end' ? undefined : sent.id
        if (last) yield sent
      }
    }, asked.signal)
  }
  const fetchAll = async (
    query: string,
    limit?: number,
    signal?: AbortSignal,
  ): Promise<LiveList | undefined> => {
    const answers = persist(async function* (connection) {
      yield await list(query, { connection })
    }, signal)
    for await (const { body, headers } of answers)
      return {
        documents: body,
        most: limit ?? body.length,
        isKnown: limit !== undefined || !!placeOf(headers),
      }
    return undefined
  }
  return {
    async *changes(asked: FollowedQuery = {}) {
      for await (const { event, data } of events(asked))
        yield event === 'enter' || event === 'change' ? { event, document: data } : { event, ...data }
    },
    async *live({ q, sort, limit, signal, ...others }: LiveQuery = {}) {
      refuseOthers(others)
      const order = compileOrder(sort)
      const query = writeQuery({ q, sort, limit })
      let present: LiveList | undefined
      for await (const { event, data } of events({ q, signal })) {
        present =
          (event !== 'reset' && present && applyEvent(present, data, event === 'leave', order)) ||
          (await fetchAll(query, limit, signal))
        if (present) yield present.documents
      }
    },
  }
}
