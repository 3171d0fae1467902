import type { Collection } from '../../../config/plan.js'
import type { KnownCaller } from '../../../permissions/caller.js'
import { includesProperty, OWNER, type Rule } from '../../../permissions/grants.js'
import { selectReadRules } from '../../../permissions/read-gate.js'
import type { Ask } from '../solver/explore.js'
import { whereHolds } from './conditions.js'
import { CALLER_ID, type Sources, storedKey, variable } from './sources.js'

/** A caller as far as rules are chosen for one; `null` is anonymous. */
export type Asker = KnownCaller | null

/** One configuration's collection, about one stored document and one caller, in one run. */
export interface Sight {
  readonly collection: Collection
  readonly ask: Ask
  readonly readers: readonly Rule[]
  /** Whether a rule's `where` holds for the stored document. */
  appliesTo(rule: Rule): boolean
  /** Whether the document may be read. */
  isReadable(): boolean
  /** Whether a name of it may be read. */
  shows(name: string): boolean
}

/** Where the values of the stored document come from. */
export const STORED: Sources = (path) => variable(storedKey(path))

/** Looks at the stored document as the gate and the judge of rules do. */
export function createSight(collection: Collection, asker: Asker, ask: Ask): Sight {
  const readers = selectReadRules(collection.permissions, asker)
  const known = new Map<Rule, boolean>()
  const appliesTo = (rule: Rule): boolean => {
    const decided = known.get(rule)
    if (decided !== undefined) return decided
    const holds = (rule.subject !== OWNER || isOwner(asker, ask)) && whereHolds(ask, rule.where, STORED)
    known.set(rule, holds)
    return holds
  }
  return {
    collection,
    ask,
    readers,
    appliesTo,
    isReadable: () => readers.some(appliesTo),
    shows: (name) => readers.some((rule) => includesProperty(rule.properties, name) && appliesTo(rule)),
  }
}

const isOwner = (asker: Asker, ask: Ask): boolean =>
  asker !== null &&
  ask({
    kind: 'compare',
    on: storedKey('createdBy'),
    other: CALLER_ID,
    test: (creator, id) => creator !== undefined && creator === id,
  })

/** The answer of a request that is refused, as far as it is told apart from another. */
export type Refusal = '401' | '403' | '404' | `400 ${string}`
