import type { StoredDocument, WriteStep } from '../storage.js'

/** The result of a step for one stored document. */
export interface Fixed {
  /** The document as it was read. */
  readonly before: StoredDocument
  /** The writes; empty if the document needs nothing. */
  readonly steps: readonly WriteStep[]
  /** The declared paths of the fields that the steps change; empty for a migration. */
  readonly fields: ReadonlySet<string>
  /** The reason why the document cannot be changed. It is then left as it was. */
  readonly wrong?: Wrong
}

/** The failure of a step at one document. */
export interface Wrong {
  /** The declared path of the field at fault; absent for a migration. */
  readonly field?: string
  readonly reason: string
}

/** The result of a step for the properties of a document. */
export interface FixedDocument extends Pick<Fixed, 'fields' | 'wrong'> {
  /** The document with its changes; the same object if it needs none. */
  readonly document: StoredDocument
}
