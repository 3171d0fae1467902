import type { Session } from '../auth/sessions.js'
import type { StoredDocument, WriteStep } from '../storage.js'
import type { JsonObject, MaybePromise } from '../types.js'
import type { Deadline } from './deadline.js'
import type { InSession, SessionSources } from './kept-sessions.js'
import type { Store } from './store.js'

/** What else a write of a document changes. */
export interface AttachedSteps {
  /** A new stamp for the document (see `write/stored-document.ts`). */
  readonly stamp?: string
  readonly steps: readonly WriteStep[]
  /** Called once the write has taken effect. */
  readonly after?: (() => void) | undefined
}

/** The call that writes. */
interface Writer {
  readonly store: Store
  readonly deadline: Deadline
  readonly session: Session | undefined
}

/** What belongs to the documents of a collection beside their fields: to accounts, their sessions. */
export interface Attachment {
  /** The stamp of a new document that is its own creator. */
  createStamp(): string
  /** The fields of a document that an update leaves. `renewed`: those that count as new, whatever was there. Default: none. */
  settle(before: JsonObject, fields: JsonObject, renewed?: ReadonlyMap<string, unknown>): JsonObject
  /** The changes that go with an update of these hash fields. Called in each attempt. */
  takeWithUpdate(
    by: Writer,
    stored: StoredDocument,
    hashes: ReadonlyMap<string, unknown>,
  ): Promise<AttachedSteps>
  /** Who calls in a session, as the account is now. Throws `invalid_token` where it is over. */
  resume(by: SessionSources, store: Store, session: Session): MaybePromise<InSession>
  /** What goes with the delete of documents. */
  takeWithDelete(by: Pick<Writer, 'deadline'>, ids: readonly string[]): MaybePromise<AttachedSteps>
}
