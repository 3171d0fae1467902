import type { Bytes } from '../json/bytes.js'
import { createBoundedMap } from '../kept/bounded-map.js'
import { CACHES } from '../kept/caches.js'
import type { LinkedQuery } from '../query/query-reader.js'
import type { StoredDocument } from '../storage.js'

/** The text of a page, with what follows from it. */
export interface KeptPage {
  readonly documents: readonly StoredDocument[]
  readonly json: Bytes
  /** The headers that lead to the next page, once a request needed them, below this path. */
  next?: { readonly base: string; readonly headers: { readonly [name: string]: string } }
}

/** Keeps the texts of pages that consist of the same documents again. */
export interface KeptPages {
  /** The page of a query, if it had exactly these documents when it was last written. */
  find(query: LinkedQuery, documents: readonly StoredDocument[]): KeptPage | undefined
  keep(query: LinkedQuery, page: KeptPage): void
}

/** The most bytes that a service keeps. */
const MAX_BYTES = 16 * 1024 * 1024
/** What a document of a page takes beside its text. */
const REFERENCE = 8
/** What a query takes, and each unit of its text: it lives as long as its page. */
const QUERY = 2048
const UNIT = 32

/**
 * Creates the kept pages of a service. Documents that cannot change are compared by identity: a page with one
 * that was written meanwhile is another page. A query is kept for one access, so its texts are too.
 */
export function createKeptPages(): KeptPages {
  const pages = createBoundedMap<LinkedQuery, { readonly page: KeptPage; readonly size: number }>(
    CACHES.pages,
    MAX_BYTES,
    ({ size }) => size,
  )
  return {
    find(query, documents) {
      const page = pages.get(query)?.page
      return page && isSame(page.documents, documents) ? page : undefined
    },
    keep(query, page) {
      // A query that is not kept does not come again.
      if (Object.isFrozen(query)) pages.set(query, { page, size: sizeOf(query, page) })
    },
  }
}

const sizeOf = ({ text }: LinkedQuery, { json, documents }: KeptPage): number =>
  QUERY + UNIT * text.length + json.length + REFERENCE * documents.length

/** Whether these are the very same documents, in one order. */
function isSame(before: readonly StoredDocument[], now: readonly StoredDocument[]): boolean {
  if (before.length !== now.length) return false
  for (let i = 0; i < now.length; i++) if (before[i] !== now[i]) return false
  return true
}
