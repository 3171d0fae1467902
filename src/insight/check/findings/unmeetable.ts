import type { Field } from '../../../fields/field-type.js'
import { OWNER } from '../../../permissions/grants.js'
import { acceptsProperty } from '../../../permissions/write-rules.js'
import { joinWays, type Ways } from '../../../query/claims/demands.js'
import { findVariables } from '../../../query/variable.js'
import { isAnywhere } from '../../../query/where.js'
import { normalise } from '../../../schema/normalise.js'
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
    if (rule.set.has(name)) fixSet(fixed, field, rule.set.get(name))
    else if (!isAccepted && !isCredential && field.defaultAt(null) === field.defaultAt(SOME_TIME))
      fixed.set(name, orMissing(normalise(field, field.defaultAt(null))))
  }
  if (scope.isForAnonymous(placed)) fixed.set('createdBy', undefined)
  return { ...scope.situate(placed), fixed }
}

const SOME_TIME = '2026-01-01T00:00:00.000Z'

const isNamed = ({ plan: { auth } }: Scope, name: string): boolean =>
  name === auth?.identifier.name || name === auth?.secret.name

const orMissing = (value: unknown): unknown => (value === null ? undefined : value)

/** What a `set` puts in, where that depends on nobody. */
function fixSet(fixed: Map<string, unknown>, field: Field, value: unknown): void {
  if (findVariables(value).length === 0) fixed.set(field.name, orMissing(normalise(field, value)))
}

/** What an update cannot change stays, so it meets the rule's `where` still. */
function isMetByUpdate(scope: Scope, placed: Placed): boolean {
  const { collection, rule } = placed
  const fixed = new Map<string, unknown>()
  for (const field of collection.fields)
    if (rule.set.has(field.name)) fixSet(fixed, field, rule.set.get(field.name))
  const stays = (path: string): boolean => {
    const [top = ''] = path.split('.')
    return top !== 'updatedAt' && !rule.set.has(top) && !mayChange(placed, path)
  }
  const stored: Ways = waysOfRule(rule).map((way) => way.filter(({ path }) => stays(path)))
  const own: Ways = rule.subject === OWNER ? [[OWN]] : [[]]
  return isPossible(joinWays([rule.check.ways, stored, own], 'and'), { ...scope.situate(placed), fixed })
}
