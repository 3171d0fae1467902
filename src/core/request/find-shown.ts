import type { Collection } from '../config/plan.js'
import type { ReadAccess } from '../permissions/read-gate.js'
import { whenReady } from '../promises.js'
import type { StoredDocument } from '../storage.js'
import type { MaybePromise } from '../types.js'
import { authorizeRead } from './authorize.js'
import type { Call, Unclaimed } from './call.js'

/** A document that a request names by its id. */
export interface Wanted {
  readonly collection: Collection
  readonly id: string
}

/** A document that the caller may read, and the access that shows it. */
interface ReadableDocument {
  readonly document: StoredDocument
  readonly access: ReadAccess
}

/**
 * Finds a document that the caller may read. If a rule without claims already shows the whole document, the caller's
 * claims are not read. In all other cases they are read, so that a hidden document and a missing document take the same
 * steps.
 */
export const findShown = (
  call: Call,
  unclaimed: Unclaimed,
  { collection, id }: Wanted,
): MaybePromise<ReadableDocument | undefined> =>
  whenReady(call.store.own(collection.name).find(id), (document) => {
    if (document && unclaimed.shows(document)) return { document, access: unclaimed.access }
    return whenReady(call.learnToRead(collection), () => {
      const access = authorizeRead(call, collection, 'document')
      return document && access.isReadable(document) ? { document, access } : undefined
    })
  })
