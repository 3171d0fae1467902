import { isUuid } from '../../schema/names.js'
import type { JsonObject, MaybePromise } from '../../types.js'
import type { Permit } from '../authorize.js'
import { type Call, runWithin } from '../call.js'
import { notFound, unexpected } from '../refusals.js'
import type { Attempt } from '../store.js'
import { buildDocument, createSystemFields, isIdTaken, planInsert } from './new-document.js'
import { findReferable, judgeReferences, type Referable } from './references.js'
import { applyCreate, type Created } from './rules/apply-create.js'
import { chooseRule, type Fitting, type Ignoring } from './rules/choose-rule.js'
import type { SystemFields } from './stored-document.js'
import { prepareWritten, type Written } from './written.js'

/**
 * Creates a document under a new `_id` and the first of the rules that fits (CONTRACT.md §4, §5). Returns it as the caller
 * may read it. Throws `validation_failed`, `forbidden`, `document_too_large`, `unique_violation`, `overloaded`.
 */
export const createDocument = (call: Call, permit: Permit, body: JsonObject): Promise<Written> =>
  call.store.write(() => planCreate(call, permit, call.service.createId(), body))

/** An `_id` of the client's choice, and whether anything may be created under it at all. */
export interface Claim {
  readonly id: string
  /** False where the request expects the document to be there, too: that never holds. */
  readonly isExpected: boolean
}

/**
 * Creates a document under the `_id` that its client has chosen, so that a create whose outcome is unknown can be
 * repeated (CONTRACT.md §2). Throws what `createDocument` does, `not_found` for an `_id` that no document can have, and
 * `precondition_failed` wherever it exists, whoever may read it.
 */
export async function createClaimed(
  call: Call,
  permit: Permit,
  { id, isExpected }: Claim,
  body: JsonObject,
): Promise<Written> {
  if (!isUuid(id)) throw notFound('A document has a UUID in lower case as its _id.')
  const isTaken = async (): Promise<boolean> =>
    (await call.store.own(permit.collection.name).find(id)) !== undefined
  // Asked before the body is judged, because 412 comes before 400; the write decides between two at once.
  if (!isExpected || (await isTaken())) throw unexpected()
  return call.store.write(async () => {
    const attempt = await planCreate(call, permit, id, body)
    return {
      ...attempt,
      async refuse(failure) {
        // Of two that repeat each other, the later breaks all unique indexes; storage may name another one than that of `_id`.
        if (failure.reason === 'unique' && (isIdTaken(failure.fields ?? []) || (await isTaken())))
          throw unexpected()
        return attempt.refuse(failure)
      },
    }
  })
}

/** Applies the rules to a body and plans to store what comes of it. */
async function planCreate(
  call: Call,
  permit: Permit,
  id: string,
  body: JsonObject,
): Promise<Required<Attempt<Written>>> {
  const { collection } = permit
  const system = createSystemFields(call, collection, id)
  const referable = await findReferable(call, permit, [body])
  const { fields, given, ignored } = await judgeNew(call, permit, body, { system, referable })
  const document = await buildDocument(call, collection, { system, fields })
  const done = prepareWritten(call, { collection, document, given, ignored })
  return { ...planInsert(collection, document), done }
}

/** A new document to be, and what it may refer to. */
interface Birth {
  readonly system: SystemFields
  readonly referable: Referable
}

/** What comes of a body under the rule that runs. Throws `validation_failed` and `forbidden`. */
export function judgeNew(
  call: Call,
  permit: Permit,
  body: JsonObject,
  { system, referable }: Birth,
): MaybePromise<Fitting<Created & Ignoring>> {
  const draft = {
    system,
    judgeReferences: (fields: JsonObject) => judgeReferences(permit.collection, {}, fields, referable),
  }
  return runWithin(call, (slice) =>
    chooseRule(permit, body, (trial) => applyCreate(call, trial, { ...draft, slice })),
  )
}
