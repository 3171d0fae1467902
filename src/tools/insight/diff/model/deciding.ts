import type { Collection } from '../../../../core/config/plan.js'
import type { KnownCaller } from '../../../../core/permissions/caller.js'
import { OWNER, type Rule } from '../../../../core/permissions/grants.js'
import type { Diagram, Logic } from '../solver/logic.js'
import { whereHolds } from './conditions.js'
import { always, CALLER_ID, type Sources, storedKey, variable } from './sources.js'

/** The parts of a caller that select the rules; `null` is an anonymous caller. */
export type Asker = KnownCaller | null

/** The read access to one stored document, for one caller under one configuration. */
export interface Sight {
  readonly collection: Collection
  readonly logic: Logic
  readonly readers: readonly Rule[]
  /** Returns the condition under which the stored document meets a rule's `where`. */
  appliesTo(rule: Rule): Diagram
  /** Returns the condition under which the document may be read. */
  isReadable(): Diagram
  /** Returns the condition under which a property of the document may be read. */
  shows(name: string): Diagram
}

/** The sources of the values of the stored document. */
export const STORED: Sources = (path) => always(variable(storedKey(path)))

/**
 * Returns a function that computes the condition under which a rule applies to the stored document, and caches it. The
 * requests must be either all signed in or all anonymous.
 */
export function createScope(logic: Logic): (rule: Rule) => Diagram {
  const known = new Map<Rule, Diagram>()
  return (rule) => {
    const found = known.get(rule)
    if (found !== undefined) return found
    const holds = whereHolds(logic, rule.where, STORED)
    const applies = rule.subject === OWNER ? logic.and(isOwner(logic), holds) : holds
    known.set(rule, applies)
    return applies
  }
}

/** Returns the condition under which the caller created the document. It is false for anonymous callers. */
const isOwner = (logic: Logic): Diagram =>
  logic.atom(
    {
      kind: 'compare',
      on: storedKey('createdBy'),
      other: CALLER_ID,
      test: (creator, id) => creator !== undefined && creator === id,
    },
    'owner',
  )
