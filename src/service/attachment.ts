import type { Session } from '../auth/sessions.js'
import type { StoredDocument, WriteStep } from '../storage.js'
import type { Store } from './store.js'

/** What else a write of a document takes with it. */
export interface Taken {
  /** A new stamp for the document (see `write/stored-document.ts`). */
  readonly stamp?: string
  readonly steps: readonly WriteStep[]
}

/** The call that writes. */
interface Writer {
  readonly store: Store
  readonly session: Session | undefined
}

/** What belongs to the documents of a collection beside what they hold: to accounts, their sessions. */
export interface Attachment {
  /** The stamp of a new document, which is its own creator. */
  createStamp(): string
  /** What goes with an update that sets these hash fields. Asked in each attempt. */
  takeWithUpdate(by: Writer, stored: StoredDocument, hashes: ReadonlyMap<string, unknown>): Promise<Taken>
  /** What goes with documents that are deleted. */
  takeWithDelete(ids: Iterable<string>): readonly WriteStep[]
}
