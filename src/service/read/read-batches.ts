import type { Collection } from '../../config/plan.js'
import { and, everything, type FieldRef, type Filter, isId, or } from '../../filter/filter.js'
import type { Query } from '../../query/compile-query.js'
import { placeOf, rangesAfter } from '../../query/cursor.js'
import type { SortKey, StoredDocument } from '../../storage.js'
import type { RequestScope, ServiceContext } from '../context.js'
import { BATCH_BYTES, listStored } from '../find-documents.js'

/** Documents that are read at once, if they are small. */
const BATCH = 500

/** A walk through the documents that match, in their order, from where a query begins. */
export interface Walk {
  readonly collection: Collection
  readonly filter: Filter
  readonly query: Pick<Query, 'sort' | 'skip' | 'after' | 'limit'>
}

/** What a walk begins with: documents, and the ids of those that would have been too much to read at once. */
export interface Beginning {
  readonly documents: readonly StoredDocument[]
  readonly rest: readonly string[]
}

/** The first documents of a walk. A page by key goes through its ranges until it is full. */
export async function readFirst(
  context: ServiceContext,
  scope: RequestScope,
  { collection, filter, query: { sort, skip, after } }: Walk,
  limit: number,
): Promise<Beginning> {
  const documents: StoredDocument[] = []
  const rest: string[] = []
  for (const range of after ? rangesAfter(sort, after) : [everything]) {
    const left = limit - documents.length - rest.length
    if (left === 0) break
    const bounds = { filter: and([range, filter]), sort, skip, limit: left, bytes: BATCH_BYTES }
    const listed = await listStored(context, scope, collection.name, bounds)
    // Behind what was not read nothing is.
    if (rest.length === 0) documents.push(...listed)
    else rest.push(...listed.map(({ _id }) => _id))
    rest.push(...(listed.rest ?? []))
  }
  return { documents, rest }
}

/**
 * Reads documents by their ids, in this order, in batches: those that are still there and still match. One whose place
 * in the order has changed may come at another one.
 */
export async function* readByIds(
  context: ServiceContext,
  scope: RequestScope,
  { collection, filter, query: { sort } }: Walk,
  ids: readonly string[],
): AsyncGenerator<readonly StoredDocument[], void, undefined> {
  let left = ids
  let size = 1
  while (left.length > 0) {
    const some = left.slice(0, size)
    const query = {
      filter: and([filter, or(some.map(isId))]),
      sort,
      skip: 0,
      limit: null,
      bytes: BATCH_BYTES,
    }
    const listed = await listStored(context, scope, collection.name, query)
    left = [...(listed.rest ?? []), ...left.slice(size)]
    size = listed.rest ? Math.max(1, listed.length) : Math.min(BATCH, 2 * size)
    if (listed.length > 0) yield listed
  }
}

/**
 * All documents of a walk, in batches. Where an index gives the order each batch continues by key, so that nothing is
 * held between them; where none does, the storage has to order everything first.
 */
export async function* readBatches(
  context: ServiceContext,
  scope: RequestScope,
  walk: Walk,
): AsyncGenerator<readonly StoredDocument[], void, undefined> {
  const { collection, query } = walk
  const { adapter } = context
  if (adapter.stream && !isOrderIndexed(collection, walk.filter, query.sort)) {
    const { sort, skip, limit, after } = query
    const filter = after ? and([or(rangesAfter(sort, after)), walk.filter]) : walk.filter
    const { signal } = scope
    scope.enter('read')
    yield* adapter.stream(collection.name, { filter, sort, skip, limit, bytes: BATCH_BYTES, signal })
    return
  }
  let left = query.limit ?? Number.POSITIVE_INFINITY
  let size = BATCH
  let place: Walk['query'] = query
  while (left > 0) {
    const asked = Math.min(size, left)
    const { documents, rest } = await readFirst(context, scope, { ...walk, query: place }, asked)
    if (documents.length > 0) yield documents
    const last = documents.at(-1)
    if (!last || (documents.length < asked && rest.length === 0)) return
    left -= documents.length
    // Where documents are large, there is no use in finding out the ids of many more.
    size = rest.length > 0 ? documents.length : Math.min(BATCH, 2 * size)
    place = { ...query, skip: 0, after: placeOf(query.sort, last, 0) }
  }
}

/** Whether an index gives an order, perhaps behind fields that the filter fixes. */
function isOrderIndexed({ storage }: Collection, filter: Filter, sort: readonly SortKey[]): boolean {
  const [first] = sort
  if (sort.some(({ descending }) => descending !== first?.descending)) return false
  const conditions = filter.kind === 'and' ? filter.filters : [filter]
  const isFixed = ({ path }: FieldRef): boolean =>
    conditions.some((condition) => condition.kind === 'eq' && condition.field.path === path)
  const keys = sort.map(({ field }) => field).filter((field) => field.path !== '_id' && !isFixed(field))
  return [{ fields: [] }, ...storage.indexes].some(({ fields }) => {
    const start = fields.findIndex((field) => !isFixed(field))
    const given = start < 0 ? [] : fields.slice(start)
    return given.length === keys.length && given.every(({ path }, i) => path === keys[i]?.path)
  })
}
