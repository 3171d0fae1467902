import type { Rule } from '../../../../core/permissions/grants.js'
import { acceptsProperty } from '../../../../core/permissions/write-rules.js'
import type { Sight } from '../model/deciding.js'
import type { Cases } from '../model/sources.js'
import { ALWAYS, type Diagram } from '../solver/logic.js'
import type { BodyReader } from './reading-body.js'

/** The document that a granted request stores. */
export interface Stored {
  /** The rule that runs; `null` for a delete. */
  readonly rule: Rule | null
  /** Whether the rule accepts a name, if the body has it. */
  readonly accepts: (name: string) => boolean
  /** Holds if the body decides about a field: by naming it, or in a PUT by leaving it out. */
  readonly isGiven: (name: string) => Diagram
  /** Holds if the rule keeps a property of the body. */
  readonly isKept: (name: string) => Diagram
  /** The sources of a field of the stored document. */
  readonly sourcesOf: (name: string) => Cases
}

/** The outcomes of a write: exactly one of them holds, except for the errors of a `400`. */
export interface WriteDecision {
  /** The condition of each rejection, and of each error. */
  readonly refusals: ReadonlyMap<string, Diagram>
  readonly granted: readonly (readonly [when: Diagram, stored: Stored])[]
}

/** The inputs of the decision about a write. */
export interface Write {
  readonly mode: 'create' | 'patch' | 'put'
  readonly sight: Sight
  readonly isSignedIn: boolean
  /** The names whose visibility the write depends on. */
  readonly namesShown: readonly string[]
  /** Holds if a name of a readable document is shown: a write never reaches any other. */
  readonly shows: (name: string) => Diagram
  /** The names that a body can have. */
  readonly names: readonly string[]
  readonly body: BodyReader
  /** Whether a created document is an account, its own creator. */
  readonly isAccount: boolean
  /** Whether registration is closed. */
  readonly isClosed: boolean
  /** The results of the rules of one side, by what their callers see. */
  readonly trials: Map<Rule, Map<string, Trial>>
}

/** The outcome of one rule for a write; if it neither runs nor has errors of the body, it rejects the write. */
export interface Applied {
  readonly runs: Diagram
  /** The condition of each error of the body. */
  readonly faults: ReadonlyMap<string, Diagram>
  readonly stored: Stored
}

/** The outcome of a rule by itself. */
export interface Trial {
  /** Holds if it drops nothing. */
  readonly isWhole: Diagram
  readonly applied: Applied
}

/** Holds if a name is shown wherever the document is: always, if it is shown whenever the document can be read. */
export const showsWhereReadable =
  ({ isReadable, shows }: Sight) =>
  (name: string): Diagram => {
    const shown = shows(name)
    return shown === isReadable() ? ALWAYS : shown
  }

/** Whether a rule accepts a name of the body. */
export const accepts = ({ sight: { collection } }: Write, rule: Rule, name: string): boolean =>
  !rule.set.has(name) && acceptsProperty(rule, name, collection)
