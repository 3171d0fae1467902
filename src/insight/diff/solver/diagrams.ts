import { type Budget, spend } from './budget.js'

/**
 * A decision diagram, by its number: what is decided step by step, in one order everywhere, and equal steps are one.
 * So two conditions are equal where their numbers are, as far as single steps tell.
 */
export type Diagram = number

/** The diagrams of what never and of what always holds. */
export const NEVER: Diagram = 0
export const ALWAYS: Diagram = 1

/** One step: the place in the order, and what is left to decide for each way it can go. */
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
  /** That one of them holds without the other. */
  differ(a: Diagram, b: Diagram): Diagram
}

const END: Step = { level: Number.POSITIVE_INFINITY, ways: [] }

/** Creates diagrams; each step that has to be computed is a decision. */
export function createDiagrams(budget: Budget): Diagrams {
  const steps: Step[] = [END, END]
  const known = new Map<number, Diagram[]>()
  const stepOf = (diagram: Diagram): Step => steps[diagram] ?? END
  const step = (level: number, ways: readonly Diagram[]): Diagram => {
    const [first = NEVER] = ways
    if (ways.every((way) => way === first)) return first
    const hash = hashOf(level, ways)
    const alike = known.get(hash) ?? []
    const found = alike.find((one) => isStep(stepOf(one), level, ways))
    if (found !== undefined) return found
    steps.push({ level, ways })
    alike.push(steps.length - 1)
    known.set(hash, alike)
    return steps.length - 1
  }
  /** Joins two diagrams; `settle` says what constants, or what is equal, come to: the lower number is the first. */
  const join = (settle: (a: Diagram, b: Diagram) => Diagram | undefined) => {
    const joined: Map<Diagram, Diagram>[] = []
    const run = (a: Diagram, b: Diagram): Diagram => {
      if (a > b) return run(b, a)
      const settled = settle(a, b)
      if (settled !== undefined) return settled
      const withOwn = joined[a] ?? new Map<Diagram, Diagram>()
      joined[a] = withOwn
      const before = withOwn.get(b)
      if (before !== undefined) return before
      spend(budget)
      const result = divide(a, b)
      withOwn.set(b, result)
      return result
    }
    const divide = (a: Diagram, b: Diagram): Diagram => {
      const [own, other] = [stepOf(a), stepOf(b)]
      const level = Math.min(own.level, other.level)
      const ways: Diagram[] = []
      let [last, lastOther, result] = [-1, -1, NEVER]
      for (let i = 0; i < (own.level === level ? own : other).ways.length; i++) {
        const way = own.level === level ? (own.ways[i] ?? NEVER) : a
        const otherWay = other.level === level ? (other.ways[i] ?? NEVER) : b
        // Most values are told apart by few conditions: neighbours go the same way.
        if (way !== last || otherWay !== lastOther) result = run(way, otherWay)
        last = way
        lastOther = otherWay
        ways.push(result)
      }
      return step(level, ways)
    }
    return run
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
    ...{ step, stepOf, not },
    and: join((a, b) => (a === NEVER ? NEVER : a === b || a === ALWAYS ? b : undefined)),
    or: join((a, b) => (a === ALWAYS || b === ALWAYS ? ALWAYS : a === b || a === NEVER ? b : undefined)),
    differ: join((a, b) => (a === b ? NEVER : a === NEVER ? b : a === ALWAYS ? not(b) : undefined)),
  }
}

const hashOf = (level: number, ways: readonly Diagram[]): number => {
  let hash = level | 0
  for (const way of ways) hash = (Math.imul(hash, 31) + way) | 0
  return hash
}

const isStep = (step: Step, level: number, ways: readonly Diagram[]): boolean =>
  step.level === level && step.ways.every((way, i) => way === ways[i])
