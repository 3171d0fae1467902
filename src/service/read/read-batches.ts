import { and, everything, type Filter, isId, or } from '../../filter/filter.js'
import type { Query } from '../../query/compile-query.js'
import { placeOf, rangesAfter } from '../../query/cursor.js'
import type { StoredDocument } from '../../storage.js'
import { BATCH_BYTES, type Reader } from '../store.js'

/** The number of small documents that are read at once. */
const BATCH = 500

/** A walk through the matches in order, from the start of a query. */
export type Walk = Pick<Query, 'filter' | 'sort' | 'skip' | 'after' | 'limit'>

/** The start of a walk: documents, and the ids of those that would have been too much to read at once. */
export interface Beginning {
  readonly documents: readonly StoredDocument[]
  readonly rest: readonly string[]
}

/** Reads the first documents of a walk. A page by key goes through its ranges until it is full. */
export async function readFirst(
  reader: Reader,
  { filter, sort, skip, after }: Walk,
  limit: number,
): Promise<Beginning> {
  const documents: StoredDocument[] = []
  const rest: string[] = []
  for (const range of after ? rangesAfter(sort, after) : [everything]) {
    const left = limit - documents.length - rest.length
    if (left === 0) break
    const listed = await reader.list({
      range,
      filter,
      sort,
      skip,
      limit: left,
      bytes: BATCH_BYTES,
    })
    // Documents after unread ones must stay unread too.
    if (rest.length === 0) documents.push(...listed)
    else rest.push(...listed.map(({ _id }) => _id))
    rest.push(...(listed.rest ?? []))
  }
  return { documents, rest }
}

/**
 * Reads documents by their ids, in this order, in batches: those that still exist and still match. A document
 * whose place in the order has changed keeps the place of its id.
 */
export async function* readByIds(
  reader: Reader,
  { filter, sort }: Walk,
  ids: readonly string[],
): AsyncGenerator<readonly StoredDocument[], void, undefined> {
  let left = ids
  let size = 1
  while (left.length > 0) {
    const some = or(left.slice(0, size).map(isId))
    const listed = await reader.list({ filter: and([filter, some]), sort, bytes: BATCH_BYTES })
    left = [...(listed.rest ?? []), ...left.slice(size)]
    size = listed.rest ? Math.max(1, listed.length) : Math.min(BATCH, 2 * size)
    if (listed.length > 0) yield listed
  }
}

/**
 * Reads all documents of a walk, in batches. Where an index gives the order, each batch continues by key, and
 * nothing is held in between; otherwise the storage has to sort everything first.
 */
export async function* readBatches(
  reader: Reader,
  walk: Walk,
): AsyncGenerator<readonly StoredDocument[], void, undefined> {
  const { filter, sort, skip, limit, after } = walk
  const range = after ? or(rangesAfter(sort, after)) : everything
  const stream = reader.stream({ range, filter, sort, skip, limit, bytes: BATCH_BYTES })
  if (stream) {
    yield* stream
    return
  }
  let left = limit ?? Number.POSITIVE_INFINITY
  let size = BATCH
  let place = walk
  while (left > 0) {
    const asked = Math.min(size, left)
    const { documents, rest } = await readFirst(reader, place, asked)
    if (documents.length > 0) yield documents
    const last = documents.at(-1)
    if (!last || (documents.length < asked && rest.length === 0)) return
    left -= documents.length
    // Where documents are large, the ids of many more are of no use.
    size = rest.length > 0 ? documents.length : Math.min(BATCH, 2 * size)
    place = { ...walk, skip: 0, after: placeOf(sort, last, 0) }
  }
}

/** A page of a walk. Of large documents only the first are read; the others are ids. */
export interface PageOfWalk extends Beginning {
  /** The number of its documents. */
  readonly size: number
  /** The last document of the page, after which the walk continues. */
  readonly last: StoredDocument | undefined
}

/** Reads a page of at most `limit` documents. */
export async function readPage(reader: Reader, walk: Walk, limit: number): Promise<PageOfWalk> {
  // One more shows whether there is a next page.
  const found = await readFirst(reader, walk, limit + 1)
  const documents = found.documents.slice(0, limit)
  const rest = found.rest.slice(0, limit - documents.length)
  const size = documents.length + rest.length
  const hasNext = found.documents.length + found.rest.length > limit
  const last = hasNext ? ((await findLast(reader, walk.filter, rest)) ?? documents.at(-1)) : undefined
  return { documents, rest, size, last }
}

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
