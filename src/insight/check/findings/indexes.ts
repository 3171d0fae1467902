import type { Collection } from '../../../config/plan.js'
import { EVERYONE, OWNER, SIGNED_IN } from '../../../permissions/grants.js'
import type { Demand } from '../../../query/claims/demands.js'
import { isAnywhere } from '../../../query/where.js'
import type { Check } from '../scope.js'
import { waysOfRule } from '../scope.js'

/** Read conditions for which every document has to be looked at. */
export const findUnindexed: Check = ({ rules }, note) => {
  for (const placed of rules) {
    const { collection, operation, rule, subject } = placed
    if (operation !== 'read' || isAnywhere(rule.where) || readsAllAnyway(collection, subject)) continue
    const open = waysOfRule(rule).find((way) => !way.some((demand) => isIndexed(collection, demand)))
    if (!open || open.length === 0) continue
    const names = [
      ...new Set(open.flatMap(({ path, isList }) => (isList || path.includes('.') ? [] : [path]))),
    ]
    note(
      'read_without_index',
      placed.pointer,
      'no index answers the condition, so each list looks at every document',
      names.length > 0
        ? `Add "indexes": [{ "fields": ["${names[0]}"] }] to ${collection.name}, or with more fields behind it.`
        : 'Compare a top-level field of single values too, and give that an index.',
    )
  }
}

/** Whether a broader subject reads everything: then the condition decides about fields alone. */
function readsAllAnyway({ permissions: { read } }: Collection, subject: string): boolean {
  const broader = subject === EVERYONE ? [] : subject === SIGNED_IN ? [EVERYONE] : [EVERYONE, SIGNED_IN]
  return broader.some((other) => {
    const rule = read.get(other)
    return rule !== null && rule !== undefined && isAnywhere(rule.where)
  })
}

const SOUGHT: readonly string[] = ['$eq', '$in', '$gt', '$gte', '$lt', '$lte', '$exists']

/** Whether an index leads to the documents that meet a demand. */
function isIndexed(
  { storage, permissions }: Collection,
  { path, isList, operator, operand }: Demand,
): boolean {
  const isSought = SOUGHT.includes(operator) || (operator === '$ne' && operand === null)
  if (!isSought) return false
  // Storages may keep an index of the references in an array.
  if (isList) return storage.elements?.some((element) => element.path === path) === true
  if (path === '_id' || (path === 'createdBy' && permissions.read.get(OWNER))) return true
  return storage.indexes.some(({ fields: [first] }) => first?.path === path)
}
