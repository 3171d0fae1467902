import { type Fault, isServiceError, type ServiceError } from '../../errors.js'
import { firstNames } from '../../permissions/ignored-properties.js'
import { isPromise } from '../../promises.js'
import { MAX_FAULTS } from '../../schema/validator.js'
import { runSliced, type Slice, type Sliced, takeFirstSlice } from '../../slices.js'
import type { StoredDocument } from '../../storage.js'
import type { JsonObject, MaybePromise } from '../../types.js'
import { attempt, type Permit } from '../authorize.js'
import { boundBytes } from '../byte-budget.js'
import type { Call } from '../call.js'
import { askHook, type PlannedDocument, type PlannedWrite, type SettledWrite } from '../hooks.js'
import { createPace, type Pace } from '../pace.js'
import { invalid, relocate } from '../refusals.js'
import type { Attempt } from '../store/attempt.js'
import { judgeNew } from './create-document.js'
import { planAgreements } from './matches.js'
import { buildDocument, createSystemFields, isIdTaken, planInsert } from './new-document.js'
import { eachOnce, findReferable, type Referable, referencesToHold, requireReference } from './references.js'
import type { Created } from './rules/apply-create.js'
import type { Ignoring } from './rules/choose-rule.js'
import { conflictFor } from './rules/redact.js'
import { readFields, type SystemFields } from './stored-document.js'
import { checkStoredSize, prepareWritten, tellAgain, type Writing, type WrittenDocument } from './written.js'

/** Documents that were written together, and the names that were dropped from any of their bodies. */
export interface WrittenAll extends Ignoring {
  readonly documents: readonly WrittenDocument[]
}

/**
 * Creates a document from each body, or none (CONTRACT.md §2, "Bulk"), each under the first rule that fits. Throws
 * `validation_failed` with the validation errors of all bodies, `forbidden`, `document_too_large`, `unique_violation`.
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

/** Creates a document from each body after its hook has run, in the order of the bodies. */
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
  // Operations added for a later document may change an earlier one.
  const documents = call.shared?.added === before ? all : await tellAgain(call, collection, all)
  return { documents, ignored: firstNames(all.flatMap(({ ignored }) => ignored)) }
}

/** Calls the hook for a document that is a part of the body. */
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

/** The path of a document in the body. */
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
  // A storage in memory writes them in one piece.
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
      // The next attempt evaluates their references again.
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

/** An accepted body, as one of several. */
interface JudgedBody extends Created, Ignoring {
  readonly system: SystemFields
  readonly at: string
}

/** An accepted document, as one of several. */
type OneOf = JudgedBody & Writing

/** Evaluates every body, and hashes the secrets. */
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

/** Evaluates every body in one task; the validation errors of any take precedence over `forbidden` of another. */
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
 * Limits the validation errors of a response; `named` is the number of those that name a property. The unnamed ones get
 * one place of these, and the places that are left (CONTRACT.md §6).
 */
function cutFaults(faults: readonly Fault[], named: number): readonly Fault[] {
  const isUnnamed = ({ path }: Fault): boolean => path.lastIndexOf('/') === DOCUMENTS.length
  const most = Math.max(MAX_FAULTS - named, Math.min(1, faults.length - named))
  let [unnamedLeft, namedLeft] = [most, MAX_FAULTS - Math.min(most, faults.length - named)]
  return faults.filter((fault) => (isUnnamed(fault) ? unnamedLeft-- : namedLeft--) > 0)
}
