import type { Rule } from '../../permissions/grants.js'
import { selectReadRules } from '../../permissions/read-gate.js'
import { selectWriteRules } from '../../permissions/write-rules.js'
import { actAlike, type Deciders } from './act-alike.js'
import type { NameClass } from './model/classes.js'
import { chooseRule, isRefusal, type Outcome, type Stored, type Write } from './model/decide-write.js'
import { type Asker, createSight, type Refusal, type Sight } from './model/deciding.js'
import { type BodyReader, createBodyReader } from './model/reading-body.js'
import { keyOfRule } from './model/rule-keys.js'
import { storedKey } from './model/sources.js'
import type { Sides } from './model/universe.js'
import { isSame, isThere } from './model/values.js'
import type { Ask } from './solver/explore.js'
import type { Variable } from './solver/variable.js'
import { isTold } from './tell-apart.js'
import type { DocumentOperation, Kind } from './types.js'

/** What is compared: an operation, for one kind of caller. */
export interface Comparing {
  readonly sides: Sides
  readonly operation: DocumentOperation
  readonly asker: Asker
  readonly classes: readonly NameClass[]
  /** By side, whether documents here are accounts of the service. */
  readonly areAccounts: readonly [before: boolean, after: boolean]
  /** Whether registration is closed, so that nobody creates an account without being signed in. */
  readonly areClosed: readonly [before: boolean, after: boolean]
  /** Whether the rules are all that the sides do not have in common. */
  readonly isSameElse: boolean
  /** The names of which a write depends on whether they are shown; `null` where nothing is stored yet. */
  readonly namesShown: readonly string[] | null
  /** Whether a difference is new; what is known need not be found again. */
  readonly isNew: (found: Found) => boolean
}

/** A difference that one run has found. */
export interface Found {
  readonly kind: Kind
  /** What it is about: the whole answer, or one class of names. */
  readonly about: 'whole' | NameClass
}

/** Tells of a difference. */
export type Tell = (found: Found) => void

/** One question whose runs find differences. */
export type Question = (ask: Ask, tell: Tell) => void

/** The questions that together show every difference of an operation for a kind of caller. */
export function listQuestions(comparing: Comparing): readonly Question[] {
  if (comparing.operation === 'read')
    return [
      (ask, tell) => compareStatus(comparing, ask, tell),
      ...comparing.classes.map(
        (names): Question =>
          (ask, tell) =>
            compareShown(comparing, names, { ask, tell }),
      ),
    ]
  return [(ask, tell) => compareWrites(comparing, ask, tell)]
}

const KIND_BY_LOSS = { true: 'narrowing', false: 'widening' } as const

const sightsOf = ({ sides, asker }: Comparing, ask: Ask): readonly [Sight, Sight] => [
  createSight(sides.before, asker, ask),
  createSight(sides.after, asker, ask),
]

/** Whether the document can be read at all, and what is answered where it cannot. */
function compareStatus(comparing: Comparing, ask: Ask, tell: Tell): void {
  const [before, after] = sightsOf(comparing, ask)
  const [was, is] = isTold(before, after, () => true)
  if (was !== is) tell({ kind: KIND_BY_LOSS[`${was}`], about: 'whole' })
  if (was !== is) return
  if (comparing.asker !== null || (before.readers.length === 0) === (after.readers.length === 0)) return
  // An anonymous caller is told apart from one who only sees nothing here.
  if (!before.isReadable() && !after.isReadable()) tell({ kind: 'changed', about: 'whole' })
}

interface Telling {
  readonly ask: Ask
  readonly tell: Tell
}

/** Whether some names of a document can be read that can be read before and after. */
function compareShown(comparing: Comparing, names: NameClass, { ask, tell }: Telling): void {
  const [before, after] = sightsOf(comparing, ask)
  const [name] = names
  const isAsked = ({ properties: { pick, omit } }: Rule): boolean =>
    (pick === null || pick.has(name)) && !omit.has(name)
  const isHash = comparing.sides.before.fields.some((field) => field.name === name && field.type === 'hash')
  if (isHash) return
  const [was, is] = isTold(before, after, isAsked)
  if (was === is || !before.isReadable() || !after.isReadable()) return
  if (isThere(ask, { kind: 'variable', key: storedKey(name) }))
    tell({ kind: KIND_BY_LOSS[`${was}`], about: names })
}

/** What a write answers and leaves behind. */
function compareWrites(comparing: Comparing, ask: Ask, tell: Tell): void {
  const [before, after] = sightsOf(comparing, ask)
  if (comparing.isSameElse && actAlike(decidersOf(comparing, before), decidersOf(comparing, after))) return
  if (isNoNews(comparing, before, after)) return
  const body = createBodyReader(ask, new Set(comparing.classes.map(([name]) => name)))
  const areAlike = areReadersAlike(before, after)
  // Where both read alike, that the document can be read is asked last: without that, nothing differs.
  const isLast = areAlike && comparing.operation !== 'create' && hasRules(comparing)
  const was = decide(comparing, 0, { sight: before, body, isLast })
  const is = decide(comparing, 1, { sight: after, body, isLast })
  const tellIf: Tell = (found) => {
    if (!isLast || before.isReadable()) tell(found)
  }
  if (isRefusal(was) && isRefusal(is)) {
    if (was !== is) tellIf({ kind: 'changed', about: 'whole' })
  } else if (isRefusal(was)) tellIf({ kind: 'widening', about: 'whole' })
  else if (isRefusal(is)) tellIf({ kind: 'narrowing', about: 'whole' })
  else if (!areAlike || !isSameOne(was.rule, is.rule)) {
    const names = chooseClass(comparing.classes, ask)
    if (names) compareStored(names, { was, is, areAlike }, { ask, tell: tellIf })
  }
}

const decidersOf = ({ operation, asker, namesShown }: Comparing, sight: Sight): Deciders => ({
  ...{ sight, namesShown },
  rules: selectWriteRules(sight.collection.permissions[operationOf(operation)], asker),
})

/** Whether only one side reads the document, and all that can follow from this is known. */
function isNoNews({ operation, isNew }: Comparing, before: Sight, after: Sight): boolean {
  if (operation === 'create' || isNew({ kind: 'changed', about: 'whole' })) return false
  const [narrows, widens] = (['narrowing', 'widening'] as const).map(
    (kind) => !isNew({ kind, about: 'whole' }),
  )
  if (!narrows && !widens) return false
  const [was, is] = [before.isReadable(), after.isReadable()]
  return was !== is && (was ? narrows === true : widens === true)
}

/** Each run looks at one class alone: what is asked of one has nothing to do with the others. */
const chooseClass = (classes: readonly NameClass[], ask: Ask): NameClass | undefined =>
  classes.find((_, i) => ask({ kind: 'test', on: CLASS, test: (value) => value === i }))

/** The variable of the class that a run looks at. */
const CLASS = 'class'

/** What chooses the class that a run looks at, beside what is asked about. */
export const createClassVariable = (classes: readonly NameClass[]): Variable => ({
  key: CLASS,
  values: [...classes.keys()],
  elements: [],
  parent: null,
})

const isSameOne = (one: Rule | null, other: Rule | null): boolean =>
  one === null || other === null ? one === other : keyOfRule(one) === keyOfRule(other)

const areReadersAlike = (before: Sight, after: Sight): boolean =>
  before.readers.length === after.readers.length &&
  before.readers.every((rule, i) => isSameOne(rule, after.readers[i] ?? null))

/** Whether both sides have to look at the document before they refuse. */
const hasRules = ({ sides, operation, asker }: Comparing): boolean =>
  asker !== null ||
  [sides.before, sides.after].every(
    ({ permissions }) => selectWriteRules(permissions[operationOf(operation)], asker).length > 0,
  )

const operationOf = (operation: DocumentOperation) =>
  operation === 'patch' || operation === 'put' ? 'update' : operation

interface Both {
  readonly was: Stored
  readonly is: Stored
  /** Whether both show the document alike. */
  readonly areAlike: boolean
}

function compareStored(names: NameClass, both: Both, { ask, tell }: Telling): void {
  const { was, is, areAlike } = both
  const [name] = names
  // What both take from the body, and would replace alike, is the same whether or not the body has it.
  if (areAlike && was.accepts(name) && is.accepts(name) && was.rule && is.rule) return
  const [isGivenBefore, isGivenAfter] = [was.isGiven(name), is.isGiven(name)]
  if (isGivenBefore !== isGivenAfter) {
    if (!isSettled(name, both, ask)) tell({ kind: isGivenBefore ? 'narrowing' : 'widening', about: names })
  } else if (!isSame(ask, was.sourceOf(name), is.sourceOf(name))) tell({ kind: 'changed', about: names })
}

/** Whether a name that only one side takes from the body is the same in the end, and not even ignored. */
const isSettled = (name: string, { was, is }: Both, ask: Ask): boolean =>
  was.isKept(name) === is.isKept(name) && isSame(ask, was.sourceOf(name), is.sourceOf(name))

const DENIED = (asker: Asker): Refusal => (asker === null ? '401' : '403')

interface Deciding {
  readonly sight: Sight
  readonly body: BodyReader
  /** Whether it is asked elsewhere that the document can be read. */
  readonly isLast: boolean
}

/** The outcome of a write under one side. */
function decide(
  { sides, operation, asker, ...rest }: Comparing,
  side: 0 | 1,
  { sight, body, isLast }: Deciding,
): Outcome {
  const { permissions } = side === 0 ? sides.before : sides.after
  const rules = selectWriteRules(permissions[operationOf(operation)], asker)
  const write: Omit<Write, 'mode'> = {
    ...{ sight, body },
    isSignedIn: asker !== null,
    names: rest.classes.map(([name]) => name),
    isAccount: rest.areAccounts[side],
  }
  if (operation === 'create') {
    if (asker === null && rest.areClosed[side]) return '403'
    return rules.length === 0 ? DENIED(asker) : chooseRule({ ...write, mode: 'create' }, rules)
  }
  if (rules.length === 0 && asker === null) return '401'
  if (!isLast && !sight.isReadable()) return '404'
  if (operation === 'delete') return rules.some(sight.appliesTo) ? GONE : DENIED(asker)
  if (rules.length === 0) return '403'
  return chooseRule({ ...write, mode: operation === 'put' ? 'put' : 'patch' }, rules)
}

const GONE: Stored = {
  rule: null,
  accepts: () => false,
  isGiven: () => false,
  isKept: () => false,
  sourceOf: () => ({ kind: 'fixed', value: undefined }),
}

/** The rules that a kind of caller meets: where they are the same, so are the answers. */
export function standingOf({ sides, operation, asker }: Comparing): readonly [string, string] {
  const own = operationOf(operation)
  const keyOf = ({ permissions }: Sides['before']): string => {
    const written = own === 'read' ? [] : selectWriteRules(permissions[own], asker)
    const read = own === 'create' ? [] : selectReadRules(permissions, asker)
    return JSON.stringify([written.map(keyOfRule), read.map(keyOfRule)])
  }
  return [keyOf(sides.before), keyOf(sides.after)]
}
