import { joinWays } from '../../../../core/claims/query/demands.js'
import type { ServicePlan } from '../../../../core/config/plan.js'
import { isObject } from '../../../../core/json/own-properties.js'
import { toPointerPart } from '../../../../core/json/pointer.js'
import { EVERYONE, includesProperty, type Rule, rulesOf } from '../../../../core/permissions/grants.js'
import { isAnywhere } from '../../../../core/query/where.js'
import { isPossible } from '../satisfy.js'
import {
  type Check,
  type CheckScope,
  isOfCaller,
  type LocatedRule,
  needsCaller,
  waysOfRule,
} from '../scope.js'
import { isMetByUpdate, situateCreate } from './never.js'

/** The same scope, in which every caller is anonymous. */
function amongStrangers(scope: CheckScope): CheckScope {
  const isLacking = (variable: string): boolean => isOfCaller(scope.plan, variable)
  return {
    ...scope,
    isForAnonymous: () => true,
    situate: ({ collection: { paths, validate } }) => ({ paths, validate, isLacking }),
  }
}

/** Whether an anonymous caller can use a rule on at least one document. */
const isForStrangers = (scope: CheckScope, placed: LocatedRule): boolean =>
  placed.subject === EVERYONE &&
  !needsCaller(scope, placed.rule) &&
  (placed.operation === 'create' ? canCreate : canChange)(amongStrangers(scope), placed)

/** Whether a rule can store a new document: it fills what is required, and meets its `check`. */
function canCreate(scope: CheckScope, placed: LocatedRule): boolean {
  const { fields, fills } = placed.collection
  const situation = situateCreate(scope, placed)
  const isFilled = fields.every(
    ({ name, definition: { required } }) => !required || fills.has(name) || !isMissing(situation.fixed, name),
  )
  return isFilled && isPossible(placed.rule.check.ways, situation)
}

const isMissing = (fixed: ReadonlyMap<string, unknown>, name: string): boolean =>
  fixed.has(name) && fixed.get(name) === undefined

/** Whether a rule can change or delete a document that its callers, who are everyone, may also read. */
const canChange = (scope: CheckScope, placed: LocatedRule): boolean =>
  rulesOf(placed.collection.permissions.read, EVERYONE).some((reader) => canChangeSeen(scope, placed, reader))

/** Whether a rule can change or delete a document that another rule shows. */
function canChangeSeen(scope: CheckScope, placed: LocatedRule, reader: Rule): boolean {
  const { rule, operation, collection } = placed
  const seen = waysOfRule(reader)
  if (!isPossible(joinWays([waysOfRule(rule), seen], 'and'), scope.situate(placed))) return false
  if (operation === 'delete') return true
  const showing = [reader, ...rulesOf(collection.permissions.read, EVERYONE).filter(isForAll)]
  // An update never sets an immutable field that its caller may not read.
  const isClosed = collection.fields.some(
    ({ name, definition }) =>
      definition.immutable &&
      rule.set.has(name) &&
      !showing.some(({ properties }) => includesProperty(properties, name)),
  )
  return !isClosed && isMetByUpdate(scope, placed, seen)
}

const isForAll = ({ where }: Rule): boolean => isAnywhere(where)

/** Finds collections in which anonymous callers can create documents, except accounts, which they register. */
const noteAnonymousCreates: Check = (scope, report) => {
  const { auth } = scope.plan
  for (const placed of scope.rules) {
    const { operation, collection, pointer } = placed
    const isRegistration = auth?.users === collection && !scope.hasAuthenticate
    if (operation === 'create' && !isRegistration && isForStrangers(scope, placed))
      report
        .within(pointer)
        .fault('anonymous_create', `anyone may create any number of documents in ${collection.name}`)
  }
}

/**
 * Finds collections in which anonymous callers can update or delete documents. Skips documents that anonymous callers
 * may not read, because they cannot change them.
 */
const findAnonymousChanges: Check = (scope, report) => {
  for (const placed of scope.rules) {
    const { operation, collection, pointer } = placed
    const isChange = operation === 'update' || operation === 'delete'
    if (isChange && isForStrangers(scope, placed))
      report
        .within(pointer)
        .fault('anonymous_change', `anyone may ${operation} documents of others in ${collection.name}`)
  }
}

/** The default of `auth.cost`. A lower cost is usual only in tests. */
const USUAL_COST = 12

/** The highest cost with which a login takes less than a second. */
const HIGH_COST = 13

/** Finds a cost of hashes that suits tests, or that makes logins slow. */
const noteCost: Check = ({ plan: { auth } }, report) => {
  if (!auth) return
  if (auth.cost < USUAL_COST)
    report
      .within('/auth/cost')
      .fault(
        'low_cost',
        `each stolen hash is guessed ${2 ** (USUAL_COST - auth.cost)} times as fast as with ${USUAL_COST}`,
      )
  if (auth.cost > HIGH_COST)
    report
      .within('/auth/cost')
      .fault(
        'high_cost',
        `each login takes ${2 ** (auth.cost - USUAL_COST)} times as long as with ${USUAL_COST}, and others wait for it`,
      )
}

/** The finders for production (CONTRACT.md §8, "Check"). */
export const PRODUCTION_FINDERS: readonly Check[] = [noteAnonymousCreates, findAnonymousChanges, noteCost]

/** Returns the JSON pointers of the secrets of accounts in a seed, whose documents may be invalid. */
export function findSeededSecrets({ auth }: Pick<ServicePlan, 'auth'>, seed: unknown): readonly string[] {
  const accounts = auth && isObject(seed) ? seed[auth.users.name] : undefined
  if (!auth || !Array.isArray(accounts)) return []
  const { name } = auth.secret
  return accounts.flatMap((account: unknown, i) =>
    isObject(account) && typeof account[name] === 'string'
      ? [`${toPointerPart(auth.users.name)}${toPointerPart(i)}${toPointerPart(name)}`]
      : [],
  )
}
