import type { Collection } from '../../config/plan.js'
import { isUuid } from '../../json/uuid.js'
import { whenReady } from '../../promises.js'
import { runWithin, type Slice, type Sliced } from '../../slices.js'
import type { JsonObject, MaybePromise } from '../../types.js'
import { attempt, type Permit } from '../authorize.js'
import type { Call } from '../call.js'
import { askHook, type SettledWrite, whereHooked } from '../hooks.js'
import { notFound, unexpected } from '../refusals.js'
import type { Attempt } from '../store/attempt.js'
import { refuseSecrets } from './hash-secrets.js'
import { buildDocument, createSystemFields, isIdTaken, planInsert } from './new-document.js'
import { findReferable, judgeAll, type Referable } from './references.js'
import { applyCreate, type CreateDraft, type Created } from './rules/apply-create.js'
import { type AcceptedBody, chooseRule, type Ignoring } from './rules/choose-rule.js'
import type { SystemFields } from './stored-document.js'
import { prepareWritten, tellOneAgain, type WrittenDocument } from './written.js'

/**
 * Creates a document with a new `_id` under the first rule that fits (CONTRACT.md §4, §5). Returns it as the caller may
 * read it. Throws `validation_failed`, `forbidden`, `document_too_large`, `unique_violation`, `overloaded`.
 */
export const createDocument = (call: Call, permit: Permit, body: JsonObject): MaybePromise<WrittenDocument> =>
  whereHooked(call, permit.collection, (all) => createWithNewId(all, permit, body), tellOneAgain)

const createWithNewId = (call: Call, permit: Permit, body: JsonObject): MaybePromise<WrittenDocument> =>
  call.store.write(() =>
    attempt(call, permit, (own, present) =>
      planCreate(own, present, { id: own.service.createId(), isNamed: false }, body),
    ),
  )

/** An `_id` chosen by the client, and whether the request's conditions allow a create. */
export interface ClaimedId {
  readonly id: string
  /** False if the request also expects an existing document: both can never hold. */
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
  const { collection } = permit
  return whereHooked(call, collection, (own) => createUnder(own, permit, claim, body), tellOneAgain)
}

async function createUnder(
  call: Call,
  permit: Permit,
  { id, isExpected }: ClaimedId,
  body: JsonObject,
): Promise<WrittenDocument> {
  const isTaken = async (): Promise<boolean> =>
    (await call.store.own(permit.collection.name).find(id)) !== undefined
  return call.store.write(async () => {
    const planned = await attempt(call, permit, async (own, present) => {
      // 412 comes before 400, so this is checked before the body; the write decides between concurrent creates.
      if (!isExpected || (await isTaken())) throw unexpected()
      return planCreate(own, present, { id, isNamed: true }, body)
    })
    return {
      ...planned,
      async refuse(failure) {
        // The later of two equal creates violates all unique indexes; the storage may name another one than that of
        // `_id`.
        if (failure.reason === 'unique' && (isIdTaken(failure.fields ?? []) || (await isTaken())))
          throw unexpected()
        return planned.refuse(failure)
      },
    }
  })
}

/** The plan of a create. */
type Insert = Pick<Attempt<WrittenDocument>, 'behind'> &
  Required<Pick<Attempt<WrittenDocument>, 'steps' | 'done' | 'agreements' | 'refuse'>>

/** The `_id` of a new document. */
interface ChosenId {
  readonly id: string
  /** Whether the client has chosen it. */
  readonly isNamed: boolean
}

/** Applies the rules to a body and plans its insert. */
function planCreate(call: Call, permit: Permit, named: ChosenId, body: JsonObject): MaybePromise<Insert> {
  const { collection } = permit
  const system = createSystemFields(call, collection, named.id)
  return whenReady(findReferable(call, permit, [body]), (referable) =>
    whenReady(
      runWithin(call, (slice) => judgeNew(call, permit, body, { system, referable, slice })),
      ({ given, ignored, fields }) => {
        if (call.isInBatch) refuseSecrets(call, collection, given)
        return planAsked(call, collection, { system, given, ignored, isNamed: named.isNamed }, fields)
      },
    ),
  )
}

/** Calls the hook of a collection, if it has one, and plans the insert. */
function planAsked(
  call: Call,
  collection: Collection,
  judged: JudgedDocument,
  fields: JsonObject,
): MaybePromise<Insert> {
  const asked = askHook(call, { collection, before: null, after: { fields, system: judged.system } })
  return asked
    ? asked.then((settled) => planJudged(call, collection, judged, settled))
    : planJudged(call, collection, judged, { fields })
}

/** A new document that was accepted. */
interface JudgedDocument extends Pick<Created, 'given'>, Ignoring, Pick<ChosenId, 'isNamed'> {
  readonly system: SystemFields
}

/** Plans the insert of an accepted document after its hook. */
const planJudged = (
  call: Call,
  collection: Collection,
  { system, given, ignored, isNamed }: JudgedDocument,
  { fields, behind }: SettledWrite,
): MaybePromise<Insert> =>
  whenReady(buildDocument(call, collection, { system, fields }), (document) => {
    const done = prepareWritten(call, { collection, document, given, ignored })
    const { steps, agreements, refuse } = planInsert(call, collection, document, { isNamed })
    return { done, steps, agreements, refuse, behind }
  })

/** The system fields of a new document, and the documents that it may refer to. */
interface CreateContext {
  readonly system: SystemFields
  readonly referable: Referable
  /** The slice for the steps of the evaluation. */
  readonly slice: Slice
}

/** Evaluates a body under the rule that runs. Throws `validation_failed` and `forbidden`. */
export const judgeNew = (
  call: Call,
  permit: Permit,
  body: JsonObject,
  { system, referable, slice }: CreateContext,
): Sliced<AcceptedBody<Created & Ignoring>> => {
  const judgeReferences: CreateDraft['judgeReferences'] = (fields, tells) =>
    judgeAll(call, permit.collection, fields, { referable, tells })
  return chooseRule(call, permit, body, {
    slice,
    apply: (trial) => applyCreate(call, trial, { system, slice, judgeReferences }),
  })
}
