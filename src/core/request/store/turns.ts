import { type QueueCaller, textOf } from '../../fair-queue.js'
import { Line, MAX_PATIENCE } from './line.js'

/** The factor of a writer's pause to the time that the previous writers have lost to other processes. */
const COURTESY = 8

/** The most milliseconds of such a pause, on average. */
const MAX_PAUSE = 50

/** The deadline of a waiting writer. */
export interface TurnLimit {
  /** The caller, which is served in turn with others. */
  readonly caller?: QueueCaller | undefined
  /** Calls `listener` on timeout; returns a function that removes it. */
  onOver(listener: () => void): () => void
}

/**
 * Serializes the writers of one document in this process, once some have conflicted. Otherwise all but one of the
 * concurrent attempts would read and evaluate in vain, again and again. Turns do not affect correctness: slow writers
 * are not waited for, and only the storage detects conflicts.
 */
export class Turns {
  /** The queues by document. Empty without contention. */
  readonly lines = new Map<string, Line>()

  /** Those of some documents at which a writer has a turn. */
  findTaken(documents: readonly string[]): readonly string[] {
    return documents.filter((document) => this.lines.has(document))
  }

  /**
   * Resolves when the writer gets its turn, or on timeout: at the document with the longest queue, and at those others
   * that are free. So no writer keeps one document while waiting for another. Rejects with `overloaded` if too many
   * wait.
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

/** The turn of one writer at some documents. */
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

  /** Whether an attempt has taken so long that other writers would not wait for another one. */
  get isSlow(): boolean {
    return this.#isSlow
  }

  /** Whether the writer still has the turn at all of them. */
  get isWhole(): boolean {
    return this.#held().length === this.#documents.length
  }

  async begin({ caller }: Pick<TurnLimit, 'caller'>): Promise<void> {
    const [busiest] = this.#known().sort((a, b) => b.length - a.length)
    // Otherwise it is taken immediately: all writers that lost to the same one come in the same turn of the event loop.
    if (busiest) await busiest.enter(this, textOf(caller))
    for (const document of this.#documents) if (!this.#isOver) this.#takeIfFree(document)
    // A writer that just got its turn has tried least: concurrent writes of other processes are let through first.
    const lost = Math.max(0, ...this.#held().map((line) => line.lost))
    if (lost > 0) {
      await this.#pause(Math.min(MAX_PAUSE, COURTESY * lost) * (0.5 + Math.random()))
      for (const line of this.#held()) line.watch()
    }
  }

  /** Records how long an attempt took, and at which document it was lost, if it was. */
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

// Read at load time: a fake clock of a test must not stop these timers.
const [later, never] = [setTimeout, clearTimeout]
