import type { Collection } from '../../../config/plan.js'
import type { Fault } from '../../../errors.js'
import { pickOwn } from '../../../json/own-properties.js'
import { toPointerPart } from '../../../json/pointer.js'
import type { Rule } from '../../../permissions/grants.js'
import { listIgnored } from '../../../permissions/ignored-properties.js'
import { acceptsProperty, type KeptProperties, keepProperties } from '../../../permissions/write-rules.js'
import { findVariables } from '../../../query/variable.js'
import { addNearNames } from '../../../schema/near-names.js'
import { MAX_FAULTS } from '../../../schema/validator.js'
import type { Slice, Sliced } from '../../../slices.js'
import type { JsonObject } from '../../../types.js'
import type { Permit } from '../../authorize.js'
import type { Call } from '../../call.js'
import { ignoredNames, refused } from '../../refusals.js'
import { type Asker, createNaming, type IsNamed, invalidFor } from './redact.js'

/** A rule, and the properties that it keeps of a body. */
export interface Trial {
  readonly collection: Collection
  readonly rule: Rule
  readonly kept: KeptProperties
}

/** The result of a body under one rule. */
export type Applied<T> = AcceptedBody<T> | RejectedBody

/** A body that a rule does not accept. */
type RejectedBody =
  | {
      readonly kind: 'invalid'
      readonly faults: readonly Fault[]
      /** Those that are hidden behind the last one; for explanations. */
      readonly others: readonly Fault[]
    }
  | { readonly kind: 'refused' }

/** A body that a rule accepts. */
export type AcceptedBody<T> = { readonly kind: 'fits' } & T

/** The names that the rule dropped from a body. */
export interface Ignoring {
  readonly ignored: readonly string[]
}

/**
 * Tries the rules for a body; those that drop nothing of it come first. The faults of the first rule tried
 * are the answer; later rules with faults are skipped (CONTRACT.md §5). Throws `validation_failed`, also for what the
 * rule that runs drops of a strict request, and `forbidden`.
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
    // A spread of what has any shape would cost ten times as much as an assignment.
    if (applied.kind === 'fits')
      return Object.assign({ ignored: takeIgnored(call, body, trial.kept) }, applied)
    if (applied.kind === 'invalid' && rule === order[0])
      throw invalidFor(call, collection, explain(trial, applied.faults))
  }
  throw refused()
}

/** The names that a rule dropped from a body. Throws `validation_failed` where the request does not allow any. */
export function takeIgnored(
  { isStrict }: Pick<Call, 'isStrict'>,
  body: JsonObject,
  kept: KeptProperties,
): readonly string[] {
  const ignored = listIgnored(body, kept.body)
  if (isStrict && ignored.length > 0) throw ignoredNames(ignored)
  return ignored
}

/** The rules that drop nothing of a body, and then the others. */
function* putWholeFirst(
  collection: Collection,
  rules: readonly Rule[],
  body: JsonObject,
  slice: Slice,
): Sliced<readonly Rule[]> {
  // What one rule leaves may be as large as the body, so no other is held beside it.
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

/** How rules are tried. */
interface Trying<T> {
  /** The slice for the steps of trying. */
  readonly slice: Slice
  readonly apply: (trial: Trial) => Sliced<Applied<T>>
}

/** The steps of asking whether a rule accepts the properties of a body. */
const stepsToDrop = (body: JsonObject): number => 4 * Object.keys(body).length

/**
 * The properties that are judged: without undeclared ones beyond those whose faults fill an answer. An update looks at each
 * many times over.
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

/** Names near to undeclared ones, of those that the rule accepts. */
export function explain({ collection, rule }: Trial, faults: readonly Fault[]): readonly Fault[] {
  const names = collection.fields.map(({ name }) => name)
  const accepted = names.filter((name) => acceptsProperty(rule, name, collection))
  return addNearNames(faults, collection.fields, accepted)
}

/** Whether a fault is told by itself. */
export type Tells = (fault: Fault) => boolean

/**
 * Sorts the faults of a body under a rule while they are found: only those of which its caller may learn are counted. So
 * those that are hidden take no room from others, and nothing tells how many they are (CONTRACT.md §5, "No leak").
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

  /** Whether a fault is told by itself; others are remembered. */
  readonly tells: Tells = (fault) => {
    const { collection, rule } = this.#trial
    // A caller's value that does not fit the field is not a fault of the body.
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
   * What a body comes to with the faults that are told, of which a path has the first; `undefined` where it has none.
   * Those that are hidden are one, the last.
   */
  judge(told: readonly Fault[]): RejectedBody | undefined {
    // The rule does not run.
    if (told.length === 0 && this.#hidden.length === 0)
      return this.#hasVariable ? { kind: 'refused' } : undefined
    const [hidden, ...others] = this.#hidden
    const faults = firstOfEach(told)
    return hidden
      ? { kind: 'invalid', faults: [...faults.slice(0, MAX_FAULTS - 1), hidden], others }
      : { kind: 'invalid', faults: faults.slice(0, MAX_FAULTS), others }
  }
}

/** The first fault of each path. */
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
