import { isObject, readOwn } from '../../json/own-properties.js'
import { toPointerPart } from '../../json/pointer.js'
import type { RuleOperation } from '../../permissions/grants.js'
import type { RuleConfig } from '../../types.js'

/** The rule of a subject for an operation, and its place. */
export interface WrittenRule {
  readonly pointer: string
  /** `{}` for `true`, `null` for `false`. */
  readonly rule: RuleConfig | null
}

/** The place of a subject's grant. */
export const grantPointer = (collection: string, subject: string): string =>
  `/collections${toPointerPart(collection)}/permissions${toPointerPart(subject)}`

/** The grants of a collection, by subject. */
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

/** Whether a grant is `{ pick, omit }`: it allows to read everything, and to create with these properties. */
export const isPlain = (grant: object): boolean =>
  Object.hasOwn(grant, 'pick') || Object.hasOwn(grant, 'omit')
