import { type Demand, joinWays } from '../../../../core/claims/query/demands.js'
import { collectSubjects } from '../../../../core/config/find-warnings.js'
import type { Collection } from '../../../../core/config/plan.js'
import type { Field } from '../../../../core/fields/field-type.js'
import { USERS } from '../../../../core/fields/schema/names.js'
import { EVERYONE, isRole, OWNER, SIGNED_IN } from '../../../../core/permissions/grants.js'
import { acceptsProperty } from '../../../../core/permissions/write-rules.js'
import { USER, userPathOf } from '../../../../core/query/variable.js'
import { isAnywhere } from '../../../../core/query/where.js'
import { decideBefore, mayChange } from '../implies.js'
import { isPossible, variablesIn } from '../satisfy.js'
import { type Check, type CheckScope, type LocatedRule, OWN, waysOfRule } from '../scope.js'
import { isMatched } from './never.js'

/** Returns the read rules of `target` that may apply to a caller of the rule `writer`. */
function findReaders(scope: CheckScope, writer: LocatedRule, target: Collection): readonly LocatedRule[] {
  return scope.rules.filter(
    (reader) =>
      reader.collection === target && reader.operation === 'read' && mayBeToo(scope, writer, reader.subject),
  )
}

/** Whether a caller of the rule `writer` may also be another subject. */
function mayBeToo(scope: CheckScope, writer: LocatedRule, subject: string): boolean {
  if (subject === EVERYONE || subject === writer.subject) return true
  if (scope.isForAnonymous(writer)) return false
  if (!isRole(subject)) return true
  if (isRole(writer.subject)) return scope.hasSeveralRoles
  const { collection, operation } = writer
  const own = collection.permissions[operation].get(subject)
  // A rule of the role for the operation replaces those of `user` and `*`, and is tried before that of `owner`.
  if (own === undefined) return true
  if (writer.subject !== OWNER) return false
  const located = own.map((rule) => ({ ...writer, subject, rule }))
  return !decideBefore(located, writer)
}

/**
 * Returns the read rules of a caller of the rule who has no other roles: those of `*`, of the rule's subject and, for
 * signed-in callers, of `user` and `owner`.
 */
const findLeastReaders = (scope: CheckScope, { collection, subject }: LocatedRule): readonly LocatedRule[] =>
  scope.rules.filter(
    (reader) =>
      reader.collection === collection &&
      reader.operation === 'read' &&
      (reader.subject === EVERYONE ||
        reader.subject === subject ||
        (subject !== EVERYONE && (reader.subject === SIGNED_IN || reader.subject === OWNER))),
  )

/** Whether every alternative of a rule's `check` restricts a field. */
const isChecked = ({ rule }: LocatedRule, path: string): boolean =>
  rule.check.ways.every((way) =>
    way.some((demand) => demand.path === path || demand.path.startsWith(`${path}.`)),
  ) ||
  // A check whose demands are unknown may restrict the field.
  (!isAnywhere(rule.check) && rule.check.ways.some((way) => way.length === 0))

/** Whether a rule lets its caller choose the value of a field, in a new or in a stored document. */
const mayGive = (placed: LocatedRule, name: string): boolean =>
  placed.operation === 'create' || placed.operation === 'update' ? mayChange(placed, name) : false

/** Finds rules that let callers set the role field. */
export const findRoleWriters: Check = (scope, report) => {
  const { plan } = scope
  const users = plan.collections.get(USERS)
  const roleField = users?.roleField
  if (!users || !roleField) return
  const roles = new Set(
    [...plan.collections.values()].flatMap((one) => [...collectSubjects(one.permissions)]).filter(isRole),
  )
  for (const placed of scope.rules) {
    const { collection, rule, subject } = placed
    if (collection !== users || !rule.properties.pick?.has(roleField)) continue
    const hasOthers = [...roles].some((role) => role !== subject)
    if (!mayGive(placed, roleField) || isChecked(placed, roleField) || !hasOthers) continue
    report
      .within(placed.pointer)
      .fault('writes_role', `${subject} may write ${roleField}, and so give an account any role`)
  }
}

/** Finds rules that let callers change a field of their account on which other rules depend. */
export const findUserFieldWriters: Check = (scope, report) => {
  const users = scope.plan.collections.get(USERS)
  if (scope.hasAuthenticate || !users) return
  const read = collectUserFields(scope)
  for (const placed of scope.rules) {
    const { collection, subject, operation } = placed
    if (collection !== users || isRole(subject) || !isSelf(scope, placed)) continue
    for (const name of read) {
      if (!mayGive(placed, name) || isChecked(placed, name)) continue
      const verb = operation === 'create' ? 'give an account any' : 'change its own'
      report
        .within(placed.pointer)
        .fault('writes_user_field', `${subject} may ${verb} ${name}, which rules read as ${USER}${name}`)
    }
  }
}

/** Whether a rule can apply to the account of the caller. */
const isSelf = ({ plan }: CheckScope, { operation, subject }: LocatedRule): boolean =>
  operation === 'create'
    ? subject !== EVERYONE || plan.auth?.register === true
    : [EVERYONE, SIGNED_IN, OWNER].includes(subject)

/** Returns the fields that rules and claims read as `$user.<name>`, except the identifier, the role field and `_id`. */
function collectUserFields({ plan, rules }: CheckScope): ReadonlySet<string> {
  const wheres = [
    ...rules.flatMap(({ rule }) => [rule.where, rule.check]),
    ...[...plan.claims.values()].map(({ where }) => where),
  ]
  const paths = wheres
    .flatMap((where) => (where.kind === 'bound' ? where.variables : []))
    .flatMap((variable) => userPathOf(variable)?.split('.')[0] ?? [])
  const known = [plan.auth?.identifier.name, plan.collections.get(USERS)?.roleField, '_id']
  return new Set(paths.filter((name) => !plan.claims.has(name) && !known.includes(name)))
}

/** Finds update rules that let callers change the fields on which the right to update depends. */
export const findOwnConditionWriters: Check = (scope, report) => {
  for (const placed of scope.rules) {
    if (placed.operation !== 'update' || !isMatched(scope, placed)) continue
    const own = findOwnConditions(placed)
    if (own.length === 0) continue
    report
      .within(placed.pointer)
      .fault(
        'writes_own_condition',
        `${placed.subject} may change ${own.join(', ')} to any value, although the rule compares this with the caller`,
      )
  }
}

/** Returns the fields that a rule compares with the caller, but also lets the caller set to any value. */
function findOwnConditions(placed: LocatedRule): readonly string[] {
  const { rule } = placed
  if (rule.check === rule.where) return []
  const compared = rule.where.ways
    .flat()
    .filter(
      (demand) =>
        ['$eq', '$in'].includes(demand.operator) && variablesIn(demand).some((one) => one.startsWith(USER)),
    )
  const paths = [...new Set(compared.map(({ path }) => path))]
  return paths.filter((path) => mayChange(placed, path) && !isChecked(placed, path))
}

/** Finds rules for changing or deleting documents that their subject may never read. */
export const findUnreadableTargets: Check = (scope, report) => {
  for (const placed of scope.rules) {
    const { operation, collection, subject } = placed
    if ((operation !== 'update' && operation !== 'delete') || !isMatched(scope, placed)) continue
    const isRead = findReaders(scope, placed, collection).some((reader) =>
      isPossible(joinWays([waysOfRule(placed.rule), waysOfRule(reader.rule)], 'and'), scope.situate(placed)),
    )
    if (!isRead)
      report
        .within(placed.pointer)
        .fault(
          'unreadable_target',
          `${subject} may ${operation} only documents that it may read, but it may read none of the documents of this rule`,
        )
  }
}

/** Finds references that no caller of a rule can set, because these callers may never read the target. */
export const findUnreadableReferences: Check = (scope, report) => {
  for (const placed of scope.rules) {
    for (const field of placed.collection.fields.filter((one) => writes(placed, one))) {
      for (const name of targetsOf(field)) {
        const target = scope.plan.collections.get(name)
        if (!target || mayReadSome(scope, placed, target)) continue
        report
          .within(placed.pointer)
          .fault(
            'unreadable_reference',
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

/** Returns the target collections of the references in a field. */
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

/** Finds update rules with which a subject can make a document unreadable for itself. */
export const findLostFromSight: Check = (scope, report) => {
  for (const placed of scope.rules) {
    if (placed.operation !== 'update' || !isMatched(scope, placed)) continue
    const readers = findLeastReaders(scope, placed).filter(
      ({ subject }) => subject !== OWNER || isOwnAlone(placed),
    )
    const left = findLeft(placed, readers)
    if (left.length === 0 || findOwnConditions(placed).length > 0) continue
    report
      .within(placed.pointer)
      .fault(
        'moves_out_of_sight',
        `${placed.subject} may change ${left.join(', ')} so that it can no longer read the document`,
      )
  }
}

/** Whether a rule applies only to documents that the caller created. */
const isOwnAlone = ({ rule }: LocatedRule): boolean =>
  waysOfRule(rule).every((way) =>
    way.some(({ path, operand }) => path === OWN.path && operand === OWN.operand),
  )

/** Returns the fields with which an update can make every read rule fail. Empty if no update can do so. */
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
  // A check whose demands are unknown may restrict the field.
  const isKnown = rule.check.kind === 'fixed' || rule.check.ways.every((way) => way.length > 0)
  if (!field || !isFree || !isKnown || !mayChange(placed, path)) return false
  if (['$ne', '$nin', '$exists'].includes(operator) || literals?.includes(null)) return false
  const [top = ''] = path.split('.')
  const isRequired = collection.fields.some(({ name, definition }) => name === top && definition.required)
  return !isRequired || (!isList && hasOthers(field, literals))
}

/** Whether a field accepts values other than these literals. */
function hasOthers({ definition, type }: Field, literals: readonly unknown[] | undefined): boolean {
  if (literals === undefined) return false
  if (type === 'boolean') return literals.length < 2
  if ('enum' in definition && definition.enum)
    return definition.enum.some((value) => !literals.includes(value))
  return type === 'string' || type === 'reference'
}
