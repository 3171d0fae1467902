import { isUuid } from '../../json/uuid.js'
import { whenReady } from '../../promises.js'
import { attempt, type Permit } from '../../request/authorize.js'
import type { Call } from '../../request/call.js'
import { notFound, unexpected } from '../../request/refusals.js'
import type { Attempt } from '../../request/store/attempt.js'
import type { JsonObject, MaybePromise } from '../../types.js'
import type { GivenBody } from './draft.js'
import { createSystemFields } from './new-document.js'
import { isIdTaken, planDraft } from './plan-write.js'
import { beginWrite, runWrite, withHook } from './run-write.js'
import type { WrittenDocument } from './written.js'

/**
 * Creates a document with a new `_id` under the first rule that fits (CONTRACT.md §4, §5). Returns it as the caller may
 * read it. Throws `validation_failed`, `forbidden`, `document_too_large`, `unique_violation`, `overloaded`.
 */
export const createDocument = (call: Call, permit: Permit, body: JsonObject): MaybePromise<WrittenDocument> =>
  withHook(call, permit.collection, (all) =>
    all.store.write(() =>
      attempt(all, permit, (own, present) =>
        planCreate(own, present, {
          body,
          system: createSystemFields(own, present.collection, own.service.createId()),
        }),
      ),
    ),
  )

/** An `_id` chosen by the client, and whether the request's conditions allow a create. */
interface ClaimedId {
  readonly id: string
  /** False if the conditions of the request also require an existing document, so that they can never be met. */
  readonly isExpected: boolean
}

/**
 * Creates a document under an `_id` that the client has chosen, so that it can retry a create with an unknown outcome
 * (CONTRACT.md §2). Throws the errors of `createDocument`, `not_found` for an `_id` that no document can have, and
 * `precondition_failed` if the `_id` exists, even if the caller may not read it.
 */
export async function createClaimed(
  call: Call,
  permit: Permit,
  claim: ClaimedId,
  body: JsonObject,
): Promise<WrittenDocument> {
  if (!isUuid(claim.id)) throw notFound('The _id of a document is a UUID.')
  return withHook(call, permit.collection, (own) => createUnder(own, permit, claim, body))
}

function createUnder(
  call: Call,
  permit: Permit,
  { id, isExpected }: ClaimedId,
  body: JsonObject,
): MaybePromise<WrittenDocument> {
  const isTaken = async (): Promise<boolean> =>
    (await call.store.own(permit.collection.name).find(id)) !== undefined
  return call.store.write(async () => {
    const planned = await attempt(call, permit, async (own, present) => {
      // A 412 takes precedence over a 400, so this comes before the body. The write decides between concurrent creates.
      if (!isExpected || (await isTaken())) throw unexpected()
      return planCreate(own, present, {
        body,
        system: createSystemFields(own, present.collection, id),
        isNamed: true,
      })
    })
    return {
      ...planned,
      async refuse(failure) {
        // The later of two equal creates violates all unique indexes, so the storage may report another index than
        // that of `_id`.
        const { reason, fields = [], isSettled } = failure
        if (reason === 'unique' && (isIdTaken(fields) || (!isSettled && (await isTaken()))))
          throw unexpected()
        return planned.refuse?.(failure)
      },
    }
  })
}

/** Applies the rules to a body and plans its insert. */
const planCreate = (call: Call, permit: Permit, body: GivenBody): MaybePromise<Attempt<WrittenDocument>> =>
  whenReady(runWrite(beginWrite(call, permit, 'create'), body), planDraft)
