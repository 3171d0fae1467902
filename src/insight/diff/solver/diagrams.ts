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
}

const END: Step = { level: Number.POSITIVE_INFINITY, ways: [] }

/** Creates diagrams; each step that has to be computed is a decision. */
export function createDiagrams(budget: Budget): Diagrams {
  const steps: Step[] = [END, END]
  const known = new Map<string, Diagram>()
  const stepOf = (diagram: Diagram): Step => steps[diagram] ?? END
  const step = (level: number, ways: readonly Diagram[]): Diagram => {
    const [first = NEVER] = ways
    if (ways.every((way) => way === first)) return first
    const key = `${level}:${ways.join()}`
    const found = known.get(key)
    if (found !== undefined) return found
    steps.push({ level, ways })
    known.set(key, steps.length - 1)
    return steps.length - 1
  }
  const wayOf = (diagram: Diagram, level: number, i: number): Diagram => {
    const own = stepOf(diagram)
    return own.level === level ? (own.ways[i] ?? NEVER) : diagram
  }
  /** Joins two diagrams; `absorbing` is what decides alone, the other constant has no say. */
  const join = (absorbing: Diagram) => {
    const joined = new Map<number, Diagram>()
    const run = (a: Diagram, b: Diagram): Diagram => {
      if (a === b) return a
      const [low, high] = a < b ? [a, b] : [b, a]
      if (low === absorbing || high === absorbing) return absorbing
      if (low <= ALWAYS) return high
      const key = low * MOST + high
      const before = joined.get(key)
      if (before !== undefined) return before
      spend(budget)
      const level = Math.min(stepOf(a).level, stepOf(b).level)
      const { ways } = stepOf(a).level === level ? stepOf(a) : stepOf(b)
      const result = step(
        level,
        ways.map((_, i) => run(wayOf(a, level, i), wayOf(b, level, i))),
      )
      joined.set(key, result)
      return result
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
  return { step, stepOf, and: join(NEVER), or: join(ALWAYS), not }
}

/** More than there can be: each is paid from a budget. */
const MOST = 2 ** 26
