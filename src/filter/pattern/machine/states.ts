import type { Automaton } from './automaton.js'

/**
 * The numbers of states without a set: no room for the set (this), a match is found, or a match is impossible.
 */
export const UNKNOWN = 0
/** See `UNKNOWN`. */
export const FOUND = 1
/** See `UNKNOWN`. */
export const DEAD = 2

/** The first number of a state with a set. */
const FIRST = 3

/**
 * The sets of positions that searches have reached, as states of a deterministic automaton that grows during
 * use, up to a number of bytes. The numbers of states are valid only for this object.
 */
export interface States {
  /** The state of a set. */
  enter(set: Int32Array): number
  /** Copies the set of a state to `set`. */
  leave(state: number, set: Int32Array): void
  /** The state after a character of a class. */
  follow(state: number, characterClass: number): number
  /** Whether a match ends at the end of the text. */
  isEnd(state: number): boolean
  /** The results of `follow` so far, by state times `columns` plus class. New after states were added. */
  known(): Uint16Array
  readonly columns: number
  /** The number of states, and the number that there is room for. */
  count(): number
  capacity(): number
}

/** The number of states that there is room for at first. */
const FEW = 8

/** The most states whose numbers fit. */
const MOST = 0xffff - FIRST

/** Creates the states of an automaton. It calls `onGrow` with the number of additional bytes. */
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
  /** The numbers of states by the hash of their sets; a collision takes the next free slot. */
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

/** The slots per state, so that collisions are rare. */
const SLOTS_EACH = 2
