import type { ServicePlan } from '../../config/plan.js'
import type { Rule } from '../../permissions/grants.js'
import { haveSameSchema, namesShownTo } from './act-alike.js'
import {
  type Comparing,
  createClassVariable,
  type Found,
  listQuestions,
  standingOf,
} from './find-differences.js'
import { findRoles, listAskers, mostRoles } from './model/callers.js'
import { findClasses } from './model/classes.js'
import type { Asker } from './model/deciding.js'
import { keyOfMentions } from './model/rule-keys.js'
import { type CallerFields, createUniverses, fieldsOf, type Sides, type Universe } from './model/universe.js'
import { type Budget, explore, Undecided as UndecidedError } from './solver/explore.js'
import type { DocumentOperation, PermissionDifference, Undecided } from './types.js'
import { writeWitness } from './write-witness.js'

/** Two configurations, compiled. */
export interface Plans {
  readonly before: ServicePlan
  readonly after: ServicePlan
  readonly authenticate: boolean
}

/** The most decisions for an operation (CONTRACT.md §8, "Diff"). */
export const MAX_DECISIONS = 200_000

const OPERATIONS: readonly DocumentOperation[] = ['read', 'create', 'patch', 'put', 'delete']

/** What the rules of a collection that both configurations have let be seen or done. */
export function compareCollection(plans: Plans, sides: Sides): readonly (PermissionDifference | Undecided)[] {
  return OPERATIONS.flatMap((operation) => compareOperation(plans, sides, operation))
}

const ruleOperation = (operation: DocumentOperation) =>
  operation === 'patch' || operation === 'put' ? 'update' : operation

/** The operations whose rules decide about one: what is changed has to be read first. */
const operationsOf = (operation: DocumentOperation) => {
  const own = ruleOperation(operation)
  return own === 'read' || own === 'create' ? ([own] as const) : (['read', own] as const)
}

function compareOperation(
  plans: Plans,
  sides: Sides,
  operation: DocumentOperation,
): readonly (PermissionDifference | Undecided)[] {
  const operations = operationsOf(operation)
  const { before, after } = sides
  const areSame = operations.every(
    (own) => keyOfMentions(before.permissions[own]) === keyOfMentions(after.permissions[own]),
  )
  if (areSame) return []
  const rules: readonly Rule[] = operations.flatMap((own) =>
    [before, after].flatMap(({ permissions }) =>
      [...permissions[own].values()].filter((rule) => rule !== null),
    ),
  )
  const callerFields = callerFieldsOf(plans)
  const universeOf = createUniverses(sides, rules, callerFields)
  const search = createSearch(plans, { sides, operation, rules })
  const budget: Budget = { left: MAX_DECISIONS }
  const undecided = (reason: Undecided['reason']): Undecided => ({
    kind: 'undecided',
    collection: after.name,
    operation,
    reason,
  })
  let isWhole = true
  try {
    for (const isFresh of [true, false]) {
      for (const isSignedIn of [false, true]) {
        const universe = universeOf({ isSignedIn, isPatch: operation === 'patch', isFresh })
        isWhole &&= universe.isWhole
        if (!isFresh && !universe.hasStale) continue
        search.run({ universe, isSignedIn, isFresh, budget })
      }
    }
  } catch (thrown) {
    if (!(thrown instanceof UndecidedError)) throw thrown
    return [...search.found(), undecided('decisions')]
  }
  return isWhole ? search.found() : [...search.found(), undecided('patterns')]
}

/** What callers can have, where the service keeps the accounts and nobody else names callers. */
function callerFieldsOf({ after, authenticate }: Plans): CallerFields {
  if (authenticate || !after.auth) return null
  return fieldsOf({ before: after.auth.users, after: after.auth.users })
}

interface Searched {
  readonly sides: Sides
  readonly operation: DocumentOperation
  readonly rules: readonly Rule[]
}

interface Pass {
  readonly universe: Universe
  readonly isSignedIn: boolean
  readonly isFresh: boolean
  readonly budget: Budget
}

/** What was found for whom. */
interface Known extends Found {
  readonly asker: Asker
}

/** Looks for differences, of callers with few roles first; what fewer roles see is no news. */
function createSearch(plans: Plans, { sides, operation, rules }: Searched) {
  const roles = findRoles(sides, operationsOf(operation))
  const most = Math.min(...[plans.before, plans.after].map((plan) => mostRoles(plan, plans.authenticate)))
  const areAccounts = [isAccounts(plans.before, sides.before), isAccounts(plans.after, sides.after)] as const
  const areClosed = [isClosed(plans.before, sides.before), isClosed(plans.after, sides.after)] as const
  const classes = findClasses(sides, rules, operation === 'read')
  const base: Omit<Comparing, 'asker' | 'isNew'> = {
    ...{ sides, operation, areAccounts, areClosed },
    classes,
    namesShown: namesShownTo(
      operation,
      sides,
      classes.map(([name]) => name),
    ),
    isSameElse: areAccounts[0] === areAccounts[1] && areClosed[0] === areClosed[1] && haveSameSchema(sides),
  }
  const known: Known[] = []
  const differences: PermissionDifference[] = []
  const isKnown = ({ kind, about }: Found, asker: Asker): boolean =>
    known.some((one) => one.kind === kind && one.about === about && isWithin(one.asker, asker))

  const classVariable = createClassVariable(base.classes)
  const run = ({ universe, isSignedIn, isFresh, budget }: Pass): void => {
    const variables = new Map([...universe.variables, [classVariable.key, classVariable]])
    const seen = new Set<string>()
    for (const asker of listAskers(roles, most)) {
      if ((asker !== null) !== isSignedIn) continue
      const comparing: Comparing = { ...base, asker, isNew: (found) => !isKnown(found, asker) }
      const standing = standingOf(comparing)
      const key = JSON.stringify(standing)
      if (standing[0] === standing[1] || seen.has(key)) continue
      seen.add(key)
      for (const question of listQuestions(comparing)) {
        explore(variables, budget, (ask, readModel) =>
          question(ask, (found) => {
            if (!comparing.isNew(found)) return
            known.push({ ...found, asker })
            const witness = writeWitness(comparing, { variables, model: readModel(), isFresh })
            differences.push({
              kind: found.kind,
              collection: sides.after.name,
              operation,
              fields: found.about === 'whole' ? [] : [...found.about],
              roles: asker && [...asker.roles],
              stale: !isFresh,
              witness,
              follows: [],
            })
          }),
        )
      }
    }
  }
  return { run, found: (): readonly PermissionDifference[] => differences }
}

/** Whether one caller is the other with fewer roles; an anonymous one is with all of them. */
const isWithin = (one: Asker, other: Asker): boolean =>
  one === null || (other !== null && one.roles.every((role) => other.roles.includes(role)))

const isAccounts = ({ auth }: ServicePlan, { name }: Sides['before']): boolean => auth?.users.name === name

const isClosed = ({ auth }: ServicePlan, { name }: Sides['before']): boolean =>
  auth?.users.name === name && !auth.register
