import { type QueueCaller, textOf } from '../../fair-queue.js'
import { Line, MAX_PATIENCE } from './line.js'

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

// Read at load time, so that a fake clock in a test does not stop these timers.
const [later, never] = [setTimeout, clearTimeout]
