import type { Field } from '../../../fields/field-type.js'
import { isEqualJson } from '../../../json/equality.js'
import { isObject, readOwn } from '../../../json/own-properties.js'
import { OWNER } from '../../../permissions/grants.js'
import { acceptsProperty } from '../../../permissions/write-rules.js'
import { joinWays, type Ways } from '../../../query/claims/demands.js'
import { findVariables } from '../../../query/variable.js'
import { isAnywhere } from '../../../query/where.js'
import { applyDefaults, normalise, normaliseProperties } from '../../../schema/normalise.js'
import type { JsonObject } from '../../../types.js'
import { mayChange } from '../implies.js'
import { isPossible, type Situation } from '../satisfy.js'
import { type Check, OWN, type Placed, type Scope, waysOfRule } from '../scope.js'
import { isMatched, pointTo } from './never.js'

/** Conditions on what would be stored that nothing meets which the rule lets through. */
export const findUnmeetable: Check = (scope, note) => {
  for (const placed of scope.rules) {
    const { operation, rule } = placed
    if (isAnywhere(rule.check)) continue
    const isMet =
      operation === 'create'
        ? isPossible(rule.check.ways, situateCreate(scope, placed))
        : operation !== 'update' || !isMatched(scope, placed) || isMetByUpdate(scope, placed)
    if (isMet) continue
    const isDefault = operation === 'update' && rule.check === rule.where
    note(
      'unmeetable_check',
      isDefault ? placed.pointer : pointTo(placed, 'check'),
      isDefault
        ? 'without a "check", what "where" says must hold afterwards too, and what "set" puts in never meets it'
        : 'nothing that the rule lets through meets it',
    )
  }
}

/** A new document: what the rule does not take from a body is what `set` says, a default, or missing. */
function situateCreate(scope: Scope, placed: Placed): Situation {
  const { collection, rule } = placed
  const fixed = new Map<string, unknown>()
  for (const field of collection.fields) {
    const { name } = field
    const isAccepted = acceptsProperty(rule, name, collection.roleField) && name !== collection.verifiedField
    const isCredential = scope.plan.auth?.users === collection && isNamed(scope, name)
    const isSet = rule.set.has(name)
    if (isSet ? isOfNobody(rule.set.get(name)) : !isAccepted && !isCredential)
      fixCreated(fixed, field, isSet ? { [name]: rule.set.get(name) } : {})
  }
  // A user is its own creator.
  if (scope.isForAnonymous(placed) && scope.plan.auth?.users !== collection) fixed.set('createdBy', undefined)
  return { ...scope.situate(placed), fixed }
}

/** Notes what becomes of a field of a new document, with its defaults, where that is the same at any time. */
function fixCreated(fixed: Map<string, unknown>, field: Field, given: JsonObject): void {
  const normalised = normaliseProperties([field], given)
  const [value, other] = TIMES.map((now) => readOwn(applyDefaults([field], normalised, now), field.name))
  if (isEqualJson(value, other)) fixed.set(field.name, orMissing(value))
}

const TIMES: readonly string[] = ['2026-01-01T00:00:00.000Z', '2026-01-02T00:00:00.000Z']

const isNamed = ({ plan: { auth } }: Scope, name: string): boolean =>
  name === auth?.identifier.name || name === auth?.secret.name

const orMissing = (value: unknown): unknown => (value === null ? undefined : value)

/** Whether what a `set` puts in depends neither on who asks nor on when. */
const isOfNobody = (value: unknown): boolean => findVariables(value).length === 0

/** Whether what a `set` puts in is all that is there behind an update: none merges it, and no default is in its place. */
const isWhole = (field: Field, value: unknown): boolean =>
  isOfNobody(value) &&
  field.properties.length === 0 &&
  !isObject(value) &&
  (value !== null || field.defaultAt(null) === undefined)

/** What an update cannot change stays, so it meets the rule's `where` still. */
function isMetByUpdate(scope: Scope, placed: Placed): boolean {
  const { collection, rule } = placed
  const fixed = new Map<string, unknown>()
  for (const field of collection.fields) {
    const value = rule.set.get(field.name)
    if (rule.set.has(field.name) && isWhole(field, value))
      fixed.set(field.name, orMissing(normalise(field, value)))
  }
  const stays = (path: string): boolean => {
    const [top = ''] = path.split('.')
    return top !== 'updatedAt' && !rule.set.has(top) && !mayChange(placed, path)
  }
  const stored: Ways = waysOfRule(rule).map((way) => way.filter(({ path }) => stays(path)))
  const own: Ways = rule.subject === OWNER ? [[OWN]] : [[]]
  return isPossible(joinWays([rule.check.ways, stored, own], 'and'), { ...scope.situate(placed), fixed })
}
