import type { Collection } from '../../config/plan.js'
import { type Fault, isServiceError, type ServiceError } from '../../errors.js'
import { MAX_FAULTS } from '../../fields/schema/validator.js'
import {
  askHook,
  type PlannedDocument,
  type PlannedWrite,
  type SettledWrite,
  whereHooked,
} from '../../hooks/where-hooked.js'
import { isUuid } from '../../json/uuid.js'
import { firstNames } from '../../permissions/write-rules.js'
import { isPromise, whenReady } from '../../promises.js'
import { planAgreements } from '../../references/matches.js'
import {
  eachOnce,
  findReferable,
  judgeAll,
  type Referable,
  referencesToHold,
  requireReference,
} from '../../references/references.js'
import { attempt, type Permit } from '../../request/authorize.js'
import { boundBytes } from '../../request/byte-budget.js'
import type { Call } from '../../request/call.js'
import { createPace, type Pace } from '../../request/pace.js'
import { invalid, notFound, relocate, unexpected } from '../../request/refusals.js'
import type { Attempt } from '../../request/store/attempt.js'
import { runSliced, runWithin, type Slice, type Sliced, takeFirstSlice } from '../../slices.js'
import type { StoredDocument } from '../../storage.js'
import type { JsonObject, MaybePromise } from '../../types.js'
import { refuseSecrets } from './hash-secrets.js'
import { buildDocument, createSystemFields, isIdTaken, planInsert } from './new-document.js'
import { applyCreate, type CreateDraft, type Created } from './rules/apply-create.js'
import { type AcceptedBody, chooseRule, type Ignoring } from './rules/choose-rule.js'
import { conflictFor } from './rules/redact.js'
import { readFields, type SystemFields } from './stored-document.js'
import {
  checkStoredSize,
  prepareWritten,
  tellAgain,
  tellOneAgain,
  type Writing,
  type WrittenDocument,
} from './written.js'

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
      // A 412 takes precedence over a 400, so this comes before the body. The write decides between concurrent creates.
      if (!isExpected || (await isTaken())) throw unexpected()
      return planCreate(own, present, { id, isNamed: true }, body)
    })
    return {
      ...planned,
      async refuse(failure) {
        // The later of two equal creates violates all unique indexes, so the storage may report another index than
        // that of `_id`.
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
  /** Whether the client has chosen the `_id`. */
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
  /** The time slice for the evaluation. */
  readonly slice: Slice
}

/** Evaluates a body under the first rule that accepts it. Throws `validation_failed` and `forbidden`. */
const judgeNew = (
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

/** Documents that were written together, and the names of the properties that were dropped from their bodies. */
export interface WrittenAll extends Ignoring {
  readonly documents: readonly WrittenDocument[]
}

/**
 * Creates a document from each body under the first rule that fits. If one of them cannot be created, none is
 * (CONTRACT.md §2, "Bulk"). Throws `validation_failed` with the validation errors of all bodies, `forbidden`,
 * `document_too_large`, `unique_violation`.
 */
export const createBulk = (
  call: Call,
  permit: Permit,
  bodies: readonly JsonObject[],
): MaybePromise<WrittenAll> => {
  const { hooks } = call.service
  return hooks?.has(permit.collection.name)
    ? hooks.together(
        call,
        (all) => attempt(all, permit, (own, present) => createAsked(own, present, bodies)),
        bodies.length,
      )
    : call.store.write(() => attempt(call, permit, (own, present) => planBulk(own, present, bodies)))
}

/** Creates a document from each body, in order. Each hook runs after the documents before its own are created. */
async function createAsked(call: Call, permit: Permit, bodies: readonly JsonObject[]): Promise<WrittenAll> {
  const { collection } = permit
  const before = call.shared?.added
  const all: WrittenDocument[] = []
  for (const { system, at, ...writing } of await prepareAll(call, permit, bodies)) {
    const after = { fields: readFields(writing.document), system }
    const written = await call.store.write(async () => {
      const settled = await askAt(at, call, { collection, before: null, after })
      const document = await buildDocument(call, collection, { system, fields: settled.fields })
      const done = prepareWritten(call, { ...writing, document, at })
      return { done, ...planInsert(call, collection, document, { at }), behind: settled.behind }
    })
    all.push(written)
  }
  // Operations that hooks have added for one document may change another document, so all texts are written again.
  const documents = call.shared?.added === before ? all : await tellAgain(call, collection, all)
  return { documents, ignored: firstNames(all.flatMap(({ ignored }) => ignored)) }
}

/** Calls the hook for a document that is part of the body. `at` is its path, which is added to the path of errors. */
async function askAt(
  at: string,
  call: Call,
  write: PlannedWrite & { readonly after: PlannedDocument },
): Promise<SettledWrite> {
  try {
    return (await askHook(call, write)) ?? write.after
  } catch (thrown) {
    if (!isServiceError(thrown) || thrown.code !== 'refused') throw thrown
    throw relocate(thrown, at)
  }
}

/** Returns the path of a document in the body. */
const placeOf = (index: number): string => `${DOCUMENTS}/${index}`

const DOCUMENTS = '/documents'

const within = (fault: Fault, index: number): Fault => ({ ...fault, path: placeOf(index) + fault.path })

async function planBulk(
  call: Call,
  permit: Permit,
  bodies: readonly JsonObject[],
): Promise<Attempt<WrittenAll>> {
  const { collection } = permit
  const pace = createPace(() => call.deadline.signal)
  const written: WrittenDocument[] = []
  const documents: StoredDocument[] = []
  for (const writing of await prepareAll(call, permit, bodies, pace)) {
    written.push(prepareWritten(call, writing))
    documents.push(writing.document)
    const pause = pace(stepsOf(writing.document))
    if (pause) await pause
  }
  // May pause before the write, because the in-memory storage writes all documents without a pause.
  await pace(documents.length * STEPS_A_WRITE)
  checkStoredSize(documents)
  const required = eachOnce(documents.flatMap((document) => referencesToHold(collection, {}, document)))
  return {
    steps: [
      ...required.map(requireReference),
      ...documents.map((insert) => ({ in: collection.name, insert })),
    ],
    agreements: documents.flatMap((after, i) =>
      planAgreements(call.service.plan, collection, { after, at: placeOf(i), asker: call }),
    ),
    done: { documents: written, ignored: firstNames(written.flatMap(({ ignored }) => ignored)) },
    refuse({ reason, step, fields = [] }) {
      // A referenced document was deleted. The next attempt evaluates the references again.
      if (reason === 'missing') return
      if (!isIdTaken(fields)) throw conflictFor(call, collection, fields, placeOf(step - required.length))
    },
  }
}

/** The fixed steps per document: about 5 µs. */
const STEPS_A_DOCUMENT = 100

/** The approximate bytes that are evaluated or serialized in one step. */
const BYTES_A_STEP = 24

/** The steps of storing a document in memory, with some indexes: about 5 µs. */
const STEPS_A_WRITE = 100

const stepsOf = (document: JsonObject): number => STEPS_A_DOCUMENT + boundBytes(document) / BYTES_A_STEP

/** An accepted body of a bulk create. */
interface JudgedBody extends Created, Ignoring {
  readonly system: SystemFields
  readonly at: string
}

/** An accepted document of a bulk create. */
type OneOf = JudgedBody & Writing

/** Evaluates every body, hashes the secrets, and returns the documents to store. */
async function prepareAll(
  call: Call,
  permit: Permit,
  bodies: readonly JsonObject[],
  pace: Pace = createPace(() => call.deadline.signal),
): Promise<readonly OneOf[]> {
  const { collection } = permit
  const referable = await findReferable(call, permit, bodies)
  const judging = runSliced(
    (slice) => judgeBodies(call, permit, bodies, { referable, slice }),
    () => call.deadline.signal,
    takeFirstSlice(bodies.length),
  )
  const writings: OneOf[] = []
  for (const judged of isPromise(judging) ? await judging : judging) {
    const building = buildDocument(call, collection, judged)
    const document = isPromise(building) ? await building : building
    writings.push(Object.assign({ collection, document }, judged))
    const pause = pace(STEPS_A_DOCUMENT)
    if (pause) await pause
  }
  return writings
}

/** Evaluates every body. Validation errors of one body take precedence over `forbidden` for another body. */
function* judgeBodies(
  call: Call,
  permit: Permit,
  bodies: readonly JsonObject[],
  { referable, slice }: { readonly referable: Referable; readonly slice: Slice },
): Sliced<readonly JudgedBody[]> {
  const faults: Fault[] = []
  let named = 0
  let forbidden: ServiceError | undefined
  const judged: JudgedBody[] = []
  for (const [i, body] of bodies.entries()) {
    slice.left -= stepsOf(body)
    if (slice.left <= 0) yield
    const system = createSystemFields(call, permit.collection, call.service.createId())
    try {
      const { fields, given, ignored } = yield* judgeNew(call, permit, body, { system, referable, slice })
      judged.push({ fields, given, ignored, system, at: placeOf(i) })
    } catch (thrown) {
      if (!isServiceError(thrown)) throw thrown
      if (thrown.code !== 'validation_failed') forbidden ??= thrown
      else {
        faults.push(...thrown.errors.map((fault) => within(fault, i)))
        named += thrown.errors.filter(({ path }) => path !== '').length
      }
    }
    if (named >= MAX_FAULTS) break
  }
  if (faults.length > 0) throw invalid(cutFaults(faults, named))
  if (forbidden) throw forbidden
  return judged
}

/**
 * Limits the validation errors of a response. `named` is the number of errors that name a property. If other errors
 * exist, at least one is kept, and more of them only as far as the named errors leave room (CONTRACT.md §6).
 */
function cutFaults(faults: readonly Fault[], named: number): readonly Fault[] {
  const isUnnamed = ({ path }: Fault): boolean => path.lastIndexOf('/') === DOCUMENTS.length
  const most = Math.max(MAX_FAULTS - named, Math.min(1, faults.length - named))
  let [unnamedLeft, namedLeft] = [most, MAX_FAULTS - Math.min(most, faults.length - named)]
  return faults.filter((fault) => (isUnnamed(fault) ? unnamedLeft-- : namedLeft--) > 0)
}
