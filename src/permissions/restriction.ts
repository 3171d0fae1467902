import { and, type Filter, hasPattern } from '../filter/filter.js'
import { simplify } from '../filter/simplify.js'
import { freezeDeep } from '../json/freeze-deep.js'
import { CACHES } from '../kept/caches.js'

/** Restricts a requested filter to the allowed documents. */
export type Restrict = (asked: Filter) => Filter

/**
 * Creates the restriction to the documents that rules allow. The conditions of rules come before those of the query:
 * the time that a hidden document takes must not reveal its content.
 */
export function createRestriction(allowed: Filter): Restrict {
  // Compiled queries are cached, so the same filters come again.
  const known = new WeakMap<Filter, Filter>()
  return (asked) => {
    const kept = CACHES.restrictions.isOn && known.get(asked)
    if (kept) return kept
    const restricted = simplify(and([allowed, putPatternsLast(asked)]))
    if (Object.isFrozen(asked)) known.set(asked, freezeDeep(restricted))
    return restricted
  }
}

/** Patterns are evaluated last because they cost most. */
function putPatternsLast(filter: Filter): Filter {
  if (filter.kind !== 'and' || !filter.filters.some(hasPattern)) return filter
  const costly = filter.filters.filter(hasPattern)
  return and([...filter.filters.filter((part) => !costly.includes(part)), ...costly])
}
