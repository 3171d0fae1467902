import type { Slice } from '../../../slices.js'
import type { Pattern } from '../syntax/pattern.js'
import { type Automaton, compileAutomaton } from './automaton.js'

/**
 * The numbers of special states, which have no set of positions: not computed or not stored (`UNKNOWN`), a
 * match was found (`FOUND`), or no match is possible (`DEAD`).
 */
const UNKNOWN = 0
/** See `UNKNOWN`. */
const FOUND = 1
/** See `UNKNOWN`. */
const DEAD = 2

/** The first number of a state that has a set. */
const FIRST = 3

/**
 * The sets of positions that searches have reached, as states of a deterministic automaton. States are added
 * during use, up to a number of bytes. The numbers of states are valid only for this object.
 */
interface States {
  /** Returns the state of a set; `UNKNOWN` if the set is new and there is no room for it. */
  enter(set: Int32Array): number
  /** Copies the set of a state into `set`. */
  leave(state: number, set: Int32Array): void
  /** Returns the state after a character of this class. */
  follow(state: number, characterClass: number): number
  /** Whether a match ends at the end of the text, if the text ends in this state. */
  isEnd(state: number): boolean
  /**
   * Returns the cached results of `follow`, at `state * columns + class`. Adding states replaces the array.
   */
  known(): Uint16Array
  readonly columns: number
  /** The number of states, and how many fit before the arrays must grow. */
  count(): number
  capacity(): number
}

/** The number of states for which there is room at first. */
const FEW = 8

/** The maximum number of states, because their numbers must fit in 16 bits. */
const MOST = 0xffff - FIRST

/** Creates the states of an automaton. It calls `onGrow` with the number of bytes that it adds. */
function createStates(automaton: Automaton, maxBytes: number, onGrow: (bytes: number) => void): States {
  const { size } = automaton
  // The last column represents the end of the text.
  const end = automaton.classes.count
  const columns = end + 1
  const bytesEach = 4 * size + 2 * columns + 2 * SLOTS_EACH
  const limit = Math.min(MOST, Math.floor(maxBytes / bytesEach))
  const from = new Int32Array(size)
  const to = new Int32Array(size)
  let capacity = 0
  let count = 0
  let sets = new Int32Array(0)
  let known = new Uint16Array(0)
  /** The numbers of states by the hash of their sets. After a collision, the next free slot is used. */
  let slots = new Uint16Array(0)

  const slotOf = (set: Int32Array): number => {
    let hash = 0
    for (let i = 0; i < size; i++) hash = Math.imul(hash ^ (set[i] ?? 0), 0x9e3779b1) ^ (hash >>> 15)
    let slot = (hash ^ (hash >>> 16)) >>> 0
    for (slot %= slots.length; ; slot = (slot + 1) % slots.length) {
      const state = slots[slot] ?? UNKNOWN
      if (state === UNKNOWN || isOf(state, set)) return slot
    }
  }
  const isOf = (state: number, set: Int32Array): boolean => {
    const at = (state - FIRST) * size
    for (let i = 0; i < size; i++) if (sets[at + i] !== set[i]) return false
    return true
  }
  const copy = (state: number, set: Int32Array): void => {
    const at = (state - FIRST) * size
    for (let i = 0; i < size; i++) set[i] = sets[at + i] ?? 0
  }
  const grow = (): void => {
    const old = { capacity, sets, known }
    capacity = Math.min(limit, Math.max(FEW, 2 * capacity))
    sets = new Int32Array(capacity * size)
    sets.set(old.sets)
    known = new Uint16Array((FIRST + capacity) * columns)
    known.set(old.known)
    slots = new Uint16Array(capacity * SLOTS_EACH)
    for (let state = FIRST; state < FIRST + count; state++) {
      copy(state, from)
      slots[slotOf(from)] = state
    }
    onGrow((capacity - old.capacity) * bytesEach)
  }
  const enter = (set: Int32Array): number => {
    const found = capacity === 0 ? UNKNOWN : (slots[slotOf(set)] ?? UNKNOWN)
    if (found !== UNKNOWN || count === limit) return found
    if (count === capacity) grow()
    sets.set(set, count * size)
    const state = FIRST + count++
    slots[slotOf(set)] = state
    return state
  }
  const compute = (characterClass: number | undefined): number => {
    if (automaton.isEnd(from, characterClass)) return FOUND
    if (characterClass === undefined || !automaton.step(from, to, characterClass)) return DEAD
    return enter(to)
  }
  const follow = (state: number, characterClass: number): number => {
    const next = known[state * columns + characterClass] ?? UNKNOWN
    if (next !== UNKNOWN) return next
    copy(state, from)
    const computed = compute(characterClass === end ? undefined : characterClass)
    known[state * columns + characterClass] = computed
    return computed
  }
  return {
    enter,
    leave: copy,
    follow,
    isEnd: (state) => follow(state, end) === FOUND,
    known: () => known,
    columns,
    count: () => count,
    capacity: () => capacity,
  }
}

/** The hash slots per state; enough to keep collisions rare. */
const SLOTS_EACH = 2

/**
 * The progress of a search: its text, the index of the next UTF-16 unit, and the set of positions
 * (`undefined` at first).
 */
export interface SearchState {
  readonly text: string
  at: number
  set: Int32Array | undefined
}

/** Runs searches for a pattern. */
export interface Machine {
  /** Continues a search until there is an answer. Returns `undefined` if the slice is used up first. */
  run(place: SearchState, slice: Slice): boolean | undefined
}

/** The maximum number of bytes of a machine, unless its automaton alone is larger. */
export const MACHINE_BYTES = 256 * 1024

/** The bytes of a machine besides its tables: about twenty typed arrays, and the functions that use them. */
const FIXED_BYTES = 6000

/** The number of UTF-16 units that count as one step if the next state is known. */
const UNITS_PER_STEP = 10
/** The number of operations on words that count as one step. */
const OPERATIONS_PER_STEP = 50
/** The number of steps that adding a state takes, in addition to those of the automaton. */
const STEPS_PER_STATE = 4

/** Creates the machine of a pattern. It calls `onGrow` with the number of bytes that it adds. */
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

/**
 * Creates a search that follows stored states. When there is no room for a new state, it continues with
 * `runSets`.
 */
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
            // Computing a state used up the slice, so the loop stops before it may compute another one.
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

/** Creates a search that computes each set of positions and does not store it. */
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

/** Whether a character of two UTF-16 units begins at this index. */
const isPairAt = (text: string, at: number): boolean => (text.codePointAt(at) ?? 0) > 0xffff
