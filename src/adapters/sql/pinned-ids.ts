import type { Filter } from '../../core/filter/filter.js'

/**
 * Returns the `_id`s of the only documents that a filter can match, or `undefined` if the filter does not name them.
 */
export function pinnedIds(filter: Filter): readonly string[] | undefined {
  if (filter.kind === 'eq' && filter.field.path === '_id') return [String(filter.value)]
  if (filter.kind !== 'and' && filter.kind !== 'or') return undefined
  const parts = filter.filters.map(pinnedIds)
  const pinned = parts.filter((ids) => ids !== undefined)
  if (filter.kind === 'and') return pinned.sort((a, b) => a.length - b.length)[0]
  return pinned.length === parts.length ? pinned.flat() : undefined
}
