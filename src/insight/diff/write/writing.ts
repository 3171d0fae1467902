import type { Rule } from '../../../permissions/grants.js'
import { acceptsProperty } from '../../../permissions/write-rules.js'
import type { Sight } from '../model/deciding.js'
import type { Cases } from '../model/sources.js'
import { ALWAYS, type Diagram } from '../solver/diagrams.js'
import type { BodyReader } from './reading-body.js'

/** What is stored by a request that is granted. */
export interface Stored {
  /** The rule that runs; `null` for a delete. */
  readonly rule: Rule | null
  /** Whether the rule takes a name from the body, where the body has it. */
  readonly accepts: (name: string) => boolean
  /** That the rule lets the body decide what a field will be: by naming it, or in a PUT by leaving it out. */
  readonly isGiven: (name: string) => Diagram
  /** That the rule keeps a property of the body. */
  readonly isKept: (name: string) => Diagram
  /** What a field will be. */
  readonly sourcesOf: (name: string) => Cases
}

/** What a write comes to: one of these always, never two, beside the faults of a `400`. */
export interface WriteDecision {
  /** By refusal, and by fault, that the write has it. */
  readonly refusals: ReadonlyMap<string, Diagram>
  readonly granted: readonly (readonly [when: Diagram, stored: Stored])[]
}

/** What a write is decided on. */
export interface Write {
  readonly mode: 'create' | 'patch' | 'put'
  readonly sight: Sight
  readonly isSignedIn: boolean
  /** The names of which the write depends on whether they are shown. */
  readonly namesShown: readonly string[]
  /** That a name of a document that can be read is shown: of any other the write never gets to know. */
  readonly shows: (name: string) => Diagram
  /** The names that a body can have. */
  readonly names: readonly string[]
  readonly body: BodyReader
  /** Whether a created document is an account, its own creator. */
  readonly isAccount: boolean
  /** Whether nobody may register. */
  readonly isClosed: boolean
  /** What was found of the rules of one side, by what their callers see. */
  readonly trials: Map<Rule, Map<string, Trial>>
}

/** What one rule makes of a write; where it neither runs nor has faults of the body, it refuses. */
export interface Applied {
  readonly runs: Diagram
  /** By fault, that the body has it. */
  readonly faults: ReadonlyMap<string, Diagram>
  readonly stored: Stored
}

/** What comes of a rule by itself. */
export interface Trial {
  /** That it drops nothing. */
  readonly isWhole: Diagram
  readonly applied: Applied
}

/** That a name is shown where the document is: always, where it is whenever the document can be read. */
export const showsWhereReadable =
  ({ isReadable, shows }: Sight) =>
  (name: string): Diagram => {
    const shown = shows(name)
    return shown === isReadable() ? ALWAYS : shown
  }

/** Whether a rule takes a name from the body. */
export const accepts = ({ sight: { collection } }: Write, rule: Rule, name: string): boolean =>
  !rule.set.has(name) && acceptsProperty(rule, name, collection)
