import type { Bytes } from '../json/bytes.js'
import { createBoundedMap } from '../kept/bounded-map.js'
import { CACHES } from '../kept/caches.js'
import type { LinkedQuery } from '../query/query-reader.js'
import type { StoredDocument } from '../storage.js'

/** The serialized JSON of a page of a list, and values derived from it. */
export interface KeptPage {
  readonly documents: readonly StoredDocument[]
  readonly json: Bytes
  /** The headers that link to the next page, for requests below the path `base`. Absent until a request needs them. */
  next?: { readonly base: string; readonly headers: { readonly [name: string]: string } }
}

/** Caches the JSON of pages. A cached page is used as long as the page consists of the same documents. */
export interface KeptPages {
  /** Returns the cached page of a query, if it was written for exactly these documents. */
  find(query: LinkedQuery, documents: readonly StoredDocument[]): KeptPage | undefined
  keep(query: LinkedQuery, page: KeptPage): void
}

/** The maximum total bytes of the pages that a service caches. */
const MAX_BYTES = 16 * 1024 * 1024
/** The size of a reference to a document, in bytes. */
const REFERENCE = 8
/**
 * The assumed size of a query, and of each character of its text, in bytes. A query stays in memory as long as its
 * page.
 */
const QUERY = 2048
const UNIT = 32

/**
 * Creates the page cache of a service. Documents are immutable and compared by identity: a write creates a new object
 * for a document. A query is cached for each access, so pages are never shared between different accesses.
 */
export function createKeptPages(): KeptPages {
  const pages = createBoundedMap<LinkedQuery, KeptPage>(CACHES.pages, MAX_BYTES)
  return {
    find(query, documents) {
      const page = pages.get(query)
      return page && isSame(page.documents, documents) ? page : undefined
    },
    keep(query, page) {
      // Only cached queries are frozen. All others are parsed again for each request, so their pages would never be
      // found.
      if (Object.isFrozen(query)) pages.set(query, page, sizeOf(query, page))
    },
  }
}

const sizeOf = ({ text }: LinkedQuery, { json, documents }: KeptPage): number =>
  QUERY + UNIT * text.length + json.length + REFERENCE * documents.length

/** Whether both lists contain the same objects in the same order. */
function isSame(before: readonly StoredDocument[], now: readonly StoredDocument[]): boolean {
  if (before.length !== now.length) return false
  for (let i = 0; i < now.length; i++) if (before[i] !== now[i]) return false
  return true
}
