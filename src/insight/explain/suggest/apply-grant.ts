import { isObject, readOwn } from '../../../json/own-properties.js'
import { toPointerPart, toPointerParts } from '../../../json/pointer.js'
import { OPERATIONS, OWNER, type RuleOperation } from '../../../permissions/grants.js'
import type { JsonObject, RuleConfig } from '../../../types.js'
import type { Suggestion } from '../explanation.js'
import { grantPointer, grantsOf, isPlain } from '../find-rule.js'

/** Rules of one subject, by operation, that replace its existing ones. */
export type Rules = { readonly [operation in RuleOperation]?: RuleConfig }

/** The change of a configuration that gives a subject some rules and keeps its others. */
export function patchOf(
  config: unknown,
  collection: string,
  subject: string,
  rules: Rules,
): Suggestion['patch'] {
  const grants = grantsOf(config, collection)
  const grant = { ...expand(readOwn(grants, subject), subject), ...shorten(rules) }
  const hasGrants = Object.keys(grants).length > 0
  return [
    hasGrants
      ? { op: 'add', path: grantPointer(collection, subject), value: grant }
      : {
          op: 'add',
          path: `/collections${toPointerPart(collection)}/permissions`,
          value: { [subject]: grant },
        },
  ]
}

/** A grant in the form by operation. */
function expand(grant: unknown, subject: string): JsonObject {
  if (typeof grant === 'boolean') {
    const operations = OPERATIONS.filter((operation) => subject !== OWNER || operation !== 'create')
    return Object.fromEntries(operations.map((operation) => [operation, grant]))
  }
  if (!isObject(grant)) return {}
  if (!isPlain(grant)) return grant
  const { pick, omit, ...others } = grant
  return { ...others, read: true, create: { ...(pick ? { pick } : {}), ...(omit ? { omit } : {}) } }
}

/** A rule without restrictions is `true`. */
export const shorten = (rules: Rules): Suggestion['rules'] =>
  Object.fromEntries(
    Object.entries(rules).map(([operation, rule]) => [operation, Object.keys(rule).length > 0 ? rule : true]),
  )

/** Applies the patch of a suggestion to a copy of a configuration. */
export function applyPatch(config: unknown, [{ path, value }]: Suggestion['patch']): unknown {
  return put(config, toPointerParts(path), value)
}

function put(target: unknown, [name, ...rest]: readonly string[], value: JsonObject): unknown {
  if (name === undefined) return value
  const object = isObject(target) ? target : {}
  return { ...object, [name]: put(readOwn(object, name), rest, value) }
}
