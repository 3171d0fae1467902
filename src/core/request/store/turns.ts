import { ServiceError } from '../../errors.js'
import { type QueueCaller, textOf } from '../../fair-queue.js'
import { WaitingLine } from '../../waiting-line.js'

/**
 * The pause of a writer before its turn, as a multiple of the time that previous writers have lost to other processes.
 */
const COURTESY = 8

/** The upper bound of this pause, in milliseconds, before a random factor (1 on average) is applied. */
const MAX_PAUSE = 50

/** The caller and the deadline of a waiting writer. */
export interface TurnLimit {
  /** The caller. The queue serves callers in turn. */
  readonly caller?: QueueCaller | undefined
  /** Calls `listener` on timeout; returns a function that removes the listener. */
  onOver(listener: () => void): () => void
}

/** The timeout of a turn, as a multiple of the time that a fast attempt takes. */
const PATIENCE = 8

/** The lower and the upper bound of this timeout, in milliseconds. */
const MIN_PATIENCE = 100
const MAX_PATIENCE = 250

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

/** The maximum number of writers that wait for one document. */
export const MAX_WAITING = 1000

/** The queue of the writers of one document, which serves their callers in turn. */
export class Line {
  #holder: Writer
  readonly #waiting = new WaitingLine<Writer>(MAX_WAITING, overloaded)
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
  async enter(writer: Writer, caller: string | undefined): Promise<void> {
    let seen = this.#moves
    const looking = again(() => {
      if (this.#moves === seen) this.#passOver()
      seen = this.#moves
    }, LOOK)
    const waiting = this.#waiting.wait(writer, { caller })
    if (this.#timer === undefined) this.watch()
    await waiting.finally(() => stop(looking))
  }

  /** Removes a writer that has the turn or waits for it. */
  leave(writer: Writer): void {
    if (this.#holder === writer) {
      this.#slow = 0
      this.#giveOn()
    }
    for (const waiter of this.#waiting)
      if (waiter.about === writer && this.#waiting.delete(waiter)) waiter.start()
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
      this.#holder = next.about
      next.start()
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
    for (let i = MOST_SLOW; i < this.#slow; i++) this.#waiting.take()?.start()
    this.#giveOn()
  }
}

const overloaded = (): ServiceError =>
  new ServiceError('overloaded', 'Too many writes of the same document are waiting. Try again.')

// Read at load time, so that a fake clock in a test does not stop these timers.
const [later, never, again, stop] = [setTimeout, clearTimeout, setInterval, clearInterval]

/**
 * Makes the writers of a document in this process wait in a queue once some of them have conflicted. Otherwise, all but
 * one of the concurrent attempts would be in vain, again and again. Turns only save work: a slow writer loses its turn,
 * and the storage alone detects conflicts.
 */
export class Turns {
  /** The queues by document. Empty while no writers conflict. */
  readonly lines = new Map<string, Line>()

  /** Returns the documents for which some writer has the turn. */
  findTaken(documents: readonly string[]): readonly string[] {
    return documents.filter((document) => this.lines.has(document))
  }

  /**
   * Resolves when the writer gets its turn, or on timeout. It waits only for the document with the longest queue, and
   * then takes the turn for the other documents if they are free, so that no writer blocks one document while it waits
   * for another. Rejects with `overloaded` if too many writers wait.
   */
  async take(documents: Iterable<string>, ending: TurnLimit): Promise<Turn> {
    const turn = new Turn(this.lines, [...documents].sort())
    const stop = ending.onOver(() => turn.end())
    try {
      await turn.begin(ending)
    } finally {
      stop()
    }
    return turn
  }
}

/** The turn of one writer for some documents. */
export class Turn {
  readonly #lines: Map<string, Line>
  readonly #documents: readonly string[]
  #isOver = false
  #isSlow = false
  #wake = (): void => {}

  constructor(lines: Map<string, Line>, documents: readonly string[]) {
    this.#lines = lines
    this.#documents = documents
  }

  /** Whether an attempt took so long that other writers would not wait for a second one. */
  get isSlow(): boolean {
    return this.#isSlow
  }

  /** Whether the writer still has the turn for all of its documents. */
  get isWhole(): boolean {
    return this.#held().length === this.#documents.length
  }

  async begin({ caller }: Pick<TurnLimit, 'caller'>): Promise<void> {
    const [busiest] = this.#known().sort((a, b) => b.length - a.length)
    // If no queue exists yet, the writer takes the turn without waiting: writers that lost to the same write arrive
    // in the same iteration of the event loop, and the first of them creates the queue.
    if (busiest) await busiest.enter(this, textOf(caller))
    for (const document of this.#documents) if (!this.#isOver) this.#takeIfFree(document)
    // If previous attempts were lost to other processes, the writer pauses to let the writes of those processes pass.
    const lost = Math.max(0, ...this.#held().map((line) => line.lost))
    if (lost > 0) {
      await this.#pause(Math.min(MAX_PAUSE, COURTESY * lost) * (0.5 + Math.random()))
      for (const line of this.#held()) line.watch()
    }
  }

  /** Records how long an attempt took, and for which document it lost to a concurrent write, if it did. */
  tell(milliseconds: number, lostAt: string | undefined): void {
    this.#isSlow ||= milliseconds > MAX_PATIENCE
    const lost = lostAt === undefined ? undefined : this.#lines.get(lostAt)
    for (const line of this.#known()) line.tell(this, milliseconds, line === lost)
  }

  end(): void {
    this.#isOver = true
    for (const line of this.#known()) line.leave(this)
    this.#wake()
  }

  #takeIfFree(document: string): void {
    if (this.#lines.has(document)) return
    this.#lines.set(document, new Line(this, () => this.#lines.delete(document)))
  }

  #held(): readonly Line[] {
    return this.#known().filter((line) => line.isHeldBy(this))
  }

  #known(): Line[] {
    return this.#documents.flatMap((document) => this.#lines.get(document) ?? [])
  }

  #pause(milliseconds: number): Promise<void> {
    return new Promise((resolve) => {
      const timer = later(resolve, milliseconds)
      this.#wake = () => {
        never(timer)
        resolve()
      }
    })
  }
}
