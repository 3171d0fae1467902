import { bounds } from '../../bounds.js'
import { type Fault, isServiceError, type ServiceError } from '../../errors.js'
import { MAX_FAULTS } from '../../fields/schema/validator.js'
import { firstNames } from '../../permissions/write-rules.js'
import { isPromise, whenReady } from '../../promises.js'
import { attempt, type Permit } from '../../request/authorize.js'
import { boundBytes } from '../../request/byte-budget.js'
import type { Call } from '../../request/call.js'
import { invalid } from '../../request/refusals.js'
import type { Agreement, Attempt } from '../../request/store/attempt.js'
import { forEachSliced, inSlices, mapSliced, type Sliced, takeFirstSlice } from '../../slices.js'
import type { StoredDocument, WriteStep } from '../../storage.js'
import type { JsonObject, MaybePromise } from '../../types.js'
import type { BodyWrite, Draft } from './draft.js'
import { createSystemFields } from './new-document.js'
import { assemble, isIdTaken, planConditions, planDraft } from './plan-write.js'
import { conflictFor } from './redact.js'
import { beginWrite, chooseRule, readFor, settleDraft } from './run-write.js'
import { checkStoredSize, type Ignoring, prepareWritten, tellAgain, type WrittenDocument } from './written.js'

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
        (all) => attempt(all, permit, (own, present) => createHooked(own, present, bodies)),
        bodies.length,
      )
    : call.store.write(() => attempt(call, permit, (own, present) => planBulk(own, present, bodies)))
}

/** Creates a document from each body, in order. Each hook runs after the documents before its own are created. */
async function createHooked(call: Call, permit: Permit, bodies: readonly JsonObject[]): Promise<WrittenAll> {
  const before = call.shared?.added
  const all: WrittenDocument[] = []
  for (const draft of await judgeAll(call, permit, bodies))
    all.push(await call.store.write(async () => planDraft(await settleDraft(draft))))
  // Operations that hooks have added for one document may change another document, so all texts are written again.
  const documents = call.shared?.added === before ? all : await tellAgain(call, permit.collection, all)
  return { documents, ignored: firstNames(all.flatMap(({ ignored }) => ignored)) }
}

/** The fixed steps per document: about 5 µs. */
const STEPS_A_DOCUMENT = 100

/** The approximate bytes that are evaluated or serialized in one step. */
const BYTES_A_STEP = 24

/** The steps of storing a document in memory, with some indexes: about 5 µs. */
const STEPS_A_WRITE = 100

const stepsOf = (document: JsonObject): number => STEPS_A_DOCUMENT + boundBytes(document) / BYTES_A_STEP

async function planBulk(
  call: Call,
  permit: Permit,
  bodies: readonly JsonObject[],
): Promise<Attempt<WrittenAll>> {
  const drafts = await judgeAll(call, permit, bodies)
  const [documents, written] = await inSlices(
    (slices) => assembleAll(drafts, slices),
    () => call.deadline.signal,
    bounds.longFirstSlice,
  )
  checkStoredSize(documents)
  const { collection } = permit
  const required = new Map<string, WriteStep>()
  const agreements: Agreement[] = []
  for (const [i, after] of documents.entries()) {
    const conditions = planConditions({ call, collection, after, at: placeOf(i) })
    for (const step of conditions.steps) required.set(JSON.stringify(step), step)
    agreements.push(...conditions.agreements)
  }
  return {
    steps: [...required.values(), ...documents.map((insert) => ({ in: collection.name, insert }))],
    agreements,
    done: { documents: written, ignored: firstNames(written.flatMap(({ ignored }) => ignored)) },
    refuse({ reason, step, fields = [] }) {
      // A referenced document was deleted. The next attempt evaluates the references again.
      if (reason === 'missing') return
      if (!isIdTaken(fields)) throw conflictFor(call, collection, fields, placeOf(step - required.size))
    },
  }
}

/** Completes the drafts, and assembles their documents and texts. */
const assembleAll: Sliced<
  [drafts: readonly Draft[]],
  readonly [documents: readonly StoredDocument[], written: readonly WrittenDocument[]]
> = async (drafts, slices) => {
  const documents = await mapSliced(slices, drafts, (draft) => {
    slices.left -= STEPS_A_DOCUMENT
    return whenReady(settleDraft(draft), assemble)
  })
  const written: WrittenDocument[] = []
  await forEachSliced(slices, drafts, (draft, i) => {
    const document = documents[i]
    if (!document) return
    slices.left -= stepsOf(document)
    written.push(prepareWritten(draft, document))
  })
  // May pause before the write, because the in-memory storage writes all documents without a pause.
  slices.left -= documents.length * STEPS_A_WRITE
  if (slices.left <= 0) await slices.next()
  return [documents, written]
}

const DOCUMENTS = '/documents'

/** Returns the path of a document in the body. */
const placeOf = (index: number): string => `${DOCUMENTS}/${index}`

/** Evaluates every body, and returns the accepted drafts. */
async function judgeAll(
  call: Call,
  permit: Permit,
  bodies: readonly JsonObject[],
): Promise<readonly Draft[]> {
  const write = beginWrite(call, permit, 'create')
  await readFor(write, bodies)
  return inSlices(
    (slices) => judgeBodies(write, bodies, slices),
    () => call.deadline.signal,
    takeFirstSlice(bodies.length),
  )
}

/** Evaluates every body. Validation errors of one body take precedence over `forbidden` for another body. */
const judgeBodies: Sliced<[write: BodyWrite, bodies: readonly JsonObject[]], readonly Draft[]> = (
  write,
  bodies,
  slices,
) => {
  const drafts: Draft[] = []
  const faults: Fault[] = []
  let named = 0
  let forbidden: ServiceError | undefined
  const collect = (thrown: unknown, at: string): void => {
    if (!isServiceError(thrown)) throw thrown
    if (thrown.code !== 'validation_failed') forbidden ??= thrown
    else {
      faults.push(...thrown.errors.map((fault) => ({ ...fault, path: at + fault.path })))
      named += thrown.errors.filter(({ path }) => path !== '').length
    }
  }
  const judgeOne = (body: JsonObject, at: string): MaybePromise<unknown> => {
    slices.left -= stepsOf(body)
    const system = createSystemFields(write.call, write.collection, write.call.service.createId())
    try {
      const judging = whenReady(chooseRule(write, { body, system, at }, slices), (draft) =>
        drafts.push(draft),
      )
      return isPromise(judging) ? judging.catch((thrown: unknown) => collect(thrown, at)) : undefined
    } catch (thrown) {
      return collect(thrown, at)
    }
  }
  const judging = forEachSliced(slices, bodies, (body, i) =>
    named < MAX_FAULTS ? judgeOne(body, placeOf(i)) : undefined,
  )
  return whenReady(judging, () => {
    if (faults.length > 0) throw invalid(cutFaults(faults, named))
    if (forbidden) throw forbidden
    return drafts
  })
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
