import type { Collection } from '../../../config/plan.js'
import type { Fault } from '../../../errors.js'
import { toPointerPart } from '../../../json/pointer.js'
import { bindSet } from '../../../permissions/write-rules.js'
import { isAnywhere } from '../../../query/where.js'
import { applyDefaultsInSlices, normalisePropertiesInSlices } from '../../../schema/normalise.js'
import { MAX_FAULTS } from '../../../schema/validator.js'
import { runAtOnce, type Slice, type Sliced } from '../../../slices.js'
import type { JsonObject } from '../../../types.js'
import type { Call } from '../../call.js'
import type { SystemFields } from '../stored-document.js'
import { type Applied, blame, cutUndeclared, type Trial } from './choose-rule.js'

/** The fields of a new document. */
export interface Created {
  readonly fields: JsonObject
  /** The values from the body and the rule's `set`. */
  readonly given: JsonObject
}

/** What a create needs beside the fields. */
export interface Draft {
  readonly system: SystemFields
  /** The slice for the steps of judging. */
  readonly slice: Slice
  /** Properties that are required, whatever the schema says. */
  readonly required?: readonly string[]
  /** The faults of the document's references. */
  readonly judgeReferences: (fields: JsonObject) => readonly Fault[]
}

/**
 * Puts a rule's `set` over the properties that it kept of a body, completes and validates the document, and
 * applies the `check` (CONTRACT.md §4, §5).
 */
export function* applyCreate(call: Call, trial: Trial, draft: Draft): Sliced<Applied<Created>> {
  const { collection, rule, kept } = trial
  const set = bindSet(rule, call)
  if (!set) return { kind: 'refused' }
  const body = cutUndeclared(collection, kept.body)
  const given = rule.set.size > 0 ? { ...body, ...set } : body
  const { fields, faults: own } = yield* judgeInSlices(collection, given, draft)
  const broken = draft.judgeReferences(fields)
  if (own.length + broken.length > 0) {
    const known = new Set(own.map(({ path }) => path))
    const others = broken.filter(({ path }) => !known.has(path))
    return blame(trial, [...own, ...others].slice(0, MAX_FAULTS))
  }
  return isAnywhere(rule.check) || call.judge.admits(rule, { ...fields, ...draft.system })
    ? { kind: 'fits', fields, given }
    : { kind: 'refused' }
}

/** A body as it would be stored, and its faults. */
interface Judged {
  readonly fields: JsonObject
  readonly faults: readonly Fault[]
}

/** Normalises a body, adds defaults and validates the result. `now` is in stored form. */
export const judgeBody = (collection: Collection, body: JsonObject, now: string): Judged =>
  runAtOnce((slice) => judgeInSlices(collection, body, { system: { createdAt: now }, slice }))

function* judgeInSlices(
  { fields: declared, validate }: Collection,
  body: JsonObject,
  { system, required = [], slice }: Pick<Draft, 'required' | 'slice'> & { system: { createdAt: string } },
): Sliced<Judged> {
  const normalised = yield* normalisePropertiesInSlices(declared, body, slice)
  const fields = yield* applyDefaultsInSlices(declared, normalised, system.createdAt, slice)
  // A default does not do for what must be given.
  const missing = required.filter((name) => !Object.hasOwn(normalised, name)).map(toPointerPart)
  const found = yield* validate.inSlices(fields, slice)
  if (missing.length === 0) return { fields, faults: found }
  const faults = [
    ...missing.map((path): Fault => ({ path, code: 'required', message: 'is required' })),
    ...found.filter(({ path }) => !missing.includes(path)),
  ]
  return { fields, faults }
}
