import { isFieldName, isSystemField } from '../fields/schema/names.js'
import { compileFilter, type Predicate } from '../filter/matches.js'
import { readOwn } from '../json/own-properties.js'
import { bindValue } from '../query/variable.js'
import { bindWhere, isAnywhere, type Where } from '../query/where.js'
import type { StoredDocument } from '../storage.js'
import type { JsonObject } from '../types.js'
import type { BoundCaller, KnownCaller } from './caller.js'
import { EVERYONE, includesProperty, isRole, type Mentions, OWNER, type Rule, SIGNED_IN } from './grants.js'

/** Evaluates the conditions of rules for one caller. */
export interface RuleJudge {
  /** Whether `where` of a rule is true for a stored document. */
  appliesTo(rule: Rule, stored: StoredDocument): boolean
  /** Whether `check` of a rule is true for a document as it would be stored. */
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

/** The maximum number of names that a response lists. */
const MAX_NAMES = 20

/**
 * Lists the dropped properties of a body that a response names (CONTRACT.md §7): those whose names are valid field
 * names or system fields. The list depends only on the body and the rule that ran.
 */
export const listIgnored = (body: JsonObject, kept: JsonObject): readonly string[] =>
  body === kept
    ? NONE
    : firstNames(
        Object.keys(body).filter(
          (name) => !Object.hasOwn(kept, name) && (isFieldName(name) || isSystemField(name)),
        ),
      )

const NONE: readonly string[] = []

/** Returns the first names in sorted order, each once. Does not sort all names, because a body may have too many. */
export function firstNames(names: Iterable<string>): readonly string[] {
  const first: string[] = []
  for (const name of names) {
    const place = first.findIndex((other) => other >= name)
    if (place < 0) first.push(name)
    else if (first[place] !== name) first.splice(place, 0, name)
    if (first.length > MAX_NAMES) first.pop()
  }
  return first
}

/**
 * Selects the rules under which a caller may attempt an operation, in the order of CONTRACT.md §5. If one of the roles
 * of the caller mentions the operation, the roles decide; if none does, `user` decides; if that does not mention it,
 * `*` decides. `owner` comes last. Rules beyond the 64th are left out. Without rules, the operation is denied.
 */
export function selectWriteRules(mentions: Mentions, caller: KnownCaller | null): readonly Rule[] {
  const rules: Rule[] = []
  for (const subject of decidingSubjects(mentions, caller)) rules.push(...(mentions.get(subject) ?? []))
  return rules.length > MAX_TRIED ? rules.slice(0, MAX_TRIED) : rules
}

/** The maximum number of candidates of a write (CONTRACT.md §5, "Writing"). */
export const MAX_TRIED = 64

/** Selects the subjects that decide, in the order of their rules. */
export const decidingSubjects = (mentions: Mentions, caller: KnownCaller | null): readonly string[] =>
  caller === null ? STRANGER : [...decideSubjects(mentions, caller), OWNER]

const STRANGER: readonly string[] = [EVERYONE]

function decideSubjects(mentions: Mentions, caller: KnownCaller): readonly string[] {
  const roles = [...mentions.keys()].filter((subject) => isRole(subject) && caller.roles.includes(subject))
  if (roles.length > 0) return roles
  return mentions.has(SIGNED_IN) ? [SIGNED_IN] : STRANGER
}

/** The properties of a body that a rule keeps. */
export interface KeptProperties {
  readonly body: JsonObject
  /** Whether the rule dropped no property of the body, except system fields and properties that `set` replaces. */
  readonly isWhole: boolean
}

/** The account fields with special rules: the one with the role, and the one with the time of verification. */
export interface AccountFields {
  readonly roleField: string | null
  readonly verifiedField: string | null
}

/** Whether a rule accepts a property from a body; the schema need not declare it. */
export const acceptsProperty = (
  rule: Rule,
  name: string,
  { roleField, verifiedField }: AccountFields,
): boolean =>
  includesProperty(rule.properties, name) &&
  name !== verifiedField &&
  (name !== roleField || rule.acceptsRole)

/** Returns the values of `set` of a rule for a caller; `undefined` if the caller lacks one of its variables. */
export function bindSet({ set }: Rule, asking: BoundCaller): JsonObject | undefined {
  if (set.size === 0) return NOTHING
  const entries: [string, unknown][] = []
  for (const [name, value] of set) {
    const bound = bindValue(value, asking.binding)
    if (bound === undefined) return undefined
    entries.push([name, bound.value])
  }
  return Object.fromEntries(entries)
}

const NOTHING: JsonObject = {}
