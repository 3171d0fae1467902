import type { StoredDocument } from '../../core/storage.js'

/** A row in LokiJS. LokiJS writes its `$loki` into the row and never touches the frozen document. */
export interface DocumentRow {
  readonly _id: string
  document: StoredDocument
  /** Declared here and set on creation, so that a row is one object in memory. */
  $loki?: number | undefined
}
