import { pickOwn } from '../json/own-properties.js'
import { bindValue } from '../query/variable.js'
import { isSystemField } from '../schema/names.js'
import type { JsonObject } from '../types.js'
import type { BoundCaller, KnownCaller } from './caller.js'
import { EVERYONE, includesProperty, isRole, OWNER, type Rule, SIGNED_IN } from './grants.js'

/**
 * The rules under which a caller may try an operation, in the order of CONTRACT.md §5: the caller's roles
 * decide if one of them mentions the operation, else `user`, else `*`; `owner` comes last. Without rules, the operation
 * is denied.
 */
export function selectWriteRules(
  mentions: ReadonlyMap<string, Rule | null>,
  caller: KnownCaller | null,
): readonly Rule[] {
  return decidingSubjects(mentions, caller)
    .map((subject) => mentions.get(subject))
    .filter((rule) => rule !== null && rule !== undefined)
}

/** The subjects that decide, in the order of their rules. */
export const decidingSubjects = (
  mentions: ReadonlyMap<string, Rule | null>,
  caller: KnownCaller | null,
): readonly string[] => (caller === null ? STRANGER : [...decideSubjects(mentions, caller), OWNER])

const STRANGER: readonly string[] = [EVERYONE]

function decideSubjects(mentions: ReadonlyMap<string, Rule | null>, caller: KnownCaller): readonly string[] {
  const roles = [...mentions.keys()].filter((subject) => isRole(subject) && caller.roles.includes(subject))
  if (roles.length > 0) return roles
  return mentions.has(SIGNED_IN) ? [SIGNED_IN] : STRANGER
}

/** The properties of a body that a rule keeps. */
export interface KeptProperties {
  readonly body: JsonObject
  /** Whether the rule dropped nothing; system fields and properties that `set` replaces do not count. */
  readonly isWhole: boolean
}

/** The fields of accounts with rules of their own: the role field and the field of the verification time. */
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

/**
 * Drops system fields, the field of the verification time, what `accepts` rejects, and what `set` replaces
 * (CONTRACT.md §4 and §5).
 */
export function keepProperties(
  body: JsonObject,
  accepts: (name: string) => boolean,
  set: ReadonlyMap<string, unknown> = new Map(),
  verifiedField: string | null = null,
): KeptProperties {
  const names = Object.keys(body)
  let isWhole = true
  const isKept = (name: string): boolean => {
    if (isSystemField(name) || name === verifiedField || set.has(name)) return false
    const isAccepted = accepts(name)
    isWhole &&= isAccepted
    return isAccepted
  }
  return names.every(isKept) ? { body, isWhole } : { body: pickOwn(body, names.filter(isKept)), isWhole }
}

/** The values of a rule's `set` for a caller; `undefined` if the caller lacks one of them. */
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
