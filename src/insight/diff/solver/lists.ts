import type { Scalar } from '../../../filter/filter.js'
import {
  type Atom,
  holdsIn,
  isList,
  keysOf,
  type ListMark,
  type Model,
  type Question,
  scalarOf,
  type Variables,
} from './variable.js'

/** What the lists must hold: each positive condition an element, none of them one that meets a negated one. */
export function findLists(variables: Variables, question: Question): Model | undefined {
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

  const groups = joinEqual(keys, question)
  const elements = new Map<string, Scalar[]>()
  const fixed = new Set<string>()
  for (const { leader, list } of groups.values()) {
    elements.set(leader, list ? [...list] : [])
    if (list) fixed.add(leader)
  }
  const leaderOf = (key: string): string => groups.get(key)?.leader ?? key
  for (const key of keys) lists.set(key, elements.get(leaderOf(key)) ?? [])

  const isAllowed = (key: string, element: Scalar): boolean =>
    keys.every((member) => {
      if (leaderOf(member) !== leaderOf(key)) return true
      const mark = values.get(member)
      if (!isList(mark) || (mark.of !== null && typeof element !== mark.of) || mark.of === null) return false
      return atoms.every(({ atom, holds }) => holds || atom.on !== member || !meets(atom, element, model))
    })
  const pools = new Map<string, readonly Scalar[]>()
  const pool = (key: string): readonly Scalar[] => {
    const leader = leaderOf(key)
    const known = pools.get(leader)
    if (known) return known
    const own = keys.filter((member) => leaderOf(member) === leader)
    const found = [...new Set(own.flatMap((member) => variables.get(member)?.elements ?? []))]
    pools.set(leader, found)
    return found
  }
  const isApart = (): boolean =>
    atoms.every(({ atom, holds }) => holds || atom.kind !== 'overlap' || !holdsIn(atom, model))

  const add = (key: string, element: Scalar): (() => void) | undefined => {
    const own = elements.get(leaderOf(key))
    if (!own) return undefined
    if (own.includes(element)) return () => {}
    if (fixed.has(leaderOf(key)) || !isAllowed(key, element)) return undefined
    own.push(element)
    return () => void own.pop()
  }
  const wanted = atoms.filter(({ atom, holds }) => holds && atom.kind !== 'test' && atom.kind !== 'same')
  const satisfy = (i: number): boolean => {
    const literal = wanted[i]
    if (!literal) return finish()
    const { atom } = literal
    if (holdsIn(atom, model)) return satisfy(i + 1)
    const both = atom.kind === 'overlap' ? [atom.on, atom.other] : [atom.on]
    const choices = new Set([...both.flatMap(pool), ...both.flatMap((key) => lists.get(key) ?? [])])
    for (const element of choices) {
      if (atom.kind !== 'overlap' && !meets(atom, element, model)) continue
      const undo: (() => void)[] = []
      const isAdded = both.every((key) => {
        const remove = add(key, atom.kind === 'overlap' && key === atom.on ? atom.read(element) : element)
        if (remove) undo.push(remove)
        return remove !== undefined
      })
      if (isAdded && isApart() && satisfy(i + 1)) return true
      for (const remove of undo.reverse()) remove()
    }
    return false
  }
  const finish = (): boolean => {
    const before = [...elements.values()].map((own) => [own, [...own]] as const)
    const isMet = (): boolean => atoms.every(({ atom, holds }) => holdsIn(atom, model) === holds)
    if (isApart() && fillAll() && separate() && isMet()) return true
    for (const [own, old] of before) own.splice(0, own.length, ...old)
    return false
  }
  const fillAll = (): boolean =>
    keys.every((key) => {
      const mark = values.get(key)
      const own = elements.get(leaderOf(key)) ?? []
      if (!isList(mark) || !isFilled(variables, mark, key) || own.length > 0) return true
      return pool(key).some((element) => {
        const remove = add(key, element)
        if (remove && isApart()) return true
        remove?.()
        return false
      })
    })
  const separate = (): boolean =>
    atoms.every(({ atom, holds }) => {
      if (atom.kind !== 'same' || holdsIn(atom, model) === holds) return true
      if (holds) return false
      const both = typeof atom.other === 'string' ? [atom.on, atom.other] : [atom.on]
      return both.some((key) => lengthen(key))
    })
  const lengthen = (key: string): boolean => {
    const own = elements.get(leaderOf(key))
    if (!own || fixed.has(leaderOf(key))) return false
    const [first] = own
    if (first !== undefined) {
      own.push(first)
      return true
    }
    return pool(key).some((element) => {
      const remove = add(key, element)
      if (remove && isApart()) return true
      remove?.()
      return false
    })
  }
  return satisfy(0) ? model : undefined
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

/** A list of which nothing is asked. */
function fill(variables: Variables, mark: ListMark, key: string): Scalar[] {
  if (!isFilled(variables, mark, key)) return []
  const { elements = [] } = variables.get(key) ?? {}
  return elements.filter((element) => typeof element === mark.of).slice(0, 1)
}

interface Group {
  readonly leader: string
  /** The list that all of them are. */
  list?: readonly Scalar[]
}

/** The lists that were called equal. */
function joinEqual(keys: readonly string[], { literals, values }: Question): ReadonlyMap<string, Group> {
  const groups = new Map<string, Group>(keys.map((key) => [key, { leader: key }]))
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
