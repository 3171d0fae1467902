import type { Collection } from '../../../core/config/plan.js'
import { USERS } from '../../../core/fields/schema/names.js'
import { isObject, readOwn } from '../../../core/json/own-properties.js'
import { toPointerPart } from '../../../core/json/pointer.js'
import { isRole, type Rule, type RuleOperation } from '../../../core/permissions/grants.js'
import { isAnywhere } from '../../../core/query/where.js'
import type { CollectionConfig, Config, JsonObject, RuleConfig, WhereConfig } from '../../../core/types.js'
import { describeCondition } from '../text/describe-condition.js'
import { fieldsOf, scopeOf, tidy } from './decide.js'
import type { MatrixCondition, MatrixRule } from './types.js'

/** A compiled collection and its source. Both are needed because compiled rules do not keep the text of conditions. */
export interface RuleContext {
  readonly collection: Collection
  readonly written: CollectionConfig
  /** The field that a document must have to be visible to callers without a role; `null` if there is none. */
  readonly shownWith: string | null
}

/** Returns a compiled collection with its source. */
export function describedBy(config: Partial<Config>, collection: Collection): RuleContext {
  const { name, verifiedField } = collection
  return {
    collection,
    written: config.collections?.[name] ?? { schema: {} },
    shownWith: name === USERS && config.auth?.requireVerified ? verifiedField : null,
  }
}

/** Describes a rule in words. */
export function describeRule(rule: Rule, operation: RuleOperation, described: RuleContext): MatrixRule {
  const { collection } = described
  const { pointer, written } = locate(rule.subject, operation, described)
  const where = conditionAt(`${pointer}/where`, written.where)
  const narrowed = operation === 'read' && !isRole(rule.subject) ? narrow(where, described) : where
  const check = rule.check === rule.where ? narrowed : conditionAt(`${pointer}/check`, written.check)
  const isBody = operation === 'create' || operation === 'update'
  return {
    pointers: [pointer],
    where: isAnywhere(rule.where) ? null : narrowed,
    fields:
      operation === 'delete'
        ? null
        : tidy(fieldsOf(rule, collection, operation), scopeOf(collection, operation)),
    set: Object.fromEntries(rule.set),
    check: isBody && !isAnywhere(rule.check) ? check : null,
  }
}

interface Located {
  readonly pointer: string
  readonly written: RuleConfig
}

/** Returns the pointer and the source of a subject's rule for an operation: `{}` for a rule that is no object. */
export function locate(
  subject: string,
  operation: RuleOperation,
  { collection, written: { permissions = {} } }: Pick<RuleContext, 'collection' | 'written'>,
): Located {
  const at = `/collections${toPointerPart(collection.name)}/permissions${toPointerPart(subject)}`
  const grant: unknown = readOwn(permissions as JsonObject, subject)
  const rule = isObject(grant) ? readOwn(grant, operation) : undefined
  return { pointer: rule === undefined ? at : `${at}/${operation}`, written: isObject(rule) ? rule : {} }
}

const conditionAt = (pointer: string, where: WhereConfig = {}): MatrixCondition => ({
  text: describeCondition(where),
  where,
  pointers: [pointer],
})

/** Adds the condition that an account is verified. Only roles see all accounts (CONTRACT.md §4, "No enumeration"). */
function narrow(condition: MatrixCondition, { shownWith }: RuleContext): MatrixCondition {
  if (shownWith === null) return condition
  const verified: WhereConfig = { [shownWith]: { $exists: true } }
  const isAlone = Object.keys(condition.where).length === 0
  const where = isAlone ? verified : { $and: [verified, condition.where] }
  const pointers = ['/auth/requireVerified', ...(isAlone ? [] : condition.pointers)]
  return { text: describeCondition(where), where, pointers }
}
