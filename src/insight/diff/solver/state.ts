import { findLists } from './lists.js'
import {
  type Domains,
  holdsIn,
  isList,
  keysOf,
  type Literal,
  type Model,
  type ModelProblem,
  type Value,
  type Variables,
} from './variable.js'

/** The decisions so far, and one model of them. */
export interface State {
  /** The values that each variable may still have, by itself. */
  readonly domains: Domains
  /** The decided atoms that name two variables, or look into lists. */
  readonly literals: readonly Literal[]
  readonly model: Model
}

/** The state without decisions. Variables are added when a condition on them is decided. */
export const EMPTY: State = {
  domains: new Map(),
  literals: [],
  model: { values: new Map(), lists: new Map() },
}

/** The state with some more variables; `undefined` if one of them can have no value. */
export function touch(variables: Variables, state: State, keys: readonly string[]): State | undefined {
  const fresh = keys.filter((key) => !state.domains.has(key))
  if (fresh.length === 0) return state
  const domains = new Map(state.domains)
  const literals = [...state.literals]
  const add = (key: string): void => {
    if (domains.has(key)) return
    const { values = [], parent = null, fills = false } = variables.get(key) ?? {}
    domains.set(key, values)
    if (parent === null) return
    add(parent)
    const test = fills ? isWith : isInside
    literals.push({ atom: { kind: 'compare', on: key, other: parent, test }, holds: true })
  }
  for (const key of fresh) add(key)
  return settle(variables, { domains, literals }, state.model)
}

/** The previous value of a variable, if it is still possible, or else the first possible one. */
const keep = (domain: readonly Value[], before: Value): Value =>
  domain.includes(before) ? before : domain[0]

/** A value inside an object exists only with the object. */
const isInside = (inner: Value, outer: Value): boolean => inner === undefined || outer !== undefined

const isWith = (inner: Value, outer: Value): boolean => (inner === undefined) === (outer === undefined)

/** The state in which an atom also holds, or does not; `undefined` if that contradicts it. */
export function assume(variables: Variables, state: State, { atom, holds }: Literal): State | undefined {
  const isMet = holdsIn(atom, state.model) === holds
  const literals = atom.kind === 'test' ? state.literals : [...state.literals, { atom, holds }]
  const domains = narrow(state.domains, { atom, holds })
  if (!domains) return undefined
  if (isMet) return { domains, literals, model: state.model }
  return settle(variables, { domains, literals }, state.model)
}

/** The domains without the values that an atom alone excludes. */
function narrow(domains: Domains, { atom, holds }: Literal): Domains | undefined {
  if (atom.kind === 'test') return restrict(domains, atom.on, (value) => atom.test(value) === holds)
  if (!holds || atom.kind === 'compare' || atom.kind === 'same') return domains
  const own = restrict(domains, atom.on, isList)
  return own && atom.kind === 'overlap' ? restrict(own, atom.other, isList) : own
}

function restrict(domains: Domains, key: string, keep: (value: Value) => boolean): Domains | undefined {
  const before = domains.get(key) ?? []
  const kept = before.filter(keep)
  if (kept.length === before.length) return domains
  return kept.length === 0 ? undefined : new Map(domains).set(key, kept)
}

/** Finds a model: first values that agree with each other, then the elements of lists. */
function settle(
  variables: Variables,
  { domains, literals }: Omit<State, 'model'>,
  last: Model,
): State | undefined {
  const values = new Map<string, Value>()
  let isPossible = true
  domains.forEach((domain, key) => {
    values.set(key, keep(domain, last.values.get(key)))
    isPossible &&= domain.length > 0
  })
  if (!isPossible) return undefined
  const model = findModel(variables, { domains, literals, values })
  return model && { domains, literals, model }
}

function findModel(variables: Variables, question: ModelProblem): Model | undefined {
  const { domains, literals, values } = question
  const joined = [...new Set(literals.flatMap(({ atom }) => keysOf(atom)))].filter((key) => domains.has(key))
  const unassigned = new Set(joined)
  const pairs = literals.filter(({ atom }) => atom.kind === 'compare')
  const isConsistent = (key: string): boolean =>
    pairs.every(({ atom, holds }) => {
      if (atom.kind !== 'compare' || (atom.on !== key && atom.other !== key)) return true
      if (unassigned.has(atom.on) || unassigned.has(atom.other)) return true
      return atom.test(values.get(atom.on), values.get(atom.other)) === holds
    })
  const assign = (i: number): Model | undefined => {
    const key = joined[i]
    if (key === undefined) return findLists(variables, question)
    unassigned.delete(key)
    const first = values.get(key)
    const rest = (domains.get(key) ?? []).filter((value) => value !== first)
    for (const value of [first, ...rest]) {
      values.set(key, value)
      const model = isConsistent(key) ? assign(i + 1) : undefined
      if (model) return model
    }
    values.set(key, first)
    unassigned.add(key)
    return undefined
  }
  return assign(0)
}
