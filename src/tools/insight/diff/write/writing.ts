import type { Rule } from '../../../../core/permissions/grants.js'
import { acceptsProperty } from '../../../../core/permissions/write-rules.js'
import type { Sight } from '../model/deciding.js'
import type { Cases } from '../model/sources.js'
import type { Diagram } from '../solver/logic.js'
import type { BodyReader } from './reading-body.js'

/** The document that a granted request stores. */
export interface Stored {
  /** The rule that runs; `null` for a delete. */
  readonly rule: Rule | null
  /** Whether the rule accepts a property of the body. */
  readonly accepts: (name: string) => boolean
  /** Returns the condition under which the body decides a field: by containing it or, in a PUT, by omitting it. */
  readonly isGiven: (name: string) => Diagram
  /** Returns the condition under which the body contains a property and the rule keeps it. */
  readonly isKept: (name: string) => Diagram
  /** Returns the sources of a field of the stored document. */
  readonly sourcesOf: (name: string) => Cases
}

/**
 * The possible outcomes of a write, each with its condition. Exactly one outcome occurs. A `400` comes with the
 * conditions of its validation errors.
 */
export interface WriteDecision {
  /** The condition of each rejection and of each validation error. */
  readonly refusals: ReadonlyMap<string, Diagram>
  readonly granted: readonly (readonly [when: Diagram, stored: Stored])[]
}

/** The inputs for deciding a write. */
export interface Write {
  readonly mode: 'create' | 'patch' | 'put'
  readonly sight: Sight
  readonly isSignedIn: boolean
  /** The names whose visibility affects the write. */
  readonly namesShown: readonly string[]
  /**
   * Returns the condition under which a property is shown, given that the document may be read. A write never reaches a
   * document that may not be read.
   */
  readonly shows: (name: string) => Diagram
  /** The names that a body can contain. */
  readonly names: readonly string[]
  readonly body: BodyReader
  /** Whether a created document is an account, which is its own creator. */
  readonly isAccount: boolean
  /** Whether registration is closed. */
  readonly isClosed: boolean
  /** Caches the results of trying a rule. The inner key is made of the conditions under which names are shown. */
  readonly trials: Map<Rule, Map<string, Trial>>
}

/** The outcome of one rule for a write. If the rule neither runs nor has validation errors, it rejects the write. */
export interface Applied {
  readonly runs: Diagram
  /** The condition of each validation error. */
  readonly faults: ReadonlyMap<string, Diagram>
  readonly stored: Stored
}

/** The outcome of trying one rule by itself. */
export interface Trial {
  /** The condition under which the rule drops nothing of the body. */
  readonly isWhole: Diagram
  readonly applied: Applied
}

/** Whether a rule accepts a property of the body. */
export const accepts = ({ sight: { collection } }: Write, rule: Rule, name: string): boolean =>
  !rule.set.has(name) && acceptsProperty(rule, name, collection)
