import { everything } from '../filter/filter.js'
import { freezeDeep } from '../json/freeze-deep.js'
import { type BoundedMap, createBoundedMap } from '../kept/bounded-map.js'
import { CACHES } from '../kept/caches.js'
import type { Limits } from '../types.js'
import { compileQuery, NO_PAGE, type Query } from './compile-query.js'
import { type ParameterName, parseQueryString, type QueryForms } from './query-string.js'
import type { Following, Readable } from './reading.js'

/** The number of slots of the table in `createSightings`: a power of two. */
const PLACES = 8192

/**
 * Creates a function that returns whether a string was seen recently. It stores hashes in a table of fixed
 * size, so its answer can be wrong: a string with the same hash as another string counts as seen, and a
 * string whose slot was overwritten counts as new.
 */
export function createSightings(): (text: string) => boolean {
  const numbers = new Int32Array(PLACES)
  return (text) => {
    const number = hash(text)
    const place = number & (PLACES - 1)
    if (numbers[place] === number) return true
    numbers[place] = number
    return false
  }
}

/** Computes the FNV-1a hash of the UTF-16 units of a string. */
function hash(text: string): number {
  let number = 0x811c9dc5 | 0
  for (let i = 0; i < text.length; i++) number = Math.imul(number ^ text.charCodeAt(i), 0x01000193)
  return number
}

/** A compiled query together with its query string. */
export interface LinkedQuery extends Query {
  /** The query string as it was sent. */
  readonly text: string
  /** The id of the event after which a stream resumes. */
  readonly event?: string
}

/** The query of a request without parameters, on a route without pages. It does not depend on its caller. */
const EMPTY: LinkedQuery = freezeAll({
  filter: everything,
  ...NO_PAGE,
  projection: null,
  expand: [],
  text: '',
})

/** Parses and compiles a query string for one caller. Throws `invalid_query` and `query_too_long`. */
export type ReadQuery = (
  text: string,
  allowed: readonly ParameterName[],
  readable: Readable,
  following: Following,
) => LinkedQuery

/**
 * The maximum size of the cache of queries, in UTF-16 units of query strings. A compiled query takes about
 * 100 bytes per unit.
 */
const MAX_KEPT = 128 * 1024
/** The longest query that is cached, in UTF-16 units. */
const MAX_LENGTH = 1024
/** The maximum size of the cache of parameter names, in UTF-16 units. */
const MAX_FORMS = 32 * 1024
/** The size of a cache entry in addition to the text of its query. */
const OVERHEAD = 8

/** The caches of one route: compiled queries, and parsed queries without their values. */
interface OfRoute {
  readonly queries: BoundedMap<string, LinkedQuery>
  readonly forms: QueryForms
}

/**
 * Creates the reader of query strings. It caches a query only when the query comes a second time, because
 * most queries come only once, and the garbage collection of a cache entry costs as much as compiling the
 * query. A compiled query depends on its text, on the parameters of its route, and on the fields that its
 * caller may read, which `readable.key` identifies.
 */
export function createQueryReader(limits: Limits): ReadQuery {
  const wasSeen = createSightings()
  /** The caches by the list of parameters of a route, so there are at most as many entries as routes. */
  const routes = new Map<readonly ParameterName[], OfRoute>()
  return (text, allowed, readable, following) => {
    const isPaged = allowed.includes('sort')
    if (text === '' && !isPaged) return EMPTY
    let route = routes.get(allowed)
    if (!route) {
      route = {
        queries: createBoundedMap(CACHES.queries, MAX_KEPT),
        forms: createBoundedMap(CACHES.parameters, MAX_FORMS),
      }
      routes.set(allowed, route)
    }
    const { queries, forms } = route
    const compile = (): LinkedQuery => {
      const raw = parseQueryString(text, allowed, limits, forms)
      const query = compileQuery(raw, { readable, following }, limits, isPaged)
      // Only a list has cursors. A stream resumes after an event.
      const event = isPaged ? undefined : raw.lastEventId || raw.after
      return { ...query, text, ...(event ? { event } : {}) }
    }
    if (readable.key === undefined || text.length > MAX_LENGTH) return compile()
    const key = `${readable.key}?${text}`
    const known = queries.get(key)
    if (known) return known
    if (!CACHES.queries.isOn || !wasSeen(key)) return compile()
    const query = freezeAll(compile())
    // A cached query must not contain nested expansions: they depend on what the caller may read in other
    // collections.
    if (query.expand.some(({ onward }) => onward.length > 0)) return query
    queries.set(key, query, OVERHEAD + key.length)
    return query
  }
}

/** Freezes a query before it is cached, because storage may cache what it computes for a frozen filter. */
function freezeAll(query: LinkedQuery): LinkedQuery {
  freezeDeep(query.filter)
  freezeDeep(query.sort)
  return Object.freeze(query)
}
