import { isObject, readOwn } from '../../core/json/own-properties.js'
import { toPointerPart } from '../../core/json/pointer.js'
import type { RuleOperation } from '../../core/permissions/grants.js'
import type { RuleConfig, WhereConfig } from '../../core/types.js'

/** The rule of a subject for an operation, as the configuration has it, and a pointer to the rule. */
export interface WrittenRule {
  readonly pointer: string
  /** `{}` for the grant `true`, `null` for the grant `false`. */
  readonly rule: RuleConfig | null
}

/** Returns the JSON pointer to a subject's grant. */
export const grantPointer = (collection: string, subject: string): string =>
  `/collections${toPointerPart(collection)}/permissions${toPointerPart(subject)}`

/** Returns the grants of a collection, by subject. */
export function grantsOf(config: unknown, collection: string): { readonly [subject: string]: unknown } {
  const found = ['collections', collection, 'permissions'].reduce<unknown>(
    (value, name) => (isObject(value) ? readOwn(value, name) : undefined),
    config,
  )
  return isObject(found) ? found : {}
}

/** Finds the rule of a subject for an operation (CONTRACT.md §5); `null` if the configuration has none. */
export function findRule(
  config: unknown,
  collection: string,
  subject: string,
  operation: RuleOperation,
): WrittenRule | null {
  const grant = readOwn(grantsOf(config, collection), subject)
  const pointer = grantPointer(collection, subject)
  if (typeof grant === 'boolean') return { pointer, rule: grant ? {} : null }
  if (!isObject(grant)) return null
  if (isPlain(grant)) {
    const { pick, omit } = grant as RuleConfig
    if (operation === 'read') return { pointer, rule: {} }
    return operation === 'create'
      ? { pointer, rule: { ...(pick ? { pick } : {}), ...(omit ? { omit } : {}) } }
      : null
  }
  const rule = readOwn(grant, operation)
  if (rule === undefined) return null
  return { pointer: `${pointer}/${operation}`, rule: isObject(rule) ? rule : rule === true ? {} : null }
}

/** Whether a grant has the form `{ pick, omit }`: it allows reading all fields, and creating with these properties. */
export const isPlain = (grant: object): boolean =>
  Object.hasOwn(grant, 'pick') || Object.hasOwn(grant, 'omit')

/** Returns the `check` of a rule. For an update, it defaults to the `where` (CONTRACT.md §5). */
export function placeOfCheck(
  { rule, pointer }: WrittenRule,
  operation: RuleOperation,
): { readonly check: WhereConfig; readonly pointer: string } | null {
  if (rule?.check) return { check: rule.check, pointer: `${pointer}/check` }
  return rule?.where && operation === 'update' ? { check: rule.where, pointer: `${pointer}/where` } : null
}
