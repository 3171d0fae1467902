import { everything, type Filter } from '../../../filter/filter.js'
import type { ListQuery } from '../../../storage.js'
import type { Life, RandomStore } from './random-store.js'

/** A store, and the query with the wrong answer; none if the store itself is wrong. */
export interface FailingCase {
  readonly store: RandomStore
  readonly query: ListQuery | undefined
}

const without = <T>(values: readonly T[], start: number, count = 1): readonly T[] => [
  ...values.slice(0, start),
  ...values.slice(start + count),
]

function* smallerFilters(filter: Filter): Iterable<Filter> {
  if (filter.kind === 'and' || filter.kind === 'or') {
    const { kind, filters } = filter
    yield* filters
    for (let i = 0; i < filters.length; i++) yield { kind, filters: without(filters, i) }
    for (const [i, part] of filters.entries()) {
      for (const smaller of smallerFilters(part)) yield { kind, filters: filters.with(i, smaller) }
    }
  } else if (filter.kind === 'not') {
    yield filter.filter
    for (const smaller of smallerFilters(filter.filter)) yield { kind: 'not', filter: smaller }
  } else if (filter.kind === 'match') {
    const { pattern } = filter
    if (pattern.kind === 'sequence' || pattern.kind === 'choice') {
      for (const part of pattern.parts) yield { ...filter, pattern: part }
      for (let i = 0; i < pattern.parts.length; i++) {
        yield { ...filter, pattern: { ...pattern, parts: without(pattern.parts, i) } }
      }
    } else if (pattern.kind === 'repeat') yield { ...filter, pattern: pattern.part }
  }
}

function* smallerQueries(query: ListQuery): Iterable<ListQuery> {
  for (const skip of [0, Math.floor(query.skip / 2), query.skip - 1]) {
    if (skip >= 0 && skip < query.skip) yield { ...query, skip }
  }
  if (query.limit !== null) yield { ...query, limit: null }
  // The last key is `_id`, which makes the order total.
  for (let i = 0; i < query.sort.length - 1; i++) yield { ...query, sort: without(query.sort, i) }
  const { filter } = query
  if (filter.kind !== 'and' || filter.filters.length > 0) yield { ...query, filter: everything }
  for (const smaller of smallerFilters(filter)) yield { ...query, filter: smaller }
}

function* smallerPages(query: ListQuery): Iterable<ListQuery> {
  if (query.skip > 0) yield { ...query, skip: query.skip - 1 }
  if (query.limit !== null && query.limit > 1) yield { ...query, limit: query.limit - 1 }
}

function* smallerLives(lives: readonly Life[]): Iterable<readonly Life[]> {
  for (let size = Math.ceil(lives.length / 2); size >= 1; size = size === 1 ? 0 : Math.ceil(size / 2)) {
    for (let start = 0; start < lives.length; start += size) yield without(lives, start, size)
  }
  for (const [i, { before, document }] of lives.entries()) {
    if (before && document) yield lives.with(i, { document: { ...document, _version: 1 } })
  }
  const names = new Set(
    lives.flatMap((life) => [life.before, life.document].flatMap((held) => Object.keys(held ?? {}))),
  )
  for (const name of names) {
    if (!name.startsWith('_')) yield lives.map((life) => dropProperty(life, name))
  }
  for (const [i, life] of lives.entries()) {
    for (const name of Object.keys({ ...life.before, ...life.document })) {
      if (!name.startsWith('_')) yield lives.with(i, dropProperty(life, name))
    }
  }
}

function dropProperty({ before, document }: Life, name: string): Life {
  const drop = (held: NonNullable<Life['document']>): NonNullable<Life['document']> => {
    const { _id, _version, ...others } = held
    return {
      ...Object.fromEntries(Object.entries(others).filter(([other]) => other !== name)),
      _id,
      _version,
    }
  }
  return { ...(before ? { before: drop(before) } : {}), ...(document ? { document: drop(document) } : {}) }
}

function* smallerCases({ store, query }: FailingCase): Iterable<FailingCase> {
  // Queries first: another query is cheaper than writing another store.
  if (query) for (const smaller of smallerQueries(query)) yield { store, query: smaller }
  for (const lives of smallerLives(store.lives)) yield { store: { ...store, lives }, query }
  // The bounds of a page move with the documents.
  for (const moved of query ? smallerPages(query) : []) {
    for (let i = 0; i < store.lives.length; i++) {
      yield { store: { ...store, lives: without(store.lives, i) }, query: moved }
    }
  }
  for (const [i, steps] of store.writes.entries()) {
    yield { store: { ...store, writes: without(store.writes, i) }, query }
    for (let j = 0; j < steps.length; j++)
      yield { store: { ...store, writes: store.writes.with(i, without(steps, j)) }, query }
  }
  for (let i = 0; i < store.indexes.length; i++) {
    yield { store: { ...store, indexes: without(store.indexes, i) }, query }
  }
}

/** A smaller `skip` is a smaller case, even if it prints longer. */
const sizeOf = ({ store, query }: FailingCase): number =>
  JSON.stringify({ ...store, filter: query?.filter, sort: query?.sort, limit: query?.limit ?? 0 }).length +
  Math.min(query?.skip ?? 0, 1e6)

/** Makes a failing case smaller while it still fails, in at most `maxTries` tries. */
export async function shrink(
  failing: FailingCase,
  fails: (candidate: FailingCase) => Promise<boolean>,
  maxTries: number,
): Promise<FailingCase> {
  let [smallest, tries] = [failing, 0]
  for (let found = true; found; ) {
    found = false
    for (const candidate of smallerCases(smallest)) {
      // Otherwise a smaller filter with a longer text would lead to an endless loop.
      if (sizeOf(candidate) >= sizeOf(smallest) && candidate.query?.filter !== everything) continue
      if (tries >= maxTries) return smallest
      tries += 1
      if (!(await fails(candidate))) continue
      smallest = candidate
      found = true
      break
    }
  }
  return smallest
}
