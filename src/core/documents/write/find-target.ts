import type { Rule } from '../../permissions/grants.js'
import type { ReadAccess } from '../../permissions/read-gate.js'
import { whenReady } from '../../promises.js'
import { attempt, type Permit } from '../../request/authorize.js'
import type { Call } from '../../request/call.js'
import { denied, notFound, unexpected } from '../../request/refusals.js'
import type { StoredDocument } from '../../storage.js'
import type { Document, MaybePromise } from '../../types.js'

/** The document that a request changes, and the rules for it. */
export interface WriteTarget extends Permit {
  readonly id: string
  /** Whether the document, as the caller may read it, is in the state that the request expects. */
  readonly isExpected: (shown: Document) => boolean
}

/** A document that exists, is readable, and is covered by at least one rule. */
export interface FoundTarget {
  readonly stored: StoredDocument
  readonly access: ReadAccess
  /** The document as the caller may read it. */
  readonly shown: Document
  readonly rules: readonly Rule[]
}

/**
 * Finds the document and checks the caller's right to change it. The order of the errors is that of CONTRACT.md §2:
 * 404, 403, 412. Throws `not_found`, `forbidden` (`unauthenticated` for an anonymous caller) and
 * `precondition_failed`.
 */
export function findTarget(call: Call, target: WriteTarget): MaybePromise<FoundTarget> {
  const access = call.access(target.collection)
  // The document is read even if the caller has no read access, so that the time of the response does not reveal
  // whether the document exists.
  const reader = access ? call.store.read(access) : call.store.own(target.collection.name)
  return whenReady(reader.find(target.id), (stored) => {
    if (!access || !stored) throw notFound()
    const rules = target.rules.filter((rule) => call.judge.appliesTo(rule, stored))
    if (rules.length === 0) throw denied(call.caller)
    const shown = access.show(stored)
    if (!target.isExpected(shown)) throw unexpected()
    return { stored, access, shown, rules }
  })
}

/** Rejects a caller to whom no rule grants the operation, without evaluating the body. Always throws: 404 or 403. */
export async function refuseUnauthorized(call: Call, permit: Permit, id: string): Promise<never> {
  await attempt(call, permit, (own) => findTarget(own, { ...permit, id, isExpected: () => true }))
  throw denied(call.caller)
}
