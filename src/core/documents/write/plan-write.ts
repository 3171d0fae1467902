import type { Collection } from '../../config/plan.js'
import { collectReferences } from '../../fields/schema/references.js'
import { MAX_FAULTS } from '../../fields/schema/validator.js'
import type { Call } from '../../request/call.js'
import { unknownReference } from '../../request/refusals.js'
import type { Attempt, DocumentName } from '../../request/store/attempt.js'
import type { StoredDocument, WriteStep } from '../../storage.js'
import type { JsonObject } from '../../types.js'
import { type Draft, firstOfEach, stagesOf, type Versions, type WriteConditions } from './draft.js'
import { conflictFor, faultSeen, invalidFor, UNSEEN } from './redact.js'
import { askUpdateHook } from './stages/hook.js'
import { createStoredDocument, type MarkedChanges, updateStoredDocument } from './stored-document.js'
import { checkStoredSize, prepareWritten, type WrittenDocument } from './written.js'

/** Assembles the document of a completed draft. */
export const assemble = ({ before, system, fields, hashes, stamp }: Draft): StoredDocument =>
  before
    ? updateStoredDocument(before.stored, fields, system.updatedAt, { hashes, stamp })
    : createStoredDocument(system, fields, { hashes, stamp })

/**
 * Plans the write of a completed draft. Throws `document_too_large`; the write may later throw `unique_violation`.
 */
export function planDraft(draft: Draft): Attempt<WrittenDocument> {
  const { call, collection, before, unseen, isNamed, at, steps: others, behind, after } = draft
  const document = assemble(draft)
  const done = prepareWritten(draft, document)
  const { steps, agreements, deferred, refuse } = planWrite(
    {
      call,
      collection,
      before: before?.stored,
      after: document,
      renewed: unseen,
      seen: draft,
      isNamed,
      at,
      deferred: draft.deferred,
    },
    others,
  )
  return { steps, agreements, deferred, refuse, done, behind, after }
}

/** The plan of the write of a document. */
type PlannedWrite = Required<Pick<Attempt<unknown>, 'steps' | 'agreements' | 'deferred' | 'refuse'>>

/**
 * Plans the steps that store a document, or its next version, and the state that belongs to it (`others`). Throws
 * `document_too_large`. The write is retried if the `_id` of a new document is taken, or if a referenced document was
 * deleted: the next attempt reports the invalid reference. It may throw `unique_violation`.
 */
export function planWrite(versions: Versions, others: readonly WriteStep[] = NONE): PlannedWrite {
  const { call, collection, before, after, at } = versions
  checkStoredSize([after])
  const { steps, agreements, deferred } = planConditions(versions)
  steps.push(
    before
      ? { in: collection.name, replace: after, version: before._version }
      : { in: collection.name, insert: after },
    ...others,
  )
  return {
    steps,
    agreements,
    deferred,
    refuse({ reason, fields = [], targets }) {
      if (reason === 'unique' && (before || !isIdTaken(fields)))
        throw conflictFor(call, collection, fields, at)
      if (targets) refuseTargets(versions, targets)
    },
  }
}

/** Throws the validation errors of the references of a document that name one of the targets, if there are any. */
function refuseTargets(
  { call, collection, before, after, seen = UNSEEN, at }: Versions,
  targets: readonly DocumentName[],
): void {
  const names = new Set(targets.map((target) => `${target.collection}/${target.id}`))
  const broken = collectReferences(collection.referring, after).filter((one) =>
    names.has(`${one.collection}/${one.id}`),
  )
  const faults = broken.map((one) => (before ? faultSeen(one, seen) : unknownReference(one)))
  if (faults.length > 0) throw invalidFor(call, collection, firstOfEach(faults).slice(0, MAX_FAULTS), at)
}

const NONE: readonly WriteStep[] = []

/** The next version of a document, and the plan of its write. */
interface PlannedVersion extends PlannedWrite, Pick<Attempt<unknown>, 'behind'> {
  readonly document: StoredDocument
}

/** Plans the write of the next version of a document, after its hook, if there is one. `now` is in stored form. */
export async function planNextVersion(
  call: Call,
  collection: Collection,
  before: StoredDocument,
  { fields: changed, now, ...marks }: MarkedChanges & { readonly fields: JsonObject; readonly now: string },
): Promise<PlannedVersion> {
  const { fields, behind } = await askUpdateHook(call, collection, before, { fields: changed, now })
  const document = updateStoredDocument(before, fields, now, marks)
  return { ...planWrite({ call, collection, before, after: document }), document, behind }
}

/** Returns the conditions under which a document may be stored. */
export function planConditions(versions: Versions): WriteConditions {
  const conditions: WriteConditions = { steps: [], agreements: [] }
  const operation = versions.before ? 'patch' : 'create'
  for (const guard of stagesOf(versions.call, versions.collection, operation).guard)
    guard(versions, conditions)
  return conditions
}

/** Whether a unique violation of these fields means that the `_id` of a new document is taken. */
export const isIdTaken = (fields: readonly string[]): boolean => fields.length === 1 && fields[0] === '_id'
