import type { Field } from '../../../fields/field-type.js'
import { isEqualJson } from '../../../json/equality.js'
import { isObject, readOwn } from '../../../json/own-properties.js'
import { OWNER } from '../../../permissions/grants.js'
import { acceptsProperty } from '../../../permissions/write-rules.js'
import { joinWays, type Ways } from '../../../query/claims/demands.js'
import { findVariables } from '../../../query/variable.js'
import { isAnywhere } from '../../../query/where.js'
import { applyDefaults, normalise, normaliseProperties } from '../../../schema/normalise.js'
import { forUpdate } from '../../../schema/update-fields.js'
import type { JsonObject } from '../../../types.js'
import { mayChange } from '../implies.js'
import { isPossible } from '../satisfy.js'
import { type Check, type CheckScope, type LocatedRule, OWN, waysOfRule } from '../scope.js'
import type { Situation } from '../situation.js'
import { isMatched, pointTo } from './never.js'

/** `check` conditions that no document meets which the rule could store. */
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
        ? 'without a "check", "where" must also hold after the update, but the values of "set" never meet it'
        : 'no document that the rule can store meets it',
    )
  }
}

/** A new document: fields that the rule does not accept have the value of `set`, a default, or none. */
function situateCreate(scope: CheckScope, placed: LocatedRule): Situation {
  const { collection, rule } = placed
  const fixed = new Map<string, unknown>()
  for (const field of collection.fields) {
    const { name } = field
    const isAccepted = acceptsProperty(rule, name, collection)
    const isCredential = scope.plan.auth?.users === collection && isNamed(scope, name)
    const isSet = rule.set.has(name)
    if (isSet ? isConstant(rule.set.get(name)) : !isAccepted && !isCredential)
      fixFilled(fixed, field, isSet ? { [name]: rule.set.get(name) } : {})
  }
  // An account is its own creator.
  if (scope.isForAnonymous(placed) && scope.plan.auth?.users !== collection) fixed.set('createdBy', undefined)
  // The check runs before the hook.
  return { ...scope.situate(placed), fixed, lacking: collection.fills }
}

/** Notes the value of a field with its defaults, if it does not depend on the time. */
function fixFilled(fixed: Map<string, unknown>, field: Field, given: JsonObject): void {
  const normalised = normaliseProperties([field], given)
  const [value, other] = TIMES.map((now) => readOwn(applyDefaults([field], normalised, now), field.name))
  if (isEqualJson(value, other)) fixed.set(field.name, orMissing(value))
}

const TIMES: readonly string[] = ['2026-01-01T00:00:00.000Z', '2026-01-02T00:00:00.000Z']

const isNamed = ({ plan: { auth } }: CheckScope, name: string): boolean =>
  name === auth?.identifier.name || name === auth?.secret.name

const orMissing = (value: unknown): unknown => (value === null ? undefined : value)

/** Whether a `set` value depends neither on the caller nor on the time. */
const isConstant = (value: unknown): boolean => findVariables(value).length === 0

/** The known parts of an updated document. */
type KnownDocument = { readonly fixed: Map<string, unknown>; readonly there: Set<string> }

/**
 * Notes the values that a `set` leaves at a path, which a PATCH and a PUT have in common. Other properties of an object
 * may be merged, kept, or set by default.
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
 * The values that `set` gives an updated document. A PATCH removes by `null`; in a PUT a default may take its place.
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

/** Fields that an update cannot change still meet the rule's `where`. */
function isMetByUpdate(scope: CheckScope, placed: LocatedRule): boolean {
  const { rule } = placed
  const stays = (path: string): boolean => {
    const [top = ''] = path.split('.')
    return top !== 'updatedAt' && !rule.set.has(top) && !mayChange(placed, path)
  }
  const stored: Ways = waysOfRule(rule).map((way) => way.filter(({ path }) => stays(path)))
  const own: Ways = rule.subject === OWNER ? [[OWN]] : [[]]
  const ways = joinWays([rule.check.ways, stored, own], 'and')
  return (['patch', 'put'] as const).some((mode) =>
    isPossible(ways, { ...scope.situate(placed), ...knowUpdated(placed, mode) }),
  )
}
