import { ServiceError } from '../../errors.js'
import { FairQueue } from '../../fair-queue.js'

/** How long one whose turn it is is waited for: in attempts of those who are fast. */
const PATIENCE = 8

/** Bounds of that, in milliseconds. */
const MIN_PATIENCE = 100
export const MAX_PATIENCE = 250

/** After so many in succession who were too slow, some of those behind them try without a turn: each time one more. */
const MOST_SLOW = 4

/** The milliseconds of an attempt, before any has been seen. */
const COST = 10

/** How much longer attempts may take than the fastest of those before. */
const GROWTH = 1.05

/** How much what has just happened counts beside all before. */
const WEIGHT = 0.25

/** The milliseconds after which one who waits looks for itself: with a request some runtimes end its timers. */
const LOOK = 1000

/** Who writes a document; known by nothing but itself. */
type Writer = object

interface WaitingWriter {
  readonly writer: Writer
  readonly letIn: () => void
  readonly refuse: () => void
}

/** The most that wait for one document. */
export const MAX_WAITING = 1000

/** Those who write one document, in turn of their callers. */
export class Line {
  #holder: Writer
  readonly #waiting = new FairQueue<WaitingWriter>(MAX_WAITING)
  readonly #onEmpty: () => void
  #timer: ReturnType<typeof setTimeout> | undefined
  /** How often somebody has got the turn, or has used it. */
  #moves = 0
  /** How many in succession were passed over. */
  #slow = 0
  /** The milliseconds of an attempt of those who are fast. */
  #cost = COST
  /** How many attempts one whose turn it is loses, to others in other processes. */
  #losses = 0

  constructor(holder: Writer, onEmpty: () => void) {
    this.#holder = holder
    this.#onEmpty = onEmpty
  }

  /** How many wait. */
  get length(): number {
    return this.#waiting.length
  }

  isHeldBy(writer: Writer): boolean {
    return this.#holder === writer
  }

  /** The milliseconds that attempts have cost one whose turn it was, and that were lost to other processes. */
  get lost(): number {
    return this.#losses * this.#cost
  }

  /**
   * Resolves when it is the turn of a writer, or when that has left, or need not wait for more who are slow. Rejects with
   * `overloaded` where too many wait.
   */
  enter(writer: Writer, caller: string | undefined): Promise<void> {
    return new Promise((resolve, reject) => {
      let seen = this.#moves
      const looking = again(() => {
        if (this.#moves === seen) this.#passOver()
        seen = this.#moves
      }, LOOK)
      const letIn = (): void => {
        stop(looking)
        resolve()
      }
      const refuse = (): void => {
        stop(looking)
        reject(new ServiceError('overloaded', 'Too many writes of one document wait. Try again.'))
      }
      this.#waiting.add({ writer, letIn, refuse }, caller)?.refuse()
      if (this.#timer === undefined) this.watch()
    })
  }

  /** Lets a writer go, who has the turn or waits for it. */
  leave(writer: Writer): void {
    if (this.#holder === writer) {
      this.#slow = 0
      this.#giveOn()
    }
    for (const waiter of this.#waiting) {
      if (waiter.writer === writer && this.#waiting.delete(waiter)) waiter.letIn()
    }
  }

  /** Is told by a writer how long an attempt has taken, and whether it was lost here. */
  tell(writer: Writer, milliseconds: number, isLost: boolean): void {
    this.#cost = Math.min(milliseconds, GROWTH * this.#cost)
    if (this.#holder !== writer) return
    this.#moves += 1
    this.#losses = isLost ? this.#losses + WEIGHT : this.#losses * (1 - WEIGHT)
  }

  #giveOn(): void {
    this.#moves += 1
    const next = this.#waiting.take()
    if (next) {
      this.#holder = next.writer
      next.letIn()
    } else this.#onEmpty()
    this.watch()
  }

  /** Lets the one who comes next wait for what begins now, and no longer than it must. */
  watch(): void {
    never(this.#timer)
    this.#timer = undefined
    if (this.#waiting.length === 0) return
    const seen = this.#moves
    const patience = Math.min(MAX_PATIENCE, Math.max(MIN_PATIENCE, PATIENCE * this.#cost))
    this.#timer = later(() => {
      if (this.#moves === seen) this.#passOver()
      else this.watch()
    }, patience)
  }

  #passOver(): void {
    this.#slow += 1
    for (let i = MOST_SLOW; i < this.#slow; i++) this.#waiting.take()?.letIn()
    this.#giveOn()
  }
}

// Read at start: a fake clock of a test must not stop what others wait for.
const [later, never, again, stop] = [setTimeout, clearTimeout, setInterval, clearInterval]
