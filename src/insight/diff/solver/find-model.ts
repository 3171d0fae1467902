import { type Budget, spend } from './budget.js'
import { ALWAYS, type Diagram, NEVER } from './diagrams.js'
import type { JoiningAtom, Logic } from './logic.js'
import { assume, EMPTY, type State, touch } from './state.js'
import { holdsIn, keysOf, type Model, type Value, type Variables } from './variable.js'

/** The logic and the variables of a search. */
export interface ModelSearch {
  readonly logic: Logic
  readonly variables: Variables
  readonly budget: Budget
  /** Whether a variable is better missing than the value that a reader expects. */
  readonly isBestMissing: (key: string) => boolean
}

/** A model in which a condition holds, with as few variables as possible; `undefined` if there is none. */
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
    const missing = isBestMissing(key) ? (ways[values.indexOf(undefined)] ?? NEVER) : NEVER
    for (const way of new Set([missing, ...ways])) {
      if (way === NEVER) continue
      spend(budget)
      const group = new Set(values.filter((_, i) => ways[i] === way))
      const test = (value: Value): boolean => group.has(value)
      const next = assume(variables, touched, { atom: { kind: 'test', on: key, test }, holds: true })
      const model = next && walk(way, next)
      if (model) return model
    }
    return undefined
  }
  return walk(condition, EMPTY)
}

/** Whether a condition holds in a model. */
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
