import type { Demand } from '../../../core/claims/query/demands.js'
import { isEqualJson } from '../../../core/json/equality.js'
import { includesProperty, type PropertySet } from '../../../core/permissions/grants.js'
import { acceptsProperty } from '../../../core/permissions/write-rules.js'
import { isAnywhere, type Where } from '../../../core/query/where.js'
import type { LocatedRule } from './scope.js'
import { waysOfRule } from './scope.js'

/** Whether each document that meets a condition, given as its alternatives (`ways`), certainly meets `other`. */
function implies(ways: Where['ways'], other: Where): boolean {
  if (isAnywhere(other)) return true
  // An alternative without demands means that its demands are unknown.
  const isKnown = other.ways.every((way) => way.length > 0)
  return isKnown && ways.every((way) => other.ways.some((wanted) => meetsAll(way, wanted)))
}

const meetsAll = (way: readonly Demand[], wanted: readonly Demand[]): boolean =>
  wanted.every((demand) => way.some((mine) => isEqualJson({ ...mine }, { ...demand })))

/** Whether the rule that is tried first certainly accepts every request that the other rule would accept. */
export function goesFirst(
  { rule: first, operation, collection }: LocatedRule,
  { rule }: LocatedRule,
): boolean {
  if (!implies(waysOfRule(rule), first.where)) return false
  if (operation === 'delete') return true
  const names = collection.fields.map(({ name }) => name)
  const takes = (name: string): boolean => acceptsProperty(first, name, collection)
  const isAsWide =
    names.every((name) => takes(name) || !(acceptsProperty(rule, name, collection) || rule.set.has(name))) &&
    (!collection.additionalProperties || isAsOpen(first.properties, rule.properties))
  return isAsWide && isAnywhere(first.check) && first.set.size === 0
}

/** Whether `wide` includes every undeclared property that `narrow` includes. */
const isAsOpen = (wide: PropertySet, narrow: PropertySet): boolean =>
  narrow.pick === null
    ? wide.pick === null && [...wide.omit].every((name) => narrow.omit.has(name))
    : [...narrow.pick].every((name) => !includesProperty(narrow, name) || includesProperty(wide, name))

/** Whether a rule may change a field of a stored document. */
export function mayChange({ rule, collection, operation }: LocatedRule, path: string): boolean {
  const [top = ''] = path.split('.')
  const field = collection.fields.find(({ name }) => name === top)
  if (!field || rule.set.has(top)) return false
  if (operation === 'update' && field.definition.immutable) return false
  return acceptsProperty(rule, top, collection)
}
