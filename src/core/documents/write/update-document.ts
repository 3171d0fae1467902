import { whenReady } from '../../promises.js'
import { attempt } from '../../request/authorize.js'
import type { Call } from '../../request/call.js'
import type { Attempt } from '../../request/store/attempt.js'
import type { JsonObject, MaybePromise } from '../../types.js'
import { findTarget, type WriteTarget } from './find-target.js'
import { planDraft } from './plan-write.js'
import { beginWrite, runWrite, withHook } from './run-write.js'
import { readSystem } from './stored-document.js'
import type { WrittenDocument } from './written.js'

/** An update: its mode and its body. */
export interface UpdateRequest {
  /** PATCH merges the body into the document; PUT replaces what the rule accepts and the caller may read. */
  readonly mode: 'patch' | 'put'
  readonly body: JsonObject
}

/**
 * Updates a document (CONTRACT.md §2, "Update"). If a concurrent write comes first, tries again: each attempt reads
 * the document, authorizes the caller, drops properties and validates. Throws the errors of `findTarget`, and
 * `validation_failed`, `forbidden`, `document_too_large`, `unique_violation`, `overloaded`.
 */
export function updateDocument(
  call: Call,
  target: WriteTarget,
  change: UpdateRequest,
): MaybePromise<WrittenDocument> {
  const hashed = new Map<string, string>()
  return withHook(call, target.collection, (all) =>
    all.store.write(() => attempt(all, target, (own, present) => planUpdate(own, present, change, hashed))),
  )
}

const planUpdate = (
  call: Call,
  target: WriteTarget,
  { mode, body }: UpdateRequest,
  hashed: Map<string, string>,
): MaybePromise<Attempt<WrittenDocument>> =>
  whenReady(findTarget(call, target), (before) => {
    const { stored, access, rules } = before
    const write = beginWrite(call, { collection: target.collection, rules }, mode, { before, hashed })
    const system = readSystem(stored, call.binding.now)
    return whenReady(runWrite(write, { body, system }), (draft) =>
      draft.writes
        ? planDraft(draft)
        : { steps: [], done: { _id: stored._id, text: access.write(stored), ignored: draft.ignored } },
    )
  })
