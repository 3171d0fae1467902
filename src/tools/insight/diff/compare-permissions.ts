import { judgeHooks } from '../../../core/config/options/check-options.js'
import { judgeFills, readFills } from '../../../core/config/options/fills.js'
import type { AuthPlan, ServicePlan } from '../../../core/config/plan.js'
import { ConfigError } from '../../../core/errors.js'
import { USERS } from '../../../core/fields/schema/names.js'
import type { Scalar } from '../../../core/filter/filter.js'
import { freezeDeep } from '../../../core/json/freeze-deep.js'
import { isObject, readOwn } from '../../../core/json/own-properties.js'
import { requireOptions } from '../../../core/options.js'
import { EVERYONE, isRole, listRules, type Rule } from '../../../core/permissions/grants.js'
import { compileAmong } from '../compile.js'
import { INSIGHT_OPTIONS, type InsightOptions } from '../options.js'
import { grantsOf } from '../written-rules.js'
import {
  compareAccounts,
  compareStructure,
  followReading,
  type WrittenConfig,
  withoutPermissions,
} from './compare-structure.js'
import { completeWitness } from './complete-witness.js'
import {
  type Comparing,
  type FoundDifference,
  findDifferences,
  type Means,
  namesShownTo,
  type ShownDifference,
} from './find-differences.js'
import { findClasses, topOf } from './model/classes.js'
import { type Asker, createScope } from './model/deciding.js'
import { areSameRules, keyOfMentions } from './model/rule-keys.js'
import { bodyKey, callerKey } from './model/sources.js'
import { haveSameSchema, keyOfSides, unite } from './model/unite.js'
import { type CallerValues, createUniverses, fieldsOf, type Sides, type Universe } from './model/universe.js'
import { alignPlans } from './names/align-plans.js'
import { type Budget, spend, Undecided as UndecidedError } from './solver/budget.js'
import { findModel, holdsFor } from './solver/find-model.js'
import { createLogic, type Diagram, type Logic, NEVER } from './solver/logic.js'
import { isList, isOpaque, type Model } from './solver/variable.js'
import type {
  Difference,
  DocumentOperation,
  PermissionDifference,
  Plans,
  UndecidedDifference,
} from './types.js'
import type { BodyReader } from './write/try-rule.js'
import { type HeldNames, type WitnessModel, writeWitness } from './write-witness.js'

type CallerOperation = 'create' | 'read' | 'update' | 'delete'

/** Returns the roles that the permissions of either side name, in their order. */
function findRoles(sides: Sides, operations: readonly CallerOperation[]) {
  const subjects = operations.flatMap((operation) => [
    ...sides.before.permissions[operation].keys(),
    ...sides.after.permissions[operation].keys(),
  ])
  return [...new Set(subjects.filter(isRole))]
}

/**
 * Returns a test of whether changed rules can affect a caller. If only the rules of roles changed, and the common
 * subjects of both sides have the same order, only callers with one of these roles are affected; otherwise all callers.
 */
function findMeeting(sides: Sides, operations: readonly CallerOperation[]): (asker: Asker) => boolean {
  const changed = new Set<string>()
  for (const operation of operations) {
    const [before, after] = [sides.before.permissions[operation], sides.after.permissions[operation]]
    for (const subject of new Set([...before.keys(), ...after.keys()]))
      if (!areSameRules(before.get(subject), after.get(subject))) changed.add(subject)
    const same = [...before.keys()].filter((subject) => after.has(subject))
    if (same.join('\0') !== [...after.keys()].filter((subject) => before.has(subject)).join('\0'))
      return () => true
  }
  return [...changed].every(isRole)
    ? (asker) => asker?.roles.some((role) => changed.has(role)) ?? false
    : () => true
}

/** Yields every combination of `size` values. There may be billions. */
function* combinations(values: readonly string[], size: number): Generator<readonly string[]> {
  if (size === 0) yield []
  else
    for (const [i, first] of values.entries())
      for (const rest of combinations(values.slice(i + 1), size - 1)) yield [first, ...rest]
}

/** Returns the maximum number of roles that a caller can have. */
function mostRoles({ auth }: ServicePlan, authenticate: boolean): number {
  if (!auth || authenticate) return Number.POSITIVE_INFINITY
  const { fields, roleField } = auth.users
  const isText = fields.some(({ name, type }) => name === roleField && type === 'string')
  return isText ? 1 : Number.POSITIVE_INFINITY
}

/** A difference whose counterexample has only the requested document; `completeWitness` adds all other documents. */
type Unfinished = PermissionDifference & { readonly held: HeldNames }

/** The maximum number of decisions for one operation of a collection (CONTRACT.md §8, "Diff"). */
const MAX_DECISIONS = 200_000

const OPERATIONS: readonly DocumentOperation[] = ['read', 'create', 'patch', 'put', 'delete']

/** Compares the rules of a collection in two configurations. */
function compareCollection(plans: Plans, given: Sides): readonly (Unfinished | UndecidedDifference)[] {
  const [was, is] = [accountsIn(plans.before, given.before), accountsIn(plans.after, given.after)]
  const areBothAccounts = (was === null) === (is === null)
  const sides = areBothAccounts && haveSameSchema(given) ? unite(given) : given
  const known: Universes = { callers: callerValuesOf(plans), byOperation: new Map() }
  return OPERATIONS.flatMap((operation) => compareOperation(plans, sides, operation, known))
}

const ruleOperation = (operation: DocumentOperation) =>
  operation === 'patch' || operation === 'put' ? 'update' : operation

/** Returns the rule operations that decide a request. A change also needs the right to read the document. */
const operationsOf = (operation: DocumentOperation) => {
  const own = ruleOperation(operation)
  return own === 'read' || own === 'create' ? ([own] as const) : (['read', own] as const)
}

/** Caches the universes of a collection by rule operation. All of them have the same possible callers. */
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
  const rules = operations.flatMap((own) =>
    [before, after].flatMap(({ permissions }) => listRules(permissions[own])),
  )
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
      return { universe, isSignedIn, standings: [] }
    })
    for (const isFresh of [true, false]) for (const pass of passes) search.run(pass, isFresh)
  } catch (thrown) {
    if (!(thrown instanceof UndecidedError)) throw thrown
    return [...search.found(), undecided('decisions')]
  }
  return isWhole ? search.found() : [...search.found(), undecided('patterns')]
}

/** Returns the possible values of callers. For a claim in both configurations, the definition in `after` counts. */
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

/** The comparison for either all signed-in callers or the anonymous caller. */
interface Pass {
  readonly universe: Universe
  readonly isSignedIn: boolean
  /** The combinations of roles that may see a difference. */
  readonly standings: CallerDifferences[]
}

/** One combination of roles, and the differences that requests of such callers may show. */
interface CallerDifferences {
  readonly comparing: Comparing
  readonly logic: Logic
  readonly shown: readonly ShownDifference[]
}

/** A difference that was found, and the caller who sees it. */
interface KnownDifference extends FoundDifference {
  readonly asker: Asker
}

/** Reads the caller of a model. `isCase` decides whether a model is a counterexample. */
function readHeld(
  { variables, model }: WitnessModel,
  claims: { has(name: string): boolean },
  isCase: (model: Model) => boolean,
): HeldNames {
  const prefix = callerKey('')
  const names = [...variables.keys()].flatMap((key) =>
    key.startsWith(prefix) ? key.slice(prefix.length) : [],
  )
  const lists = names.flatMap((name): [string, readonly Scalar[]][] => {
    const list = claims.has(name) && isList(model.values.get(callerKey(name)))
    return list ? [[name, model.lists.get(callerKey(name)) ?? []]] : []
  })
  const staysWith: HeldNames['staysWith'] = (others) => {
    const [values, elements] = [new Map(model.values), new Map(model.lists)]
    for (const [name, list] of others) {
      const key = callerKey(name)
      values.set(key, variables.get(key)?.values.find(isList))
      elements.set(key, list)
    }
    return isCase({ values, lists: elements })
  }
  return { names: new Set(names), claims: new Map(lists), staysWith }
}

/** Creates the reader of a body that contains only known names. The condition for each name is cached. */
function createBodyReader(logic: Logic, known: ReadonlySet<string>): BodyReader {
  const named = new Map<string, Diagram>()
  return {
    names(name) {
      if (!known.has(topOf(name))) return NEVER
      const found = named.get(name) ?? logic.test(bodyKey(name), (value) => value !== undefined)
      named.set(name, found)
      return found
    },
    isNull: (name) => logic.test(bodyKey(name), (value) => isOpaque(value) && value.sample === null),
  }
}

/**
 * Searches for differences, beginning with callers who have few roles. Does not report a difference again for callers
 * who have additional roles.
 */
function createSearch(plans: Plans, { sides, operation, rules, budget, claims }: Searched) {
  const roles = findRoles(sides, operationsOf(operation))
  const meetsChange = findMeeting(sides, operationsOf(operation))
  // Rights to read and to delete add up, so callers with few roles show every difference. A read needs at most two
  // roles: one for each side. A delete needs at most three: one with the right to delete, and one for each side to show
  // the document.
  const telling = operation === 'read' ? 2 : operation === 'delete' ? 3 : Number.POSITIVE_INFINITY
  const most = Math.min(...[plans.before, plans.after].map((plan) => mostRoles(plan, plans.authenticate)))
  const accounts = [accountsIn(plans.before, sides.before), accountsIn(plans.after, sides.after)] as const
  const [was, is] = accounts
  const classes = findClasses(sides, rules, operation === 'read')
  const names = classes.map(([name]) => name)
  const base: Omit<Comparing, 'asker'> = {
    sides,
    operation,
    accounts,
    classes,
    names,
    namesShown: namesShownTo(operation, sides, names),
    isSameElse:
      (was === null) === (is === null) &&
      was?.register === is?.register &&
      was?.requiresVerified === is?.requiresVerified &&
      sides.before.fields === sides.after.fields,
  }
  const known: KnownDifference[] = []
  const differences: Unfinished[] = []
  const isKnown = ({ kind, about }: FoundDifference, asker: Asker): boolean =>
    known.some((one) => one.kind === kind && one.about === about && isWithin(one.asker, asker))

  /** Searches for counterexamples with documents that are fresh, or with any documents. */
  const run = ({ universe, isSignedIn, standings }: Pass, isFresh: boolean): void => {
    const variables = isFresh ? universe.fresh : universe.variables
    const impossible = new Set<Diagram>()
    const report = ({ comparing, logic, shown }: CallerDifferences): void => {
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
    if (!isFresh) {
      if (universe.hasStale) for (const standing of standings) report(standing)
      return
    }
    const logic = createLogic(universe.variables, budget)
    const means: Means = {
      logic,
      appliesTo: createScope(logic),
      body: createBodyReader(logic, new Set(names)),
      trials: new Map(),
    }
    const consider = (asker: Asker): void => {
      spend(budget)
      if (!meetsChange(asker) || (asker && asker.roles.length > telling)) return
      const comparing: Comparing = { ...base, asker }
      const shown = findDifferences(comparing, means)
      if (!shown) return
      const standing = { comparing, logic, shown }
      standings.push(standing)
      report(standing)
    }
    if (!isSignedIn) consider(null)
    else
      for (let size = 0; size <= Math.min(most, roles.length); size++)
        for (const chosen of combinations(roles, size)) consider({ id: EVERYONE, roles: chosen, fields: {} })
  }
  return { run, found: (): readonly Unfinished[] => differences }
}

const isBestMissing = (key: string): boolean => key.startsWith(bodyKey(''))

/** Whether `one` has no roles beyond those of `other`. An anonymous caller is within all others. */
const isWithin = (one: Asker, other: Asker): boolean =>
  one === null || (other !== null && one.roles.every((role) => other.roles.includes(role)))

/** Returns the settings of accounts if the documents of a collection are accounts. */
const accountsIn = ({ auth }: ServicePlan, { name }: Sides['before']): AuthPlan | null =>
  auth?.users.name === name ? auth : null

/**
 * Compares the permissions of two configurations (CONTRACT.md §8, "Diff"). Finds every difference that a single read,
 * create, PATCH, PUT or DELETE of one document can show. Each has the smallest set of roles that sees it, and a
 * counterexample that can be run. Schemas, limits and `auth` are compared as structures. Throws `ConfigError` with the
 * errors of either configuration.
 *
 * @example
 * ```ts
 * const differences = comparePermissions(before, after)
 * const isSafe = differences.every(({ kind }) => kind === 'narrowing')
 * ```
 */
export function comparePermissions(
  before: unknown,
  after: unknown,
  options: InsightOptions = {},
): readonly Difference[] {
  requireOptions(options, INSIGHT_OPTIONS)
  const given: Plans = {
    before: compileAmong(before, options),
    after: compileAmong(after, options),
    authenticate: options.authenticate ?? false,
  }
  requireHooks(given, options)
  const aligned = alignPlans(given, options)
  if (!aligned) return freezeDeep(compareAll(given, { before, after }))
  const differences = compareAll(aligned.plans, aligned.written)
  return freezeDeep([...differences.map(aligned.restore), ...compareAccounts(given)])
}

/** Compares two configurations in which a name means the same. */
function compareAll(plans: Plans, given: { readonly before: unknown; readonly after: unknown }) {
  const written = { before: readWritten(given.before), after: readWritten(given.after) }
  const structure = compareStructure(plans, written)
  const names = new Set([...plans.before.collections.keys(), ...plans.after.collections.keys()])
  const alike = new Map<string, ReturnType<typeof compareCollection>>()
  const permissions = [...names].flatMap((name) => {
    const sides = sidesOf(plans, name)
    if (!sides) return []
    const areAccounts = [plans.before, plans.after].map(({ auth }) => auth?.users.name === name)
    const key = `${areAccounts} ${keyOfSides(sides)}`
    const found = alike.get(key) ?? compareCollection(plans, sides)
    alike.set(key, found)
    const isRead = found.some(({ operation }) => operation === 'read')
    const follows = isRead ? followReading(plans.after, name) : []
    return found.map((one) => finish(plans, one, name, follows))
  })
  return [...permissions, ...structure]
}

/** Checks the hooks. Throws `ConfigError` if they name collections or fields that neither configuration has. */
function requireHooks({ before, after }: Plans, options: InsightOptions): void {
  const collections = new Map(
    [before, after]
      .flatMap((plan) => [...plan.collections.keys()])
      .map((name) => [
        name,
        { fields: [after, before].flatMap((plan) => plan.collections.get(name)?.fields ?? []) },
      ]),
  )
  const faults = [
    ...judgeHooks(options, { collections: Object.fromEntries(collections) }),
    ...judgeFills(readFills(options.hooks), collections, []),
  ]
  if (faults.length > 0) throw new ConfigError(faults)
}

/** Returns both versions of a collection. A configuration that lacks the collection grants nothing in it. */
function sidesOf({ before, after }: Plans, name: string): Sides | undefined {
  const [was, is] = [before.collections.get(name), after.collections.get(name)]
  if (was && is) return { before: was, after: is }
  if (was) return { before: was, after: withoutPermissions(was) }
  return is && { before: withoutPermissions(is), after: is }
}

/**
 * Completes a difference. Replaces the collection name, because the difference may have been found in another
 * collection with the same permissions. `follows` applies only to reads.
 */
function finish(
  plans: Plans,
  one: Unfinished | UndecidedDifference,
  name: string,
  follows: readonly string[],
): PermissionDifference | UndecidedDifference {
  if (!('witness' in one)) return { ...one, collection: name }
  const { held, ...found } = one
  const { documents, request } = one.witness
  const witness = {
    ...one.witness,
    documents: Object.fromEntries(Object.values(documents).map((all) => [name, all])),
    request: { ...request, path: `/${name}${request.path.slice(one.collection.length + 1)}` },
  }
  return {
    ...found,
    collection: name,
    witness: completeWitness(witness, held, plans),
    follows: one.operation === 'read' ? follows : [],
  }
}

/** Returns the parts of a valid configuration that are compared as written, not as compiled. */
function readWritten(config: unknown): WrittenConfig {
  const auth = isObject(config) ? readOwn(config, 'auth') : undefined
  const claims = isObject(auth) ? readOwn(auth, 'claims') : undefined
  const everyone = readOwn(grantsOf(config, USERS), EVERYONE)
  return {
    claims: isObject(claims)
      ? Object.fromEntries(Object.entries(claims).filter(([name]) => name !== '$comment'))
      : {},
    registration: isObject(everyone) ? readOwn(everyone, 'create') : everyone,
  }
}
