import type { Collection } from '../../../config/plan.js'
import type { Fault } from '../../../errors.js'
import { toPointerPart } from '../../../json/pointer.js'
import { bindSet } from '../../../permissions/write-rules.js'
import { applyDefaultsInSlices, normalisePropertiesInSlices } from '../../../schema/normalise.js'
import { MAX_FAULTS } from '../../../schema/validator.js'
import { runAtOnce, type Slice, type Sliced } from '../../../slices.js'
import type { JsonObject } from '../../../types.js'
import type { Call } from '../../call.js'
import type { SystemFields } from '../stored-document.js'
import { type Applied, blame, type Trial } from './choose-rule.js'

/** A new document's fields. */
export interface Created {
  readonly fields: JsonObject
  /** What the body and the rule's `set` gave. */
  readonly given: JsonObject
}

/** A new document to be, beside its fields. */
export interface Draft {
  readonly system: SystemFields
  /** What judging takes its steps from. */
  readonly slice: Slice
  /** Properties that must be there, whatever the schema says. */
  readonly required?: readonly string[]
  /** The faults of what the document would refer to. */
  readonly judgeReferences: (fields: JsonObject) => readonly Fault[]
}

/** Puts a rule's `set` over what it kept of a body, completes and validates the whole, and checks it (CONTRACT.md §4, §5). */
export function* applyCreate(call: Call, trial: Trial, draft: Draft): Sliced<Applied<Created>> {
  const { collection, rule, kept } = trial
  const set = bindSet(rule, call.binding)
  if (!set) return { kind: 'refused' }
  const given = rule.set.size > 0 ? { ...kept.body, ...set } : kept.body
  const { fields, faults: own } = yield* judgeInSlices(collection, given, draft)
  const known = new Set(own.map(({ path }) => path))
  const others = draft.judgeReferences(fields).filter(({ path }) => !known.has(path))
  const faults = [...own, ...others].slice(0, MAX_FAULTS)
  if (faults.length > 0) return blame(trial, faults)
  return call.judge.admits(rule, { ...fields, ...draft.system })
    ? { kind: 'fits', fields, given }
    : { kind: 'refused' }
}

/** A body as it would be stored, and what keeps it from that. */
interface Judged {
  readonly fields: JsonObject
  readonly faults: readonly Fault[]
}

/** Normalises a body, puts defaults in and validates the whole. `now` in stored form. */
export const judgeBody = (collection: Collection, body: JsonObject, now: string): Judged =>
  runAtOnce((slice) => judgeInSlices(collection, body, { system: { createdAt: now }, slice }))

function* judgeInSlices(
  { fields: declared, validate }: Collection,
  body: JsonObject,
  { system, required = [], slice }: Pick<Draft, 'required' | 'slice'> & { system: { createdAt: string } },
): Sliced<Judged> {
  const normalised = yield* normalisePropertiesInSlices(declared, body, slice)
  const fields = yield* applyDefaultsInSlices(declared, normalised, system.createdAt, slice)
  const missing = required.filter((name) => !Object.hasOwn(fields, name)).map(toPointerPart)
  const found = yield* validate.inSlices(fields, slice)
  const faults = [
    ...missing.map((path): Fault => ({ path, code: 'required', message: 'is required' })),
    ...found.filter(({ path }) => !missing.includes(path)),
  ]
  return { fields, faults }
}
