import { type Budget, spend } from './budget.js'

/**
 * A decision diagram, by its number. Steps are decided in one order everywhere, and equal steps are shared, so two
 * conditions are equal if their numbers are, as far as single steps tell.
 */
export type Diagram = number

/** The diagrams that never hold and that always hold. */
export const NEVER: Diagram = 0
export const ALWAYS: Diagram = 1

/** One step: its place in the order, and the remaining diagram for each way. */
export interface Step {
  readonly level: number
  readonly ways: readonly Diagram[]
}

/** Makes diagrams that share their steps. */
export interface Diagrams {
  step(level: number, ways: readonly Diagram[]): Diagram
  /** The first step of a diagram that is neither of the constants. */
  stepOf(diagram: Diagram): Step
  and(a: Diagram, b: Diagram): Diagram
  or(a: Diagram, b: Diagram): Diagram
  not(a: Diagram): Diagram
  /** Holds if exactly one of them holds. */
  differ(a: Diagram, b: Diagram): Diagram
}

/** A step, linked to the previous one with the same hash. */
interface ChainedStep extends Step {
  readonly next: Diagram
}

/** After all others; a small integer, like all levels, so V8 compares it fast. */
const END: ChainedStep = { level: 2 ** 31 - 1, ways: [], next: NEVER }

/** More than the number of steps: two steps and their operation fit into one number. */
const MANY = 2 ** 25

const AND = 0
const OR = 1
const DIFFER = 2
type Joining = typeof AND | typeof OR | typeof DIFFER

/** Creates diagrams; each step that must be computed is a decision. */
export function createDiagrams(budget: Budget): Diagrams {
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
    // Constants and equal diagrams: the lower number comes first.
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
      // Few conditions tell most values apart: neighbours go the same way.
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
