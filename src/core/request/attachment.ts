import type { Session } from '../accounts/auth/sessions.js'
import type { StoredDocument, WriteStep } from '../storage.js'
import type { JsonObject, MaybePromise } from '../types.js'
import type { Deadline } from './deadline.js'
import type { InSession, SessionSources } from './kept-sessions.js'
import type { Store } from './store.js'

/** Changes that take effect together with the write of a document. */
export interface AttachedSteps {
  /** A new stamp for the document (see `write/stored-document.ts`). */
  readonly stamp?: string
  readonly steps: readonly WriteStep[]
  /** Called after the write has taken effect. */
  readonly after?: (() => void) | undefined
}

/** The parts of a call that its writes need. */
interface Writer {
  readonly store: Store
  readonly deadline: Deadline
  readonly session: Session | undefined
}

/** State that belongs to the documents of a collection but is not in their fields, such as the sessions of accounts. */
export interface Attachment {
  /**
   * Returns the fields that a document has after an update. `renewed` are fields that count as changed even if the
   * stored value is the same. Default: none.
   */
  settle(before: JsonObject, fields: JsonObject, renewed?: ReadonlyMap<string, unknown>): JsonObject
  /** Returns the changes that belong to an update of the hash fields `hashes`. Called in each attempt at the write. */
  takeWithUpdate(
    by: Writer,
    stored: StoredDocument,
    hashes: ReadonlyMap<string, unknown>,
  ): Promise<AttachedSteps>
  /**
   * Returns the caller of a session, with the account as it is now. Throws `invalid_token` if the session has ended.
   */
  resume(by: SessionSources, store: Store, session: Session): MaybePromise<InSession>
  /** Returns the changes that belong to the deletion of documents. */
  takeWithDelete(by: Pick<Writer, 'deadline'>, ids: readonly string[]): MaybePromise<AttachedSteps>
}
