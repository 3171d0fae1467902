import type { AuthPlan, Collection } from '../../../core/config/plan.js'
import { holdsImmutable } from '../../../core/fields/schema/changes.js'
import { includesProperty, type Rule } from '../../../core/permissions/grants.js'
import { selectReadRules } from '../../../core/permissions/read-gate.js'
import { selectWriteRules } from '../../../core/permissions/write-rules.js'
import { isClosedTo, rulesToCreate } from '../../../core/request/authorize.js'
import type { NameClass } from './model/classes.js'
import type { Asker, Sight } from './model/deciding.js'
import { areSameRules, isSameRule, keyOfRule } from './model/rule-keys.js'
import { always, storedKey, variable } from './model/sources.js'
import type { Sides } from './model/universe.js'
import { isSame, isThere } from './model/values.js'
import { ALWAYS, type Diagram, type Logic, NEVER } from './solver/logic.js'
import type { DifferenceKind, DocumentOperation } from './types.js'
import { chooseRule, type WriteDecision } from './write/choose-rule.js'
import type { BodyReader, Stored, Write } from './write/try-rule.js'

/** A difference of the whole response, or of one class of names. */
export interface FoundDifference {
  readonly kind: DifferenceKind
  readonly about: 'whole' | NameClass
}

/** A difference, and the condition under which a request shows it. */
export type ShownDifference = readonly [found: FoundDifference, when: Diagram]

/** A write on one side, and the rules that may decide it, in the order in which they are tried. */
interface Deciders {
  readonly write: Write
  readonly rules: readonly Rule[]
  /** Whether registration is closed, so that the caller cannot create accounts. */
  readonly isClosed?: boolean
}

/**
 * Returns a condition outside of which both sides decide a write alike: a rule that only one side has is tried, or the
 * document is shown otherwise.
 */
function findRegion(before: Deciders, after: Deciders, namesShown: readonly string[] | null): Diagram {
  const { or } = before.write.sight.logic
  const [was, is] = [before.rules.map(keyOfRule), after.rules.map(keyOfRule)]
  const isReordered =
    was.filter((key) => is.includes(key)).join() !== is.filter((key) => was.includes(key)).join()
  if ((was.length === 0) !== (is.length === 0) || isReordered) return ALWAYS
  return or(
    ...before.rules
      .filter((rule) => !is.includes(keyOfRule(rule)))
      .map((rule) => metByRule(before.write, rule)),
    ...after.rules
      .filter((rule) => !was.includes(keyOfRule(rule)))
      .map((rule) => metByRule(after.write, rule)),
    shownOtherwise(before.write.sight, after.write.sight, namesShown),
  )
}

/** Returns the condition under which a rule is tried for a write. */
const metByRule = ({ mode, sight }: Write, rule: Rule): Diagram =>
  mode === 'create' ? ALWAYS : sight.appliesTo(rule)

/** Returns the condition under which only one side shows the document, or a part of it that a write depends on. */
function shownOtherwise(before: Sight, after: Sight, namesShown: readonly string[] | null): Diagram {
  if (namesShown === null) return NEVER
  const { or, differ } = before.logic
  return or(
    differ(before.isReadable(), after.isReadable()),
    ...namesShown.map((name) => differ(before.shows(name), after.shows(name))),
  )
}

/** Returns the names whose visibility affects a write; `null` for a create, because nothing is stored yet. */
export function namesShownTo(
  operation: DocumentOperation,
  { before, after }: Sides,
  names: readonly string[],
): readonly string[] | null {
  if (operation === 'create') return null
  if (operation === 'delete') return []
  const fields = [...before.fields, ...after.fields]
  if (operation === 'put') return [...new Set([...fields.map(({ name }) => name), ...names])]
  const judged = fields.filter((field) => field.definition.required === true || holdsImmutable(field))
  return [...new Set(judged.map(({ name }) => name))]
}

interface Outcomes {
  readonly was: WriteDecision
  readonly is: WriteDecision
  /** Whether both sides show the document by the same rules. */
  readonly areAlike: boolean
}

/** Compares the documents that two rules store, for each pair of rules that can run on the two sides. */
function compareGranted(
  classes: readonly NameClass[],
  { was, is, areAlike }: Outcomes,
  logic: Logic,
): readonly ShownDifference[] {
  const both = was.granted.flatMap(([when, stored]) =>
    is.granted.flatMap(([also, other]) => {
      if (stored === other || (areAlike && isSameRule(stored.rule, other.rule))) return []
      const isBoth = logic.and(when, also)
      return isBoth === NEVER ? [] : [{ isBoth, pair: { was: stored, is: other, areAlike } }]
    }),
  )
  return classes.flatMap((names): readonly ShownDifference[] => {
    const found = new Map<DifferenceKind, Diagram>()
    for (const { isBoth, pair } of both)
      for (const [kind, when] of compareStored(names, pair, logic))
        found.set(kind, logic.or(found.get(kind) ?? NEVER, logic.and(isBoth, when)))
    return [...found].map(([kind, when]) => [{ kind, about: names }, when] as const)
  })
}

interface StoredPair {
  readonly was: Stored
  readonly is: Stored
  readonly areAlike: boolean
}

type Apart = readonly (readonly [DifferenceKind, Diagram])[]

function compareStored([name]: NameClass, { was, is, areAlike }: StoredPair, logic: Logic): Apart {
  const { and, not, same } = logic
  // If both rules accept a name and both sides show the document alike, both rules store the same value, whether or not
  // the body contains the name.
  if (areAlike && was.accepts(name) && is.accepts(name) && was.rule && is.rule) return []
  const [isGivenBefore, isGivenAfter] = [was.isGiven(name), is.isGiven(name)]
  const isStoredAlike = isSame(logic, was.sourcesOf(name), is.sourcesOf(name))
  // There is no difference if both sides store the same value, and either both keep the name or both ignore it.
  const isSettled = and(isStoredAlike, same(was.isKept(name), is.isKept(name)))
  return [
    ['narrowing', and(isGivenBefore, not(isGivenAfter), not(isSettled))],
    ['widening', and(isGivenAfter, not(isGivenBefore), not(isSettled))],
    ['changed', and(same(isGivenBefore, isGivenAfter), not(isStoredAlike))],
  ]
}

/** The subject of a comparison: one operation and one combination of roles. */
export interface Comparing {
  readonly sides: Sides
  readonly operation: DocumentOperation
  readonly asker: Asker
  readonly classes: readonly NameClass[]
  /** The first name of each class, which represents the class. */
  readonly names: readonly string[]
  /** For each side, the settings of accounts, if the documents are accounts of the service. */
  readonly accounts: readonly [before: AuthPlan | null, after: AuthPlan | null]
  /** Whether the two sides differ only in their rules. */
  readonly isSameElse: boolean
  /** The names whose visibility affects a write; `null` for a create, because nothing is stored yet. */
  readonly namesShown: readonly string[] | null
}

/** The tools that build conditions. */
export interface Means {
  readonly logic: Logic
  readonly appliesTo: (rule: Rule) => Diagram
  readonly body: BodyReader
  /** The cached results of trying the rules of both sides. */
  readonly trials: Write['trials']
}

/** The rules for one combination of roles on both sides. */
interface ComparedRules {
  readonly comparing: Comparing
  readonly before: Deciders
  readonly after: Deciders
  /** Whether both sides show the document by the same rules. */
  readonly areAlike: boolean
}

/**
 * Returns all differences that requests of callers with one combination of roles may show. Differences of the whole
 * response come first. Returns `null` if the rules, and so the responses, are the same on both sides.
 */
export function findDifferences(comparing: Comparing, means: Means): readonly ShownDifference[] | null {
  const { operation } = comparing
  const before = createDeciders(comparing, 0, means)
  const after = createDeciders(comparing, 1, means)
  const areAlike = areSameRules(before.write.sight.readers, after.write.sight.readers)
  if ((operation === 'create' || areAlike) && areSameRules(before.rules, after.rules)) return null
  const found =
    operation === 'read'
      ? compareReads(comparing, before.write.sight, after.write.sight)
      : compareWrites({ comparing, before, after, areAlike })
  return found.filter(([, when]) => when !== NEVER)
}

/** Compares whether the document can be read, then the error response if it cannot, and then each class of names. */
function compareReads(
  { classes, asker, sides }: Comparing,
  before: Sight,
  after: Sight,
): readonly ShownDifference[] {
  const { and, not } = before.logic
  const [was, is] = [before.isReadable(), after.isReadable()]
  // An anonymous caller gets 401 if there are no read rules, but 404 if there are rules that do not show the document.
  const isOther = asker === null && (before.readers.length === 0) !== (after.readers.length === 0)
  const isBoth = and(was, is)
  return [
    [{ kind: 'widening', about: 'whole' }, and(not(was), is)],
    [{ kind: 'narrowing', about: 'whole' }, and(was, not(is))],
    [{ kind: 'changed', about: 'whole' }, isOther ? and(not(was), not(is)) : NEVER],
    ...classes.flatMap((names): readonly ShownDifference[] => {
      const [name] = names
      if (sides.before.fields.some((field) => field.name === name && field.type === 'hash')) return []
      const [shown, shows] = [before.shows(name), after.shows(name)]
      if (shown === shows) return []
      const isSeen = and(isBoth, isThere(before.logic, always(variable(storedKey(name)))))
      return [
        [{ kind: 'widening', about: names }, and(isSeen, not(shown), shows)],
        [{ kind: 'narrowing', about: names }, and(isSeen, shown, not(shows))],
      ]
    }),
  ]
}

/** Compares the response to a write, and the document that the write stores. */
function compareWrites({
  comparing,
  before: own,
  after: other,
  areAlike,
}: ComparedRules): readonly ShownDifference[] {
  const { logic } = own.write.sight
  const { and, or, not, differ } = logic
  const region = comparing.isSameElse ? findRegion(own, other, comparing.namesShown) : ALWAYS
  if (region === NEVER) return []
  const was = decide(comparing, { ...own, region })
  const is = decide(comparing, { ...other, region })
  const [isGrantedBefore, isGrantedAfter] = [was, is].map(({ granted }) =>
    or(...granted.map(([when]) => when)),
  )
  if (isGrantedBefore === undefined || isGrantedAfter === undefined) return []
  const reasons = [...new Set([...was.refusals.keys(), ...is.refusals.keys()])]
  const isOtherRefusal = or(
    ...reasons.map((why) => differ(was.refusals.get(why) ?? NEVER, is.refusals.get(why) ?? NEVER)),
  )
  return [
    [{ kind: 'widening', about: 'whole' }, and(not(isGrantedBefore), isGrantedAfter)],
    [{ kind: 'narrowing', about: 'whole' }, and(isGrantedBefore, not(isGrantedAfter))],
    [{ kind: 'changed', about: 'whole' }, and(isOtherRefusal, not(isGrantedBefore), not(isGrantedAfter))],
    ...compareGranted(comparing.classes, { was, is, areAlike }, logic),
  ]
}

const operationOf = (operation: 'patch' | 'put' | 'delete') => (operation === 'delete' ? operation : 'update')

/** Evaluates the read rules for the stored document, as the service does. */
function createSight(
  collection: Collection,
  { logic, asker, appliesTo }: Pick<Means, 'logic' | 'appliesTo'> & { readonly asker: Asker },
): Sight {
  const readers = selectReadRules(collection.permissions, asker)
  const whenAny = (rules: readonly Rule[]): Diagram => logic.or(...rules.map(appliesTo))
  return {
    collection,
    logic,
    readers,
    appliesTo,
    isReadable: () => whenAny(readers),
    shows: (name) => whenAny(readers.filter((rule) => includesProperty(rule.properties, name))),
  }
}

/** The statuses of rejected requests. A `400` also has validation errors. */
type Refusal = '400' | '401' | '403' | '404'

/**
 * Returns the condition under which a property is shown, given that the document may be read: always, if it is shown
 * whenever the document may be read.
 */
const showsWhereReadable =
  ({ isReadable, shows }: Sight) =>
  (name: string): Diagram => {
    const shown = shows(name)
    return shown === isReadable() ? ALWAYS : shown
  }

/** Returns the rules that decide a request on one side. */
function createDeciders(comparing: Comparing, side: 0 | 1, { trials, body, ...means }: Means): Deciders {
  const { sides, operation, asker, names, namesShown } = comparing
  const collection = side === 0 ? sides.before : sides.after
  const accounts = comparing.accounts[side]
  const enquiry = { caller: asker, service: { accounts: accounts && { ...accounts, users: collection } } }
  const sight = createSight(collection, { ...means, asker })
  const shows = showsWhereReadable(sight)
  const write: Write = {
    sight,
    names,
    trials,
    body,
    shows,
    namesShown: namesShown ?? [],
    mode: operation === 'create' || operation === 'put' ? operation : 'patch',
    isSignedIn: asker !== null,
    isAccount: accounts !== null,
  }
  if (operation === 'read') return { write, rules: [] }
  if (operation !== 'create')
    return { write, rules: selectWriteRules(collection.permissions[operationOf(operation)], asker) }
  const isClosed = isClosedTo(enquiry, collection)
  return { write, rules: rulesToCreate(enquiry, collection), isClosed }
}

interface Deciding extends Deciders {
  /** The condition that selects the writes to decide. */
  readonly region: Diagram
}

const refuse = (why: Refusal, when: Diagram): WriteDecision => ({
  refusals: new Map([[why, when]]),
  granted: [],
})

/** Returns the outcome, on one side, of the writes that a region selects. */
function decide(
  { operation, asker }: Comparing,
  { write, rules, region, isClosed }: Deciding,
): WriteDecision {
  const { sight } = write
  const { and, not } = sight.logic
  const denied: Refusal = asker === null ? '401' : '403'
  if (operation === 'create') {
    if (isClosed) return refuse('403', region)
    return rules.length === 0 ? refuse(denied, region) : chooseRule(write, rules, region)
  }
  if (rules.length === 0 && asker === null) return refuse('401', region)
  // A caller that may not read the document gets 404.
  const isSeen = sight.isReadable()
  const { refusals, granted } = decideSeen({ write, rules, region: and(region, isSeen) }, operation, denied)
  return { refusals: new Map([['404', and(region, not(isSeen))], ...refusals]), granted }
}

function decideSeen(
  { write, rules, region }: Deciding,
  operation: DocumentOperation,
  denied: Refusal,
): WriteDecision {
  const { logic, appliesTo } = write.sight
  if (rules.length === 0) return refuse('403', region)
  if (operation !== 'delete') return chooseRule(write, rules, region)
  const isGranted = logic.or(...rules.map(appliesTo))
  return {
    ...refuse(denied, logic.and(region, logic.not(isGranted))),
    granted: [[logic.and(region, isGranted), GONE]],
  }
}

const GONE: Stored = {
  rule: null,
  accepts: () => false,
  isGiven: () => NEVER,
  isKept: () => NEVER,
  sourcesOf: () => always({ kind: 'fixed', value: undefined }),
}
