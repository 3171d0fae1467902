import { compileFilter, type Predicate } from '../filter/matches.js'
import { freezeDeep } from '../json/freeze-deep.js'
import { readOwn } from '../json/own-properties.js'
import { type BoundedMap, createBoundedMap } from '../kept/bounded-map.js'
import { CACHES } from '../kept/caches.js'
import { createWeakCache } from '../kept/weak-cache.js'
import { NOW } from '../query/variable.js'
import { bindWhere, isAnywhere, type Where } from '../query/where.js'
import type { StoredDocument } from '../storage.js'
import type { JsonObject } from '../types.js'
import type { Asking } from './caller.js'
import { OWNER, type Rule } from './grants.js'
import { keyValues, writeValues } from './values.js'

/** Decides for one caller whether the conditions of rules hold for documents. */
export interface RuleJudge {
  /** Whether the rule's `where` holds for a stored document. */
  appliesTo(rule: Rule, stored: StoredDocument): boolean
  /** Whether the rule's `check` holds for a document as it would be stored. */
  admits(rule: Rule, document: JsonObject): boolean
}

interface Kept {
  readonly predicate: Predicate
  readonly size: number
}

/** The compiled conditions that are kept of a rule, in units of text of the values that they depend on. */
const MAX_KEPT = 64 * 1024
/** What one takes beside that. */
const OVERHEAD = 1024

/**
 * Creates the judge of each caller. A condition without variables is compiled once, any other once for all callers with the
 * same values, and one with `$now` once for each request.
 */
export function createRuleJudges(): (asking: Asking) => RuleJudge {
  const fixed = createWeakCache<Where, Predicate>(CACHES.conditions)
  const shared = new WeakMap<Where, BoundedMap<string, Kept>>()
  return (asking) => {
    const own = new Map<Where, Predicate>()
    const find = (where: Where): Predicate => {
      if (where.kind === 'fixed') return compileFilter(where.filter)
      const { variables } = where
      const compile = (): Predicate => compileFilter(freezeDeep(bindWhere(where, asking.binding)))
      if (variables.includes(NOW)) return compile()
      const kept = shared.get(where) ?? createBoundedMap(CACHES.conditions, MAX_KEPT, ({ size }) => size)
      shared.set(where, kept)
      const key = keyValues(variables, asking.binding)
      const known = kept.get(key)
      if (known) return known.predicate
      const predicate = compile()
      kept.set(key, { predicate, size: OVERHEAD + writeValues(variables, asking.binding).length })
      return predicate
    }
    const test = (where: Where): Predicate => {
      const kept = where.kind === 'fixed' ? fixed : own
      const predicate = kept.get(where) ?? find(where)
      kept.set(where, predicate)
      return predicate
    }
    return {
      appliesTo: ({ subject, where }, stored) =>
        (subject !== OWNER || isCreator(asking, stored)) && (isAnywhere(where) || test(where)(stored)),
      admits: ({ check }, document) => isAnywhere(check) || test(check)(document),
    }
  }
}

const isCreator = ({ caller }: Asking, stored: StoredDocument): boolean =>
  caller !== null && readOwn(stored, 'createdBy') === caller.id
