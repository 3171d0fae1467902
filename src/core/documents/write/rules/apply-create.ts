import type { Collection } from '../../../config/plan.js'
import type { Fault } from '../../../errors.js'
import {
  applyDefaultsInSlices,
  isComplete,
  normaliseAtOnce,
  normalisePropertiesInSlices,
} from '../../../fields/schema/normalise.js'
import { toPointerPart } from '../../../json/pointer.js'
import { bindSet } from '../../../permissions/write-rules.js'
import { isAnywhere } from '../../../query/where.js'
import type { Call } from '../../../request/call.js'
import { runAtOnce, type Slice, type Sliced } from '../../../slices.js'
import type { JsonObject } from '../../../types.js'
import type { SystemFields } from '../stored-document.js'
import { type Applied, cutUndeclared, FaultCollector, type Tells, type Trial } from './choose-rule.js'

/** The fields of a new document. */
export interface Created {
  readonly fields: JsonObject
  /** The values from the body and the rule's `set`. */
  readonly given: JsonObject
}

/** The context of a create. */
export interface CreateDraft {
  readonly system: SystemFields
  /** The time slice for the evaluation. */
  readonly slice: Slice
  /** Properties that are required regardless of the schema. */
  readonly required?: readonly string[]
  /** Returns the validation errors of the document's references. */
  readonly judgeReferences: (fields: JsonObject, tells: Tells) => readonly Fault[]
}

/**
 * Applies a rule's `set` to the properties of a body that the rule kept, adds defaults, validates the document, and
 * evaluates the `check` (CONTRACT.md §4, §5).
 */
export function* applyCreate(call: Call, trial: Trial, draft: CreateDraft): Sliced<Applied<Created>> {
  const { collection, rule, kept } = trial
  const set = bindSet(rule, call)
  if (!set) return { kind: 'refused' }
  const body = cutUndeclared(collection, kept.body)
  const given = rule.set.size > 0 ? { ...body, ...set } : body
  const collector = new FaultCollector(call, trial)
  // Missing fields that a hook may still fill are not reported.
  const tells: Tells = (fault) => !isFilledLater(collection, fault) && collector.tells(fault)
  const { fields, faults: own } = yield* judgeInSlices(collection, given, draft, tells)
  const broken = draft.judgeReferences(fields, collector.tells)
  const unfitting = collector.judge(broken.length === 0 ? own : [...own, ...broken])
  if (unfitting) return unfitting
  return isAnywhere(rule.check) || call.judge.admits(rule, { ...fields, ...draft.system })
    ? { kind: 'fits', fields, given }
    : { kind: 'refused' }
}

const isFilledLater = ({ fills }: Collection, { path, code }: Fault): boolean =>
  fills.size > 0 && code === 'required' && [...fills].some((name) => path === toPointerPart(name))

const NONE: readonly Fault[] = []

/** A body as it would be stored, and its validation errors. A path may have two errors. */
interface CheckedBody {
  readonly fields: JsonObject
  readonly faults: readonly Fault[]
}

/** Normalises a body, adds defaults and validates the result. `now` is the current time in stored form. */
export const judgeBody = (collection: Collection, body: JsonObject, now: string): CheckedBody =>
  runAtOnce((slice) => judgeInSlices(collection, body, { system: { createdAt: now }, slice }))

interface CreateJudging extends Pick<CreateDraft, 'required' | 'slice'> {
  readonly system: Pick<SystemFields, 'createdAt'>
}

function* judgeInSlices(
  { fields: declared, validate }: Collection,
  body: JsonObject,
  { system, required = [], slice }: CreateJudging,
  isRelevant?: Tells,
): Sliced<CheckedBody> {
  const now = system.createdAt
  // Short bodies are normalised without a generator, which could pause.
  const normalised =
    normaliseAtOnce(declared, body, slice) ?? (yield* normalisePropertiesInSlices(declared, body, slice))
  const fields = isComplete(declared, normalised, now, slice)
    ? normalised
    : yield* applyDefaultsInSlices(declared, normalised, now, slice)
  // The properties in `required` are looked for before defaults are added: a default does not satisfy them.
  const missing = required.filter((name) => !Object.hasOwn(normalised, name)).map(toPointerPart)
  const found = validate.isFlawless(fields, slice)
    ? NONE
    : yield* validate.inSlices(fields, slice, isRelevant && { isRelevant })
  if (missing.length === 0) return { fields, faults: found }
  const lacking = missing.map((path): Fault => ({ path, code: 'required', message: 'is required' }))
  return { fields, faults: [...lacking, ...found] }
}
