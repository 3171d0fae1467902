import { createBoundedMap } from '../filter/bounded-map.js'
import type { Bytes } from '../json/bytes.js'
import type { Query } from '../query/compile-query.js'
import type { StoredDocument } from '../storage.js'

/** The text of a page, with what follows from it. */
export interface KeptPage {
  readonly documents: readonly StoredDocument[]
  readonly json: Bytes
  /** The link to the next page, once somebody has written it, with what it begins with. */
  link?: { readonly prefix: string; readonly header: string }
}

/** Keeps the texts of pages that consist of the same documents again. */
export interface KeptPages {
  /** The page of a query, if it had exactly these documents when it was last written. */
  find(query: Query, documents: readonly StoredDocument[]): KeptPage | undefined
  keep(query: Query, page: KeptPage): void
}

/** The most bytes that a service keeps. */
const MAX_BYTES = 16 * 1024 * 1024
/** What a document of a page takes beside its text. */
const REFERENCE = 8

/**
 * Creates the kept pages of a service. Documents that cannot change are compared by identity: a page with one
 * that was written meanwhile is another page. A query is kept for one access, so its texts are too.
 */
export function createKeptPages(): KeptPages {
  const pages = createBoundedMap<Query, KeptPage>(
    MAX_BYTES,
    ({ json, documents }) => json.length + REFERENCE * documents.length,
  )
  return {
    find(query, documents) {
      const page = pages.get(query)
      return page && isSame(page.documents, documents) ? page : undefined
    },
    keep(query, page) {
      // A query that is not kept does not come again.
      if (Object.isFrozen(query)) pages.set(query, page)
    },
  }
}

function isSame(before: readonly StoredDocument[], now: readonly StoredDocument[]): boolean {
  if (before.length !== now.length) return false
  for (let i = 0; i < now.length; i++) if (before[i] !== now[i]) return false
  return true
}
