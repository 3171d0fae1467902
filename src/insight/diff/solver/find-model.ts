import { type Budget, spend } from './budget.js'
import { ALWAYS, type Diagram, NEVER } from './diagrams.js'
import type { JoiningAtom, Logic } from './logic.js'
import { assume, EMPTY, type State, touch } from './state.js'
import { keysOf, type Model, type Value, type Variables } from './variable.js'

/** Where a model is looked for. */
export interface Place {
  readonly logic: Logic
  readonly variables: Variables
  readonly budget: Budget
  /** Whether a variable is best missing, rather than what a reader expects. */
  readonly isBestMissing: (key: string) => boolean
}

/** A model in which a condition holds, with no more variables than it takes; `undefined` where there is none. */
export function findModel(condition: Diagram, place: Place): Model | undefined {
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
    const chosen = new Map<Diagram, Set<Value>>()
    for (const [i, value] of values.entries()) {
      const way = ways[i] ?? NEVER
      if (way !== NEVER) chosen.set(way, (chosen.get(way) ?? new Set()).add(value))
    }
    const missing = isBestMissing(key) ? ways[values.indexOf(undefined)] : undefined
    const order = [...chosen].sort(([a], [b]) => Number(b === missing) - Number(a === missing))
    for (const [way, group] of order) {
      spend(budget)
      const atom = { kind: 'test', on: key, test: (value: Value) => group.has(value) } as const
      const next = assume(variables, touched, { atom, holds: true })
      const model = next && walk(way, next)
      if (model) return model
    }
    return undefined
  }
  return walk(condition, EMPTY)
}
