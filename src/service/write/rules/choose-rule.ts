import type { Collection } from '../../../config/plan.js'
import type { Fault } from '../../../errors.js'
import { toPointerPart } from '../../../json/pointer.js'
import type { Rule } from '../../../permissions/grants.js'
import { listIgnored } from '../../../permissions/ignored-properties.js'
import { acceptsProperty, type Kept, keepProperties } from '../../../permissions/write-rules.js'
import { findVariables } from '../../../query/variable.js'
import { suggest } from '../../../schema/names.js'
import type { Sliced } from '../../../slices.js'
import type { JsonObject } from '../../../types.js'
import type { Permit } from '../../authorize.js'
import type { Call } from '../../call.js'
import { refused } from '../../refusals.js'
import { invalidFor } from './veil.js'

/** A rule, and the properties that it keeps of a body. */
export interface Trial {
  readonly collection: Collection
  readonly rule: Rule
  readonly kept: Kept
}

/** The result of a body under one rule. */
export type Applied<T> = Fitting<T> | Unfitting

/** A body that a rule does not accept. */
type Unfitting =
  | { readonly kind: 'invalid'; readonly faults: readonly Fault[] }
  | { readonly kind: 'refused' }

/** A body that a rule accepts. */
export type Fitting<T> = { readonly kind: 'fits' } & T

/** The names that the rule dropped from a body. */
export interface Ignoring {
  readonly ignored: readonly string[]
}

/**
 * Tries the rules for a body; those that drop nothing of it come first. The faults of the first rule tried
 * are the answer; later rules with faults are skipped (CONTRACT.md §5). Throws `validation_failed` and
 * `forbidden`.
 */
export function* chooseRule<T>(
  call: Call,
  { collection, rules }: Permit,
  body: JsonObject,
  apply: (trial: Trial) => Sliced<Applied<T>>,
): Sliced<Fitting<T> & Ignoring> {
  const { roleField, verifiedField } = collection
  const trials = rules.map((rule): Trial => {
    const accepts = (name: string): boolean => acceptsProperty(rule, name, roleField)
    return { collection, rule, kept: keepProperties(body, accepts, rule.set, verifiedField) }
  })
  // The sort keeps the order of those that are alike.
  trials.sort((a, b) => Number(b.kept.isWhole) - Number(a.kept.isWhole))
  const { trace } = call.service
  trace?.tries(call, body, trials)
  for (const trial of trials) {
    const applied = yield* apply(trial)
    trace?.tried(trial, applied)
    if (applied.kind === 'fits')
      return Object.assign({ ignored: listIgnored(body, trial.kept.body) }, applied)
    if (applied.kind === 'invalid' && trial === trials[0]) throw invalidFor(call, collection, applied.faults)
  }
  throw refused()
}

/** A caller's value that does not fit the field is not a fault of the body: the rule does not run. */
export function blame({ collection, rule }: Trial, faults: readonly Fault[]): Unfitting {
  const own = faults.filter((fault) => !comesFromVariable(rule, fault))
  return own.length > 0 ? { kind: 'invalid', faults: explain(collection, rule, own) } : { kind: 'refused' }
}

function comesFromVariable({ set }: Rule, { path }: Fault): boolean {
  for (const [name, value] of set) {
    const pointer = toPointerPart(name)
    const isIts = path === pointer || path.startsWith(`${pointer}/`)
    if (isIts && findVariables(value).length > 0) return true
  }
  return false
}

/** Adds to the fault of an undeclared property the nearest name that the rule accepts. */
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
