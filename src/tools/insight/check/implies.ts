import type { Demand } from '../../../core/claims/query/demands.js'
import { isEqualJson } from '../../../core/json/equality.js'
import { includesProperty, type PropertySet, type Rule } from '../../../core/permissions/grants.js'
import { covers } from '../../../core/permissions/read-gate.js'
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
function goesFirst({ rule: first, operation, collection }: LocatedRule, { rule }: LocatedRule): boolean {
  if (!implies(waysOfRule(rule), first.where)) return false
  if (operation === 'delete') return true
  const names = collection.fields.map(({ name }) => name)
  const takes = (name: string): boolean => acceptsProperty(first, name, collection)
  const isAsWide =
    names.every((name) => takes(name) || !(acceptsProperty(rule, name, collection) || rule.set.has(name))) &&
    (!collection.additionalProperties || isAsOpen(first.properties, rule.properties))
  return isAsWide && isAnywhere(first.check) && first.set.size === 0
}

/** Whether no `check` and no value of `set` can refuse a write under a rule. */
export const isSure = ({ rule: { check, set } }: LocatedRule): boolean => isAnywhere(check) && set.size === 0

/**
 * Whether the rules that come before a rule certainly decide every request that it would accept: one of them would
 * accept it too, and none can refuse a request and so leave it to a later one.
 */
export const decideBefore = (before: readonly LocatedRule[], placed: LocatedRule): boolean =>
  before.some((first) => goesFirst(first, placed)) && (placed.operation === 'delete' || before.every(isSure))

/** Whether a rule certainly never runs, because an earlier rule of the same subject stores the same under its conditions. */
export function repeats(earlier: LocatedRule, { rule, operation, collection }: LocatedRule): boolean {
  const first = earlier.rule
  const names = collection.fields.map(({ name }) => name)
  const takes = (one: Rule, name: string): boolean => acceptsProperty(one, name, collection)
  return (
    implies(waysOfRule(rule), first.where) &&
    (operation === 'delete' ||
      (implies(rule.check.ways, first.check) &&
        isEqualJson([...first.set], [...rule.set]) &&
        names.every((name) => takes(first, name) === takes(rule, name)) &&
        (!collection.additionalProperties ||
          (isAsOpen(first.properties, rule.properties) && isAsOpen(rule.properties, first.properties)))))
  )
}

/** Whether a rule for reading certainly shows every document that another rule shows, and at least the same of it. */
export const showsAll = ({ rule: wide }: LocatedRule, { rule }: LocatedRule): boolean =>
  implies(waysOfRule(rule), wide.where) && covers(wide.properties, rule.properties)

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
