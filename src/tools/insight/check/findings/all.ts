import type { Demand } from '../../../../core/claims/query/demands.js'
import { findLesser, START_FINDERS } from '../../../../core/config/find-warnings.js'
import { isDemandOn, leads } from '../../../../core/config/leads.js'
import type { Collection } from '../../../../core/config/plan.js'
import type { Field } from '../../../../core/fields/field-type.js'
import type { FieldRef } from '../../../../core/filter/filter.js'
import { toPointerPart } from '../../../../core/json/pointer.js'
import {
  EVERYONE,
  includesProperty,
  isRole,
  OWNER,
  type Rule,
  rulesOf,
  SIGNED_IN,
} from '../../../../core/permissions/grants.js'
import { acceptsProperty } from '../../../../core/permissions/write-rules.js'
import { isAnywhere } from '../../../../core/query/where.js'
import { type Check, type CheckScope, type LocatedRule, waysOfRule } from '../scope.js'
import {
  findImpossibleSubjects,
  findMistakenSubjects,
  findUnmatched,
  findUnmeetable,
  findUnreached,
  findUntried,
} from './never.js'
import {
  findLostFromSight,
  findOwnConditionWriters,
  findRoleWriters,
  findUnreadableReferences,
  findUnreadableTargets,
  findUserFieldWriters,
} from './unseen.js'

/** Finds read conditions that no index serves, so that each list scans all documents. */
const findUnindexed: Check = ({ rules }, report) => {
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
    report
      .within(placed.pointer)
      .fault(
        'read_without_index',
        'no index serves the condition, so each list scans all documents',
        names.length > 0
          ? `Add "indexes": [{ "fields": ["${names[0]}"] }] to ${collection.name}; more fields may follow. If the field is an array, it needs a maxItems of at most 1,000.`
          : 'Also compare a top-level field that has a single value, and add an index for that field.',
      )
  }
}

/** Whether the subject, or a broader one, may read all documents. Then the condition decides only which fields are shown. */
function readsAllAnyway(collection: Collection, subject: string): boolean {
  const { read } = collection.permissions
  const broader = subject === EVERYONE ? [] : subject === SIGNED_IN ? [EVERYONE] : [EVERYONE, SIGNED_IN]
  return [subject, ...broader].some((other) =>
    rulesOf(read, other).some((rule) => isAnywhere(rule.where) || isHidingAlone(collection, rule)),
  )
}

const isHidingAlone = (collection: Collection, { where }: Rule): boolean =>
  where.kind === 'fixed' &&
  where.ways.every((way) => way.length > 0 && way.every((demand) => isOfService(collection, demand)))

/** Whether the service itself added the demand, to hide unverified accounts. */
const isOfService = ({ verifiedField }: Collection, { path, operator }: Demand): boolean =>
  path === verifiedField && operator === '$exists'

const SOUGHT: readonly string[] = ['$eq', '$in', '$gt', '$gte', '$lt', '$lte', '$exists']

const isSought = ({ operator, operand }: Demand): boolean =>
  SOUGHT.includes(operator) || (operator === '$ne' && operand === null)

const isFixing = ({ operator, operand }: Demand): boolean =>
  operator === '$in'
    ? !(Array.isArray(operand) && operand.includes(null))
    : operator === '$eq' && operand !== null

/** Whether an index finds the documents that meet all demands of `way`, which is one alternative of a condition. */
function isIndexed({ storage, permissions }: Collection, way: readonly Demand[]): boolean {
  const always = rulesOf(permissions.read, OWNER).length > 0 ? ['_id', 'createdBy'] : ['_id']
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

const schemaAt = ({ name }: Collection, field: Field): string =>
  `/collections${toPointerPart(name)}/schema${toPointerPart(field.name)}`

/** Whether anonymous callers can create documents of the collection by registering. */
const hasRegistration = ({ plan: { auth }, hasAuthenticate }: CheckScope, collection: Collection): boolean =>
  !hasAuthenticate && auth?.users === collection && auth.register

const hasDefault = ({ definition }: Field): boolean =>
  'default' in definition && definition.default !== undefined

/** Whether the service sets the field itself, or has a separate route to set it. */
const isOwn = (
  { plan: { auth } }: CheckScope,
  { name, roleField, verifiedField }: Collection,
  field: string,
): boolean =>
  (auth?.users.name === name && [auth.identifier.name, auth.secret.name].includes(field)) ||
  field === roleField ||
  field === verifiedField

const gives = ({ rule, collection, operation }: LocatedRule, { name, definition }: Field): boolean =>
  rule.set.has(name) ||
  (acceptsProperty(rule, name, collection) && !(operation === 'update' && definition.immutable === true))

/** Finds fields that no rule can set, in collections where documents can be created. */
const findUnsettable: Check = (scope, report) => {
  for (const collection of scope.plan.collections.values()) {
    const rules = scope.rules.filter(
      (placed) => placed.collection === collection && ['create', 'update'].includes(placed.operation),
    )
    const isCreated =
      rules.some(({ operation }) => operation === 'create') || hasRegistration(scope, collection)
    if (!isCreated) continue
    for (const field of collection.fields) {
      const isUnfillable = field.definition.required === true && !hasDefault(field)
      // `findUnfillable` reports these fields.
      if (isUnfillable || hasDefault(field) || isOwn(scope, collection, field.name)) continue
      if (!rules.some((placed) => gives(placed, field)))
        report
          .within(schemaAt(collection, field))
          .fault('unsettable_field', 'no rule accepts or sets the field, and it has no default')
    }
  }
}

/**
 * Finds required fields without a default that a create rule cannot set and no hook fills. Skips the fields that a
 * startup warning already reports.
 */
const findUnfillable: Check = (scope, report) => {
  const { plan } = scope
  for (const collection of plan.collections.values()) {
    const isRegistered = hasRegistration(scope, collection)
    const rules = scope.rules.filter(
      (placed) => placed.collection === collection && placed.operation === 'create',
    )
    for (const field of collection.fields) {
      const at = schemaAt(collection, field)
      const isGiven = isOwn(scope, collection, field.name) && field.name !== collection.roleField
      const isKnown = scope.isFound('unfillable_field', at)
      const isFilled = hasDefault(field) || collection.fills.has(field.name)
      if (field.definition.required !== true || isFilled || isKnown) continue
      for (const placed of rules) {
        const isByRegistration = isRegistered && placed.subject === EVERYONE && isGiven
        if (!isByRegistration && !gives(placed, field))
          report
            .within(placed.pointer)
            .fault(
              'unfillable_field',
              `the field ${field.name} is required, but ${placed.subject} cannot set it`,
            )
      }
      const isPermitted = rulesOf(collection.permissions.create, EVERYONE).length > 0
      if (isRegistered && !isPermitted && !isGiven)
        report
          .within(at)
          .fault(
            'unfillable_field',
            'the field is required, but a registration cannot set it, because "*" has no right to create',
            'Grant "*" the right to create with this field, give the field a default, close registration, or do not require the field.',
          )
    }
  }
}

/** Finds collections that anonymous callers may list without a limit, unless a startup warning already reports it. */
const notePublicLists: Check = ({ plan: { limits }, rules, isFound }, report) => {
  if (limits.defaultLimit !== null || limits.maxLimit !== null) return
  if (isFound('unlimited_list', '/limits')) return
  for (const { operation, subject, pointer, collection } of rules)
    if (operation === 'read' && subject === EVERYONE)
      report
        .within(pointer)
        .fault('public_list', `anyone may list all public documents of ${collection.name} in one request`)
}

/** Finds rules that let anonymous callers, or all callers who register, read the identifiers of accounts. */
const noteReadableIdentifier: Check = ({ plan: { auth }, rules, hasAuthenticate }, report) => {
  if (!auth || hasAuthenticate) return
  for (const { collection, operation, subject, rule, pointer } of rules) {
    const isStrange = subject === EVERYONE || (subject === SIGNED_IN && auth.register)
    if (collection !== auth.users || operation !== 'read' || !isStrange) continue
    if (includesProperty(rule.properties, auth.identifier.name))
      report
        .within(pointer)
        .fault(
          'readable_identifier',
          `${subject === EVERYONE ? 'anyone' : 'everyone who registers'} may read the ${auth.identifier.name} of accounts`,
        )
  }
}

/** Finds roles that may write less than a caller without a role, because the rule of a role replaces that of `user`. */
const noteLesserRoles: Check = ({ plan, isPossible, place }, report) => {
  for (const collection of plan.collections.values())
    for (const [operation, subject] of findLesser(collection, SIGNED_IN))
      if (isRole(subject) && isPossible(subject))
        report
          .within(place(collection, subject, operation))
          .fault(
            'less_than_user',
            `${subject} may ${operation} less than "user", because the rule of a role replaces the rule of "user"`,
          )
}

/** The finders of `check`: those of the start, and then its own (CONTRACT.md §8, "Check"). */
export const FINDERS: readonly Check[] = [
  ...START_FINDERS,
  findImpossibleSubjects,
  findMistakenSubjects,
  findUnmatched,
  findUnreached,
  findUntried,
  findUnreadableTargets,
  findRoleWriters,
  findUserFieldWriters,
  findOwnConditionWriters,
  findLostFromSight,
  findUnsettable,
  findUnfillable,
  findUnmeetable,
  findUnreadableReferences,
  findUnindexed,
  notePublicLists,
  noteReadableIdentifier,
  noteLesserRoles,
]
