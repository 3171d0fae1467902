import type { Session } from '../accounts/auth/sessions.js'
import type { StoredDocument, WriteStep } from '../storage.js'
import type { JsonObject, MaybePromise } from '../types.js'
import type { Deadline } from './deadline.js'
import type { InSession, SessionSources } from './kept-sessions.js'
import type { Store } from './store.js'

/** Further changes that a write of a document makes. */
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

/** State that belongs to the documents of a collection besides their fields, such as the sessions of accounts. */
export interface Attachment {
  /** The stamp of a new document that is its own creator. */
  createStamp(): string
  /**
   * The fields of a document after an update. `renewed`: fields that count as changed regardless of the stored value.
   * Default: none.
   */
  settle(before: JsonObject, fields: JsonObject, renewed?: ReadonlyMap<string, unknown>): JsonObject
  /** The changes that an update of these hash fields entails. Called in each attempt. */
  takeWithUpdate(
    by: Writer,
    stored: StoredDocument,
    hashes: ReadonlyMap<string, unknown>,
  ): Promise<AttachedSteps>
  /** The caller of a session, with the current account. Throws `invalid_token` if the session has ended. */
  resume(by: SessionSources, store: Store, session: Session): MaybePromise<InSession>
  /** The changes that deletes of documents entail. */
  takeWithDelete(by: Pick<Writer, 'deadline'>, ids: readonly string[]): MaybePromise<AttachedSteps>
}
