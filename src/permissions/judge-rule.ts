import { compileFilter, type Predicate } from '../filter/matches.js'
import { readOwn } from '../json/own-properties.js'
import { bindWhere, isAnywhere, type Where } from '../query/where.js'
import type { StoredDocument } from '../storage.js'
import type { JsonObject } from '../types.js'
import type { BoundCaller } from './caller.js'
import { OWNER, type Rule } from './grants.js'

/** Decides for one caller whether the conditions of rules hold for documents. */
export interface RuleJudge {
  /** Whether the rule's `where` holds for a stored document. */
  appliesTo(rule: Rule, stored: StoredDocument): boolean
  /** Whether the rule's `check` holds for a document as it would be stored. */
  admits(rule: Rule, document: JsonObject): boolean
}

/** Creates the `RuleJudge` of a caller. It compiles each condition once. */
export function createRuleJudge(asking: BoundCaller): RuleJudge {
  const compiled = new Map<Where, Predicate>()
  const test = (where: Where): Predicate => {
    const known = compiled.get(where)
    if (known) return known
    const filter = where.kind === 'fixed' ? where.filter : bindWhere(where, asking.binding)
    const predicate = compileFilter(filter)
    compiled.set(where, predicate)
    return predicate
  }
  return {
    appliesTo: ({ subject, where }, stored) =>
      (subject !== OWNER || isCreator(asking, stored)) && (isAnywhere(where) || test(where)(stored)),
    admits: ({ check }, document) => isAnywhere(check) || test(check)(document),
  }
}

const isCreator = ({ caller }: BoundCaller, stored: StoredDocument): boolean =>
  caller !== null && readOwn(stored, 'createdBy') === caller.id
