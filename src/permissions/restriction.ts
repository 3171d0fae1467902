import { and, type Filter, hasPattern } from '../filter/filter.js'
import { simplify } from '../filter/simplify.js'
import { freezeDeep } from '../json/freeze-deep.js'
import { CACHES } from '../kept/caches.js'

/** Restricts what is asked for to what is allowed. */
export type Restrict = (asked: Filter) => Filter

/**
 * Creates the restriction to what rules allow. They stand before all that is asked: how long a hidden document
 * takes must not tell what it holds.
 */
export function createRestriction(allowed: Filter): Restrict {
  // Compiled queries are kept and come again.
  const known = new WeakMap<Filter, Filter>()
  return (asked) => {
    const kept = CACHES.restrictions.isOn && known.get(asked)
    if (kept) return kept
    const restricted = simplify(and([allowed, putPatternsLast(asked)]))
    if (Object.isFrozen(asked)) known.set(asked, freezeDeep(restricted))
    return restricted
  }
}

/** What costs most is judged last. */
function putPatternsLast(filter: Filter): Filter {
  if (filter.kind !== 'and' || !filter.filters.some(hasPattern)) return filter
  const costly = filter.filters.filter(hasPattern)
  return and([...filter.filters.filter((part) => !costly.includes(part)), ...costly])
}
