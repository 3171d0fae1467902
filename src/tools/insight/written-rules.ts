import { expandGrant, rulePointer } from '../../core/config/compile-permissions.js'
import { isObject, readOwn } from '../../core/json/own-properties.js'
import type { Rule, RuleOperation } from '../../core/permissions/grants.js'
import type { GrantConfig, RuleConfig, WhereConfig } from '../../core/types.js'

/** The rule of a subject for an operation, as the configuration has it, and a pointer to the rule. */
export interface WrittenRule {
  readonly pointer: string
  /** `{}` for the grant `true`, `null` for the grant `false`. */
  readonly rule: RuleConfig | null
}

/** Returns the grants of a collection, by subject. */
export function grantsOf(config: unknown, collection: string): { readonly [subject: string]: unknown } {
  const found = ['collections', collection, 'permissions'].reduce<unknown>(
    (value, name) => (isObject(value) ? readOwn(value, name) : undefined),
    config,
  )
  return isObject(found) ? found : {}
}

/**
 * Finds a rule of a subject for an operation (CONTRACT.md §5): the rule at `place`, or else the first. `null` if the
 * configuration has none.
 */
export function findRule(
  config: unknown,
  collection: string,
  { subject, place }: Pick<Rule, 'subject'> & Partial<Pick<Rule, 'place'>>,
  operation: RuleOperation,
): WrittenRule | null {
  const grant = readOwn(grantsOf(config, collection), subject)
  if (typeof grant !== 'boolean' && !isObject(grant)) return null
  const found = expandGrant(grant as GrantConfig).find(
    (one) => one.operation === operation && (place === undefined || one.place === place),
  )
  if (!found) return null
  const { rule } = found
  const pointer = rulePointer(collection, { subject, place: found.place })
  return { pointer, rule: rule && found.place === '' ? restrictionsOf(rule) : rule }
}

/** Returns the restrictions of a grant for all operations, without its comment. */
export const restrictionsOf = ({ pick, omit }: Pick<RuleConfig, 'pick' | 'omit'>): RuleConfig => ({
  ...(pick ? { pick } : {}),
  ...(omit ? { omit } : {}),
})

/** Returns the `check` of a rule. For an update, it defaults to the `where` (CONTRACT.md §5). */
export function placeOfCheck(
  { rule, pointer }: WrittenRule,
  operation: RuleOperation,
): { readonly check: WhereConfig; readonly pointer: string } | null {
  if (rule?.check) return { check: rule.check, pointer: `${pointer}/check` }
  return rule?.where && operation === 'update' ? { check: rule.where, pointer: `${pointer}/where` } : null
}
