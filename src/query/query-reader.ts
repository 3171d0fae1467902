import { SYSTEM_FIELD_PLANS } from '../fields/compile-fields.js'
import { type BoundedMap, createBoundedMap } from '../filter/bounded-map.js'
import { freezeDeep } from '../json/freeze-deep.js'
import type { Limits } from '../types.js'
import type { Following } from './compile-expand.js'
import { compileQuery, type Query } from './compile-query.js'
import { writeOthers } from './paging/link.js'
import { parseQueryString } from './query-string.js'
import type { ParameterName } from './raw-query.js'
import type { Readable } from './reading.js'
import { createSightings } from './sightings.js'

/** A query, and its text for links. */
export interface LinkedQuery extends Query {
  /** The parameters but for the place in a list or a stream, as a link repeats them; ends in `&` or is empty. */
  readonly others: string
  /** The event behind which a stream goes on. */
  readonly event?: string
}

/** Parses and compiles a query string for one caller. Throws `invalid_query` and `query_too_long`. */
export type ReadQuery = (
  text: string,
  allowed: readonly ParameterName[],
  readable: Readable,
  following: Following,
) => LinkedQuery

/** The queries that are kept, in units of text; compiled, a unit takes some 100 bytes. */
const MAX_KEPT = 128 * 1024
/** The longest query that is kept, in units of text. */
const MAX_LENGTH = 1024
/** What a query takes beside its text. */
const OVERHEAD = 8

interface Kept {
  readonly query: LinkedQuery
  readonly size: number
}

/**
 * Creates the reader of query strings, which keeps recent queries that came twice: most never come again, and what
 * is kept for a while costs the collector as much as it costs to make. A compiled query depends on its text, on the
 * parameters of its route, and on what its caller may read: `readable.key` stands for that.
 */
export function createQueryReader(limits: Limits): ReadQuery {
  const [idField] = SYSTEM_FIELD_PLANS
  if (!idField) throw new Error('every document has an _id')
  const wasSeen = createSightings()
  /** By the parameters of a route; there are as many as routes that take some. */
  const kept = new Map<readonly ParameterName[], BoundedMap<string, Kept>>()
  return (text, allowed, readable, following) => {
    const compile = (): LinkedQuery => {
      const raw = parseQueryString(text, allowed, limits)
      // Without an order, the place is an event.
      const { after, lastEventId, ...unordered } = raw
      const isOrdered = allowed.includes('sort')
      const event = lastEventId || after
      return {
        ...compileQuery(isOrdered ? raw : unordered, { readable, following }, idField, limits),
        others: writeOthers(text),
        ...(isOrdered || !event ? {} : { event }),
      }
    }
    if (readable.key === undefined || text.length > MAX_LENGTH) return compile()
    const ofRoute = kept.get(allowed) ?? createBoundedMap(MAX_KEPT, ({ size }) => size)
    kept.set(allowed, ofRoute)
    const key = `${readable.key}?${text}`
    const known = ofRoute.get(key)
    if (known) return known.query
    if (!wasSeen(key)) return compile()
    const query = freezeAll(compile())
    // What it goes on to depends on what the caller may read there.
    if (query.expand.some(({ onward }) => onward.length > 0)) return query
    ofRoute.set(key, { query, size: OVERHEAD + key.length })
    return query
  }
}

/** Freezes what is kept: storage may keep what it computes for a filter that cannot change. */
function freezeAll(query: LinkedQuery): LinkedQuery {
  freezeDeep(query.filter)
  freezeDeep(query.sort)
  return Object.freeze(query)
}
