import type { StoredDocument } from '../../core/storage.js'

/**
 * A row in LokiJS. LokiJS writes its own id, `$loki`, into the row, but never changes the document, which is frozen.
 */
export interface DocumentRow {
  readonly _id: string
  document: StoredDocument
  /**
   * Set to `undefined` when the row is created, because V8 stores a property that is added later in a second object.
   */
  $loki?: number | undefined
}
