import { ServiceError } from '../../errors.js'
import { FairQueue } from '../../fair-queue.js'

/** The timeout of a turn, as a multiple of the time that a fast attempt takes. */
const PATIENCE = 8

/** The lower and the upper bound of this timeout, in milliseconds. */
const MIN_PATIENCE = 100
export const MAX_PATIENCE = 250

/**
 * The number of slow writers in succession after which each further one lets waiting writers try without a turn: the
 * first lets in one, the second lets in two, and so on.
 */
const MOST_SLOW = 4

/** The assumed milliseconds of an attempt before any attempt was measured. */
const COST = 10

/** The factor by which the cost of an attempt may grow per measurement. */
const GROWTH = 1.05

/** The weight of the last attempt in the average of lost attempts. */
const WEIGHT = 0.25

/**
 * The interval, in milliseconds, at which each waiting writer checks for progress with a timer of its own. The timeout
 * of a turn is not enough, because some runtimes end a request's timers together with the request.
 */
const LOOK = 1000

/** A writer of a document, compared by identity. */
type Writer = object

interface WaitingWriter {
  readonly writer: Writer
  readonly letIn: () => void
  readonly refuse: () => void
}

/** The maximum number of writers that wait for one document. */
export const MAX_WAITING = 1000

/** The queue of the writers of one document, which serves their callers in turn. */
export class Line {
  #holder: Writer
  readonly #waiting = new FairQueue<WaitingWriter>(MAX_WAITING)
  readonly #onEmpty: () => void
  #timer: ReturnType<typeof setTimeout> | undefined
  /** The number of times that the turn was passed on, or used for an attempt. */
  #moves = 0
  /** The number of slow writers in succession whose turn was taken away. */
  #slow = 0
  /** The milliseconds that a fast attempt takes. */
  #cost = COST
  /** The average number of attempts that the holder of the turn loses to other processes. */
  #losses = 0

  constructor(holder: Writer, onEmpty: () => void) {
    this.#holder = holder
    this.#onEmpty = onEmpty
  }

  /** The number of waiting writers. */
  get length(): number {
    return this.#waiting.length
  }

  isHeldBy(writer: Writer): boolean {
    return this.#holder === writer
  }

  /** The time, in milliseconds, of the attempts that the holder of the turn has lost to other processes. */
  get lost(): number {
    return this.#losses * this.#cost
  }

  /**
   * Resolves when it is the turn of a writer, when the writer has left the queue, or when it should try without a turn
   * because too many writers before it were slow. Rejects with `overloaded` if too many writers wait.
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
        reject(new ServiceError('overloaded', 'Too many writes of the same document are waiting. Try again.'))
      }
      this.#waiting.add({ writer, letIn, refuse }, caller)?.refuse()
      if (this.#timer === undefined) this.watch()
    })
  }

  /** Removes a writer that has the turn or waits for it. */
  leave(writer: Writer): void {
    if (this.#holder === writer) {
      this.#slow = 0
      this.#giveOn()
    }
    for (const waiter of this.#waiting) {
      if (waiter.writer === writer && this.#waiting.delete(waiter)) waiter.letIn()
    }
  }

  /**
   * Records how long an attempt of a writer took, and whether it failed because another process changed this document
   * first.
   */
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

  /** Starts the timeout after which the turn passes to the next writer. */
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

// Read at load time, so that a fake clock in a test does not stop these timers.
const [later, never, again, stop] = [setTimeout, clearTimeout, setInterval, clearInterval]
