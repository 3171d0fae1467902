import type { Demand, Ways } from '../../../core/claims/query/demands.js'
import { grantPointer, rulePointer } from '../../../core/config/compile-permissions.js'
import { collectSubjects } from '../../../core/config/find-warnings.js'
import type { Finder, FinderScope } from '../../../core/config/finder.js'
import type { Collection, ServicePlan } from '../../../core/config/plan.js'
import { USERS } from '../../../core/fields/schema/names.js'
import { normalise } from '../../../core/fields/schema/normalise.js'
import { isObject, readOwn } from '../../../core/json/own-properties.js'
import { toPointerPart } from '../../../core/json/pointer.js'
import {
  EVERYONE,
  isRole,
  OPERATIONS,
  OWNER,
  type Rule,
  type RuleOperation,
  rulesOf,
} from '../../../core/permissions/grants.js'
import { findVariables, USER, USER_ID, userPathOf } from '../../../core/query/variable.js'
import type { InsightOptions } from '../options.js'
import { grantsOf } from '../written-rules.js'
import type { FindingCode } from './codes.js'
import type { Situation } from './satisfy.js'

/** A rule and its location in the configuration. */
export interface LocatedRule {
  readonly collection: Collection
  readonly operation: RuleOperation
  readonly subject: string
  readonly rule: Rule
  /** The JSON pointer of the rule, or of the grant from which it was compiled. */
  readonly pointer: string
}

/** A valid configuration, with facts about its possible callers. */
export interface CheckScope extends FinderScope {
  /** Whether a finding was already reported. */
  readonly isFound: (code: FindingCode, pointer: string) => boolean
  /** The rules that at least one caller can have. */
  readonly rules: readonly LocatedRule[]
  /** Returns the JSON pointer of a subject's grant, or of its rule for the operation if the grant has one. */
  readonly place: (collection: Collection, subject: string, operation?: RuleOperation) => string
  /** Whether callers can be signed in. */
  readonly canSignIn: boolean
  /** Whether one caller may have several roles. */
  readonly hasSeveralRoles: boolean
  /** Whether some caller can be this subject, or have this role. */
  readonly isPossible: (subject: string) => boolean
  /** Returns the facts about the documents of a rule's collection and about the callers of the rule. */
  readonly situate: (placed: LocatedRule) => Situation
  /** Whether a rule applies only to anonymous callers. */
  readonly isForAnonymous: (placed: Pick<LocatedRule, 'collection' | 'operation' | 'subject'>) => boolean
}

/** Reports the findings of one kind. */
export type Check = Finder<CheckScope, FindingCode>

/** Prepares a valid configuration for the finders. `isFound` says whether a finding was already reported. */
export function createScope(
  { authenticate: hasAuthenticate = false, production = false }: InsightOptions,
  plan: ServicePlan,
  isFound: CheckScope['isFound'] = () => false,
): CheckScope {
  const canSignIn = hasAuthenticate || plan.auth !== null
  const isPossible = (subject: string): boolean =>
    subject === EVERYONE || (canSignIn && (!isRole(subject) || hasAuthenticate || canHaveRole(plan, subject)))
  const place: CheckScope['place'] = ({ name }, subject, operation) => {
    const at = grantPointer(name, subject)
    const grant = readOwn(grantsOf(plan.config, name), subject)
    return operation !== undefined && isObject(grant) && Object.hasOwn(grant, operation)
      ? `${at}/${operation}`
      : at
  }
  const isForAnonymous: CheckScope['isForAnonymous'] = ({ collection, operation, subject }) =>
    subject === EVERYONE &&
    (!canSignIn || (operation !== 'read' && collection.permissions[operation].has('user')))
  const isLacking = (variable: string): boolean => isOfCaller(plan, variable)
  return {
    plan,
    production,
    hasAuthenticate,
    isFound,
    place,
    canSignIn,
    hasSeveralRoles: hasAuthenticate || plan.collections.get(USERS)?.fields.some(isRoleList(plan)) === true,
    isPossible,
    isForAnonymous,
    situate: (placed) => {
      const { paths, validate } = placed.collection
      return { paths, validate, ...(isForAnonymous(placed) ? { isLacking } : {}) }
    },
    rules: [...plan.collections.values()].flatMap((collection) =>
      [...collectSubjects(collection.permissions)]
        .filter(isPossible)
        .flatMap((subject) => placeRules(collection, subject)),
    ),
  }
}

/** Returns the rules of a subject, each with its pointer. */
const placeRules = (collection: Collection, subject: string): readonly LocatedRule[] =>
  OPERATIONS.flatMap((operation) =>
    rulesOf(collection.permissions[operation], subject).map((rule) => {
      const pointer = rulePointer(collection.name, rule)
      return { collection, operation, subject, rule, pointer }
    }),
  )

const roleFieldOf = ({ collections }: ServicePlan) => {
  const users = collections.get(USERS)
  const field = users?.fields.find(({ name }) => name === users.roleField)
  return users && field ? { users, field } : undefined
}

/** Whether the role field can contain a role. */
function canHaveRole(plan: ServicePlan, role: string): boolean {
  const found = roleFieldOf(plan)
  if (!found) return false
  const { users, field } = found
  if (normalise(field.items ?? field, role) !== role) return false
  const at = toPointerPart(field.name) + (field.items ? '/0' : '')
  const body = { [field.name]: field.items ? [role] : role }
  return users.validate(body, { limit: 1, isRelevant: ({ path }) => path === at }).length === 0
}

const isRoleList =
  (plan: ServicePlan) =>
  ({ name, items }: { readonly name: string; readonly items: unknown }): boolean =>
    items !== null && name === plan.collections.get(USERS)?.roleField

/** Whether a variable has no value for anonymous callers. */
export function isOfCaller({ claims }: ServicePlan, variable: string): boolean {
  if (!variable.startsWith(USER)) return false
  const claim = claims.get(userPathOf(variable) ?? '')
  if (!claim) return true
  return claim.where.kind === 'bound' && claim.where.variables.some((inner) => inner.startsWith(USER))
}

/** Whether a rule's `set` needs a signed-in caller. */
export const needsCaller = ({ plan }: Pick<CheckScope, 'plan'>, { set }: Rule): boolean =>
  findVariables([...set.values()]).some((variable) => isOfCaller(plan, variable))

/** The demand that the subject `owner` adds to a rule's `where`. */
export const OWN: Demand = {
  path: 'createdBy',
  isList: false,
  kind: 'caller',
  operator: '$eq',
  operand: USER_ID,
  variable: USER_ID,
}

/** Returns the alternatives of a rule's `where`, each with the demand that the subject `owner` adds. */
export const waysOfRule = ({ subject, where }: Rule): Ways =>
  subject === OWNER ? where.ways.map((way) => [...way, OWN]) : where.ways
