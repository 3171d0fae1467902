import type { Budget } from './budget.js'
import { ALWAYS, createDiagrams, type Diagram, NEVER, type Step } from './diagrams.js'
import { type Atom, isList, keysOf, type Value, type Variables } from './variable.js'

/** An atom that no value of one variable decides. */
export type JoiningAtom = Exclude<Atom, { readonly kind: 'test' }>

/** Conditions on some variables. */
export interface Logic {
  /** That the value of a variable passes a test. */
  test(key: string, test: (value: Value) => boolean): Diagram
  /** That an atom holds; two with the same name and the same variables are the same. */
  atom(atom: JoiningAtom, name?: string): Diagram
  and(...all: readonly Diagram[]): Diagram
  or(...all: readonly Diagram[]): Diagram
  not(one: Diagram): Diagram
  /** That both hold or neither does. */
  same(a: Diagram, b: Diagram): Diagram
  stepOf(diagram: Diagram): Step
  /** What is decided at a place of the order. */
  topicOf(level: number): Topic
}

/** A variable whose values are told apart, or an atom. */
export type Topic =
  | { readonly key: string; readonly values: readonly Value[] }
  | { readonly atom: JoiningAtom }

/** The places of the order for one variable: its own, and those of the atoms in which it is the last. */
const PLACES = 2 ** 20

/** Creates the logic of some variables, which are decided in their order. */
export function createLogic(variables: Variables, budget: Budget): Logic {
  const { step, stepOf, and, or, not } = createDiagrams(budget)
  const order = [...variables.keys()]
  const places = new Map(order.map((key, i) => [key, i * PLACES]))
  const topics = new Map<number, Topic>()
  const levels = new Map<string, number>()
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
  /** The place of an atom behind its variables. */
  const levelOf = (atom: JoiningAtom, name: string): number => {
    const known = levels.get(name)
    if (known !== undefined) return known
    const level = Math.max(...keysOf(atom).map(placeOf)) + 1 + levels.size
    levels.set(name, level)
    topics.set(level, { atom })
    return level
  }
  const atom: Logic['atom'] = (asked, name = '') => {
    const simple = simplify(asked)
    if (typeof simple === 'number') return simple
    const own = [asked.kind, name, asked.on, 'other' in asked ? JSON.stringify(asked.other) : '']
    const elements = asked.kind === 'some' ? meetingElements(asked) : []
    return step(levelOf(asked, JSON.stringify([...own, ...elements])), [NEVER, ALWAYS])
  }
  const meetingElements = ({ on, test: passes }: Extract<Atom, { readonly kind: 'some' }>) =>
    (variables.get(on)?.elements ?? []).filter(passes)
  /** What needs no atom: a variable that has one value alone, or never a list. */
  const simplify = (asked: JoiningAtom): Diagram | undefined => {
    const own = valuesOf(asked.on)
    if (asked.kind !== 'compare') return asked.kind === 'same' || own.some(isList) ? undefined : NEVER
    const others = valuesOf(asked.other)
    if (others.length === 1) return test(asked.on, (value) => asked.test(value, others[0]))
    return own.length === 1 ? test(asked.other, (value) => asked.test(own[0], value)) : undefined
  }
  return {
    ...{ test, atom, not, stepOf },
    and: (...all) => all.reduce(and, ALWAYS),
    or: (...all) => all.reduce(or, NEVER),
    same: (a, b) => or(and(a, b), and(not(a), not(b))),
    topicOf: (level) => {
      const topic = topics.get(level)
      if (!topic) throw new Error('a place at which nothing is decided')
      return topic
    },
  }
}
