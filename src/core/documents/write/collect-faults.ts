import type { Collection } from '../../config/plan.js'
import type { Fault } from '../../errors.js'
import { MAX_FAULTS } from '../../fields/schema/validator.js'
import { toPointerPart } from '../../json/pointer.js'
import type { Rule } from '../../permissions/grants.js'
import { findVariables } from '../../query/variable.js'
import { type Asker, createNaming, type IsNamed } from './redact.js'

/** A body that a rule does not accept. */
export type Rejected =
  | {
      readonly kind: 'invalid'
      readonly faults: readonly Fault[]
      /** Further hidden validation errors; the last of `faults` represents them. Only to explain a decision. */
      readonly others: readonly Fault[]
    }
  | { readonly kind: 'refused' }

/** A rule under which a body is evaluated. */
interface Ruled {
  readonly collection: Collection
  readonly rule: Rule
}

/**
 * Collects the validation errors of a body under a rule. Errors that its caller may not see are kept apart as they are
 * found. So hidden errors do not displace visible ones, and their number is not revealed (CONTRACT.md §5, "No leak").
 */
export class FaultCollector {
  readonly #asker: Asker
  readonly #ruled: Ruled
  #isNamed: IsNamed | undefined
  #hasVariable = false
  readonly #hidden: Fault[] = []

  constructor(asker: Asker, ruled: Ruled) {
    this.#asker = asker
    this.#ruled = ruled
  }

  /** Returns whether a validation error may be shown to the caller, and records it if it is hidden. */
  readonly tells = (fault: Fault): boolean => {
    const { collection, rule } = this.#ruled
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
  judge(told: readonly Fault[]): Rejected | undefined {
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
