import type { Collection } from '../../../config/plan.js'
import { type Fault, ServiceError } from '../../../errors.js'
import { matches } from '../../../filter/matches.js'
import { toPointerPart } from '../../../json/pointer.js'
import type { Rule } from '../../../permissions/grants.js'
import { listIgnored } from '../../../permissions/ignored-properties.js'
import { acceptsProperty, bindSet, type Kept, keepProperties } from '../../../permissions/write-rules.js'
import { type Binding, findVariables } from '../../../query/variable.js'
import { bindWhere } from '../../../query/where.js'
import { suggest } from '../../../schema/names.js'
import { applyDefaultsInSlices, normalisePropertiesInSlices } from '../../../schema/normalise.js'
import { MAX_FAULTS } from '../../../schema/validator.js'
import { runAtOnce, type Slice, type Sliced } from '../../../slices.js'
import type { JsonObject } from '../../../types.js'
import { refused } from '../../authorize.js'
import type { SystemFields } from '../stored-document.js'

/** A new document's fields. */
export interface Created {
  readonly fields: JsonObject
  /** What the body and the rule's `set` gave. */
  readonly given: JsonObject
}

/** What comes of a body under one rule. */
export type Applied<T = Created> =
  | Fitting<T>
  | { readonly kind: 'invalid'; readonly faults: readonly Fault[] }
  | { readonly kind: 'refused' }

/** A body that a rule lets in. */
export type Fitting<T = Created> = { readonly kind: 'fits' } & T

/** What a rule that lets a body in has taken from it, by name. */
export interface Ignoring {
  readonly ignored: readonly string[]
}

/** A new document to be, beside its fields. */
export interface Draft {
  readonly system: SystemFields
  readonly binding: Binding
  /** What judging takes its steps from. */
  readonly slice: Slice
  /** Properties that must be there, whatever the schema says. */
  readonly required?: readonly string[]
  /** The faults of what the document would refer to. */
  readonly judgeReferences: (fields: JsonObject) => readonly Fault[]
}

/**
 * What comes of a body under the rule that runs: rules that drop nothing of it go first. The faults of the first rule
 * tried are the answer; a later one that is invalid is passed over (CONTRACT.md §5). Throws `validation_failed` and
 * `forbidden`.
 */
export function* chooseRule<T>(
  collection: Collection,
  rules: readonly Rule[],
  body: JsonObject,
  apply: (rule: Rule, kept: Kept) => Sliced<Applied<T>>,
): Sliced<Fitting<T> & Ignoring> {
  const { roleField } = collection
  const candidates = rules.map((rule) => ({
    rule,
    kept: keepProperties(body, (name) => acceptsProperty(rule, name, roleField), rule.set),
  }))
  const ordered = [
    ...candidates.filter(({ kept }) => kept.isWhole),
    ...candidates.filter(({ kept }) => !kept.isWhole),
  ]
  for (const [i, { rule, kept }] of ordered.entries()) {
    const applied = yield* apply(rule, kept)
    if (applied.kind === 'fits') return { ...applied, ignored: listIgnored(body, kept.body) }
    if (applied.kind === 'invalid' && i === 0) throw invalid(applied.faults)
  }
  throw refused()
}

/** Puts a rule's `set` over what it kept of a body, completes and validates the whole, and checks it (CONTRACT.md §4, §5). */
export function* applyRule(
  collection: Collection,
  rule: Rule,
  kept: JsonObject,
  draft: Draft,
): Sliced<Applied> {
  const set = bindSet(rule, draft.binding)
  if (!set) return { kind: 'refused' }
  const given = rule.set.size > 0 ? { ...kept, ...set } : kept
  const { fields, faults: own } = yield* judgeInSlices(collection, given, draft)
  const known = new Set(own.map(({ path }) => path))
  const others = draft.judgeReferences(fields).filter(({ path }) => !known.has(path))
  const faults = [...own, ...others].slice(0, MAX_FAULTS)
  if (faults.length > 0) return blame(collection, rule, faults)
  return isChecked(rule, { ...fields, ...draft.system }, draft.binding)
    ? { kind: 'fits', fields, given }
    : { kind: 'refused' }
}

/** What the caller holds in a form that a field cannot take is no fault of the body: the rule does not run. */
export function blame(
  collection: Collection,
  rule: Rule,
  faults: readonly Fault[],
): Exclude<Applied, Fitting> {
  const own = faults.filter((fault) => !comesFromVariable(rule, fault))
  return own.length > 0 ? { kind: 'invalid', faults: explain(collection, rule, own) } : { kind: 'refused' }
}

/** Whether a rule's `check` holds for a document as it would be stored. */
export const isChecked = (rule: Rule, document: JsonObject, binding: Binding): boolean =>
  matches(bindWhere(rule.check, binding), document)

function comesFromVariable({ set }: Rule, { path }: Fault): boolean {
  for (const [name, value] of set) {
    const pointer = toPointerPart(name)
    const isIts = path === pointer || path.startsWith(`${pointer}/`)
    if (isIts && findVariables(value).length > 0) return true
  }
  return false
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

/** Adds the nearest name to faults of undeclared properties, among those that the rule accepts. */
function explain(collection: Collection, rule: Rule, faults: readonly Fault[]): readonly Fault[] {
  const accepted = collection.fields
    .map(({ name }) => name)
    .filter((name) => acceptsProperty(rule, name, collection.roleField))
  return faults.map((fault) =>
    fault.code === 'unknown_property'
      ? { ...fault, message: fault.message + suggest(fault.path.slice(1), accepted) }
      : fault,
  )
}

/** Faults that `detail` repeats in words; `errors` has them all. */
const MAX_DETAILED = 3

/** The answer to a body with faults. */
export function invalid(faults: readonly Fault[]): ServiceError {
  const words = faults.slice(0, MAX_DETAILED).map(({ path, message }) => `${path || 'The body'} ${message}`)
  const more = faults.length > MAX_DETAILED ? [`and ${faults.length - MAX_DETAILED} more`] : []
  return new ServiceError('validation_failed', [...words, ...more].join(' · '), { errors: faults })
}
