import type { ServicePlan } from '../../config/plan.js'
import type { Rule } from '../../permissions/grants.js'
import { type Comparing, findDifferences, type Means, standingOf } from './find-differences.js'
import { namesShownTo } from './find-region.js'
import type { CallerValues } from './model/caller-values.js'
import { findMeeting, findRoles, listAskers, mostRoles } from './model/callers.js'
import { findClasses } from './model/classes.js'
import { type Asker, createScope } from './model/deciding.js'
import { keyOfMentions } from './model/rule-keys.js'
import { bodyKey } from './model/sources.js'
import { haveSameSchema, unite } from './model/unite.js'
import { createUniverses, fieldsOf, type Sides, type Universe } from './model/universe.js'
import type { FoundDifference, ShownDifference } from './shown.js'
import { type Budget, spend, Undecided as UndecidedError } from './solver/budget.js'
import type { Diagram } from './solver/diagrams.js'
import { findModel, holdsFor } from './solver/find-model.js'
import { createLogic, type Logic } from './solver/logic.js'
import type { DocumentOperation, PermissionDifference, Plans, UndecidedDifference } from './types.js'
import { createBodyReader } from './write/reading-body.js'
import { type HeldNames, readHeld, writeWitness } from './write-witness.js'

/** A difference whose counterexample lacks the documents stored beside the one requested. */
export type Unfinished = PermissionDifference & { readonly held: HeldNames }

/** The most decisions for an operation (CONTRACT.md §8, "Diff"). */
export const MAX_DECISIONS = 200_000

const OPERATIONS: readonly DocumentOperation[] = ['read', 'create', 'patch', 'put', 'delete']

/** Compares the rules of a collection in two configurations. */
export function compareCollection(plans: Plans, given: Sides): readonly (Unfinished | UndecidedDifference)[] {
  const areBothAccounts = isAccounts(plans.before, given.before) === isAccounts(plans.after, given.after)
  const sides = areBothAccounts && haveSameSchema(given) ? unite(given) : given
  const known: Universes = { callers: callerValuesOf(plans), byOperation: new Map() }
  return OPERATIONS.flatMap((operation) => compareOperation(plans, sides, operation, known))
}

const ruleOperation = (operation: DocumentOperation) =>
  operation === 'patch' || operation === 'put' ? 'update' : operation

/** The operations whose rules decide about one: a document must be read before it is changed. */
const operationsOf = (operation: DocumentOperation) => {
  const own = ruleOperation(operation)
  return own === 'read' || own === 'create' ? ([own] as const) : (['read', own] as const)
}

/** Creates the universes of a collection by operation of the rules, and holds the callers in all of them. */
interface Universes {
  readonly callers: CallerValues
  readonly byOperation: Map<string, ReturnType<typeof createUniverses>>
}

function compareOperation(
  plans: Plans,
  sides: Sides,
  operation: DocumentOperation,
  known: Universes,
): readonly (Unfinished | UndecidedDifference)[] {
  const operations = operationsOf(operation)
  const { before, after } = sides
  const areSame = operations.every(
    (own) => keyOfMentions(before.permissions[own]) === keyOfMentions(after.permissions[own]),
  )
  if (areSame) return []
  const rules: readonly Rule[] = operations
    .flatMap((own) => [before, after].flatMap(({ permissions }) => [...permissions[own].values()]))
    .filter((rule) => rule !== null)
  const budget: Budget = { left: MAX_DECISIONS }
  const own = ruleOperation(operation)
  const { callers, byOperation } = known
  const universeOf = byOperation.get(own) ?? createUniverses(sides, rules, callers)
  byOperation.set(own, universeOf)
  const search = createSearch(plans, { sides, operation, rules, budget, claims: callers.claims })
  const undecided = (reason: UndecidedDifference['reason']): UndecidedDifference => ({
    kind: 'undecided',
    collection: after.name,
    operation,
    reason,
  })
  let isWhole = true
  try {
    const passes = [false, true].map((isSignedIn): Pass => {
      const universe = universeOf({ isSignedIn, operation })
      isWhole &&= universe.isWhole
      return { universe, isSignedIn, standings: search.listStandings(universe, isSignedIn), kept: [] }
    })
    for (const isFresh of [true, false]) for (const pass of passes) search.run(pass, isFresh)
  } catch (thrown) {
    if (!(thrown instanceof UndecidedError)) throw thrown
    return [...search.found(), undecided('decisions')]
  }
  return isWhole ? search.found() : [...search.found(), undecided('patterns')]
}

/** The possible values of callers; a claim that has changed has its values of `after`. */
function callerValuesOf({ before, after, authenticate }: Plans): CallerValues {
  const claims = new Map([...before.claims, ...after.claims])
  if (authenticate || !after.auth) return { fields: null, claims }
  return { fields: fieldsOf({ before: after.auth.users, after: after.auth.users }), claims }
}

interface Searched {
  readonly sides: Sides
  readonly operation: DocumentOperation
  readonly rules: readonly Rule[]
  readonly budget: Budget
  readonly claims: CallerValues['claims']
}

/** All signed-in callers, or the anonymous one. */
interface Pass {
  readonly universe: Universe
  readonly isSignedIn: boolean
  readonly standings: Iterable<CallerDifferences>
  /** Those that exist already. */
  readonly kept: CallerDifferences[]
}

/** One kind of caller, and the differences that its requests may show. */
interface CallerDifferences {
  readonly comparing: Comparing
  readonly logic: Logic
  readonly shown: readonly ShownDifference[]
}

/** A difference, and the caller that sees it. */
interface KnownDifference extends FoundDifference {
  readonly asker: Asker
}

/** Looks for differences, of callers with few roles first; a difference that fewer roles see is not reported again. */
function createSearch(plans: Plans, { sides, operation, rules, budget, claims }: Searched) {
  const roles = findRoles(sides, operationsOf(operation))
  const meetsChange = findMeeting(sides, operationsOf(operation))
  // Rights to read and to delete add up: one role has the right that the other side lacks, others show the document, on
  // each side.
  const telling = operation === 'read' ? 2 : operation === 'delete' ? 3 : Number.POSITIVE_INFINITY
  const most = Math.min(...[plans.before, plans.after].map((plan) => mostRoles(plan, plans.authenticate)))
  const areAccounts = [isAccounts(plans.before, sides.before), isAccounts(plans.after, sides.after)] as const
  const areClosed = [isClosed(plans.before, sides.before), isClosed(plans.after, sides.after)] as const
  const classes = findClasses(sides, rules, operation === 'read')
  const names = classes.map(([name]) => name)
  const base: Omit<Comparing, 'asker'> = {
    sides,
    operation,
    areAccounts,
    areClosed,
    classes,
    names,
    namesShown: namesShownTo(operation, sides, names),
    isSameElse:
      areAccounts[0] === areAccounts[1] &&
      areClosed[0] === areClosed[1] &&
      sides.before.fields === sides.after.fields,
  }
  const known: KnownDifference[] = []
  const differences: Unfinished[] = []
  const isKnown = ({ kind, about }: FoundDifference, asker: Asker): boolean =>
    known.some((one) => one.kind === kind && one.about === about && isWithin(one.asker, asker))

  const listStandings = function* (
    { variables }: Universe,
    isSignedIn: boolean,
  ): Generator<CallerDifferences> {
    const logic = createLogic(variables, budget)
    const means: Means = {
      logic,
      appliesTo: createScope(logic),
      body: createBodyReader(logic, new Set(names)),
      trials: new Map(),
    }
    for (const asker of isSignedIn ? listAskers(roles, most) : [null]) {
      spend(budget)
      if (!meetsChange(asker) || (asker && asker.roles.length > telling)) continue
      const comparing: Comparing = { ...base, asker }
      const standing = standingOf(comparing, means)
      if (standing) yield { comparing, logic, shown: findDifferences(standing) }
    }
  }
  const run = ({ universe, standings, kept }: Pass, isFresh: boolean): void => {
    if (!isFresh && !universe.hasStale) return
    const variables = isFresh ? universe.fresh : universe.variables
    const impossible = new Set<Diagram>()
    const isBestMissing = (key: string): boolean => key.startsWith(bodyKey(''))
    for (const standing of isFresh ? standings : kept) {
      if (isFresh) kept.push(standing)
      const { comparing, logic, shown } = standing
      const { asker } = comparing
      for (const [found, when] of shown) {
        if (impossible.has(when) || isKnown(found, asker)) continue
        const model = findModel(when, { logic, variables, budget, isBestMissing })
        if (!model) impossible.add(when)
        if (!model) continue
        known.push({ ...found, asker })
        const modelled = { variables, model, isFresh }
        differences.push({
          kind: found.kind,
          collection: sides.after.name,
          operation,
          fields: found.about === 'whole' ? [] : [...found.about],
          roles: asker && [...asker.roles],
          stale: !isFresh,
          witness: writeWitness(comparing, modelled),
          held: readHeld(modelled, claims, (other) => holdsFor(when, logic, other)),
          follows: [],
        })
      }
    }
  }
  return { listStandings, run, found: (): readonly Unfinished[] => differences }
}

/** Whether one caller is the other with fewer roles; an anonymous caller is within all others. */
const isWithin = (one: Asker, other: Asker): boolean =>
  one === null || (other !== null && one.roles.every((role) => other.roles.includes(role)))

const isAccounts = ({ auth }: ServicePlan, { name }: Sides['before']): boolean => auth?.users.name === name

const isClosed = ({ auth }: ServicePlan, { name }: Sides['before']): boolean =>
  auth?.users.name === name && !auth.register
