import { type Budget, spend } from './budget.js'
import { type Atom, isList, keysOf, scalarOf, type Value, type Variables } from './variable.js'

/**
 * A condition, as the number of its decision diagram. All diagrams decide their steps in the same order and share equal
 * steps. So conditions with the same number are equal. Conditions with different numbers may still be equal if results
 * of steps depend on each other.
 */
export type Diagram = number

/** The conditions that are never true and always true. */
export const NEVER: Diagram = 0
export const ALWAYS: Diagram = 1

/** A step of a diagram: its level (position in the order), and the diagram that follows for each result. */
interface Step {
  readonly level: number
  readonly ways: readonly Diagram[]
}

/** Creates diagrams that share their steps. */
interface Diagrams {
  step(level: number, ways: readonly Diagram[]): Diagram
  /** Returns the first step of a diagram that is neither `NEVER` nor `ALWAYS`. */
  stepOf(diagram: Diagram): Step
  and(a: Diagram, b: Diagram): Diagram
  or(a: Diagram, b: Diagram): Diagram
  not(a: Diagram): Diagram
  /** Returns the condition under which exactly one of the two conditions is true. */
  differ(a: Diagram, b: Diagram): Diagram
}

/** A step, linked to the previous step with the same hash. */
interface ChainedStep extends Step {
  readonly next: Diagram
}

/** The step of `NEVER` and `ALWAYS`. Its level is the last. Levels are small integers, so V8 compares them fast. */
const END: ChainedStep = { level: 2 ** 31 - 1, ways: [], next: NEVER }

/** Greater than the number of steps. Two step numbers and an operation fit into one number below 2^53. */
const MANY = 2 ** 25

const AND = 0
const OR = 1
const DIFFER = 2
type Joining = typeof AND | typeof OR | typeof DIFFER

/** Creates diagrams. Each step that must be computed takes one decision from the budget. */
function createDiagrams(budget: Budget): Diagrams {
  const steps: ChainedStep[] = [END, END]
  const known = new Map<number, Diagram>()
  const stepOf = (diagram: Diagram): ChainedStep => steps[diagram] ?? END
  const step = (level: number, ways: readonly Diagram[]): Diagram => {
    const first = ways[0] ?? NEVER
    let hash = level | 0
    let isOne = true
    for (let i = 0; i < ways.length; i++) {
      const way = ways[i] ?? NEVER
      hash = (Math.imul(hash, 31) + way) | 0
      isOne &&= way === first
    }
    if (isOne) return first
    const next = known.get(hash) ?? NEVER
    for (let one = next; one !== NEVER; one = stepOf(one).next)
      if (isStep(stepOf(one), level, ways)) return one
    known.set(hash, steps.length)
    return steps.push({ level, ways, next }) - 1
  }
  const joined = new Map<number, Diagram>()
  const join = (joining: Joining, a: Diagram, b: Diagram): Diagram => {
    if (a > b) return join(joining, b, a)
    // `a` has the lower number, so `a` is `NEVER` or `ALWAYS` if one of the two is.
    if (a === b) return joining === DIFFER ? NEVER : a
    if (a === NEVER) return joining === AND ? NEVER : b
    if (a === ALWAYS) return joining === AND ? b : joining === OR ? ALWAYS : not(b)
    const key = (joining * MANY + a) * MANY + b
    const before = joined.get(key)
    if (before !== undefined) return before
    spend(budget)
    const result = divide(joining, a, b)
    joined.set(key, result)
    return result
  }
  const divide = (joining: Joining, a: Diagram, b: Diagram): Diagram => {
    const own = stepOf(a)
    const other = stepOf(b)
    const level = Math.min(own.level, other.level)
    const isOwn = own.level === level
    const isOther = other.level === level
    const ways = (isOwn ? own : other).ways.slice()
    let last = -1
    let lastOther = -1
    let result = NEVER
    for (let i = 0; i < ways.length; i++) {
      const way = isOwn ? (own.ways[i] ?? NEVER) : a
      const otherWay = isOther ? (other.ways[i] ?? NEVER) : b
      // Neighbouring values often lead to the same diagrams, because few conditions distinguish them. So the last
      // result is used again.
      if (way !== last || otherWay !== lastOther) result = join(joining, way, otherWay)
      last = way
      lastOther = otherWay
      ways[i] = result
    }
    return step(level, ways)
  }
  const negated = new Map<Diagram, Diagram>([
    [NEVER, ALWAYS],
    [ALWAYS, NEVER],
  ])
  const not = (a: Diagram): Diagram => {
    const before = negated.get(a)
    if (before !== undefined) return before
    spend(budget)
    const { level, ways } = stepOf(a)
    const result = step(level, ways.map(not))
    negated.set(a, result)
    negated.set(result, a)
    return result
  }
  return {
    step,
    stepOf,
    not,
    and: (a, b) => join(AND, a, b),
    or: (a, b) => join(OR, a, b),
    differ: (a, b) => join(DIFFER, a, b),
  }
}

const isStep = (step: Step, level: number, ways: readonly Diagram[]): boolean =>
  step.level === level && step.ways.every((way, i) => way === ways[i])

/** An atom that depends on list elements or on two variables, not only on the value of one variable. */
export type JoiningAtom = Exclude<Atom, { readonly kind: 'test' }>

/** Creates conditions on some variables, and combines them. */
export interface Logic {
  /** Returns the condition under which the value of a variable passes a test. */
  test(key: string, test: (value: Value) => boolean): Diagram
  /**
   * Returns the condition under which an atom is true. With a name, the result is cached, so all atoms of the same
   * kind, variables and name must be equal.
   */
  atom(atom: JoiningAtom, name?: string): Diagram
  and(...all: readonly Diagram[]): Diagram
  or(...all: readonly Diagram[]): Diagram
  not(one: Diagram): Diagram
  /** Returns the condition under which `a` and `b` are both true or both false. */
  same(a: Diagram, b: Diagram): Diagram
  /** Returns the condition under which exactly one of the two conditions is true. */
  differ(a: Diagram, b: Diagram): Diagram
  /** Returns the values that a variable can have. */
  valuesOf(key: string): readonly Value[]
  /** Takes one decision from the budget. */
  spend(): void
  stepOf(diagram: Diagram): Step
  /** Returns the variable or atom that is decided at a level. */
  topicOf(level: number): Topic
}

/** The subject of a step: a variable whose values are distinguished, or an atom. */
export type Topic =
  | { readonly key: string; readonly values: readonly Value[] }
  | { readonly atom: JoiningAtom }

/** The number of levels for one variable: its own, and those of the atoms whose last variable it is. */
const PLACES = 2 ** 16

/** Creates the logic of some variables, which are decided in their order. */
export function createLogic(variables: Variables, budget: Budget): Logic {
  const { step, stepOf, and, or, not, differ } = createDiagrams(budget)
  const order = [...variables.keys()]
  const places = new Map(order.map((key, i) => [key, i * PLACES]))
  const topics = new Map<number, Topic>()
  const levels = new Map<string, number>()
  /** Caches the keys of named atoms. */
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
  /**
   * Returns the level of an atom, which is after the levels of its variables. Atoms that have the same results for all
   * values share a level.
   */
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
  /** Describes the results of an atom for all values. */
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
  /**
   * Returns a diagram that replaces the atom if the atom depends on only one variable, or if it needs a list and its
   * variable never has a list as its value; otherwise `undefined`.
   */
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
    valuesOf,
    spend: () => spend(budget),
    topicOf: (level) => {
      const topic = topics.get(level)
      if (!topic) throw new Error('a place at which nothing is decided')
      return topic
    },
  }
}

const writeVerdict = (holds: boolean): string => (holds ? '1' : '0')

/** Describes the results for each pair of values. */
const writeVerdicts = <T, U>(
  values: readonly T[],
  others: readonly U[],
  test: (value: T, other: U) => boolean,
): string => values.flatMap((value) => others.map((other) => writeVerdict(test(value, other)))).join('')
