import type { JsonObject } from '../filter/read-path.js'
import { isSystemField } from '../schema/names.js'
import type { Caller } from '../types.js'
import { EVERYONE, includesProperty, isRole, OWNER, type Rule, SIGNED_IN } from './grants.js'

/**
 * The rules under which a caller may try one operation, in the order of contract §5: the caller's roles decide if one
 * of them mentions the operation, else `user`, else `*`; `owner` comes last. None: the operation is denied.
 */
export function selectWriteRules(
  mentions: ReadonlyMap<string, Rule | null>,
  caller: Caller | null,
): readonly Rule[] {
  const owner = caller === null ? null : mentions.get(OWNER)
  const deciding = decideSubjects(mentions, caller).map((subject) => mentions.get(subject))
  return [...deciding, owner].filter((rule) => rule !== null && rule !== undefined)
}

function decideSubjects(
  mentions: ReadonlyMap<string, Rule | null>,
  caller: Caller | null,
): readonly string[] {
  if (caller !== null) {
    const roles = [...mentions.keys()].filter((subject) => isRole(subject) && caller.roles?.includes(subject))
    if (roles.length > 0) return roles
    if (mentions.has(SIGNED_IN)) return [SIGNED_IN]
  }
  return [EVERYONE]
}

/** What a rule leaves of a body. */
export interface Kept {
  readonly body: JsonObject
  /** Whether the rule took anything away; system fields, which nobody may set, do not count. */
  readonly isWhole: boolean
}

/** Drops what a rule does not accept, and system fields (contract §4 and §5). */
export function dropProperties(rule: Rule, body: JsonObject, roleField: string | null): Kept {
  return keepProperties(body, (name) => acceptsProperty(rule, name, roleField))
}

/** Whether a rule accepts a property, declared or not, from a body. */
export const acceptsProperty = (rule: Rule, name: string, roleField: string | null): boolean =>
  includesProperty(rule.properties, name) && (name !== roleField || rule.acceptsRole)

/** Drops system fields, and what `accepts` refuses. */
export function keepProperties(body: JsonObject, accepts: (name: string) => boolean): Kept {
  const entries = Object.entries(body).filter(([name]) => !isSystemField(name))
  const kept = entries.filter(([name]) => accepts(name))
  return { body: Object.fromEntries(kept), isWhole: kept.length === entries.length }
}
