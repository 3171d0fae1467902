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

/** The milliseconds without data after which a stream is considered lost. The service sends a comment every 15 s. */
const SILENCE = 45_000

/** Returns the result of `work`, and calls `give` if `work` takes longer than `milliseconds`. */
export async function watch<T>(work: Promise<T>, give: () => void, milliseconds = SILENCE): Promise<T> {
  const timer = setTimeout(give, milliseconds)
  try {
    return await work
  } finally {
    clearTimeout(timer)
  }
}

/**
 * A random pause before the next attempt, in milliseconds. Its upper bound is 500 ms, doubled with each failure up to
 * 30 s; its lower bound is half the upper bound.
 */
const pauseAfter = (failures: number): number =>
  (Math.min(30_000, 500 * 2 ** failures) * (1 + Math.random())) / 2

/** Creates a controller that aborts when `signal` aborts. */
function follow(signal: AbortSignal | undefined): AbortController {
  const own = new AbortController()
  signal?.addEventListener('abort', () => own.abort(), { signal: own.signal })
  return own
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

interface ListedDocument {
  readonly _id: string
}

/** The current state of a live list. */
interface LiveList {
  readonly documents: readonly ListedDocument[]
  /** The maximum number of documents in the list; if `isKnown` is false, the number when the list was last read. */
  readonly most: number
  readonly isKnown: boolean
}

/** Up to this number of documents, the answer to a list without a limit says whether the service has cut the list. */
const MOST_TOLD = 1000

type CompareValues = (a: unknown, b: unknown) => number

/**
 * The rank of a value in the order of CONTRACT.md §3.6: missing, false and true, numbers, then strings. All strings
 * have the same rank, because `compareText` orders them.
 */
const rankOf = (value: unknown): number => (typeof value === 'string' ? Infinity : Number(value ?? -Infinity))

/** The first five bits of every surrogate code unit. */
const SURROGATE = 0xd800 >> 11

/** Compares strings by code points. */
function compareText(a: string, b: string): number {
  let i = 0
  while (i < a.length && a[i] === b[i]) i++
  // Surrogates encode the characters after U+FFFF, so they sort after all other code units. The end of a string (`NaN`)
  // sorts first.
  const rank = (text: string): number => {
    const unit = text.charCodeAt(i)
    return unit >> 11 === SURROGATE ? unit + 0x10000 : unit || -1
  }
  return rank(a) - rank(b)
}

const valueAt = (document: unknown, path: string): unknown =>
  // biome-ignore lint/suspicious/noExplicitAny: a document may have any form
  path.split('.').reduce<any>((value, name) => value?.[name], document)

/**
 * Compiles the `sort` of a list into a comparison. Documents with equal keys are ordered by `_id`, in the direction of
 * the last sort key.
 */
function compileOrder(sort: object | undefined): CompareValues {
  // A direction is read as a string, because the client also sends it to the service as a string.
  const keys = Object.entries(sort ?? {}).map(([path, to]) => [path, /^(desc|-1)$/.test(String(to))] as const)
  const all = [...keys, ['_id', keys.at(-1)?.[1]] as const]
  return (a, b) => {
    for (const [path, isDescending] of all) {
      const [x, y] = [valueAt(a, path), valueAt(b, path)]
      const order = typeof x === 'string' && typeof y === 'string' ? compareText(x, y) : rankOf(x) - rankOf(y)
      // The difference of two missing values is NaN, so the next key decides.
      if (order) return isDescending ? -order : order
    }
    return 0
  }
}

/**
 * Returns the list after an event, which adds, changes or removes one document. Returns `undefined` if the list must be
 * read again, because only the service knows the maximum length of the list, or the document that now follows the last
 * one.
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

/** Opens a stream of changes, which resumes after the event with the id `lastEventId`. */
type Open = (query: string, lastEventId: string | undefined, connection: AbortController) => Promise<Response>

type List = (
  query: string,
  asked: { readonly connection: AbortController },
) => Promise<{ readonly body: LiveList['documents']; readonly headers: Headers }>

/** Creates the calls `changes` and `live` of a collection. */
export function createFollowing(open: Open, list: List) {
  const events = (asked: FollowedQuery) => {
    const query = writeQuery(asked)
    let last: string | undefined
    return persist(async function* (connection) {
      for await (const sent of readEvents(await open(query, last, connection))) {
        // The service has ended the stream. The next request has no event id; if the service rejects that request, the
        // caller gets the reason as an error.
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
