import { ANY_WAY, joinWays, type Ways } from '../../../../core/claims/query/demands.js'
import { collectSubjects, WRITES } from '../../../../core/config/find-warnings.js'
import type { Collection } from '../../../../core/config/plan.js'
import type { Field } from '../../../../core/fields/field-type.js'
import { applyDefaults, normalise, normaliseProperties } from '../../../../core/fields/schema/normalise.js'
import { forUpdate } from '../../../../core/fields/schema/update-fields.js'
import { isEqualJson } from '../../../../core/json/equality.js'
import { isObject, readOwn } from '../../../../core/json/own-properties.js'
import { toPointerPart } from '../../../../core/json/pointer.js'
import { EVERYONE, isRole, OWNER, SIGNED_IN } from '../../../../core/permissions/grants.js'
import { acceptsProperty, MAX_TRIED } from '../../../../core/permissions/write-rules.js'
import { findVariables } from '../../../../core/query/variable.js'
import { isAnywhere } from '../../../../core/query/where.js'
import type { JsonObject } from '../../../../core/types.js'
import { decideBefore, isSure, mayChange, repeats, showsAll } from '../implies.js'
import { isPossible, type Situation } from '../satisfy.js'
import { type Check, type CheckScope, type LocatedRule, needsCaller, OWN, waysOfRule } from '../scope.js'

/** Finds subjects that no caller can be. Skips those that a startup warning already reports. */
export const findImpossibleSubjects: Check = (
  { plan, isPossible: canBe, place, canSignIn, isFound },
  report,
) => {
  for (const collection of plan.collections.values()) {
    for (const subject of collectSubjects(collection.permissions)) {
      const pointer = place(collection, subject)
      if (canBe(subject) || isFound('impossible_role', pointer)) continue
      const reason = canSignIn
        ? 'the role field does not accept it'
        : 'no caller can sign in, because "users" has no accounts and the host does not identify callers'
      if (isRole(subject))
        report
          .within(pointer)
          .fault(
            'impossible_role',
            `${canSignIn ? 'no user who signs in' : 'no caller'} can have the role ${subject}: ${noRole(reason, plan.collections.get('users')?.roleField)}`,
          )
      else
        report
          .within(pointer)
          .fault(
            'never_runs',
            reason,
            'Give "users" an identifier and a secret. If the host identifies callers, check with --authenticate.',
          )
    }
  }
}

/** Finds role names that look like a misspelt subject or a variable, such as `Owner` or `$user`. */
export const findMistakenSubjects: Check = ({ plan, isPossible: canBe, place }, report) => {
  for (const collection of plan.collections.values()) {
    for (const subject of collectSubjects(collection.permissions)) {
      if (!isRole(subject) || !canBe(subject)) continue
      const meant = [OWNER, SIGNED_IN].find((one) => one === subject.toLowerCase().replace(/^\$/, ''))
      if (meant === undefined && !subject.startsWith('$')) continue
      const near = meant === undefined ? '' : `; did you mean ${JSON.stringify(meant)}?`
      report
        .within(place(collection, subject))
        .fault(
          'mistaken_subject',
          `${JSON.stringify(subject)} is the name of a role here, not "${OWNER}", "${SIGNED_IN}" or a variable${near}`,
        )
    }
  }
}

const noRole = (reason: string, roleField: string | null | undefined): string =>
  reason.startsWith('the role field') && roleField === null ? 'auth.roleField does not name a field' : reason

/** Finds conditions that no document can meet. */
export const findUnmatched: Check = (scope, report) => {
  for (const placed of scope.rules)
    if (!isMatched(scope, placed))
      report.within(pointTo(placed, 'where')).fault('never_matches', describeUnmatched(scope, placed))
}

/** Whether a rule can apply to at least one document. */
export const isMatched = (scope: CheckScope, placed: LocatedRule): boolean =>
  isPossible(waysOfRule(placed.rule), scope.situate(placed))

function describeUnmatched(scope: CheckScope, placed: LocatedRule): string {
  const { isLacking: _, ...anyone } = scope.situate(placed)
  return isPossible(waysOfRule(placed.rule), anyone)
    ? 'the condition compares with the caller, but the rule applies only to anonymous callers'
    : 'no document that this configuration accepts can meet the condition'
}

/** Returns the pointer to a part of a rule, or to the whole grant if the grant has no such part. */
const pointTo = ({ pointer, rule }: LocatedRule, part: 'where' | 'check'): string =>
  rule.place !== '' && rule[part].ways.some((way) => way.length > 0) ? `${pointer}/${part}` : pointer

/** Finds rules that never run: no caller can use them, or earlier rules handle all their requests. */
export const findUnreached: Check = (scope, report) => {
  for (const placed of scope.rules) {
    const reason = findReason(scope, placed)
    if (reason !== undefined) report.within(placed.pointer).fault('never_runs', reason)
  }
}

function findReason(scope: CheckScope, placed: LocatedRule): string | undefined {
  const { plan, hasAuthenticate } = scope
  const { collection, operation, subject, rule } = placed
  const { auth } = plan
  if (scope.isForAnonymous(placed)) {
    if (needsCaller(scope, rule))
      return '"set" needs a value of the caller, but the rule runs only for anonymous callers'
    const isRegistration = operation === 'create' && auth?.users === collection && !hasAuthenticate
    if (isRegistration && !auth.register)
      return 'registration is closed, so anonymous callers cannot create, and signed-in callers use the rule of "user"'
  }
  const siblings = rulesLike(scope, placed).filter((other) => other.subject === subject)
  return operation === 'read' ? findShown(siblings, placed) : findDecided(scope, placed, siblings)
}

/** Returns why a rule for reading adds nothing to the other rules of its array. */
function findShown(siblings: readonly LocatedRule[], placed: LocatedRule): string | undefined {
  const wider = siblings.find(
    (other) =>
      other !== placed &&
      showsAll(other, placed) &&
      (!showsAll(placed, other) || siblings.indexOf(other) < siblings.indexOf(placed)),
  )
  return wider && `it adds nothing: ${wider.pointer} shows the same documents, and at least the same fields`
}

/** Returns why rules that come before a rule for writing handle all its requests. */
function findDecided(
  scope: CheckScope,
  placed: LocatedRule,
  siblings: readonly LocatedRule[],
): string | undefined {
  const { operation, subject } = placed
  const earlier = siblings.slice(0, siblings.indexOf(placed))
  const own = `an earlier rule of ${subject} may already ${operation} all documents of this rule`
  if (earlier.some((other) => repeats(other, placed))) return own
  const first = subject === OWNER ? findFirst(scope, placed) : [[]]
  const isDecided = first.every((others) => decideBefore([...others, ...earlier], placed))
  const others = findRivals(scope, placed, siblings)
  if (!isDecided || !(operation === 'delete' || others.every(isSure))) return undefined
  const names = [...new Set(first.flat().map((other) => other.subject))]
  return names.length > 0
    ? `${names.join(', ')} ${names.length > 1 ? 'are' : 'is'} tried first, and may already ${operation} all documents of this rule`
    : own
}

/** Returns the rules for the same operation in the same collection, the rule itself included. */
const rulesLike = (scope: CheckScope, { collection, operation }: LocatedRule): readonly LocatedRule[] =>
  scope.rules.filter((other) => other.collection === collection && other.operation === operation)

/** Returns the rules of its own and of other subjects that a request may try before a rule. */
const findRivals = (
  scope: CheckScope,
  placed: LocatedRule,
  siblings: readonly LocatedRule[],
): readonly LocatedRule[] => {
  const { subject } = placed
  const isOther = (other: string): boolean =>
    other !== subject && (other === OWNER || (isRole(other) && isRole(subject) && scope.hasSeveralRoles))
  const others = subject === OWNER ? [] : rulesLike(scope, placed).filter((one) => isOther(one.subject))
  return [...siblings, ...others].filter((other) => other !== placed)
}

/** Returns, for each kind of caller, the rules that are tried before those of `owner`. */
function findFirst(scope: CheckScope, placed: LocatedRule): readonly (readonly LocatedRule[])[] {
  const mentions = placed.collection.permissions[placed.operation]
  const common = mentions.has(SIGNED_IN) ? SIGNED_IN : EVERYONE
  const subjects = [common, ...[...mentions.keys()].filter((one) => isRole(one) && scope.isPossible(one))]
  return subjects.map((subject) => rulesLike(scope, placed).filter((other) => other.subject === subject))
}

/** Finds operations for which a caller may have more rules than a request tries. */
export const findUntried: Check = ({ plan }, report) => {
  for (const { name, permissions } of plan.collections.values()) {
    for (const operation of WRITES) {
      const sizes = [...permissions[operation]].map(([subject, { length }]) => ({ subject, length }))
      const ofRoles = sizes
        .filter(({ subject }) => isRole(subject))
        .reduce((sum, { length }) => sum + length, 0)
      const others = sizes.filter(({ subject }) => !isRole(subject)).map(({ length }) => length)
      const all = ofRoles + Math.max(0, ...others)
      if (all > MAX_TRIED)
        report
          .within(`/collections${toPointerPart(name)}/permissions`)
          .fault(
            'untried_rules',
            `a request tries at most ${MAX_TRIED} rules, but a caller with all roles has ${all} for ${operation}`,
          )
    }
  }
}

/** Finds `check` conditions that no document stored under the rule can meet. */
export const findUnmeetable: Check = (scope, report) => {
  for (const placed of scope.rules) {
    const { operation, rule } = placed
    if (isAnywhere(rule.check)) continue
    const isMet =
      operation === 'create'
        ? isPossible(rule.check.ways, situateCreate(scope, placed))
        : operation !== 'update' || !isMatched(scope, placed) || isMetByUpdate(scope, placed)
    if (isMet) continue
    const isDefault = operation === 'update' && rule.check === rule.where
    report
      .within(isDefault ? placed.pointer : pointTo(placed, 'check'))
      .fault(
        'unmeetable_check',
        isDefault
          ? 'without a "check", the updated document must meet "where" too, but with the values of "set" it never does'
          : 'no document that the rule can store meets the condition',
      )
  }
}

/** The known values of a written document (`fixed`), and the paths of fields that certainly have some value (`there`). */
type KnownDocument = { readonly fixed: Map<string, unknown>; readonly there: Set<string> }

/**
 * Describes a document that a create rule stores. Fields that the rule does not accept have the value of `set`, their
 * default, or no value.
 */
export function situateCreate(scope: CheckScope, placed: LocatedRule): Situation & KnownDocument {
  const { collection, rule } = placed
  const fixed = new Map<string, unknown>()
  const there = new Set<string>()
  for (const field of collection.fields) {
    const { name } = field
    const isAccepted = acceptsProperty(rule, name, collection)
    const isCredential = scope.plan.auth?.users === collection && isNamed(scope, name)
    const isSet = rule.set.has(name)
    if (isSet ? isConstant(rule.set.get(name)) : !isAccepted && !isCredential)
      fixFilled(fixed, field, isSet ? { [name]: rule.set.get(name) } : {})
    else if (hasDefault(field)) there.add(name)
  }
  // An account is its own creator, so `createdBy` has a value even after an anonymous registration.
  if (scope.isForAnonymous(placed) && scope.plan.auth?.users !== collection) fixed.set('createdBy', undefined)
  // The service evaluates `check` before a hook fills these fields.
  return { ...scope.situate(placed), fixed, there, lacking: collection.fills }
}

const hasDefault = (field: Field): boolean => applyDefaults([field], {}, TIMES[0])[field.name] !== undefined

/** Adds the value that a field has after defaults are applied, unless that value depends on the time. */
function fixFilled(fixed: Map<string, unknown>, field: Field, given: JsonObject): void {
  const normalised = normaliseProperties([field], given)
  const [value, other] = TIMES.map((now) => readOwn(applyDefaults([field], normalised, now), field.name))
  if (isEqualJson(value, other)) fixed.set(field.name, orMissing(value))
}

const TIMES = ['2026-01-01T00:00:00.000Z', '2026-01-02T00:00:00.000Z'] as const

const isNamed = ({ plan: { auth } }: CheckScope, name: string): boolean =>
  name === auth?.identifier.name || name === auth?.secret.name

const orMissing = (value: unknown): unknown => (value === null ? undefined : value)

/** Whether a `set` value depends on neither the caller nor the time. */
const isConstant = (value: unknown): boolean => findVariables(value).length === 0

/**
 * Adds the values that `set` certainly gives a field, in a PATCH and in a PUT. In an object, only the properties that
 * `set` names are certain, because others may keep their stored values or get defaults.
 */
function noteUpdated(known: KnownDocument, field: Field, value: unknown): void {
  if (!isObject(value)) known.fixed.set(field.path, normalise(field, value))
  else {
    known.there.add(field.path)
    for (const property of field.properties) {
      const inner = readOwn(value, property.name)
      if (inner !== undefined && inner !== null) noteUpdated(known, property, inner)
    }
  }
}

/**
 * Returns the values that `set` gives an updated document. `null` removes the field in a PATCH. In a PUT, the default
 * replaces it if there is one.
 */
function knowUpdated({ collection: { fields }, rule }: LocatedRule, mode: 'patch' | 'put'): KnownDocument {
  const known: KnownDocument = { fixed: new Map(), there: new Set() }
  for (const field of fields) {
    const { name } = field
    if (!rule.set.has(name) || !isConstant(rule.set.get(name))) continue
    const value = rule.set.get(name)
    if (value !== null) noteUpdated(known, field, value)
    else if (mode === 'patch') known.fixed.set(name, undefined)
    else fixFilled(known.fixed, forUpdate(field), {})
  }
  return known
}

/**
 * Whether an updated document can meet `check`. Fields that an update cannot change still meet the rule's `where`, and
 * `seen`, which the stored document meets too.
 */
export function isMetByUpdate(scope: CheckScope, placed: LocatedRule, seen: Ways = ANY_WAY): boolean {
  const { rule, collection } = placed
  const stays = (path: string): boolean => {
    const [top = ''] = path.split('.')
    const isFree = rule.set.has(top) && !isImmutable(collection, top)
    return top !== 'updatedAt' && !isFree && !mayChange(placed, path)
  }
  const stored: Ways = joinWays([waysOfRule(rule), seen], 'and').map((way) =>
    way.filter(({ path }) => stays(path)),
  )
  const own: Ways = rule.subject === OWNER ? [[OWN]] : [[]]
  const ways = joinWays([rule.check.ways, stored, own], 'and')
  return (['patch', 'put'] as const).some((mode) =>
    isPossible(ways, { ...scope.situate(placed), ...knowUpdated(placed, mode) }),
  )
}

const isImmutable = ({ fields }: Collection, name: string): boolean =>
  fields.some((field) => field.name === name && field.definition.immutable === true)
