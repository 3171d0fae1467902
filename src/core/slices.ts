import { bounds } from './bounds.js'
import { isPromise, whenReady } from './promises.js'
import type { MaybePromise } from './types.js'

/**
 * The time slice in which some work runs. `left` is the number of steps that remain; one step takes about 50 ns, the
 * cost of one comparison. Work subtracts its steps from `left` and pauses when `left` is zero or less. Steps are
 * counted instead of time because some runtimes stop their clocks while code runs.
 */
export interface Slice {
  left: number
}

/** The slices of one piece of work: `next` waits for the next one. */
export class Slices implements Slice {
  left: number
  readonly #signal: () => AbortSignal | undefined
  #turns: TurnCounts | undefined

  /**
   * `left`: the number of steps of the first slice, which runs immediately. `signal` is called at the first pause. When
   * the returned signal aborts, `next` throws the signal's reason.
   */
  constructor(left: number, signal: () => AbortSignal | undefined = () => undefined) {
    this.left = left
    this.#signal = signal
  }

  /**
   * Whether the work may continue immediately although the slice is used up. A part of the work that runs elsewhere, such
   * as on another connection, begins with a first slice.
   */
  extend(): boolean {
    return false
  }

  /**
   * Waits for the next slice. Between two turns of the event loop, only one slice of all work of the process runs.
   * Throws the reason of the signal.
   */
  async next(): Promise<void> {
    if (!this.#turns) crowd += 1
    this.#turns ??= { had: 0, missed: 0 }
    standInLine(this.#turns)
    try {
      await waitForTurn(this.#turns, this.#signal())
    } catch (thrown) {
      leaveLine(this.#turns)
      throw thrown
    }
    slicesRun += 1
    this.#turns.had += 1
    this.left = bounds.slice
  }
}

/** A function that takes its steps from the slices that it receives last, and that may pause. */
export type Sliced<Given extends readonly unknown[], Result> = (
  ...given: [...Given, slices: Slices]
) => MaybePromise<Result>

/** A function that subtracts its steps from the slice that it receives last, and that never pauses by itself. */
export type Counted<Given extends readonly unknown[], Result> = (...given: [...Given, slice: Slice]) => Result

/**
 * Runs work in slices. The first, short slice runs immediately: if the work ends in it, the result is returned without
 * a promise. `first` is the number of steps of the first slice, which may be longer for work on many documents.
 */
export function inSlices<T>(
  run: Sliced<[], T>,
  signal: () => AbortSignal | undefined = () => undefined,
  first = stepsOfFirst(),
): MaybePromise<T> {
  const slices = new Slices(first, signal)
  const result = run(slices)
  steps += first - slices.left
  return result
}

/** Returns an unlimited slice, for work that is short or that delays no other work. */
export const endless = (): Slices => new Slices(Number.POSITIVE_INFINITY)

/** Runs work to its end in one slice. Only for work that may use an `endless` slice. */
export const inOneSlice = <T>(run: Sliced<[], T>): T => run(endless()) as T

/**
 * Returns whether `test` returns true for each item. Stops at the first item for which it does not. Pauses between two
 * items when the slice is used up. `test` subtracts its steps. It may wait; the next item then waits for it. With
 * `goesOn`, the results of `test` have another meaning.
 */
export function everySliced<T, U = boolean>(
  slices: Slices,
  items: Iterable<T>,
  test: (item: T, index: number) => MaybePromise<U>,
  goesOn: (tested: U) => boolean = Boolean,
): MaybePromise<boolean> {
  const left = items[Symbol.iterator]()
  let index = 0
  for (let item = left.next(); !item.done; item = left.next()) {
    const testing = test(item.value, index++)
    if (isPromise(testing) || (slices.left <= 0 && !slices.extend())) return testOthers(testing)
    if (!goesOn(testing)) return false
  }
  return true

  async function testOthers(first: MaybePromise<U>): Promise<boolean> {
    for (let testing = first; ; ) {
      if (!goesOn(isPromise(testing) ? await testing : testing)) return false
      if (slices.left <= 0) await slices.next()
      const item = left.next()
      if (item.done) return true
      testing = test(item.value, index++)
    }
  }
}

/**
 * Calls `visit` for each item, and pauses between two items when the slice is used up, like `everySliced`. Returns a
 * promise only if it has paused or waited.
 */
export const forEachSliced = <T>(
  slices: Slices,
  items: Iterable<T>,
  visit: (item: T, index: number) => MaybePromise<unknown>,
): MaybePromise<void> =>
  whenReady(
    everySliced(slices, items, visit, () => true),
    () => undefined,
  )

/** Like `forEachSliced`, and returns the results of `map` in the order of the items. */
export function mapSliced<T, U>(
  slices: Slices,
  items: Iterable<T>,
  map: (item: T, index: number) => MaybePromise<U>,
): MaybePromise<readonly U[]> {
  const all: U[] = []
  const mapping = forEachSliced(slices, items, (item, index) => {
    const mapped = map(item, index)
    if (isPromise(mapped)) return mapped.then((value) => void all.push(value))
    all.push(mapped)
    return undefined
  })
  return whenReady(mapping, () => all)
}

/**
 * Calls `run` in one slice after another, until it returns true. It returns false when the slice is used up. Returns a
 * promise only if there is more than one call.
 */
export function untilDone(slices: Slices, run: () => boolean): MaybePromise<void> {
  const runAgain = async (): Promise<void> => {
    do await slices.next()
    while (!run())
  }
  return run() ? undefined : runAgain()
}

/**
 * Returns the items in order, by a merge sort that can pause between any two comparisons. `order` subtracts its steps
 * from the slice.
 */
export function sortSliced<T>(
  slices: Slices,
  items: readonly T[],
  order: Counted<[a: T, b: T], number>,
): MaybePromise<readonly T[]> {
  const { length } = items
  let [from, into]: [T[], T[]] = [[...items], new Array(length)]
  let [width, place, left, right, middle, end] = [1, 0, 0, 0, 0, 0]
  /** Merges neighbouring runs of `width` sorted items, then longer runs. */
  const mergeRuns = (): boolean => {
    for (; width < length; width *= 2) {
      for (; place < length; place++) {
        if (slices.left <= 0) return false
        if (place === end) {
          left = place
          middle = Math.min(place + width, length)
          right = middle
          end = Math.min(middle + width, length)
        }
        const isLeft =
          left < middle && (right >= end || order(from[left] as T, from[right] as T, slices) <= 0)
        into[place] = from[isLeft ? left++ : right++] as T
      }
      ;[from, into, place, end] = [into, from, 0, 0]
    }
    return true
  }
  return whenReady(untilDone(slices, mergeRuns), () => from)
}

/**
 * Calls `work` for each item, such as the callers of a page, and pauses between two items when the slice is used up.
 * `work` returns its own steps. The steps that other functions count during the call are added, including those of other
 * requests while `work` waits, which costs at most one more pause.
 */
export const forEachCounted = async <T>(
  items: Iterable<T>,
  work: (item: T) => MaybePromise<number>,
  slices = new Slices(bounds.longFirstSlice),
): Promise<void> =>
  forEachSliced(slices, items, (item) => {
    const before = steps
    return whenReady(work(item), (own) => {
      slices.left -= own + steps - before
      // Added after the comparison: otherwise several loops would count the steps of each other without end.
      steps += own
    })
  })

/** Returns the number of steps that it takes to write this many characters of JSON. */
export const stepsToWrite = (characters: number): number =>
  10 + (characters > bounds.longText ? characters / 4 : characters / 16)

/** The state of a piece of work that waits for its turn. */
interface TurnCounts {
  /** The number of slices in which the work ran. */
  had: number
  /** The number of turns of the event loop in which the work was first in line but did not run. */
  missed: number
}

/**
 * The waiting work. The work that ran in the fewest slices comes first, so that endless work does not delay work that
 * is nearly done.
 */
const waiting: TurnCounts[] = []

function standInLine(me: TurnCounts): void {
  const place = waiting.findIndex(({ had }) => had > me.had)
  waiting.splice(place < 0 ? waiting.length : place, 0, me)
}

function leaveLine(me: TurnCounts): void {
  const place = waiting.indexOf(me)
  if (place >= 0) waiting.splice(place, 1)
}

/**
 * The number of slices that have run since the process began. If a turn of the event loop does not change it, no slice
 * ran in that turn.
 */
let slicesRun = 0

/**
 * The number of first slices that were used up since the last turn of the event loop. A longer first slice counts as
 * several.
 */
let crowd = 0

/**
 * Whether new work in this turn has already used up a whole slice. Further new work then gets a minimal first slice,
 * which is enough for short work.
 */
const isCrowded = (): boolean => crowd >= bounds.slice / bounds.firstSlice

/** Returns the number of steps of a first slice, which runs immediately. */
export const stepsOfFirst = (): number => (isCrowded() ? bounds.leastSlice : bounds.firstSlice)

/**
 * Returns the number of steps of a first slice for work on this many documents, and counts this slice as used up. The
 * count is reset when some work waits for a turn.
 */
export function takeFirstSlice(documents: number): number {
  if (isCrowded()) return bounds.leastSlice
  const first = Math.min(documents * bounds.documentSteps, bounds.longFirstSlice)
  crowd += first / bounds.firstSlice
  return first
}

/**
 * The steps of all work since the process began, except steps after a wait for a turn. The difference between before
 * and after a call is the cost of the call.
 */
let steps = 0

export const stepsTaken = (): number => steps

export function addSteps(more: number): void {
  steps += more
}

/**
 * If the work that is first in line does not run for this many turns of the event loop, it moves to the end: the
 * runtime may have dropped the request.
 */
const PATIENCE = 100

/** Waits until this work is first in line and no slice has run since the last turn, then leaves the line. */
async function waitForTurn(me: TurnCounts, signal: AbortSignal | undefined): Promise<void> {
  for (;;) {
    const seen = slicesRun
    await nextTurn()
    crowd = 0
    signal?.throwIfAborted()
    const [first] = waiting
    if (seen === slicesRun && first === me) {
      waiting.shift()
      me.missed = 0
      return
    }
    if (first && first !== me && seen === slicesRun && ++first.missed > PATIENCE) {
      first.missed = 0
      waiting.shift()
      waiting.push(first)
    }
  }
}

/**
 * Waits until the event loop has run all other work that is due. Uses `setImmediate` if there is one, because it lets
 * sockets go first; a timer that is already due does not guarantee that. Each call creates a promise of its own,
 * because on workers the timer of one request does not fire for another request.
 */
export const nextTurn = (): Promise<void> => endOfTurn() ?? new Promise((resolve) => later(resolve, 0))

/**
 * Waits for the end of this turn of the event loop; `undefined` if the runtime has no `setImmediate`. Responses that
 * are sent together wake their readers only once, and the code of each stage stays in the caches of the processor. With
 * 32 busy connections, this nearly halves the cost of a create.
 */
export const endOfTurn = (): Promise<void> | undefined =>
  soon ? new Promise((resolve) => soon(resolve)) : undefined

const { setImmediate: given } = globalThis as {
  readonly setImmediate?: ((run: () => void) => unknown) & { readonly clock?: unknown }
}

// The runtime's own functions, captured on load, so that the fake timers of a test cannot stop work in progress. Fake
// timers of vitest or jest that were installed before have a `clock`. They are not used, because requests must not
// wait until a test advances the clock.
const soon = given && !given.clock ? given : undefined
const later = setTimeout
