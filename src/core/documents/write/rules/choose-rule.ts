import type { Collection } from '../../../config/plan.js'
import type { Fault } from '../../../errors.js'
import { addNearNames } from '../../../fields/schema/near-names.js'
import { MAX_FAULTS } from '../../../fields/schema/validator.js'
import { pickOwn } from '../../../json/own-properties.js'
import { toPointerPart } from '../../../json/pointer.js'
import type { Rule } from '../../../permissions/grants.js'
import {
  acceptsProperty,
  type KeptProperties,
  keepProperties,
  listIgnored,
} from '../../../permissions/write-rules.js'
import { findVariables } from '../../../query/variable.js'
import type { Permit } from '../../../request/authorize.js'
import type { Call } from '../../../request/call.js'
import { ignoredNames, refused } from '../../../request/refusals.js'
import type { Slice, Sliced } from '../../../slices.js'
import type { JsonObject } from '../../../types.js'
import { type Asker, createNaming, type IsNamed, invalidFor } from './redact.js'

/** A rule that is tried, and the properties of a body that it keeps. */
export interface Trial {
  readonly collection: Collection
  readonly rule: Rule
  readonly kept: KeptProperties
}

/** The result of evaluating a body under one rule. */
export type Applied<T> = AcceptedBody<T> | RejectedBody

/** A body that a rule does not accept. */
type RejectedBody =
  | {
      readonly kind: 'invalid'
      readonly faults: readonly Fault[]
      /** Further hidden validation errors; the last of `faults` represents them. Only to explain a decision. */
      readonly others: readonly Fault[]
    }
  | { readonly kind: 'refused' }

/** A body that a rule accepts. */
export type AcceptedBody<T> = { readonly kind: 'fits' } & T

/** The names of the properties that the rule dropped from a body. */
export interface Ignoring {
  readonly ignored: readonly string[]
}

/**
 * Tries rules until one accepts the body. Rules that drop nothing of the body come first. If the first rule finds
 * validation errors, they are the response; a later rule with validation errors is skipped (CONTRACT.md §5). Throws
 * `validation_failed`, also if the accepting rule drops properties of a strict request. Throws `forbidden` if no rule
 * accepts the body.
 */
export function* chooseRule<T>(
  call: Call,
  { collection, rules }: Permit,
  body: JsonObject,
  { slice, apply }: Trying<T>,
): Sliced<AcceptedBody<T> & Ignoring> {
  const order = rules.length === 1 ? rules : yield* putWholeFirst(collection, rules, body, slice)
  const { trace } = call.service
  trace?.tries(
    call,
    body,
    order.map((rule) => beginTrial(collection, rule, body)),
  )
  for (const rule of order) {
    slice.left -= stepsToDrop(body)
    if (slice.left <= 0) yield
    const trial = beginTrial(collection, rule, body)
    const applied = yield* apply(trial)
    trace?.tried(
      trial,
      applied.kind === 'invalid' ? { ...applied, faults: [...applied.faults, ...applied.others] } : applied,
    )
    // Spreading an object of unknown shape would cost ten times as much as an assignment.
    if (applied.kind === 'fits')
      return Object.assign({ ignored: takeIgnored(call, body, trial.kept) }, applied)
    if (applied.kind === 'invalid' && rule === order[0])
      throw invalidFor(call, collection, explain(trial, applied.faults))
  }
  throw refused()
}

/**
 * Returns the names of the properties that a rule dropped from a body. Throws `validation_failed` if there are any and
 * the request is strict.
 */
export function takeIgnored(
  { isStrict }: Pick<Call, 'isStrict'>,
  body: JsonObject,
  kept: KeptProperties,
): readonly string[] {
  const ignored = listIgnored(body, kept.body)
  if (isStrict && ignored.length > 0) throw ignoredNames(ignored)
  return ignored
}

/** Returns the rules that drop nothing of a body, followed by the other rules. */
function* putWholeFirst(
  collection: Collection,
  rules: readonly Rule[],
  body: JsonObject,
  slice: Slice,
): Sliced<readonly Rule[]> {
  // The kept part of a body may be as large as the body, so only one part at a time is in memory.
  const [whole, others]: readonly [Rule[], Rule[]] = [[], []]
  for (const rule of rules) {
    slice.left -= stepsToDrop(body)
    if (slice.left <= 0) yield
    if (beginTrial(collection, rule, body).kept.isWhole) whole.push(rule)
    else others.push(rule)
  }
  return [...whole, ...others]
}

function beginTrial(collection: Collection, rule: Rule, body: JsonObject): Trial {
  const accepts = (name: string): boolean => acceptsProperty(rule, name, collection)
  return { collection, rule, kept: keepProperties(body, accepts, rule.set, collection.verifiedField) }
}

/** The function that tries a rule, and its time slice. */
interface Trying<T> {
  /** The time slice for all trials. */
  readonly slice: Slice
  readonly apply: (trial: Trial) => Sliced<Applied<T>>
}

/** Returns the number of steps that it takes to check which properties of a body a rule accepts. */
const stepsToDrop = (body: JsonObject): number => 4 * Object.keys(body).length

/**
 * Returns the properties to validate: of undeclared properties only as many as a response can report as errors. More
 * would take too long, because an update iterates over each property many times.
 */
export function cutUndeclared({ fields, additionalProperties }: Collection, given: JsonObject): JsonObject {
  const names = Object.keys(given)
  if (additionalProperties || names.length <= fields.length + MAX_FAULTS) return given
  const declared = new Set(fields.map(({ name }) => name))
  let left = MAX_FAULTS
  return pickOwn(
    given,
    names.filter((name) => declared.has(name) || left-- > 0),
  )
}

/** Adds suggestions to the errors of undeclared names, from the names that the rule accepts. */
export function explain({ collection, rule }: Trial, faults: readonly Fault[]): readonly Fault[] {
  const names = collection.fields.map(({ name }) => name)
  const accepted = names.filter((name) => acceptsProperty(rule, name, collection))
  return addNearNames(faults, collection.fields, accepted)
}

/** Returns whether a validation error may be shown to the caller. */
export type Tells = (fault: Fault) => boolean

/**
 * Collects the validation errors of a body under a rule. Errors that its caller may not see are kept apart as they are
 * found. So hidden errors do not displace visible ones, and their number is not revealed (CONTRACT.md §5, "No leak").
 */
export class FaultCollector {
  readonly #asker: Asker
  readonly #trial: Trial
  #isNamed: IsNamed | undefined
  #hasVariable = false
  readonly #hidden: Fault[] = []

  constructor(asker: Asker, trial: Trial) {
    this.#asker = asker
    this.#trial = trial
  }

  /** Returns whether a validation error may be shown to the caller, and records it if it is hidden. */
  readonly tells: Tells = (fault) => {
    const { collection, rule } = this.#trial
    // If `set` copies a value of the caller that does not fit the field, this is not an error of the body.
    if (comesFromVariable(rule, fault)) {
      this.#hasVariable = true
      return false
    }
    this.#isNamed ??= createNaming(this.#asker, collection)
    if (this.#isNamed(fault)) return true
    if (this.#hidden.length < MAX_FAULTS) this.#hidden.push(fault)
    return false
  }

  /**
   * Returns the result of a body that has these visible validation errors; `undefined` if it has none, and no hidden
   * ones. Keeps the first error of each path. All hidden errors are represented by one error, the last.
   */
  judge(told: readonly Fault[]): RejectedBody | undefined {
    // If only values of the caller do not fit, the rule does not accept the body.
    if (told.length === 0 && this.#hidden.length === 0)
      return this.#hasVariable ? { kind: 'refused' } : undefined
    const [hidden, ...others] = this.#hidden
    const faults = firstOfEach(told)
    return hidden
      ? { kind: 'invalid', faults: [...faults.slice(0, MAX_FAULTS - 1), hidden], others }
      : { kind: 'invalid', faults: faults.slice(0, MAX_FAULTS), others }
  }
}

/** Returns the first validation error of each path. */
export function firstOfEach(faults: readonly Fault[]): readonly Fault[] {
  const byPath = new Map<string, Fault>()
  for (const fault of faults) if (!byPath.has(fault.path)) byPath.set(fault.path, fault)
  return [...byPath.values()]
}

function comesFromVariable({ set }: Rule, { path }: Fault): boolean {
  for (const [name, value] of set) {
    const pointer = toPointerPart(name)
    const isIts = path === pointer || path.startsWith(`${pointer}/`)
    if (isIts && findVariables(value).length > 0) return true
  }
  return false
}
