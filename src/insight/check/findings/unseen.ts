import type { Collection } from '../../../config/plan.js'
import type { Field } from '../../../fields/field-type.js'

import { OWNER } from '../../../permissions/grants.js'
import { acceptsProperty } from '../../../permissions/write-rules.js'
import { type Demand, joinWays } from '../../../query/claims/demands.js'
import { mayChange } from '../implies.js'
import { findLeastReaders, findReaders } from '../readers.js'
import { isPossible } from '../satisfy.js'
import { type Check, type CheckScope, type LocatedRule, OWN, waysOfRule } from '../scope.js'
import { isMatched } from './never.js'
import { findOwnConditions } from './own.js'

/** Rights to change or delete documents that their subject may never read. */
export const findUnreadableTargets: Check = (scope, note) => {
  for (const placed of scope.rules) {
    const { operation, collection, subject } = placed
    if ((operation !== 'update' && operation !== 'delete') || !isMatched(scope, placed)) continue
    const isRead = findReaders(scope, placed, collection).some((reader) =>
      isPossible(joinWays([waysOfRule(placed.rule), waysOfRule(reader.rule)], 'and'), scope.situate(placed)),
    )
    if (!isRead)
      note(
        'unreadable_target',
        placed.pointer,
        `${subject} may ${operation} only documents that it may read, and it can read none of these`,
      )
  }
}

/** References that no caller of a rule can set, because they may never read the target. */
export const findUnreadableReferences: Check = (scope, note) => {
  for (const placed of scope.rules) {
    for (const field of placed.collection.fields.filter((one) => writes(placed, one))) {
      for (const name of targetsOf(field)) {
        const target = scope.plan.collections.get(name)
        if (!target || mayReadSome(scope, placed, target)) continue
        note(
          'unreadable_reference',
          placed.pointer,
          `${placed.subject} may set ${field.name}, but it may never read documents of ${name}, so no value is accepted`,
        )
      }
    }
  }
}

function writes({ rule, operation, collection }: LocatedRule, { name, definition }: Field): boolean {
  if (operation !== 'create' && operation !== 'update') return false
  if (rule.set.has(name)) return rule.set.get(name) !== null
  return acceptsProperty(rule, name, collection) && !(operation === 'update' && definition.immutable)
}

/** The collections to which the references in a field lead. */
const targetsOf = ({ definition, items, properties }: Field): readonly string[] => [
  ...new Set([
    ...(definition.type === 'reference' ? [definition.collection] : []),
    ...[...(items ? [items] : []), ...properties].flatMap(targetsOf),
  ]),
]

const mayReadSome = (scope: CheckScope, writer: LocatedRule, target: Collection): boolean =>
  findReaders(scope, writer, target).some((reader) =>
    isPossible(waysOfRule(reader.rule), {
      ...scope.situate(reader),
      ...pickLacking(scope, writer),
    }),
  )

const pickLacking = (scope: CheckScope, writer: LocatedRule) => {
  const { isLacking } = scope.situate(writer)
  return isLacking ? { isLacking } : {}
}

/** Updates with which a subject loses its own right to read the document. */
export const findLostFromSight: Check = (scope, note) => {
  for (const placed of scope.rules) {
    if (placed.operation !== 'update' || !isMatched(scope, placed)) continue
    const readers = findLeastReaders(scope, placed).filter(
      ({ subject }) => subject !== OWNER || isOwnAlone(placed),
    )
    const left = findLeft(placed, readers)
    if (left.length === 0 || findOwnConditions(placed).length > 0) continue
    note(
      'moves_out_of_sight',
      placed.pointer,
      `${placed.subject} may change ${left.join(', ')} so that it can no longer read the document`,
    )
  }
}

/** Whether a rule applies to own documents alone. */
const isOwnAlone = ({ rule }: LocatedRule): boolean =>
  waysOfRule(rule).every((way) =>
    way.some(({ path, operand }) => path === OWN.path && operand === OWN.operand),
  )

/** The fields whose change leaves no reader; none if a reader may remain. */
function findLeft(placed: LocatedRule, readers: readonly LocatedRule[]): readonly string[] {
  const ways = readers.flatMap(({ rule }) => waysOfRule(rule))
  const left = ways.map((way) => way.find((demand) => canBreak(placed, demand))?.path)
  return left.includes(undefined) ? [] : [...new Set(left.flatMap((path) => path ?? []))]
}

/** Whether an update can make a demand fail. */
function canBreak(placed: LocatedRule, { path, isList, operator, literals }: Demand): boolean {
  const { collection, rule } = placed
  const field = collection.paths.get(path)
  const isFree = rule.check.ways.every((way) => way.every((other) => other.path !== path))
  // A check whose demands are unknown may demand it.
  const isKnown = rule.check.kind === 'fixed' || rule.check.ways.every((way) => way.length > 0)
  if (!field || !isFree || !isKnown || !mayChange(placed, path)) return false
  if (['$ne', '$nin', '$exists'].includes(operator) || literals?.includes(null)) return false
  const [top = ''] = path.split('.')
  const isRequired = collection.fields.some(({ name, definition }) => name === top && definition.required)
  return !isRequired || (!isList && hasOthers(field, literals))
}

/** Whether a field accepts values other than these. */
function hasOthers({ definition, type }: Field, literals: readonly unknown[] | undefined): boolean {
  if (literals === undefined) return false
  if (type === 'boolean') return literals.length < 2
  if ('enum' in definition && definition.enum)
    return definition.enum.some((value) => !literals.includes(value))
  return type === 'string' || type === 'reference'
}
