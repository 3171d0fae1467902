import type { Automaton } from './automaton.js'

/** Numbers of states that stand for no set: there is no room for it, a match is found, none can come any more. */
export const UNKNOWN = 0
export const FOUND = 1
export const DEAD = 2

/** The first number of a state that stands for a set. */
const FIRST = 3

/**
 * The sets of positions that searches have met, as the states of a deterministic automaton that grows as it is used, up
 * to a number of bytes: then no state is added any more. Their numbers are of use only as long as it lives.
 */
export interface States {
  /** The state of a set. */
  enter(set: Int32Array): number
  /** Copies the set of a state to `set`. */
  leave(state: number, set: Int32Array): void
  /** The state behind a character of a class. */
  follow(state: number, characterClass: number): number
  /** Whether a match ends where the text does. */
  isEnd(state: number): boolean
  /** What `follow` knows already, by state times `columns` plus class. Another array wherever states were added. */
  known(): Uint16Array
  readonly columns: number
  /** How many there are, and how many there is room for. */
  readonly count: number
  readonly capacity: number
}

/** States there is room for at first. */
const FEW = 8

/** States beyond which their numbers do not fit. */
const MOST = 0xffff - FIRST

/** Creates the states of an automaton. `onGrow` hears how many bytes are taken in addition. */
export function createStates(
  automaton: Automaton,
  maxBytes: number,
  onGrow: (bytes: number) => void,
): States {
  const { size } = automaton
  // The last column is the end of the text.
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
  /** Numbers of states by the hashes of their sets, the next free place taken. */
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
    get count() {
      return count
    },
    get capacity() {
      return capacity
    },
  }
}

/** Slots for each state, so that few of them collide. */
const SLOTS_EACH = 2
