import { type Fault, isServiceError, type ServiceError } from '../../errors.js'
import { toPointerPart } from '../../json/pointer.js'
import { bindingOf } from '../../permissions/caller.js'
import { firstNames } from '../../permissions/ignored-properties.js'
import type { Reference } from '../../schema/references.js'
import { MAX_FAULTS } from '../../schema/validator.js'
import type { JsonObject } from '../../types.js'
import type { RequestScope, ServiceContext } from '../context.js'
import { lazySignal } from '../find-documents.js'
import { createPace } from '../pace.js'
import {
  buildDocument,
  type Creation,
  chooseInSlices,
  conflict,
  createSystemFields,
  withNewId,
} from './create-document.js'
import {
  brokenReference,
  findReferable,
  judgeReferences,
  type Referable,
  referencesToHold,
  requireReference,
} from './references.js'
import { type Ignoring, invalid } from './rules/apply-rule.js'
import { checkStoredSize, prepareWritten, type Writing, type Written } from './written.js'

/** Where the documents of a bulk lie in its body. */
const DOCUMENTS = 'documents'

/**
 * Creates all documents of a body `{ "documents": [...] }` or none (CONTRACT.md §2, "Bulk"), each under the first rule that
 * fits it. Throws `validation_failed` with the faults of all of them, `forbidden`, `document_too_large`,
 * `unique_violation`.
 */
export async function createBulk(
  context: ServiceContext,
  scope: RequestScope,
  creation: Creation,
  body: JsonObject,
): Promise<WrittenAll> {
  const bodies = readDocuments(body, context.plan.limits.bulk)
  const documents = await withNewId(context, (id) => storeAll(context, scope, creation, bodies, id))
  return { documents, ignored: firstNames(documents.flatMap(({ ignored }) => ignored)) }
}

/** Documents that were written together, and what was taken from any of their bodies. */
export interface WrittenAll extends Ignoring {
  readonly documents: readonly Written[]
}

function readDocuments(body: JsonObject, limit: number): readonly JsonObject[] {
  const unknown = Object.keys(body).filter((name) => name !== DOCUMENTS)
  const faults = unknown.map(
    (name): Fault => ({
      path: toPointerPart(name).slice(0, 256),
      code: 'unknown_property',
      message: `is unknown; allowed: ${DOCUMENTS}`,
    }),
  )
  const documents = Object.hasOwn(body, DOCUMENTS) ? body[DOCUMENTS] : undefined
  const path = toPointerPart(DOCUMENTS)
  if (documents === undefined) faults.push({ path, code: 'required', message: 'is required' })
  else if (!Array.isArray(documents))
    faults.push({ path, code: 'wrong_type', message: 'must be an array of documents' })
  else if (documents.length === 0)
    faults.push({ path, code: 'too_few', message: 'must have at least 1 element' })
  else if (documents.length > limit)
    faults.push({ path, code: 'too_many', message: `must have at most ${limit} elements` })
  else {
    for (const [i, document] of documents.entries()) {
      if (typeof document !== 'object' || document === null || Array.isArray(document))
        faults.push({ path: placeOf(i), code: 'wrong_type', message: 'must be an object' })
    }
  }
  if (faults.length > 0) throw invalid(faults.slice(0, MAX_FAULTS))
  return documents as readonly JsonObject[]
}

const placeOf = (index: number): string => toPointerPart(DOCUMENTS) + toPointerPart(index)

/** What a document may take before it is judged in slices of its own, and a little more. */
const STEPS_A_DOCUMENT = 5000

/** Prepares and stores all; `undefined` where an `_id` exists. */
async function storeAll(
  context: ServiceContext,
  scope: RequestScope,
  creation: Creation,
  bodies: readonly JsonObject[],
  firstId: string,
): Promise<readonly Written[] | undefined> {
  const { collection } = creation
  const referable = await findReferable(context, scope, creation, bodies)
  const writings = await prepareAll(context, scope, creation, bodies, firstId, referable)
  const written = writings.map((writing) => prepareWritten(context, creation, writing))
  const documents = writings.map(({ document }) => document)
  checkStoredSize(documents)
  const references = documents.flatMap((document, i) =>
    referencesToHold(collection, {}, document).map((reference): Reference => within(reference, i)),
  )
  const required = [
    ...new Map(
      references.map((reference) => [`${reference.collection} ${reference.id}`, reference]),
    ).values(),
  ]
  scope.enter('write')
  const result = await context.adapter.write(
    [...required.map(requireReference), ...documents.map((insert) => ({ in: collection.name, insert }))],
    lazySignal(scope),
  )
  if (result.ok) return written
  if (result.reason === 'missing') throw brokenReference(required[result.step])
  const fields = result.fields ?? []
  if (fields.length === 1 && fields[0] === '_id') return undefined
  throw conflict(fields, placeOf(result.step - required.length))
}

/** Judges every document; faults of any of them come before what forbids another. */
async function prepareAll(
  context: ServiceContext,
  scope: RequestScope,
  { collection, caller, rules }: Creation,
  bodies: readonly JsonObject[],
  firstId: string,
  referable: Referable,
): Promise<readonly Writing[]> {
  const pace = createPace(() => scope.signal)
  const faults: Fault[] = []
  let forbidden: ServiceError | undefined
  const writings: Writing[] = []
  for (const [i, body] of bodies.entries()) {
    const system = createSystemFields(context, collection, caller, i === 0 ? firstId : context.createId())
    const draft = {
      system,
      binding: bindingOf(caller, context.clock),
      judgeReferences: (fields: JsonObject) => judgeReferences(collection, {}, fields, referable),
    }
    try {
      const { fields, given, ignored } = await chooseInSlices(scope, collection, rules, body, draft)
      await pace(STEPS_A_DOCUMENT)
      const document = await buildDocument(context, scope, collection, system, fields)
      writings.push({ document, given, ignored, at: placeOf(i) })
    } catch (thrown) {
      if (!isServiceError(thrown)) throw thrown
      if (thrown.code === 'validation_failed') faults.push(...thrown.errors.map((fault) => within(fault, i)))
      else forbidden ??= thrown
    }
    if (faults.length >= MAX_FAULTS) break
  }
  if (faults.length > 0) throw invalid(faults.slice(0, MAX_FAULTS))
  if (forbidden) throw forbidden
  return writings
}

const within = <T extends { readonly path: string }>(found: T, index: number): T => ({
  ...found,
  path: placeOf(index) + found.path,
})
