import type { Scalar } from '../../../../core/filter/filter.js'
import { type Budget, spend } from './budget.js'
import { ALWAYS, type Diagram, type JoiningAtom, type Logic, NEVER } from './logic.js'
import {
  type Atom,
  isList,
  keysOf,
  type ListMark,
  type Model,
  scalarOf,
  type Value,
  type Variables,
} from './variable.js'

/** An atom, and whether it was decided to be true. */
interface Literal {
  readonly atom: Atom
  readonly holds: boolean
}

/** Whether an atom is true in a model. */
function holdsIn(atom: Atom, { values, lists }: Model): boolean {
  const own = values.get(atom.on)
  const elements = isList(own) ? (lists.get(atom.on) ?? []) : undefined
  switch (atom.kind) {
    case 'test':
      return atom.test(own)
    case 'compare':
      return atom.test(own, values.get(atom.other))
    case 'some':
      return elements?.some(atom.test) ?? false
    case 'some of': {
      const other = scalarOf(values.get(atom.other))
      return other !== undefined && (elements?.some((element) => atom.test(element, other)) ?? false)
    }
    case 'overlap': {
      const others = isList(values.get(atom.other)) ? (lists.get(atom.other) ?? []) : []
      return elements ? others.some((other) => elements.includes(atom.read(other))) : false
    }
    case 'same': {
      if (typeof atom.other !== 'string') return isSameList(elements, atom.other)
      const other = values.get(atom.other)
      return isSameList(elements, isList(other) ? (lists.get(atom.other) ?? []) : undefined)
    }
    default:
      return atom satisfies never
  }
}

const isSameList = (a: readonly Scalar[] | undefined, b: readonly Scalar[] | undefined): boolean =>
  a === undefined || b === undefined
    ? a === b
    : a.length === b.length && a.every((element, i) => element === b[i])

/** The possible values of each variable. Conditions on two variables are not considered. */
type Domains = ReadonlyMap<string, readonly Value[]>

/** The input of the search for a model. `values` contains a start value for each variable. */
interface ModelProblem {
  readonly domains: Domains
  readonly literals: readonly Literal[]
  readonly values: Map<string, Value>
}

/** Finds elements for the lists in a model: each true atom needs an element, and no element may meet a false atom. */
function findLists(variables: Variables, question: ModelProblem): Model | undefined {
  const { literals, values } = question
  const atoms = literals.filter(({ atom }) => atom.kind !== 'compare')
  const asked = new Set(atoms.flatMap(({ atom }) => keysOf(atom)))
  const lists = new Map<string, Scalar[]>()
  const keys: string[] = []
  values.forEach((value, key) => {
    if (!isList(value)) return
    if (asked.has(key)) keys.push(key)
    else lists.set(key, fill(variables, value, key))
  })
  const model: Model = { values, lists }
  if (keys.length === 0)
    return atoms.every(({ atom, holds }) => holdsIn(atom, model) === holds) ? model : undefined

  return new ListSearch({ variables, question, atoms, keys, lists }).find() ? model : undefined
}

/** The input of the search for lists. */
interface WantedLists {
  readonly variables: Variables
  readonly question: ModelProblem
  /** The atoms on lists and on their elements. */
  readonly atoms: ModelProblem['literals']
  readonly keys: readonly string[]
  readonly lists: Map<string, Scalar[]>
}

/** Searches for list elements by backtracking: removes an element if an atom that must be false becomes true. */
class ListSearch {
  readonly #variables: Variables
  readonly #atoms: WantedLists['atoms']
  readonly #keys: readonly string[]
  readonly #model: Model
  readonly #groups: ReadonlyMap<string, ListGroup>
  /** The elements of equal lists, by the leader of their group. */
  readonly #elements = new Map<string, Scalar[]>()
  /** The leaders of groups whose elements are given and cannot change. */
  readonly #fixed = new Set<string>()
  readonly #pools = new Map<string, readonly Scalar[]>()
  /** The atoms that need an element. */
  readonly #wanted: WantedLists['atoms']

  constructor({ variables, question, atoms, keys, lists }: WantedLists) {
    this.#variables = variables
    this.#atoms = atoms
    this.#keys = keys
    this.#model = { values: question.values, lists }
    this.#groups = joinEqual(keys, question)
    for (const { leader, list } of this.#groups.values()) {
      this.#elements.set(leader, list ? [...list] : [])
      if (list) this.#fixed.add(leader)
    }
    for (const key of keys) lists.set(key, this.#elements.get(this.#leaderOf(key)) ?? [])
    this.#wanted = atoms.filter(({ atom, holds }) => holds && atom.kind !== 'test' && atom.kind !== 'same')
  }

  /** Fills the lists. Returns `false` if no elements satisfy all atoms. */
  find(): boolean {
    return this.#satisfy(0)
  }

  #satisfy(i: number): boolean {
    const literal = this.#wanted[i]
    if (!literal) return this.#finish()
    const { atom } = literal
    if (holdsIn(atom, this.#model)) return this.#satisfy(i + 1)
    const both = atom.kind === 'overlap' ? [atom.on, atom.other] : [atom.on]
    const choices = new Set([
      ...both.flatMap((key) => this.#pool(key)),
      ...both.flatMap((key) => this.#model.lists.get(key) ?? []),
    ])
    for (const element of choices) {
      if (atom.kind !== 'overlap' && !meets(atom, element, this.#model)) continue
      const undo: (() => void)[] = []
      const isAdded = both.every((key) => {
        const own = atom.kind === 'overlap' && key === atom.on ? atom.read(element) : element
        const remove = this.#add(key, own)
        if (remove) undo.push(remove)
        return remove !== undefined
      })
      if (isAdded && this.#isApart() && this.#satisfy(i + 1)) return true
      for (const remove of undo.reverse()) remove()
    }
    return false
  }

  #finish(): boolean {
    const before = [...this.#elements.values()].map((own) => [own, [...own]] as const)
    if (this.#isApart() && this.#fillAll() && this.#separate() && this.#isMet()) return true
    for (const [own, old] of before) own.splice(0, own.length, ...old)
    return false
  }

  #isMet(): boolean {
    return this.#atoms.every(({ atom, holds }) => holdsIn(atom, this.#model) === holds)
  }

  #isApart(): boolean {
    return this.#atoms.every(
      ({ atom, holds }) => holds || atom.kind !== 'overlap' || !holdsIn(atom, this.#model),
    )
  }

  #fillAll(): boolean {
    return this.#keys.every((key) => {
      const mark = this.#model.values.get(key)
      const own = this.#elements.get(this.#leaderOf(key)) ?? []
      if (!isList(mark) || !isFilled(this.#variables, mark, key) || own.length > 0) return true
      return this.#addAny(key)
    })
  }

  #separate(): boolean {
    return this.#atoms.every(({ atom, holds }) => {
      if (atom.kind !== 'same' || holdsIn(atom, this.#model) === holds) return true
      if (holds) return false
      const both = typeof atom.other === 'string' ? [atom.on, atom.other] : [atom.on]
      return both.some((key) => this.#lengthen(key))
    })
  }

  #lengthen(key: string): boolean {
    const own = this.#elements.get(this.#leaderOf(key))
    if (!own || this.#fixed.has(this.#leaderOf(key))) return false
    const [first] = own
    if (first === undefined) return this.#addAny(key)
    own.push(first)
    return true
  }

  #addAny(key: string): boolean {
    return this.#pool(key).some((element) => {
      const remove = this.#add(key, element)
      if (remove && this.#isApart()) return true
      remove?.()
      return false
    })
  }

  /** Adds an element to a list. Returns a function that removes it again; `undefined` if the list cannot contain it. */
  #add(key: string, element: Scalar): (() => void) | undefined {
    const own = this.#elements.get(this.#leaderOf(key))
    if (!own) return undefined
    if (own.includes(element)) return () => {}
    if (this.#fixed.has(this.#leaderOf(key)) || !this.#isAllowed(key, element)) return undefined
    own.push(element)
    return () => void own.pop()
  }

  #isAllowed(key: string, element: Scalar): boolean {
    return this.#keys.every((member) => {
      if (this.#leaderOf(member) !== this.#leaderOf(key)) return true
      const mark = this.#model.values.get(member)
      if (!isList(mark) || (mark.of !== null && typeof element !== mark.of) || mark.of === null) return false
      return this.#atoms.every(
        ({ atom, holds }) => holds || atom.on !== member || !meets(atom, element, this.#model),
      )
    })
  }

  #pool(key: string): readonly Scalar[] {
    const leader = this.#leaderOf(key)
    const known = this.#pools.get(leader)
    if (known) return known
    const own = this.#keys.filter((member) => this.#leaderOf(member) === leader)
    const found = [...new Set(own.flatMap((member) => this.#variables.get(member)?.elements ?? []))]
    this.#pools.set(leader, found)
    return found
  }

  #leaderOf(key: string): string {
    return this.#groups.get(key)?.leader ?? key
  }
}

/** Whether a list must have at least one element. */
const isFilled = (variables: Variables, mark: ListMark, key: string): boolean =>
  mark.hasElement || variables.get(key)?.hasElement === true

/** Whether an element meets an atom on the elements of a list. */
function meets(atom: Atom, element: Scalar, { values }: Model): boolean {
  if (atom.kind === 'some') return atom.test(element)
  if (atom.kind !== 'some of') return false
  const other = scalarOf(values.get(atom.other))
  return other !== undefined && atom.test(element, other)
}

/** Returns elements for a list that no atom concerns. */
function fill(variables: Variables, mark: ListMark, key: string): Scalar[] {
  if (!isFilled(variables, mark, key)) return []
  const { elements = [] } = variables.get(key) ?? {}
  return elements.filter((element) => typeof element === mark.of).slice(0, 1)
}

interface ListGroup {
  readonly leader: string
  /** The given elements, if all lists of the group must equal a fixed list. */
  list?: readonly Scalar[]
}

/** Groups the lists that must be equal. */
function joinEqual(
  keys: readonly string[],
  { literals, values }: ModelProblem,
): ReadonlyMap<string, ListGroup> {
  const groups = new Map<string, ListGroup>(keys.map((key) => [key, { leader: key }]))
  for (const { atom, holds } of literals) {
    if (!holds || atom.kind !== 'same') continue
    const own = groups.get(atom.on)
    if (!own) continue
    if (typeof atom.other !== 'string') {
      own.list = atom.other
      continue
    }
    const other = groups.get(atom.other)
    if (!other || !isList(values.get(atom.other))) continue
    const { list } = other
    if (own.list === undefined && list !== undefined) own.list = list
    for (const [key, group] of groups) if (group === other) groups.set(key, own)
  }
  return groups
}

/** The decisions that were made so far, and a model that agrees with them. */
interface State {
  /** The values that each variable may still have. Conditions on two variables are not considered. */
  readonly domains: Domains
  /** The decided atoms that concern two variables or the elements of lists. */
  readonly literals: readonly Literal[]
  readonly model: Model
}

/** The state without decisions. A variable is added when a condition on it is decided. */
const EMPTY: State = {
  domains: new Map(),
  literals: [],
  model: { values: new Map(), lists: new Map() },
}

/** Adds variables to a state; `undefined` if one of them cannot have a value. */
function touch(variables: Variables, state: State, keys: readonly string[]): State | undefined {
  const fresh = keys.filter((key) => !state.domains.has(key))
  if (fresh.length === 0) return state
  const domains = new Map(state.domains)
  const literals = [...state.literals]
  const add = (key: string): void => {
    if (domains.has(key)) return
    const { values = [], parent = null, fills = false } = variables.get(key) ?? {}
    domains.set(key, values)
    if (parent === null) return
    add(parent)
    const test = fills ? isWith : isInside
    literals.push({ atom: { kind: 'compare', on: key, other: parent, test }, holds: true })
  }
  for (const key of fresh) add(key)
  return settle(variables, { domains, literals }, state.model)
}

/** Returns the previous value of a variable if it is still possible, otherwise the first possible value. */
const keep = (domain: readonly Value[], before: Value): Value =>
  domain.includes(before) ? before : domain[0]

/** A value inside an object exists only if the object exists. */
const isInside = (inner: Value, outer: Value): boolean => inner === undefined || outer !== undefined

const isWith = (inner: Value, outer: Value): boolean => (inner === undefined) === (outer === undefined)

/** Adds the decision on one atom; `undefined` if the decision contradicts the state. */
function assume(variables: Variables, state: State, { atom, holds }: Literal): State | undefined {
  const isMet = holdsIn(atom, state.model) === holds
  const literals = atom.kind === 'test' ? state.literals : [...state.literals, { atom, holds }]
  const domains = narrow(state.domains, { atom, holds })
  if (!domains) return undefined
  if (isMet) return { domains, literals, model: state.model }
  return settle(variables, { domains, literals }, state.model)
}

/** Removes the values that a decided atom excludes; `undefined` if a variable would have no value left. */
function narrow(domains: Domains, { atom, holds }: Literal): Domains | undefined {
  if (atom.kind === 'test') return restrict(domains, atom.on, (value) => atom.test(value) === holds)
  if (!holds || atom.kind === 'compare' || atom.kind === 'same') return domains
  const own = restrict(domains, atom.on, isList)
  return own && atom.kind === 'overlap' ? restrict(own, atom.other, isList) : own
}

function restrict(domains: Domains, key: string, keep: (value: Value) => boolean): Domains | undefined {
  const before = domains.get(key) ?? []
  const kept = before.filter(keep)
  if (kept.length === before.length) return domains
  return kept.length === 0 ? undefined : new Map(domains).set(key, kept)
}

/** Finds a model: first values that agree with each other, then the elements of lists. */
function settle(
  variables: Variables,
  { domains, literals }: Omit<State, 'model'>,
  last: Model,
): State | undefined {
  const values = new Map<string, Value>()
  let isPossible = true
  domains.forEach((domain, key) => {
    values.set(key, keep(domain, last.values.get(key)))
    isPossible &&= domain.length > 0
  })
  if (!isPossible) return undefined
  const model = findModelFor(variables, { domains, literals, values })
  return model && { domains, literals, model }
}

function findModelFor(variables: Variables, question: ModelProblem): Model | undefined {
  const { domains, literals, values } = question
  const joined = [...new Set(literals.flatMap(({ atom }) => keysOf(atom)))].filter((key) => domains.has(key))
  const unassigned = new Set(joined)
  const pairs = literals.filter(({ atom }) => atom.kind === 'compare')
  const isConsistent = (key: string): boolean =>
    pairs.every(({ atom, holds }) => {
      if (atom.kind !== 'compare' || (atom.on !== key && atom.other !== key)) return true
      if (unassigned.has(atom.on) || unassigned.has(atom.other)) return true
      return atom.test(values.get(atom.on), values.get(atom.other)) === holds
    })
  const assign = (i: number): Model | undefined => {
    const key = joined[i]
    if (key === undefined) return findLists(variables, question)
    unassigned.delete(key)
    const first = values.get(key)
    const rest = (domains.get(key) ?? []).filter((value) => value !== first)
    for (const value of [first, ...rest]) {
      values.set(key, value)
      const model = isConsistent(key) ? assign(i + 1) : undefined
      if (model) return model
    }
    values.set(key, first)
    unassigned.add(key)
    return undefined
  }
  return assign(0)
}

/** The input of the search for a model. */
export interface ModelSearch {
  readonly logic: Logic
  readonly variables: Variables
  readonly budget: Budget
  /** Whether the search should first try to leave a variable without a value, so that counterexamples stay short. */
  readonly isBestMissing: (key: string) => boolean
}

/**
 * Finds a model in which a condition is true; `undefined` if there is none. The model contains only the variables that
 * the condition needs.
 */
export function findModel(condition: Diagram, place: ModelSearch): Model | undefined {
  const { logic, variables, budget, isBestMissing } = place
  const walk = (diagram: Diagram, state: State): Model | undefined => {
    if (diagram === NEVER) return undefined
    if (diagram === ALWAYS) return state.model
    const { level, ways } = logic.stepOf(diagram)
    const topic = logic.topicOf(level)
    return 'atom' in topic ? byAtom(topic.atom, ways, state) : byValue(topic, ways, state)
  }
  const byAtom = (atom: JoiningAtom, ways: readonly Diagram[], state: State): Model | undefined => {
    const touched = touch(variables, state, keysOf(atom))
    for (const [i, way] of ways.entries()) {
      if (!touched || way === NEVER) continue
      spend(budget)
      const next = assume(variables, touched, { atom, holds: i > 0 })
      const model = next && walk(way, next)
      if (model) return model
    }
    return undefined
  }
  const byValue = (
    { key, values }: { readonly key: string; readonly values: readonly Value[] },
    ways: readonly Diagram[],
    state: State,
  ): Model | undefined => {
    const touched = touch(variables, state, [key])
    if (!touched) return undefined
    const missing = isBestMissing(key) ? (ways[values.indexOf(undefined)] ?? NEVER) : NEVER
    for (const way of new Set([missing, ...ways])) {
      if (way === NEVER) continue
      spend(budget)
      const group = new Set(values.filter((_, i) => ways[i] === way))
      const test = (value: Value): boolean => group.has(value)
      const next = assume(variables, touched, { atom: { kind: 'test', on: key, test }, holds: true })
      const model = next && walk(way, next)
      if (model) return model
    }
    return undefined
  }
  return walk(condition, EMPTY)
}

/** Whether a condition is true in a model. */
export function holdsFor(condition: Diagram, logic: Logic, model: Model): boolean {
  let diagram = condition
  while (diagram !== NEVER && diagram !== ALWAYS) {
    const { level, ways } = logic.stepOf(diagram)
    const topic = logic.topicOf(level)
    const way =
      'atom' in topic ? Number(holdsIn(topic.atom, model)) : topic.values.indexOf(model.values.get(topic.key))
    diagram = ways[way] ?? NEVER
  }
  return diagram === ALWAYS
}
