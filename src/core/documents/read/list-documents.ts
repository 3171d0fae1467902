import { bounds } from '../../bounds.js'
import { and, everything, type Filter, isId, or } from '../../filter/filter.js'
import type { Bytes } from '../../json/bytes.js'
import type { ReadAccess } from '../../permissions/read-access.js'
import { whenReady } from '../../promises.js'
import type { Query } from '../../query/compile-query.js'
import { type Cursor, placeOf, rangesAfter } from '../../query/paging/cursor.js'
import type { Call } from '../../request/call.js'
import type { KeptPage } from '../../request/kept-pages.js'
import { READ_AT_ONCE, readByIds } from '../../request/read-by-ids.js'
import type { Reader } from '../../request/store.js'
import type { StoredDocument } from '../../storage.js'
import type { MaybePromise } from '../../types.js'
import {
  createPrinter,
  holdOrStream,
  type ListRequest,
  printArray,
  printShort,
  START,
} from './hold-or-stream.js'
import type { Text } from './text-stream.js'

/** A page of a list. */
export interface ListedPage {
  /** The documents, as a JSON array. */
  readonly json: Text
  /** The cached page with this text, if there is one. */
  readonly kept?: KeptPage
  /** The position of the next page; `undefined` on the last page, or if the query has no limit or one above 1,000. */
  readonly next?: { readonly last: StoredDocument; readonly passed: number }
  /** The number of all matches, if the query requests it. */
  readonly total?: number
}

/** The largest limit with which a page has a next page (CONTRACT.md §3.7). */
const MAX_PAGE = 1000

/** Lists the documents that a caller requests and may read, in order (CONTRACT.md §2 and §3). */
export function listDocuments(call: Call, reading: ListRequest): MaybePromise<ListedPage> {
  const { access, query } = reading
  if (!query.isTotalAsked) return listPage(call, reading)
  return whenReady(countDocuments(call, access, query.filter), (total) =>
    whenReady(listPage(call, reading), (page) => ({ total, ...page })),
  )
}

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
interface Start extends Beginning {
  /** Whether the walk has no other documents. */
  readonly isWhole: boolean
}

/** Reads the start of a walk if an index provides its order; otherwise returns `undefined`. */
const readStart = (reader: Reader, walk: Walk): MaybePromise<Start> | undefined =>
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
async function* readBatches(
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
interface PageOfWalk extends Beginning {
  /** The number of documents on the page, including those in `rest`. */
  readonly size: number
  /** The last document of the page, after which the walk continues; `undefined` if it ends with this page. */
  readonly last: StoredDocument | undefined
}

/** Reads a page of at most `limit` documents. */
const readPage = (reader: Reader, walk: Walk, limit: number): MaybePromise<PageOfWalk> =>
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
async function* readPageBatches(
  reader: Reader,
  walk: Walk,
  { documents, rest }: Beginning,
): AsyncGenerator<readonly StoredDocument[], void, undefined> {
  if (documents.length > 0) yield documents
  yield* readByIds(reader, walk, rest)
}

function listPage(call: Call, reading: ListRequest): MaybePromise<ListedPage> {
  const { access, query } = reading
  const { limit, after, skip } = query
  if (limit === 0) return { json: '[]' }
  if (limit === null || limit > MAX_PAGE) return listAll(call, reading)
  return whenReady(readPage(call.store.read(access), query, limit), (page) => {
    const passed = (after?.passed ?? skip) + page.size
    const next = page.last && { next: { last: page.last, passed } }
    return printPage(call, reading, page, next)
  })
}

function printPage(
  call: Call,
  reading: ListRequest,
  page: PageOfWalk,
  next: Pick<ListedPage, 'next'> | undefined,
): MaybePromise<ListedPage> {
  const { access, query } = reading
  const printing = page.rest.length === 0 ? printShort(call, page.documents, reading) : undefined
  return whenReady(printing, (short) => {
    if (short !== undefined) return Object.assign(hold(short), next)
    const json = write(call, reading, false, (current) =>
      readPageBatches(current.store.read(access), query, page),
    )
    return json.then((text) => ({ json: text, ...next }))
  })
}

/** Lists documents without a limit, or with a large one. A short list is written like a page. */
function listAll(call: Call, reading: ListRequest): MaybePromise<ListedPage> {
  const { access, query } = reading
  const writeBehind = (start?: Start): Promise<ListedPage> =>
    write(call, reading, true, (current) => readBatches(current.store.read(access), query, start)).then(
      (json) => ({ json }),
    )
  const starting = readStart(call.store.read(access), query)
  if (!starting) return writeBehind()
  return whenReady(starting, (start) => {
    const isShort = start.isWhole && start.documents.length < START
    const printing = isShort ? printShort(call, start.documents, reading) : undefined
    return whenReady(printing, (short) => (short === undefined ? writeBehind(start) : hold(short)))
  })
}

const hold = (short: string | Bytes | KeptPage): ListedPage =>
  typeof short === 'object' && 'json' in short ? { json: short.json, kept: short } : { json: short }

const write = (
  call: Call,
  reading: ListRequest,
  isOnce: boolean,
  read: (current: Call) => AsyncIterable<readonly StoredDocument[]>,
): Promise<Text> =>
  holdOrStream(call, (current) => printArray(read(current), createPrinter(current, reading, { isOnce })))

/** Counts the matches that the caller may read. */
export const countDocuments = (call: Call, access: ReadAccess, filter: Filter): MaybePromise<number> =>
  call.store.read(access).count(filter)
