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

/** The decisions that were made so far, and a model that agrees with them. */
interface State {
  readonly literals: readonly Literal[]
  readonly model: Model
}

/** A model to which values and lists are added. */
interface OpenModel extends Model {
  readonly values: Map<string, Value>
  readonly lists: Map<string, readonly Scalar[]>
}

/** Finds a model that agrees with decided atoms. */
class ModelFinder {
  readonly #variables: Variables
  readonly #budget: Budget
  /** The decided atoms that concern two variables or the elements of lists. */
  readonly #joining: readonly Literal[]
  readonly #domains = new Map<string, readonly Value[]>()
  readonly #model: OpenModel = { values: new Map(), lists: new Map() }

  constructor({ variables, budget }: Pick<ModelSearch, 'variables' | 'budget'>, literals: State['literals']) {
    this.#variables = variables
    this.#budget = budget
    this.#joining = literals.filter(({ atom }) => atom.kind !== 'test')
    for (const key of new Set(literals.flatMap(({ atom }) => keysOf(atom)))) {
      const own = literals.filter(({ atom }) => keysOf(atom).includes(key))
      const values = variables.get(key)?.values ?? []
      this.#domains.set(
        key,
        values.filter((value) => own.every((literal) => allows(literal, key, value))),
      )
    }
  }

  /** Finds a model with as many values of the last one as possible; `undefined` if there is none. */
  find({ values: last }: Model): Model | undefined {
    const joined = new Set(this.#joining.flatMap(({ atom }) => keysOf(atom)))
    const keys: string[] = []
    for (const [key, domain] of this.#domains) {
      if (domain.length === 0) return undefined
      const before = last.get(key)
      const first = domain.includes(before) ? before : domain[0]
      this.#domains.set(key, [first, ...domain.filter((value) => value !== first)])
      if (joined.has(key)) keys.push(key)
      else this.#set(key, first, isList(first) ? this.#listsOf(key, first)[0] : undefined)
    }
    // Lists depend on single values, so these come first.
    const hasList = (key: string): boolean =>
      this.#domains.get(key)?.every((value) => value === undefined || isList(value)) === true
    return this.#assign([...keys.filter((key) => !hasList(key)), ...keys.filter(hasList)])
      ? this.#model
      : undefined
  }

  /** Assigns values to variables, the first of which is assigned first. */
  #assign([key, ...others]: readonly string[]): boolean {
    if (key === undefined) return true
    const { values, lists } = this.#model
    const mine = this.#joining.filter(({ atom }) => keysOf(atom).includes(key))
    const areAssigned = ({ atom }: Literal): boolean => keysOf(atom).every((one) => values.has(one))
    const isPossible = (): boolean => mine.every((one) => !areAssigned(one) || isMet(one, this.#model))
    for (const value of this.#domains.get(key) ?? []) {
      const choices = isList(value) ? this.#listsOf(key, value) : [undefined]
      for (const list of choices) {
        if (list && list.length > 1) spend(this.#budget)
        this.#set(key, value, list)
        if (isPossible() && this.#assign(others)) return true
      }
    }
    values.delete(key)
    lists.delete(key)
    return false
  }

  #set(key: string, value: Value, list: readonly Scalar[] | undefined): void {
    this.#model.values.set(key, value)
    if (list) this.#model.lists.set(key, list)
    else this.#model.lists.delete(key)
  }

  /** Returns the lists that a variable may have. Each true atom needs an element; a list needs no others. */
  #listsOf(key: string, mark: ListMark): readonly (readonly Scalar[])[] {
    const group = this.#equalTo(key)
    const given = this.#givenTo(group)
    if (given) return [given]
    const wanted = this.#joining.flatMap(({ atom, holds }) =>
      holds && isAboutElements(atom) && listsIn(atom).some((one) => group.has(one)) ? [atom] : [],
    )
    const own = this.#joining.filter(({ atom }) => keysOf(atom).includes(key))
    const pool = this.#elementsFor(group, wanted).filter(
      (element) =>
        typeof element === mark.of &&
        own.every(
          ({ atom, holds }) => holds || atom.kind !== 'some' || atom.on !== key || !atom.test(element),
        ),
    )
    let lists: readonly (readonly Scalar[])[] = [[]]
    for (const atom of wanted) lists = extend(lists, this.#servants(atom, group, pool), pool)
    const isFilled = mark.hasElement || this.#variables.get(key)?.hasElement === true
    if (isFilled) lists = extend(lists, pool, pool)
    if (own.every(({ atom, holds }) => holds || atom.kind !== 'same')) return lists
    const longer = extend(lists, undefined, pool)
    return [...longer, ...longer.map((list) => [...list, ...list.slice(0, 1)])]
  }

  /** Returns the elements that make an atom true; `undefined` if that depends on a variable without a value yet. */
  #servants(atom: Atom, group: ReadonlySet<string>, pool: readonly Scalar[]): readonly Scalar[] | undefined {
    const { values, lists } = this.#model
    if (atom.kind === 'some') return pool.filter(atom.test)
    if (atom.kind === 'some of') {
      const other = scalarOf(values.get(atom.other))
      return other === undefined ? undefined : pool.filter((element) => atom.test(element, other))
    }
    if (atom.kind !== 'overlap') return undefined
    const isOn = group.has(atom.on)
    const partner = lists.get(isOn ? atom.other : atom.on)
    return (
      partner &&
      pool.filter((element) =>
        isOn ? partner.some((one) => atom.read(one) === element) : partner.includes(atom.read(element)),
      )
    )
  }

  /** Returns the keys of the variables that must equal a variable, and its own. */
  #equalTo(key: string): ReadonlySet<string> {
    const group = new Set([key])
    for (const one of group)
      for (const { atom, holds } of this.#joining)
        if (holds && atom.kind === 'same' && keysOf(atom).includes(one))
          for (const other of keysOf(atom)) group.add(other)
    return group
  }

  /** Returns the list that the variables of a group must have, if it is known. */
  #givenTo(group: ReadonlySet<string>): readonly Scalar[] | undefined {
    for (const { atom, holds } of this.#joining)
      if (holds && atom.kind === 'same' && typeof atom.other !== 'string' && group.has(atom.on))
        return atom.other
    const [, ...others] = group
    return others.map((key) => this.#model.lists.get(key)).find((list) => list !== undefined)
  }

  /** Returns the elements that lists of a group may need. */
  #elementsFor(group: ReadonlySet<string>, wanted: readonly Atom[]): readonly Scalar[] {
    const elementsOf = (key: string): readonly Scalar[] => this.#variables.get(key)?.elements ?? []
    const shared = wanted.flatMap((atom) => {
      if (atom.kind !== 'overlap') return []
      return group.has(atom.on) ? elementsOf(atom.other).map(atom.read) : elementsOf(atom.on)
    })
    return [...new Set([...[...group].flatMap(elementsOf), ...shared])]
  }
}

const isMet = ({ atom, holds }: Literal, model: Model): boolean => holdsIn(atom, model) === holds

/** Whether an atom is true because of an element of a list. */
const isAboutElements = ({ kind }: Atom): boolean =>
  kind === 'some' || kind === 'some of' || kind === 'overlap'

/** Whether a decided atom allows a value of one of its variables, regardless of other variables and elements. */
function allows({ atom, holds }: Literal, key: string, value: Value): boolean {
  if (atom.kind === 'test') return atom.test(value) === holds
  const needsList = holds && isAboutElements(atom) && (atom.kind === 'overlap' || atom.on === key)
  return !needsList || isList(value)
}

/** Returns the keys of the lists whose elements make an atom true. */
const listsIn = (atom: Atom): readonly string[] => (atom.kind === 'overlap' ? keysOf(atom) : [atom.on])

/**
 * Adds an element to each list that has none of the needed ones. If it is unknown which are needed, returns the lists
 * as they are, and also with each possible element.
 */
function extend(
  lists: readonly (readonly Scalar[])[],
  needed: readonly Scalar[] | undefined,
  pool: readonly Scalar[],
): readonly (readonly Scalar[])[] {
  const extended = lists.flatMap((list) => {
    const has = (element: Scalar): boolean => list.includes(element)
    if (needed?.some(has)) return [list]
    const longer = (needed ?? pool).flatMap((element) => (has(element) ? [] : [[...list, element]]))
    return needed ? longer : [list, ...longer]
  })
  return [...new Map(extended.map((list) => [JSON.stringify(list), list])).values()]
}

/** Adds decisions to a state; `undefined` if they contradict it. */
function assume(place: ModelSearch, state: State, added: readonly Literal[]): State | undefined {
  const literals = [...state.literals, ...added]
  const { model } = state
  const isKnown = added.every(
    (literal) => keysOf(literal.atom).every((key) => model.values.has(key)) && isMet(literal, model),
  )
  const found = isKnown ? model : new ModelFinder(place, literals).find(model)
  return found && { literals, model: found }
}

/** Returns the facts about variables that no decision concerned yet: a value inside an object needs the object. */
function introduce(variables: Variables, { model }: State, keys: readonly string[]): readonly Literal[] {
  return keys.flatMap((key): readonly Literal[] => {
    const { parent = null, fills = false } = variables.get(key) ?? {}
    if (model.values.has(key)) return []
    if (parent === null) return [{ atom: { kind: 'test', on: key, test: () => true }, holds: true }]
    const atom: Atom = { kind: 'compare', on: key, other: parent, test: fills ? isWith : isInside }
    return [{ atom, holds: true }, ...introduce(variables, EMPTY, [parent])]
  })
}

/** The state without decisions. */
const EMPTY: State = { literals: [], model: { values: new Map(), lists: new Map() } }

/** A value inside an object exists only if the object exists. */
const isInside = (inner: Value, outer: Value): boolean => inner === undefined || outer !== undefined

const isWith = (inner: Value, outer: Value): boolean => (inner === undefined) === (outer === undefined)

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
    const touched = assume(place, state, introduce(variables, state, keysOf(atom)))
    for (const [i, way] of ways.entries()) {
      if (!touched || way === NEVER) continue
      spend(budget)
      const next = assume(place, touched, [{ atom, holds: i > 0 }])
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
    const touched = assume(place, state, introduce(variables, state, [key]))
    if (!touched) return undefined
    const missing = isBestMissing(key) ? (ways[values.indexOf(undefined)] ?? NEVER) : NEVER
    for (const way of new Set([missing, ...ways])) {
      if (way === NEVER) continue
      spend(budget)
      const group = new Set(values.filter((_, i) => ways[i] === way))
      const test = (value: Value): boolean => group.has(value)
      const next = assume(place, touched, [{ atom: { kind: 'test', on: key, test }, holds: true }])
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
