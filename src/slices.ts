import { bounds } from './bounds.js'
import type { MaybePromise } from './types.js'

/**
 * What is left of the current slice, in steps of about 50 ns, the cost of one comparison. Work subtracts its
 * steps from `left` and pauses at zero or below. Steps are counted because some runtimes stop their clocks.
 */
export interface Slice {
  left: number
}

/** Work that may be long: it yields when its slice is used up, and continues with a new one. */
export type Sliced<T> = Generator<void, T, void>

/** A slice without an end, for work that is short or that nothing else waits behind. */
export const endless = (): Slice => ({ left: Number.POSITIVE_INFINITY })

/** Runs work to its end at once; for the same cases as `endless`. */
export const runAtOnce = <T>(start: (slice: Slice) => Sliced<T>): T => start(endless()).next().value as T

/** The steps of writing so many characters of JSON. */
export const stepsToWrite = (characters: number): number =>
  10 + (characters > bounds.longText ? characters / 4 : characters / 16)

/** Work that waits for its turn. */
interface TurnCounts {
  /** The slices that it has had. */
  had: number
  /** The turns in which it was first in line and did not run. */
  missed: number
}

/** The work with the fewest slices comes first, so that endless work does not hold up what is nearly done. */
const waiting: TurnCounts[] = []

function standInLine(me: TurnCounts): void {
  const place = waiting.findIndex(({ had }) => had > me.had)
  waiting.splice(place < 0 ? waiting.length : place, 0, me)
}

/** The slices that have run since the process began: if the number is the same a turn later, none has run. */
let slicesRun = 0

/** The number of times since the last turn that a first slice was too short; longer ones count as several. */
let crowd = 0

/** Where as much work began between two turns as fills a slice, the rest gets little: enough for short work. */
const isCrowded = (): boolean => crowd >= bounds.slice / bounds.firstSlice

/**
 * Takes the first slice of work on so many documents, which counts as used. Until somebody waits for a turn, what is
 * taken adds up.
 */
export function takeFirstSlice(documents: number): number {
  if (isCrowded()) return bounds.leastSlice
  const first = Math.min(documents * bounds.documentSteps, bounds.longFirstSlice)
  crowd += first / bounds.firstSlice
  return first
}

/** The steps of all work so far that did not wait for a turn: who starts some can so count them. */
let steps = 0

export const stepsTaken = (): number => steps

export function addSteps(more: number): void {
  steps += more
}

/** The turns after which the first in line loses its place: its runtime may have forgotten it. */
const PATIENCE = 100

/**
 * Runs work in slices; one slice of all work of the process runs between two turns of the event loop. The
 * first, short slice runs at once: if the work ends in it, the result is returned without a promise. When the
 * signal aborts, work ends at its next pause and throws the signal's reason. `signal` is called at the first
 * pause. Work on many documents can have a longer first slice.
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

/** Waits until no other slice ran since the last turn and this work is first in line; it leaves the line. */
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
 * Lets everything else that waits in the event loop run first. `setImmediate` lets sockets go first, which a
 * due timer does not guarantee. Each work waits by itself: on workers, the timer of one request does not fire
 * for another.
 */
export const nextTurn = (): Promise<void> => endOfTurn() ?? new Promise((resolve) => later(resolve, 0))

/**
 * Waits for the end of this turn of the event loop, where the runtime has a name for it. Answers that leave
 * together wake who reads them once, and what makes them stays in the caches of the processor: with 32 busy
 * connections, a create costs a bit more than half of what it costs where each answer leaves by itself.
 */
export const endOfTurn = (): Promise<void> | undefined =>
  soon ? new Promise((resolve) => soon(resolve)) : undefined

const { setImmediate: given } = globalThis as {
  readonly setImmediate?: ((run: () => void) => unknown) & { readonly clock?: unknown }
}

// The runtime's own functions, read at start: a fake clock of a test must not stop work under way. One of vitest or
// jest that was there first has a `clock`: no request may wait for somebody to turn its hands.
const soon = given && !given.clock ? given : undefined
const later = setTimeout
