import type { StoredDocument } from '../../storage.js'

/** What LokiJS keeps: it writes a `$loki` of its own into a row, and never sees the frozen document's fields. */
export interface Row {
  readonly _id: string
  document: StoredDocument
}
