import { bounds } from '../../bounds.js'
import { and, everything, type Filter, ID, isId, or } from '../../filter/filter.js'
import type { ReadAccess } from '../../permissions/read-access.js'
import { whenReady } from '../../promises.js'
import type { Query } from '../../query/compile-query.js'
import { type Cursor, placeOf, rangesAfter } from '../../query/paging/cursor.js'
import type { Call } from '../../request/call.js'
import { READ_AT_ONCE, readByIds } from '../../request/read-by-ids.js'
import type { Reader } from '../../request/store.js'
import type { StoredDocument } from '../../storage.js'
import type { MaybePromise } from '../../types.js'
import { START } from './hold-or-stream.js'
import {
  type ListRequest,
  type Printed,
  printArray,
  type ReadOn,
  type VisitBatch,
} from './print-documents.js'

/** A page of a list. */
export interface ListedPage extends Printed {
  /** The position of the next page; `undefined` on the last page, or if the query has no limit or one above 1,000. */
  readonly next?: { readonly last: StoredDocument; readonly passed: number } | undefined
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
    whenReady(listPage(call, reading), ({ json, kept, next }) => ({ json, kept, next, total })),
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

/** Visits all documents of a walk, in batches, where the storage sorts them first. */
async function visitSorted(reader: Reader, walk: Walk, visit: VisitBatch): Promise<void> {
  const { filter, sort, skip, limit, after } = walk
  const range = after ? or(rangesAfter(sort, after)) : everything
  const query = { range, filter, sort, skip, limit, bytes: bounds.readBytes }
  for await (const batch of reader.stream(query)) await visit(batch)
}

/**
 * Visits the documents of a walk after its start, in batches, where an index provides the order. A document may move
 * in the order between two reads, so the ids of visited documents are kept to skip repetitions.
 */
async function visitAfter(reader: Reader, walk: Walk, start: Start, visit: VisitBatch): Promise<void> {
  const isFixed = walk.sort.every(({ field }) => FIXED.includes(field.path))
  const seen = isFixed ? undefined : new Set(start.documents.map(({ _id }) => _id))
  let found = start
  let size = READ_AT_ONCE
  for (let place = goOn(walk, start, start.documents.length); place; ) {
    // If documents are large, a larger read would return only the ids of most documents, and these ids are not used.
    size = found.rest.length > 0 ? found.documents.length : Math.min(READ_AT_ONCE, 2 * size)
    found = await readNext(reader, place, size)
    const { documents } = found
    const fresh = seen ? documents.filter(({ _id }) => seen.size < seen.add(_id).size) : documents
    if (fresh.length > 0) await visit(fresh)
    place = goOn(place, found, fresh.length)
  }
}

/** The order in which no document is read twice. */
const BY_ID: Query['sort'] = [{ field: ID, descending: false }]

/**
 * Visits all documents that match, in batches, each as it is when its turn comes, until `visit` returns false. Holds no
 * more than a batch.
 */
export async function visitAll(
  reader: Reader,
  filter: Filter,
  visit: (batch: readonly StoredDocument[]) => MaybePromise<boolean>,
): Promise<void> {
  const whole: Walk = { filter, sort: BY_ID, skip: 0, limit: null, after: null }
  let size = READ_AT_ONCE
  for (let walk: Walk | undefined = whole; walk; ) {
    const found: Start = await readNext(reader, walk, size)
    const { documents, rest } = found
    if (documents.length > 0 && !(await visit(documents))) return
    size = rest.length > 0 ? documents.length : Math.min(READ_AT_ONCE, 2 * size)
    walk = goOn(walk, found, documents.length)
  }
}

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

function listPage(call: Call, reading: ListRequest): MaybePromise<ListedPage> {
  const { access, query } = reading
  const { limit, after, skip, filter } = query
  if (limit === 0) return { json: '[]' }
  if (limit === null || limit > MAX_PAGE) return listAll(call, reading)
  const reader = call.store.read(access)
  // One more document shows whether there is a next page.
  return whenReady(readFirst(reader, query, limit + 1), (found) => {
    const hasNext = found.documents.length + found.rest.length > limit
    const documents = hasNext ? found.documents.slice(0, limit) : found.documents
    // If the documents are large, only the first are read, and these are the ids of the others.
    const rest = found.rest.slice(0, limit - documents.length)
    const readingLast = hasNext && rest.length > 0 ? findLast(reader, filter, rest) : undefined
    return whenReady(readingLast, (lastOfRest) => {
      const printed = printArray(
        call,
        reading,
        documents,
        rest.length > 0 ? readRest(reading, rest) : undefined,
      )
      const last = hasNext ? (lastOfRest ?? documents.at(-1)) : undefined
      const passed = (after?.passed ?? skip) + documents.length + rest.length
      // The properties are named: a spread of a page before `next` took a tenth of a request's time (beside.js, a and g).
      return last ? whenReady(printed, ({ json, kept }) => ({ json, kept, next: { last, passed } })) : printed
    })
  })
}

const readRest =
  ({ access, query }: ListRequest, ids: readonly string[]): ReadOn =>
  async (call, visit) => {
    for await (const batch of readByIds(call.store.read(access), query, ids)) await visit(batch)
  }

/** Lists documents without a limit, or with a large one. */
function listAll(call: Call, reading: ListRequest): MaybePromise<ListedPage> {
  const { access, query } = reading
  const reader = call.store.read(access)
  if (!reader.isOrdered(query))
    return printArray(call, reading, [], ({ store }, visit) => visitSorted(store.read(access), query, visit))
  return whenReady(readNext(reader, query, START), (start) => {
    const readOn: ReadOn = ({ store }, visit) => visitAfter(store.read(access), query, start, visit)
    return printArray(call, reading, start.documents, start.isWhole ? undefined : readOn)
  })
}

/** Counts the matches that the caller may read. */
export const countDocuments = (call: Call, access: ReadAccess, filter: Filter): MaybePromise<number> =>
  call.store.read(access).count(filter)
