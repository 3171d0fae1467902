import { isDemandOn, leads } from '../../../config/leads.js'
import type { Collection } from '../../../config/plan.js'
import type { FieldRef } from '../../../filter/filter.js'
import { EVERYONE, OWNER, type Rule, SIGNED_IN } from '../../../permissions/grants.js'
import type { Demand } from '../../../query/claims/demands.js'
import { isAnywhere } from '../../../query/where.js'
import { type Check, waysOfRule } from '../scope.js'

/** Read conditions that need a scan of all documents. */
export const findUnindexed: Check = ({ rules }, note) => {
  for (const placed of rules) {
    const { collection, operation, rule, subject } = placed
    if (operation !== 'read' || readsAllAnyway(collection, subject)) continue
    const ways = waysOfRule(rule).map((way) => way.filter((demand) => !isOfService(collection, demand)))
    const open = ways.find((way) => !isIndexed(collection, way))
    if (!open || open.length === 0) continue
    const names = [
      ...new Set(
        open.flatMap((demand) =>
          (demand.isList && !isFixing(demand)) || demand.path.includes('.') ? [] : [demand.path],
        ),
      ),
    ]
    note(
      'read_without_index',
      placed.pointer,
      'no index serves the condition, so each list scans all documents',
      names.length > 0
        ? `Add "indexes": [{ "fields": ["${names[0]}"] }] to ${collection.name}, or with more fields after it. An array needs maxItems of at most 1,000.`
        : 'Compare a top-level field of single values too, and give that an index.',
    )
  }
}

/** Whether a broader subject reads everything: then the condition decides about fields alone. */
function readsAllAnyway(collection: Collection, subject: string): boolean {
  const { read } = collection.permissions
  const broader = subject === EVERYONE ? [] : subject === SIGNED_IN ? [EVERYONE] : [EVERYONE, SIGNED_IN]
  return broader.some((other) => {
    const rule = read.get(other)
    return rule !== null && rule !== undefined && (isAnywhere(rule.where) || isHidingAlone(collection, rule))
  })
}

const isHidingAlone = (collection: Collection, { where }: Rule): boolean =>
  where.kind === 'fixed' &&
  where.ways.every((way) => way.length > 0 && way.every((demand) => isOfService(collection, demand)))

/** Whether the service adds the condition itself: it hides unverified accounts. */
const isOfService = ({ verifiedField }: Collection, { path, operator }: Demand): boolean =>
  path === verifiedField && operator === '$exists'

const SOUGHT: readonly string[] = ['$eq', '$in', '$gt', '$gte', '$lt', '$lte', '$exists']

const isSought = ({ operator, operand }: Demand): boolean =>
  SOUGHT.includes(operator) || (operator === '$ne' && operand === null)

const isFixing = ({ operator, operand }: Demand): boolean =>
  operator === '$in'
    ? !(Array.isArray(operand) && operand.includes(null))
    : operator === '$eq' && operand !== null

/** Whether an index finds the documents that meet all demands. */
function isIndexed({ storage, permissions }: Collection, way: readonly Demand[]): boolean {
  const always = permissions.read.get(OWNER) ? ['_id', 'createdBy'] : ['_id']
  if (way.some((demand) => isSought(demand) && always.includes(demand.path))) return true
  const [sought, fixing] = [way.filter(isSought), way.filter(isFixing)]
  return storage.indexes.some((index) =>
    leads(
      index,
      (column) => isIn(sought, column),
      (column) => isIn(fixing, column),
    ),
  )
}

const isIn = (demands: readonly Demand[], column: FieldRef): boolean =>
  demands.some((demand) => isDemandOn(demand, column))
