import type { Collection } from '../config/plan.js'
import { and, everything, type FieldRef, type Filter, or } from '../filter/filter.js'
import type { Query } from '../query/compile-query.js'
import { placeOf, rangesAfter } from '../query/cursor.js'
import type { SortKey, StoredDocument } from '../storage.js'
import type { RequestScope, ServiceContext } from './context.js'
import { listStored } from './find-documents.js'

/** Documents that are read at once. */
export const BATCH = 500

/** A walk through the documents that match, in their order, from where a query begins. */
export interface Walk {
  readonly collection: Collection
  readonly filter: Filter
  readonly query: Pick<Query, 'sort' | 'skip' | 'after' | 'limit'>
}

/** The first documents of a walk. A page by key goes through its ranges until it is full. */
export async function readFirst(
  context: ServiceContext,
  scope: RequestScope,
  { collection, filter, query: { sort, skip, after } }: Walk,
  limit: number,
): Promise<readonly StoredDocument[]> {
  const found: StoredDocument[] = []
  for (const range of after ? rangesAfter(sort, after) : [everything]) {
    const rest = limit - found.length
    if (rest === 0) break
    const bounds = { filter: and([range, filter]), sort, skip, limit: rest }
    found.push(...(await listStored(context, scope, collection.name, bounds)))
  }
  return found
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
    scope.enter('read')
    yield* adapter.stream(collection.name, { filter, sort, skip, limit, signal: scope.signal })
    return
  }
  let rest = query.limit ?? Number.POSITIVE_INFINITY
  let place: Walk['query'] = query
  while (rest > 0) {
    const size = Math.min(BATCH, rest)
    const batch = await readFirst(context, scope, { ...walk, query: place }, size)
    if (batch.length > 0) yield batch
    const last = batch.at(-1)
    if (batch.length < size || !last) return
    rest -= batch.length
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
