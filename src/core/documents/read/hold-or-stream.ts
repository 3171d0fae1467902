import { bounds } from '../../bounds.js'
import { and, everything, type Filter, isId, or } from '../../filter/filter.js'
import { type Bytes, joinArray } from '../../json/bytes.js'
import type { ReadAccess } from '../../permissions/read-access.js'
import { whenReady } from '../../promises.js'
import { project, type Query } from '../../query/compile-query.js'
import { type Cursor, placeOf, rangesAfter } from '../../query/paging/cursor.js'
import type { LinkedQuery } from '../../query/query-reader.js'
import { boundBytes } from '../../request/byte-budget.js'
import type { Call } from '../../request/call.js'
import type { Deadline } from '../../request/deadline.js'
import type { KeptPage } from '../../request/kept-pages.js'
import { createPace } from '../../request/pace.js'
import { READ_AT_ONCE, readByIds } from '../../request/read-by-ids.js'
import type { Reader } from '../../request/store.js'
import { runWithin, type Slice, type Sliced, stepsToWrite } from '../../slices.js'
import type { StoredDocument } from '../../storage.js'
import type { JsonObject, MaybePromise } from '../../types.js'
import { createExpandingPrinter } from '../expand/expand-documents.js'
import { createLevelPrinter } from '../expand/expand-levels.js'
import { expandPage } from '../expand/expand-page.js'
import { createTextStream, endOfPiece, type Text } from './text-stream.js'

/** The number of documents that are read first. A list with at least this many documents is always streamed. */
export const START = 1500

/** The part of a query that selects documents: a walk visits the matches in order. */
type Walk = Pick<Query, 'filter' | 'sort' | 'skip' | 'after' | 'limit'>

/** The first documents of a walk, and the ids of further documents that exceeded the byte limit of one read. */
interface Beginning {
  readonly documents: readonly StoredDocument[]
  readonly rest: readonly string[]
}

const NONE: readonly string[] = []

/** Reads the first documents of a walk. */
const readFirst = (reader: Reader, walk: Walk, limit: number): MaybePromise<Beginning> => {
  const { filter, sort, skip, after } = walk
  if (after) return readAfter(reader, walk, after, limit)
  return whenReady(reader.list({ filter, sort, skip, limit, bytes: bounds.readBytes }), (documents) => ({
    documents,
    rest: documents.rest ?? NONE,
  }))
}

/** Reads the first documents after a cursor: one range after another, until there are enough documents. */
function readAfter(
  reader: Reader,
  { filter, sort, skip }: Walk,
  after: Cursor,
  limit: number,
): MaybePromise<Beginning> {
  const documents: StoredDocument[] = []
  const rest: string[] = []
  const ranges = rangesAfter(sort, after).values()
  const readOn = (): MaybePromise<Beginning> => {
    const left = limit - documents.length - rest.length
    const { value: range } = ranges.next()
    if (!range || left === 0) return { documents, rest }
    return whenReady(
      reader.list({ range, filter, sort, skip, limit: left, bytes: bounds.readBytes }),
      (listed) => {
        // After an unread document, all others must also stay unread, because `rest` comes after `documents`.
        if (rest.length === 0) documents.push(...listed)
        else for (const { _id } of listed) rest.push(_id)
        rest.push(...(listed.rest ?? NONE))
        return readOn()
      },
    )
  }
  return readOn()
}

/** The first documents of a list without a limit, or with a large one; the walk may continue after them. */
export interface Start extends Beginning {
  /** Whether the walk has no other documents. */
  readonly isWhole: boolean
}

/** Reads the start of a walk if an index provides its order; otherwise returns `undefined`. */
export const readStart = (reader: Reader, walk: Walk): MaybePromise<Start> | undefined =>
  reader.isOrdered(walk) ? readNext(reader, walk, START) : undefined

/** Reads the next documents of a walk, at most `size`. */
function readNext(reader: Reader, walk: Walk, size: number): MaybePromise<Start> {
  const left = walk.limit ?? Number.POSITIVE_INFINITY
  const asked = Math.min(size, left)
  return whenReady(readFirst(reader, walk, asked), ({ documents, rest }) => ({
    documents,
    rest,
    isWhole: rest.length === 0 && (documents.length < asked || asked === left),
  }))
}

/**
 * Returns the walk that continues after some documents, of which `fresh` were not visited before. Returns `undefined`
 * if there are no more documents, or no more are requested.
 */
function goOn(walk: Walk, { documents, isWhole }: Start, fresh: number): Walk | undefined {
  const last = documents.at(-1)
  if (!last || (isWhole && fresh === documents.length)) return undefined
  const limit = walk.limit === null ? null : walk.limit - fresh
  return { ...walk, limit, skip: 0, after: placeOf(walk.sort, last, 0) }
}

/** Fields that never change, so a walk in their order does not visit a document twice. */
const FIXED: readonly string[] = ['_id', 'createdAt', 'createdBy']

/**
 * Reads all documents of a walk, in batches. If an index provides the order, continues by key after `start`. A
 * document may then move in the order between two reads, so the ids of visited documents are kept to skip repetitions.
 * Without such an index, the storage sorts all documents first.
 */
export async function* readBatches(
  reader: Reader,
  walk: Walk,
  start: Start | undefined,
): AsyncGenerator<readonly StoredDocument[], void, undefined> {
  const { filter, sort, skip, limit, after } = walk
  if (!start) {
    const range = after ? or(rangesAfter(sort, after)) : everything
    yield* reader.stream({ range, filter, sort, skip, limit, bytes: bounds.readBytes })
    return
  }
  const seen = sort.every(({ field }) => FIXED.includes(field.path)) ? undefined : new Set<string>()
  let found = start
  let size = READ_AT_ONCE
  for (let place: Walk | undefined = walk; ; found = await readNext(reader, place, size)) {
    const { documents } = found
    const fresh = seen ? documents.filter(({ _id }) => seen.size < seen.add(_id).size) : documents
    if (fresh.length > 0) yield fresh
    place = goOn(place, found, fresh.length)
    if (!place) return
    // If documents are large, a larger read would return only the ids of most documents, and these ids are not used.
    size = found.rest.length > 0 ? found.documents.length : Math.min(READ_AT_ONCE, 2 * size)
  }
}

/** A page of a walk. If its documents are large, only the first are read, and `rest` has the ids of the others. */
export interface PageOfWalk extends Beginning {
  /** The number of documents on the page, including those in `rest`. */
  readonly size: number
  /** The last document of the page, after which the walk continues; `undefined` if it ends with this page. */
  readonly last: StoredDocument | undefined
}

/** Reads a page of at most `limit` documents. */
export const readPage = (reader: Reader, walk: Walk, limit: number): MaybePromise<PageOfWalk> =>
  // One more document shows whether there is a next page.
  whenReady(readFirst(reader, walk, limit + 1), (found) => {
    const hasNext = found.documents.length + found.rest.length > limit
    const documents = hasNext ? found.documents.slice(0, limit) : found.documents
    const rest = found.rest.slice(0, limit - documents.length)
    const page = { documents, rest, size: documents.length + rest.length }
    if (!hasNext) return { last: undefined, ...page }
    if (rest.length === 0) return { last: documents.at(-1), ...page }
    return findLast(reader, walk.filter, rest).then((last) => ({ last: last ?? documents.at(-1), ...page }))
  })

/** Returns the last of these documents that still exists and still matches. */
async function findLast(
  reader: Reader,
  filter: Filter,
  ids: readonly string[],
): Promise<StoredDocument | undefined> {
  for (const id of [...ids].reverse()) {
    const document = await reader.first(and([filter, isId(id)]))
    if (document) return document
  }
  return undefined
}

/** Reads the documents of a page, in batches. */
export async function* readPageBatches(
  reader: Reader,
  walk: Walk,
  { documents, rest }: Beginning,
): AsyncGenerator<readonly StoredDocument[], void, undefined> {
  if (documents.length > 0) yield documents
  yield* readByIds(reader, walk, rest)
}

/** The read access and the query of a request. */
export interface ListRequest {
  readonly access: ReadAccess
  readonly query: LinkedQuery
}

/** Prints the JSON texts of documents, separated by commas, in pieces. */
type PrintDocuments = (documents: readonly StoredDocument[]) => AsyncGenerator<string, void, undefined>

/** Returns the requested properties of a document, before anything is expanded. */
const select = (document: StoredDocument, { access, query: { projection } }: ListRequest): JsonObject =>
  projection ? project(access.show(document, projection), projection) : access.show(document)

/** Returns the JSON text of a document without expansion. */
export const printOne = (document: StoredDocument, reading: ListRequest): string =>
  reading.query.projection ? JSON.stringify(select(document, reading)) : reading.access.write(document)

/** Creates a function that prints documents. With `isOnce`, their texts are not cached. */
export function createPrinter(
  call: Call,
  reading: ListRequest,
  { isOnce }: { readonly isOnce: boolean },
): PrintDocuments {
  const { expand } = reading.query
  if (expand.length > 0) {
    const isDeep = expand.some(({ onward }) => onward.length > 0)
    const print = (isDeep ? createLevelPrinter : createExpandingPrinter)(call, expand)
    return (documents) => print(selectAll(documents, reading))
  }
  const pace = createPace(() => call.deadline.signal)
  return async function* (documents) {
    let text = ''
    for (const [i, document] of documents.entries()) {
      const own = isOnce ? JSON.stringify(select(document, reading)) : printOne(document, reading)
      const pause = pace(stepsToWrite(own.length))
      if (pause) await pause
      if (text !== '' && text.length + own.length > bounds.writtenCharacters) {
        yield text
        text = ''
      }
      text += i === 0 ? own : `,${own}`
    }
    if (text !== '') yield text
  }
}

function* selectAll(documents: readonly StoredDocument[], reading: ListRequest): Generator<JsonObject> {
  for (const document of documents) yield select(document, reading)
}

/**
 * Returns the JSON array of some documents, if it is short; otherwise `undefined`. The page is cached if its documents
 * are immutable.
 */
export function printShort(
  call: Call,
  documents: readonly StoredDocument[],
  reading: ListRequest,
): MaybePromise<string | Bytes | KeptPage | undefined> {
  const { pages } = call.service
  const { query, access } = reading
  if (query.expand.length > 0) {
    const selected = selectAll(documents, reading)
    return expandPage(call, { query, documents, selected })
  }
  const [first] = documents
  if (first === undefined) return '[]'
  const join = () => runWithin(call, (slice) => joinTexts(documents, reading, slice))
  if (query.projection !== null || !Object.isFrozen(first)) return join()
  const known = pages.find(query, documents)
  if (known) return known
  return whenReady(
    runWithin(call, (slice) => joinKept(documents, access, slice)),
    (json) => {
      if (json === LONG) return undefined
      if (!json) return join()
      const page = { documents: [...documents], json }
      pages.keep(query, page)
      return page
    },
  )
}

/** The number of documents that are serialized together, which is cheaper than one by one. */
const TOGETHER = 32

/** The approximate bytes of large documents that are copied and written in one step. */
const BYTES_A_STEP = 24

const encoder = new TextEncoder()

/**
 * Returns the JSON array of documents, as a string for a few documents, and as bytes for more, because joining a long
 * text costs as much as writing it. Returns `undefined` if the array is too long.
 */
function* joinTexts(
  documents: readonly StoredDocument[],
  reading: ListRequest,
  slice: Slice,
): Sliced<string | Bytes | undefined> {
  const parts: Bytes[] = []
  let length = 1
  for (let from = 0; from < documents.length; ) {
    if (slice.left <= 0) yield
    const { shown, bytes } = showTogether(documents, from, reading)
    from += shown.length
    const text = JSON.stringify(shown)
    slice.left -= bytes < bounds.printedBytes ? stepsToWrite(text.length) : bytes / BYTES_A_STEP
    if (shown.length === documents.length) return text.length > bounds.shortCharacters ? undefined : text
    const part = encoder.encode(text).subarray(1, -1)
    length += 1 + part.length
    parts.push(part)
    if (length <= bounds.shortCharacters) continue
    // The calling function now serializes all documents again. If the slice is used up, this work pauses before that.
    if (slice.left <= 0) yield
    return undefined
  }
  return joinArray(parts, length)
}

/** Returns the next documents to serialize together, in the form that is shown, and an upper bound of their bytes. */
function showTogether(documents: readonly StoredDocument[], from: number, reading: ListRequest) {
  const shown: JsonObject[] = []
  let bytes = 0
  for (const document of documents.slice(from, from + TOGETHER)) {
    const one = select(document, reading)
    bytes += boundBytes(one)
    shown.push(one)
    if (bytes >= bounds.printedBytes) break
  }
  return { shown, bytes }
}

const LONG = Symbol('longer than a short array')

/**
 * Returns the JSON array of documents whose texts are cached, which only copies bytes. Returns `LONG` if the array is
 * too long, and `undefined` if a text cannot be cached.
 */
function* joinKept(
  documents: readonly StoredDocument[],
  { keep }: ReadAccess,
  slice: Slice,
): Sliced<Bytes | typeof LONG | undefined> {
  const parts: Bytes[] = []
  let length = 1
  for (const document of documents) {
    if (slice.left <= 0) yield
    const text = keep(document, slice)
    if (!text) return undefined
    length += 1 + text.bytes.length
    parts.push(text.bytes)
    if (length <= bounds.shortCharacters) continue
    // The calling function now serializes all documents again. If the slice is used up, this work pauses before that.
    if (slice.left <= 0) yield
    return LONG
  }
  return joinArray(parts, length)
}

/** A piece of a text, and the number of documents that end in it. */
export interface Piece {
  readonly text: string
  readonly documents: number
}

/**
 * Whether a text is streamed: if it has too many visible characters or documents. The size of hidden parts, which
 * limits how many documents are read together, does not count, so the choice does not reveal that size.
 */
const isLong = (characters: number, documents: number): boolean =>
  characters > bounds.shortCharacters || documents >= START

/**
 * Returns a short text as a whole, and a longer text as a stream. Work before the stream begins counts towards the
 * request's deadline.
 */
export async function holdOrStream(
  call: Call,
  begin: (current: Call) => AsyncGenerator<Piece, void, undefined>,
): Promise<Text> {
  const { deadline } = call
  const stream = createTextStream()
  // This deadline ends the work when the client disconnects, both before the stream begins and afterwards.
  const current: Deadline = {
    signal: stream.signal,
    caller: deadline.caller,
    onOver(listener) {
      if (stream.signal.aborted) listener()
      stream.signal.addEventListener('abort', listener, { once: true })
      return () => stream.signal.removeEventListener('abort', listener)
    },
    enter: (wait) => (stream.hasBegun() ? stream.signal.throwIfAborted() : deadline.enter(wait)),
  }
  const pieces = begin(call.within(current))
  const stopListening = deadline.onOver(() => stream.cancel())
  try {
    let held = ''
    let documents = 0
    for (;;) {
      const { done, value } = await pieces.next()
      if (done) return held
      held += value.text
      documents += value.documents
      if (isLong(held.length, documents)) return stream.begin(joinPieces(held, pieces), () => pieces.return())
    }
  } catch (thrown) {
    await pieces.return()
    throw thrown
  } finally {
    stopListening()
  }
}

/**
 * Cuts a text into new pieces of equal length. The original lengths would reveal the size of hidden parts, which limits
 * how many documents are read together.
 */
async function* joinPieces(
  held: string,
  pieces: AsyncGenerator<Piece, void, undefined>,
): AsyncGenerator<string, void, undefined> {
  let rest = held
  const cut = function* (): Generator<string, void, undefined> {
    while (rest.length > bounds.sentCharacters) {
      const end = endOfPiece(rest, 0)
      yield rest.slice(0, end)
      rest = rest.slice(end)
    }
  }
  for await (const { text } of pieces) {
    yield* cut()
    rest += text
  }
  yield* cut()
  yield rest
}

/** Prints the JSON array of all documents of some batches, in pieces. No batch is empty. */
export async function* printArray(
  batches: AsyncIterable<readonly StoredDocument[]>,
  print: PrintDocuments,
): AsyncGenerator<Piece, void, undefined> {
  let before = '['
  for await (const batch of batches) {
    for await (const text of print(batch)) {
      yield { text: before + text, documents: 0 }
      before = ''
    }
    yield { text: '', documents: batch.length }
    before = ','
  }
  yield { text: before === '[' ? '[]' : ']', documents: 0 }
}

/** Prints the text of one document, in pieces. */
export async function* printAlone(
  document: StoredDocument,
  print: PrintDocuments,
): AsyncGenerator<Piece, void, undefined> {
  for await (const text of print([document])) yield { text, documents: 0 }
}
