import type { Slice } from '../../../slices.js'
import type { Pattern } from '../syntax/pattern.js'
import { compileAutomaton } from './automaton.js'

/**
 * The states of a deterministic automaton. From `FIRST` on, a state is a set of positions that searches have reached;
 * its transitions are computed when a search first needs them. The others are: not computed (`UNKNOWN`), a match was
 * found (`FOUND`), no match is possible (`DEAD`), and a set that is not stored, because there is no room (`LOOSE`).
 */
const [UNKNOWN, FOUND, DEAD, LOOSE, FIRST] = [0, 1, 2, 3, 4] as const

/** The maximum number of states, because their numbers must fit in 16 bits. */
const MOST = 0x10000 - FIRST

/** The progress of a search: its text, the index of the next UTF-16 unit, and the set (`undefined` at first). */
export interface SearchState {
  readonly text: string
  at: number
  set: string | undefined
}

/** Runs searches for a pattern. */
export interface Machine {
  /** Continues a search until there is an answer. Returns `undefined` if the slice is used up first. */
  run(search: SearchState, slice: Slice): boolean | undefined
}

/** The maximum number of bytes of a machine, unless its automaton alone is larger. */
export const MACHINE_BYTES = 384 * 1024

/** The bytes of a machine besides its tables: about twenty typed arrays, and the functions that use them. */
const FIXED_BYTES = 6000
/** The bytes of a state besides its set and its transitions. */
const STATE_BYTES = 80

/** The number of UTF-16 units that count as one step if the next state is known. */
const UNITS_PER_STEP = 10
/** The number of operations on words that count as one step. */
const OPERATIONS_PER_STEP = 50
/** The number of steps that adding a state takes, in addition to those of the automaton. */
const STEPS_PER_STATE = 10

/** Creates the machine of a pattern. It calls `onGrow` with the number of bytes that it adds. */
export function createMachine(
  pattern: Pattern,
  onGrow: (bytes: number) => void,
  maxBytes = MACHINE_BYTES,
): Machine {
  const automaton = compileAutomaton(pattern)
  const { pages, cells, classOf, count: end } = automaton.classes
  // The last column represents the end of the text.
  const columns = end + 1
  const bytesPerState = STATE_BYTES + 4 * automaton.size + 2 * columns
  const fixedBytes = FIXED_BYTES + automaton.bytes
  const maxStates = Math.min(MOST, Math.floor((maxBytes - fixedBytes) / bytesPerState))
  onGrow(fixedBytes)
  const states = new Map<string, number>()
  /** The sets of all states, as text. */
  const sets: string[] = []
  /** The transitions: at `state * columns + class`, the state after a character of this class. */
  let known = new Uint16Array(16 * columns)
  let debt = automaton.effort / OPERATIONS_PER_STEP
  const stepsPerSet = automaton.cost / OPERATIONS_PER_STEP

  /** The current set, and the set after the next character. They are only valid while a search runs. */
  let from = new Int32Array(automaton.size)
  let to = new Int32Array(automaton.size)

  /** Returns the state of a set; `LOOSE` if the set is new and there is no room for it. */
  const enter = (set: string): number => {
    const state = states.get(set) ?? FIRST + sets.length
    if (state < FIRST + sets.length) return state
    if (sets.length >= maxStates) return LOOSE
    states.set(set, state)
    sets.push(set)
    onGrow(bytesPerState)
    if ((state + 1) * columns > known.length) {
      const larger = new Uint16Array(2 * known.length)
      larger.set(known)
      known = larger
    }
    return state
  }
  const startSet = writeSet(automaton.start)
  const compute = (isLoose: boolean, characterClass: number): number => {
    if (automaton.isEnd(from, characterClass === end ? undefined : characterClass)) return FOUND
    if (characterClass === end || !automaton.step(from, to, characterClass)) return DEAD
    const state = isLoose ? LOOSE : enter(writeSet(to))
    if (state === LOOSE) [from, to] = [to, from]
    return state
  }
  /** Computes the state after a character of this class, or after the end of the text. */
  const follow = (state: number, characterClass: number): number => {
    if (state === LOOSE) return compute(true, characterClass)
    readSet(sets[state - FIRST] ?? '', from)
    const next = compute(false, characterClass)
    if (next !== LOOSE) known[state * columns + characterClass] = next
    return next
  }

  return {
    run(search, slice) {
      slice.left -= 1 + debt
      debt = 0
      const { text } = search
      const set = search.set ?? startSet
      let state = enter(set)
      if (state === LOOSE) readSet(set, from)
      let { at } = search
      while (at < text.length) {
        const begin = at
        let stop = Math.min(text.length, at + Math.max(1, Math.floor(slice.left * UNITS_PER_STEP)))
        let table = known
        while (at < stop) {
          const unit = text.charCodeAt(at)
          const isPair = (unit & 0xf800) === 0xd800 && isPairAt(text, at)
          const characterClass = isPair
            ? classOf(text.codePointAt(at) ?? 0)
            : (cells[(pages[unit >> 8] ?? 0) + (unit & 0xff)] ?? 0)
          let next = table[state * columns + characterClass] ?? UNKNOWN
          if (next < FIRST) {
            if (next === UNKNOWN) {
              next = follow(state, characterClass)
              table = known
              slice.left -= stepsPerSet + (next === LOOSE ? 0 : STEPS_PER_STATE)
              // Computing a state may have used up the slice. The loop then stops before it computes another one.
              if (slice.left <= 0) stop = at
            }
            if (next === FOUND || next === DEAD) {
              slice.left -= (at - begin) / UNITS_PER_STEP
              return next === FOUND
            }
          }
          state = next
          at += isPair ? 2 : 1
        }
        slice.left -= (at - begin) / UNITS_PER_STEP
        if (slice.left <= 0 && at < text.length) {
          search.at = at
          search.set = state === LOOSE ? writeSet(from) : sets[state - FIRST]
          return undefined
        }
      }
      return (known[state * columns + end] || follow(state, end)) === FOUND
    },
  }
}

/** Whether a character of two UTF-16 units begins at this index. */
const isPairAt = (text: string, at: number): boolean => (text.codePointAt(at) ?? 0) > 0xffff

/** Writes a set as text: each word as two UTF-16 units. Equal sets have equal texts. */
const writeSet = (set: Int32Array): string => String.fromCharCode(...new Uint16Array(set.buffer))

/** Reads a set that `writeSet` wrote. */
function readSet(text: string, set: Int32Array): void {
  const units = new Uint16Array(set.buffer)
  for (let i = 0; i < units.length; i++) units[i] = text.charCodeAt(i)
}
