import type { MaybePromise } from './types.js'

/**
 * What is left of the present slice, in steps of some 50 ns: about the cost of one comparison. Work takes its steps from
 * `left` and pauses where it falls to zero; it may fall below. Steps and no clock, since some runtimes stop theirs.
 */
export interface Slice {
  left: number
}

/** Work that may be long: it yields wherever its slice is used up, and goes on with a new one. */
export type Sliced<T> = Generator<void, T, void>

/** Steps between two turns of the event loop, over all requests of the process: some 10 ms (CONTRACT.md §6, "Fairness"). */
export const SLICE = 200_000

/** Steps that work may take at once, before it waits for its turn: some 0.5 ms, so that what is short never waits. */
const FIRST_SLICE = 10_000

/** Where many begin between two turns, the later ones take less: enough for what is short all the same. */
const CROWD = SLICE / FIRST_SLICE
const LEAST_SLICE = 1000

/** A slice without an end, for work that is short or has nobody to wait for. */
export const endless = (): Slice => ({ left: Number.POSITIVE_INFINITY })

/** Runs work to its end at once: work that is short, or has nobody to wait for. */
export const runAtOnce = <T>(start: (slice: Slice) => Sliced<T>): T => start(endless()).next().value as T

/** Work that waits for its turn. */
interface Waiting {
  /** Slices that it has had. */
  had: number
  /** Turns in which it was the first in line and did not come. */
  missed: number
}

/** Who has had least comes first, so that what is nearly done is not held up by what is endless. */
const waiting: Waiting[] = []

function standInLine(me: Waiting): void {
  const place = waiting.findIndex(({ had }) => had > me.had)
  waiting.splice(place < 0 ? waiting.length : place, 0, me)
}

/** Slices that have run since the process began: whoever sees the same number a turn later knows that none has. */
let slicesRun = 0

/** First slices since the last turn that did not suffice. */
let crowd = 0

/** Turns after which the first in line has to give its place up: its runtime may have forgotten it. */
const PATIENCE = 100

/**
 * Runs work in slices; of all work of the process one slice runs between two turns of the event loop. The first, short
 * slice runs at once: what it finishes is returned without a promise. Where a signal aborts, work ends at its next pause
 * and the signal's reason is thrown; `signal` is asked for at a pause first.
 */
export function runSliced<T>(
  start: (slice: Slice) => Sliced<T>,
  signal: () => AbortSignal | undefined = () => undefined,
): MaybePromise<T> {
  const slice: Slice = { left: crowd < CROWD ? FIRST_SLICE : LEAST_SLICE }
  const work = start(slice)
  const { done, value } = work.next()
  if (done) return value
  crowd += 1
  return runInTurns(work, slice, signal)
}

async function runInTurns<T>(
  work: Sliced<T>,
  slice: Slice,
  signalOf: () => AbortSignal | undefined,
): Promise<T> {
  const signal = signalOf()
  const me: Waiting = { had: 0, missed: 0 }
  try {
    for (;;) {
      standInLine(me)
      await waitForTurn(me, signal)
      slicesRun += 1
      me.had += 1
      slice.left = SLICE
      const { done, value } = work.next()
      if (done) return value
    }
  } finally {
    const place = waiting.indexOf(me)
    if (place >= 0) waiting.splice(place, 1)
    work.return(undefined as never)
  }
}

/** Settles when no other slice has run since the last turn and this work is the first in line; it is then taken out. */
async function waitForTurn(me: Waiting, signal: AbortSignal | undefined): Promise<void> {
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
 * Lets everything else that waits in the event loop come first. Where there is `setImmediate`, sockets come before it,
 * which a timer that is due already does not promise. Each work waits by itself: on workers the timer of one request does
 * not fire for another.
 */
const nextTurn = (): Promise<void> =>
  new Promise((resolve) => {
    if (soon) soon(resolve)
    else later(resolve, 0)
  })

// The runtime's own: a clock that somebody has put in its place, and holds, must not hold what is under way.
const { setImmediate: soon } = globalThis as { readonly setImmediate?: (run: () => void) => unknown }
const later = setTimeout
