import type { Scalar } from '../../../filter/filter.js'
import {
  type Atom,
  holdsIn,
  isList,
  keysOf,
  type ListMark,
  type Model,
  type ModelProblem,
  scalarOf,
  type Variables,
} from './variable.js'

/** Finds the lists: each positive condition needs an element, and no element meets a negated one. */
export function findLists(variables: Variables, question: ModelProblem): Model | undefined {
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

/** The lists to find. */
interface WantedLists {
  readonly variables: Variables
  readonly question: ModelProblem
  /** The conditions on lists, and on their elements. */
  readonly atoms: ModelProblem['literals']
  readonly keys: readonly string[]
  readonly lists: Map<string, Scalar[]>
}

/** A backtracking search for list elements: it goes back when one meets a condition that must not hold. */
class ListSearch {
  readonly #variables: Variables
  readonly #atoms: WantedLists['atoms']
  readonly #keys: readonly string[]
  readonly #model: Model
  readonly #groups: ReadonlyMap<string, ListGroup>
  /** The elements of equal lists, by their leader. */
  readonly #elements = new Map<string, Scalar[]>()
  /** The leaders of lists that are given as a whole. */
  readonly #fixed = new Set<string>()
  readonly #pools = new Map<string, readonly Scalar[]>()
  /** The conditions that need an element. */
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

  /** Fills the lists; `false` if there are none such. */
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

  /** Returns a function that removes the element again; `undefined` if it cannot be in the list. */
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

/** Whether a list has at least one element. */
const isFilled = (variables: Variables, mark: ListMark, key: string): boolean =>
  mark.hasElement || variables.get(key)?.hasElement === true

/** Whether an element meets a condition on the elements of a list. */
function meets(atom: Atom, element: Scalar, { values }: Model): boolean {
  if (atom.kind === 'some') return atom.test(element)
  if (atom.kind !== 'some of') return false
  const other = scalarOf(values.get(atom.other))
  return other !== undefined && atom.test(element, other)
}

/** A list without conditions. */
function fill(variables: Variables, mark: ListMark, key: string): Scalar[] {
  if (!isFilled(variables, mark, key)) return []
  const { elements = [] } = variables.get(key) ?? {}
  return elements.filter((element) => typeof element === mark.of).slice(0, 1)
}

interface ListGroup {
  readonly leader: string
  /** The list that all of them equal. */
  list?: readonly Scalar[]
}

/** The lists that must be equal. */
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
