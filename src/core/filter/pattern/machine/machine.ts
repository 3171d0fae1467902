import type { Slice } from '../../../slices.js'
import type { Pattern } from '../syntax/pattern.js'
import { type Automaton, compileAutomaton } from './automaton.js'

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

/** The maximum number of bytes of a machine, unless its automaton alone is larger. */
export const MACHINE_BYTES = 384 * 1024

/** The bytes of a machine besides its tables: some typed arrays, and the functions that use them. */
const FIXED_BYTES = 6000
/** The bytes of a state besides its set and its transitions. */
const STATE_BYTES = 80

/** The number of states for which there is room at first. */
const FEW_STATES = 8

/** The number of UTF-16 units that count as one step if the next state is known. */
const UNITS_PER_STEP = 10
/** The number of operations on words that count as one step. */
const OPERATIONS_PER_STEP = 50
/** The number of steps that adding a state takes, in addition to those of the automaton. */
const STEPS_PER_STATE = 10

/** Runs searches for a pattern. */
export class Machine {
  readonly #automaton: Automaton
  readonly #onGrow: (bytes: number) => void
  /** The last column of the transitions represents the end of the text. */
  readonly #columns: number
  readonly #bytesPerState: number
  readonly #maxStates: number
  /** The set at the start of every search, as text. */
  readonly #start: string
  readonly #states = new Map<string, number>()
  /** The sets of all states, as text. */
  readonly #sets: string[] = []
  /** The transitions: at `state * columns + class`, the state after a character of this class. */
  #known: Uint16Array
  /** The number of states for which `#known` has room. */
  #capacity = 0
  /** The current set, and the set after the next character. They are only valid while a search runs. */
  #from: Int32Array
  #to: Int32Array
  /** The steps that it took to build the automaton, until a search has subtracted them. */
  #debt: number

  /** Calls `onGrow` with the number of bytes that the machine adds. */
  constructor(pattern: Pattern, onGrow: (bytes: number) => void, maxBytes = MACHINE_BYTES) {
    const automaton = compileAutomaton(pattern)
    const { size, classes, bytes, effort } = automaton
    this.#automaton = automaton
    this.#onGrow = onGrow
    this.#columns = classes.count + 1
    this.#bytesPerState = STATE_BYTES + 4 * size + 2 * this.#columns
    this.#maxStates = Math.min(MOST, Math.floor((maxBytes - FIXED_BYTES - bytes) / this.#bytesPerState))
    this.#start = writeSet(automaton.start)
    this.#known = new Uint16Array(FIRST * this.#columns)
    this.#from = new Int32Array(size)
    this.#to = new Int32Array(size)
    this.#debt = effort / OPERATIONS_PER_STEP
    onGrow(FIXED_BYTES + bytes)
  }

  /** Continues a search until there is an answer. Returns `undefined` if the slice is used up first. */
  run(search: SearchState, slice: Slice): boolean | undefined {
    slice.left -= 1 + this.#debt
    this.#debt = 0
    const { text } = search
    const { pages, cells, classOf, count: end } = this.#automaton.classes
    const columns = this.#columns
    let { at } = search
    const set = search.set ?? this.#start
    let state = this.#enter(set)
    if (state === LOOSE) readSet(set, this.#from)
    let known = this.#known
    while (at < text.length) {
      const begin = at
      let stop = Math.min(text.length, at + Math.max(1, Math.floor(slice.left * UNITS_PER_STEP)))
      while (at < stop) {
        const unit = text.charCodeAt(at)
        const isPair = (unit & 0xf800) === 0xd800 && isPairAt(text, at)
        const characterClass = isPair
          ? classOf(text.codePointAt(at) ?? 0)
          : (cells[(pages[unit >> 8] ?? 0) + (unit & 0xff)] ?? 0)
        let next = known[state * columns + characterClass] ?? UNKNOWN
        if (next < FIRST) {
          if (next === UNKNOWN) {
            next = this.#follow(state, characterClass, slice)
            known = this.#known
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
        search.set = state === LOOSE ? writeSet(this.#from) : this.#sets[state - FIRST]
        return undefined
      }
    }
    return (known[state * columns + end] || this.#follow(state, end, slice)) === FOUND
  }

  /** Computes the state after a character of this class, or after the end of the text. */
  #follow(state: number, characterClass: number, slice: Slice): number {
    const { isEnd, step, cost, classes } = this.#automaton
    const after = characterClass === classes.count ? undefined : characterClass
    slice.left -= cost / OPERATIONS_PER_STEP
    if (state !== LOOSE) readSet(this.#sets[state - FIRST] ?? '', this.#from)
    let next: number = DEAD
    if (isEnd(this.#from, after)) next = FOUND
    else if (after !== undefined && step(this.#from, this.#to, after)) {
      // The set after a loose one is not looked up, because this would take longer than computing it.
      next = state === LOOSE ? LOOSE : this.#enter(writeSet(this.#to))
      if (next === LOOSE) [this.#from, this.#to] = [this.#to, this.#from]
    }
    if (state === LOOSE) return next
    slice.left -= STEPS_PER_STATE
    if (next !== LOOSE) this.#known[state * this.#columns + characterClass] = next
    return next
  }

  /** Returns the state of a set; `LOOSE` if the set is new and there is no room for it. */
  #enter(set: string): number {
    const known = this.#states.get(set)
    if (known !== undefined) return known
    if (this.#sets.length >= this.#maxStates) return LOOSE
    const state = FIRST + this.#sets.length
    this.#states.set(set, state)
    this.#sets.push(set)
    if (this.#sets.length > this.#capacity) this.#grow()
    return state
  }

  #grow(): void {
    const before = this.#capacity
    this.#capacity = Math.min(this.#maxStates, Math.max(FEW_STATES, 2 * before))
    const known = new Uint16Array((FIRST + this.#capacity) * this.#columns)
    known.set(this.#known)
    this.#known = known
    this.#onGrow((this.#capacity - before) * this.#bytesPerState)
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
