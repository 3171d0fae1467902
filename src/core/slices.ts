import { bounds } from './bounds.js'
import type { MaybePromise } from './types.js'

/**
 * The rest of the current slice, in steps of about 50 ns, the cost of one comparison. Work subtracts its steps from
 * `left` and pauses at zero or below. Steps are counted because some runtimes stop their clocks.
 */
export interface Slice {
  left: number
}

/** Work that may be long: it yields when its slice is used up, and continues with a new one. */
export type Sliced<T> = Generator<void, T, void>

/** A slice without an end, for work that is short or that delays no other work. */
export const endless = (): Slice => ({ left: Number.POSITIVE_INFINITY })

/** Runs work to its end at once. Only for work that may use `endless`. */
export const runAtOnce = <T>(start: (slice: Slice) => Sliced<T>): T => start(endless()).next().value as T

/** The steps of writing this many characters of JSON. */
export const stepsToWrite = (characters: number): number =>
  10 + (characters > bounds.longText ? characters / 4 : characters / 16)

/** Work that waits for its turn. */
interface TurnCounts {
  /** The slices that it has had. */
  had: number
  /** The turns in which it was first in line and did not run. */
  missed: number
}

/** The work with the fewest slices comes first, so that endless work does not delay work that is nearly done. */
const waiting: TurnCounts[] = []

function standInLine(me: TurnCounts): void {
  const place = waiting.findIndex(({ had }) => had > me.had)
  waiting.splice(place < 0 ? waiting.length : place, 0, me)
}

/** The slices that have run since the process began. An unchanged number after a turn means that none has run. */
let slicesRun = 0

/** The number of first slices since the last turn that were too short; longer ones count as several. */
let crowd = 0

/** Once new work in one turn has filled a slice, further work gets a minimal first slice: enough for short work. */
const isCrowded = (): boolean => crowd >= bounds.slice / bounds.firstSlice

/**
 * Takes the first slice of work on this many documents, which counts as used. The slices taken add up until some work
 * waits for a turn.
 */
export function takeFirstSlice(documents: number): number {
  if (isCrowded()) return bounds.leastSlice
  const first = Math.min(documents * bounds.documentSteps, bounds.longFirstSlice)
  crowd += first / bounds.firstSlice
  return first
}

/** The steps of all work so far that did not wait for a turn. The difference around a call is its cost. */
let steps = 0

export const stepsTaken = (): number => steps

export function addSteps(more: number): void {
  steps += more
}

/** The turns after which the first in line loses its place: its runtime may have dropped it. */
const PATIENCE = 100

/**
 * Runs work in slices; one slice of all work of the process runs between two turns of the event loop. The first,
 * short slice runs at once: if the work ends in it, the result is returned without a promise. When the signal aborts,
 * work ends at its next pause and throws the signal's reason. `signal` is called at the first pause. Work on many
 * documents can have a longer first slice.
 */
export function runSliced<T>(
  start: (slice: Slice) => Sliced<T>,
  signal: () => AbortSignal | undefined = () => undefined,
  first = isCrowded() ? bounds.leastSlice : bounds.firstSlice,
): MaybePromise<T> {
  const slice: Slice = { left: first }
  const work = start(slice)
  const { done, value } = work.next()
  steps += first - slice.left
  if (done) return value
  crowd += 1
  return runInTurns(work, slice, signal)
}

/** The same, until the deadline of a call. */
export const runWithin = <T>(
  { deadline }: { readonly deadline: { readonly signal: AbortSignal } },
  start: (slice: Slice) => Sliced<T>,
): MaybePromise<T> => runSliced(start, () => deadline.signal)

async function runInTurns<T>(
  work: Sliced<T>,
  slice: Slice,
  signalOf: () => AbortSignal | undefined,
): Promise<T> {
  const signal = signalOf()
  const me: TurnCounts = { had: 0, missed: 0 }
  try {
    for (;;) {
      standInLine(me)
      await waitForTurn(me, signal)
      slicesRun += 1
      me.had += 1
      slice.left = bounds.slice
      const { done, value } = work.next()
      if (done) return value
    }
  } finally {
    const place = waiting.indexOf(me)
    if (place >= 0) waiting.splice(place, 1)
    work.return(undefined as never)
  }
}

/**
 * Waits until this work is first in line and no other slice has run since the last turn, then removes it from the
 * line.
 */
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
 * Lets all other work in the event loop run first. `setImmediate` lets sockets go first, which a due timer does not
 * guarantee. Each work waits by itself: on workers, the timer of one request does not fire for another.
 */
export const nextTurn = (): Promise<void> => endOfTurn() ?? new Promise((resolve) => later(resolve, 0))

/**
 * Waits for the end of this turn of the event loop; `undefined` if the runtime has no `setImmediate`. Responses sent
 * together wake their readers once, and their code stays in the caches of the processor: with 32 busy connections, a
 * create costs little more than half of a create whose response is sent alone.
 */
export const endOfTurn = (): Promise<void> | undefined =>
  soon ? new Promise((resolve) => soon(resolve)) : undefined

const { setImmediate: given } = globalThis as {
  readonly setImmediate?: ((run: () => void) => unknown) & { readonly clock?: unknown }
}

// The runtime's own functions, captured on load: the fake timers of a test must not stop work under way. Fake timers
// of vitest or jest that were installed before have a `clock`: requests must not wait until a test advances it.
const soon = given && !given.clock ? given : undefined
const later = setTimeout
