import { SYSTEM_FIELD_PLANS } from '../fields/compile-fields.js'
import { freezeDeep } from '../json/freeze-deep.js'
import { type BoundedMap, createBoundedMap } from '../kept/bounded-map.js'
import { CACHES, type Cache } from '../kept/caches.js'
import type { Limits } from '../types.js'
import type { Following } from './compile-expand.js'
import { compileQuery, type Query } from './compile-query.js'
import { parseQueryString, type QueryForm } from './query-string.js'
import type { ParameterName } from './raw-query.js'
import type { Readable } from './reading.js'

/** The size of the table: a power of two. */
const PLACES = 8192

/**
 * Creates a function that tells whether a text was seen recently. It stores hashes in a table of fixed size: a text
 * with the hash of another one counts as seen, and a text whose slot was overwritten counts as new.
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

/** FNV-1a over the UTF-16 units of a text. */
function hash(text: string): number {
  let number = 0x811c9dc5 | 0
  for (let i = 0; i < text.length; i++) number = Math.imul(number ^ text.charCodeAt(i), 0x01000193)
  return number
}

/** A query, and its text. */
export interface LinkedQuery extends Query {
  /** The query string as it was sent. */
  readonly text: string
  /** The event after which a stream resumes. */
  readonly event?: string
}

/** Parses and compiles a query string for one caller. Throws `invalid_query` and `query_too_long`. */
export type ReadQuery = (
  text: string,
  allowed: readonly ParameterName[],
  readable: Readable,
  following: Following,
) => LinkedQuery

/** The size of the cache of queries, in UTF-16 units of text; a unit takes about 100 bytes once compiled. */
const MAX_KEPT = 128 * 1024
/** The longest cached query, in UTF-16 units. */
const MAX_LENGTH = 1024
/** The size of the cache of parameter names, in UTF-16 units. */
const MAX_FORMS = 32 * 1024
/** The size of a cache entry in addition to the text of its query. */
const OVERHEAD = 8

/** The cache of a route. */
interface OfRoute {
  readonly queries: BoundedMap<string, CachedQuery>
  readonly forms: BoundedMap<string, QueryForm>
}

interface CachedQuery {
  readonly query: LinkedQuery
  readonly size: number
}

/**
 * Creates the reader of query strings, which caches recent queries that came twice: most never come again, and an entry
 * that lives for a while costs as much in garbage collection as in compilation. A compiled query depends on its text,
 * on the parameters of its route, and on what its caller may read, which `readable.key` identifies.
 */
export function createQueryReader(limits: Limits): ReadQuery {
  const [idField] = SYSTEM_FIELD_PLANS
  if (!idField) throw new Error('every document has an _id')
  const wasSeen = createSightings()
  /** By the parameters of a route, so its size is at most the number of routes. */
  const routes = new Map<readonly ParameterName[], OfRoute>()
  const addRoute = (allowed: readonly ParameterName[]): OfRoute => {
    const route = {
      queries: createKept<CachedQuery>(CACHES.queries, MAX_KEPT),
      forms: createKept<QueryForm>(CACHES.parameters, MAX_FORMS),
    }
    routes.set(allowed, route)
    return route
  }
  return (text, allowed, readable, following) => {
    const { queries, forms } = routes.get(allowed) ?? addRoute(allowed)
    const compile = (): LinkedQuery => {
      const raw = parseQueryString(text, allowed, limits, forms)
      // A query without an order is that of a stream: its place is an event.
      const { after, lastEventId, ...unordered } = raw
      const isOrdered = allowed.includes('sort')
      const event = lastEventId || after
      return {
        ...compileQuery(isOrdered ? raw : unordered, { readable, following }, idField, limits),
        text,
        ...(isOrdered || !event ? {} : { event }),
      }
    }
    if (readable.key === undefined || text.length > MAX_LENGTH) return compile()
    const key = `${readable.key}?${text}`
    const known = queries.get(key)
    if (known) return known.query
    if (!CACHES.queries.isOn || !wasSeen(key)) return compile()
    const query = freezeAll(compile())
    // Nested expansions depend on what the caller may read in other collections.
    if (query.expand.some(({ onward }) => onward.length > 0)) return query
    queries.set(key, { query, size: OVERHEAD + key.length })
    return query
  }
}

const createKept = <T extends { readonly size: number }>(cache: Cache, most: number): BoundedMap<string, T> =>
  createBoundedMap(cache, most, ({ size }) => size)

/** Freezes a cached query: storage may cache what it computes for a frozen filter. */
function freezeAll(query: LinkedQuery): LinkedQuery {
  freezeDeep(query.filter)
  freezeDeep(query.sort)
  return Object.freeze(query)
}
