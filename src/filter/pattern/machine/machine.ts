import type { Slice } from '../../../slices.js'
import type { Pattern } from '../syntax/pattern.js'
import { type Automaton, compileAutomaton } from './automaton.js'
import { createStates, DEAD, FOUND, type States, UNKNOWN } from './states.js'

/** The progress of a search: its text, the next unit, and the set of positions, which is absent at first. */
export interface SearchState {
  readonly text: string
  at: number
  set: Int32Array | undefined
}

/** Runs searches for a pattern. */
export interface Machine {
  /** Continues from a place until there is an answer; `undefined` when the slice is used up first. */
  run(place: SearchState, slice: Slice): boolean | undefined
}

/** The most bytes of a machine, unless its automaton alone is larger. */
export const MACHINE_BYTES = 256 * 1024

/** The bytes of a machine besides its tables: some twenty typed arrays, and the functions that use them. */
const FIXED_BYTES = 6000

/** The units of text per step where the next state is known. */
const UNITS_PER_STEP = 10
/** The operations on words per step. */
const OPERATIONS_PER_STEP = 50
/** The steps that adding a state costs, in addition to those of its automaton. */
const STEPS_PER_STATE = 4

/** Creates the machine of a pattern. It calls `onGrow` with the number of additional bytes that it takes. */
export function createMachine(
  pattern: Pattern,
  onGrow: (bytes: number) => void,
  maxBytes = MACHINE_BYTES,
): Machine {
  const automaton = compileAutomaton(pattern)
  const bytes = FIXED_BYTES + automaton.bytes
  onGrow(bytes)
  const states = createStates(automaton, Math.max(0, maxBytes - bytes), onGrow)
  const runSets = createSetRun(automaton)
  const runStates = createStateRun(automaton, states, runSets)
  let start = UNKNOWN
  let debt = automaton.effort / OPERATIONS_PER_STEP
  return {
    run(place, slice) {
      slice.left -= 1 + debt
      debt = 0
      if (!place.set && start === UNKNOWN) start = states.enter(automaton.start)
      const state = place.set ? states.enter(place.set) : start
      if (state !== UNKNOWN) return runStates(place, slice, state)
      place.set ??= automaton.start.slice()
      return runSets(place, slice)
    },
  }
}

/** Follows states until no room is left for another. */
function createStateRun(automaton: Automaton, states: States, runSets: Machine['run']) {
  const { classes, size } = automaton
  const { columns } = states
  const stepsPerState = STEPS_PER_STATE + automaton.cost / OPERATIONS_PER_STEP

  const leave = (place: SearchState, at: number, state: number): void => {
    place.at = at
    place.set ??= new Int32Array(size)
    states.leave(state, place.set)
  }

  return (place: SearchState, slice: Slice, first: number): boolean | undefined => {
    const { text } = place
    const { pages, cells } = classes
    let state = first
    let known = states.known()
    let { at } = place
    for (;;) {
      const begin = at
      let stop = Math.min(text.length, at + Math.max(1, Math.floor(slice.left * UNITS_PER_STEP)))
      while (at < stop) {
        const unit = text.charCodeAt(at)
        const isPair = (unit & 0xf800) === 0xd800 && isPairAt(text, at)
        const characterClass = isPair
          ? classes.classOf(text.codePointAt(at) ?? 0)
          : (cells[(pages[unit >> 8] ?? 0) + (unit & 0xff)] ?? 0)
        let next = known[state * columns + characterClass] ?? UNKNOWN
        if (next <= DEAD) {
          if (next === UNKNOWN) {
            slice.left -= stepsPerState
            next = states.follow(state, characterClass)
            known = states.known()
            // The next one may cost as much.
            if (slice.left <= 0) stop = at
          }
          if (next === UNKNOWN) {
            slice.left -= (at - begin) / UNITS_PER_STEP
            leave(place, at, state)
            return runSets(place, slice)
          }
          if (next <= DEAD) {
            slice.left -= (at - begin) / UNITS_PER_STEP
            return next === FOUND
          }
        }
        state = next
        at += isPair ? 2 : 1
      }
      slice.left -= (at - begin) / UNITS_PER_STEP
      if (at >= text.length) return states.isEnd(state)
      if (slice.left <= 0) {
        leave(place, at, state)
        return undefined
      }
    }
  }
}

/** Follows sets without keeping them. */
function createSetRun(automaton: Automaton): Machine['run'] {
  const { classes, size } = automaton
  const unitsPerStep = OPERATIONS_PER_STEP / automaton.cost
  const scratch = [new Int32Array(size), new Int32Array(size)] as const

  return (place, slice) => {
    const { text } = place
    const { pages, cells } = classes
    let [set, next] = scratch
    set.set(place.set ?? automaton.start)
    let { at } = place
    for (;;) {
      const begin = at
      const stop = Math.min(text.length, at + Math.max(1, Math.floor(slice.left * unitsPerStep)))
      while (at < stop) {
        const unit = text.charCodeAt(at)
        const isPair = (unit & 0xf800) === 0xd800 && isPairAt(text, at)
        const characterClass = isPair
          ? classes.classOf(text.codePointAt(at) ?? 0)
          : (cells[(pages[unit >> 8] ?? 0) + (unit & 0xff)] ?? 0)
        const isFound = automaton.isEnd(set, characterClass)
        if (isFound || !automaton.step(set, next, characterClass)) {
          slice.left -= (at - begin) / unitsPerStep
          return isFound
        }
        const last = set
        set = next
        next = last
        at += isPair ? 2 : 1
      }
      slice.left -= (at - begin) / unitsPerStep
      if (at >= text.length) return automaton.isEnd(set)
      if (slice.left <= 0) {
        place.at = at
        place.set = set.slice()
        return undefined
      }
    }
  }
}

/** Whether a character of two units begins here. */
const isPairAt = (text: string, at: number): boolean => (text.codePointAt(at) ?? 0) > 0xffff
