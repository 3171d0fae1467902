import { bounds } from '../../bounds.js'
import { and, everything, type Filter, isId, or } from '../../filter/filter.js'
import { whenReady } from '../../promises.js'
import type { Query } from '../../query/compile-query.js'
import { type Cursor, placeOf, rangesAfter } from '../../query/paging/cursor.js'
import type { StoredDocument } from '../../storage.js'
import type { MaybePromise } from '../../types.js'
import { READ_AT_ONCE, readByIds } from '../read-by-ids.js'
import type { Reader } from '../store.js'

/** The number of documents that are read at the start: a list that ends there is written at once. */
export const START = 1500

/** A walk through the matches in order, from the start of a query. */
export type Walk = Pick<Query, 'filter' | 'sort' | 'skip' | 'after' | 'limit'>

/** The start of a walk: documents, and the ids of those that exceeded the limit of one read. */
export interface Beginning {
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

/** Reads the first documents after a position: reads its ranges until there are enough. */
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
        // Documents after unread ones must stay unread too.
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
  /** Whether these are all documents. */
  readonly isWhole: boolean
}

/** Reads the start of a walk if an index gives its order; otherwise `undefined`. */
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
 * The walk after some of its documents, `fresh` of which are new; `undefined` if there are no more, or none is
 * requested.
 */
function goOn(walk: Walk, { documents, isWhole }: Start, fresh: number): Walk | undefined {
  const last = documents.at(-1)
  if (!last || (isWhole && fresh === documents.length)) return undefined
  const limit = walk.limit === null ? null : walk.limit - fresh
  return { ...walk, limit, skip: 0, after: placeOf(walk.sort, last, 0) }
}

/** Fields that never change: a walk ordered by them meets no document twice. */
const FIXED: readonly string[] = ['_id', 'createdAt', 'createdBy']

/**
 * Reads all documents of a walk, in batches. If an index gives the order, it continues by key after `start`, and keeps
 * only the ids of documents that may move in between; otherwise the storage sorts everything first.
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
    // If documents are large, the ids of many more are useless.
    size = found.rest.length > 0 ? found.documents.length : Math.min(READ_AT_ONCE, 2 * size)
  }
}

/** A page of a walk. For large documents only the first are read; the others are ids. */
export interface PageOfWalk extends Beginning {
  /** The number of its documents. */
  readonly size: number
  /** The last document of the page, after which the walk continues. */
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

/** The last of some ids whose document still exists and still matches. */
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
