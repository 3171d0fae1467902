import type { Budget } from './budget.js'
import { ALWAYS, createDiagrams, type Diagram, NEVER, type Step } from './diagrams.js'
import { type Atom, isList, keysOf, scalarOf, type Value, type Variables } from './variable.js'

/** An atom that no value of one variable decides. */
export type JoiningAtom = Exclude<Atom, { readonly kind: 'test' }>

/** Conditions on some variables. */
export interface Logic {
  /** Holds if the value of a variable passes a test. */
  test(key: string, test: (value: Value) => boolean): Diagram
  /** Holds if an atom does. With a name the result is cached: all atoms of the kind with this name are equal. */
  atom(atom: JoiningAtom, name?: string): Diagram
  and(...all: readonly Diagram[]): Diagram
  or(...all: readonly Diagram[]): Diagram
  not(one: Diagram): Diagram
  /** Holds if both hold, or neither. */
  same(a: Diagram, b: Diagram): Diagram
  /** Holds if exactly one of them holds. */
  differ(a: Diagram, b: Diagram): Diagram
  stepOf(diagram: Diagram): Step
  /** The variable or atom that is decided at a place of the order. */
  topicOf(level: number): Topic
}

/** A variable whose values are told apart, or an atom. */
export type Topic =
  | { readonly key: string; readonly values: readonly Value[] }
  | { readonly atom: JoiningAtom }

/** The places of the order for one variable: its own, and those of the atoms whose last variable it is. */
const PLACES = 2 ** 16

/** Creates the logic of some variables, which are decided in their order. */
export function createLogic(variables: Variables, budget: Budget): Logic {
  const { step, stepOf, and, or, not, differ } = createDiagrams(budget)
  const order = [...variables.keys()]
  const places = new Map(order.map((key, i) => [key, i * PLACES]))
  const topics = new Map<number, Topic>()
  const levels = new Map<string, number>()
  /** Atoms by name. */
  const names = new Map<string, string>()
  const placeOf = (key: string): number => {
    const place = places.get(key)
    if (place === undefined) throw new Error(`nothing is known of ${key}`)
    return place
  }
  const valuesOf = (key: string): readonly Value[] => variables.get(key)?.values ?? []
  const test: Logic['test'] = (key, passes) => {
    const level = placeOf(key)
    const values = valuesOf(key)
    if (!topics.has(level)) topics.set(level, { key, values })
    return step(
      level,
      values.map((value) => (passes(value) ? ALWAYS : NEVER)),
    )
  }
  /** The place of an atom after its variables; atoms that no values tell apart share it. */
  const levelOf = (atom: JoiningAtom, name: string): number => {
    const other = 'other' in atom ? JSON.stringify(atom.other) : ''
    const key = JSON.stringify([atom.kind, atom.on, other])
    const known = (name && names.get(key + name)) || key + verdictsOf(atom)
    names.set(key + name, known)
    const level = levels.get(known) ?? Math.max(...keysOf(atom).map(placeOf)) + 1 + levels.size
    levels.set(known, level)
    if (!topics.has(level)) topics.set(level, { atom })
    return level
  }
  /** The results of an atom for all values, as text. */
  const verdictsOf = (atom: JoiningAtom): string => {
    if (atom.kind === 'same') return ''
    if (atom.kind === 'overlap')
      return JSON.stringify(variables.get(atom.other)?.elements.map((element) => atom.read(element)))
    const elements = variables.get(atom.on)?.elements ?? []
    if (atom.kind === 'some') return elements.map((element) => writeVerdict(atom.test(element))).join('')
    const others = valuesOf(atom.other)
    if (atom.kind === 'compare')
      return writeVerdicts(valuesOf(atom.on), others, (own, other) => atom.test(own, other))
    const scalars = others.map(scalarOf).filter((other) => other !== undefined)
    return writeVerdicts(elements, scalars, (own, other) => atom.test(own, other))
  }
  const atom: Logic['atom'] = (asked, name = '') =>
    simplify(asked) ?? step(levelOf(asked, name), [NEVER, ALWAYS])
  /** Cases that need no atom: a variable with one value alone, or never a list. */
  const simplify = (asked: JoiningAtom): Diagram | undefined => {
    const own = valuesOf(asked.on)
    if (asked.kind !== 'compare') return asked.kind === 'same' || own.some(isList) ? undefined : NEVER
    if (asked.on === asked.other) return test(asked.on, (value) => asked.test(value, value))
    const others = valuesOf(asked.other)
    if (others.length === 1) return test(asked.on, (value) => asked.test(value, others[0]))
    return own.length === 1 ? test(asked.other, (value) => asked.test(own[0], value)) : undefined
  }
  return {
    test,
    atom,
    not,
    stepOf,
    and: (...all) => all.reduce(and, ALWAYS),
    or: (...all) => all.reduce(or, NEVER),
    same: (a, b) => not(differ(a, b)),
    differ,
    topicOf: (level) => {
      const topic = topics.get(level)
      if (!topic) throw new Error('a place at which nothing is decided')
      return topic
    },
  }
}

const writeVerdict = (holds: boolean): string => (holds ? '1' : '0')

/** The results for each pair of values. */
const writeVerdicts = <T, U>(
  values: readonly T[],
  others: readonly U[],
  test: (value: T, other: U) => boolean,
): string => values.flatMap((value) => others.map((other) => writeVerdict(test(value, other)))).join('')
