import { type QueueCaller, textOf } from '../../fair-queue.js'
import { Line, MAX_PATIENCE } from './line.js'

/** How long one pauses for what those before have lost to other processes: so many times as long as they did. */
const COURTESY = 8

/** The most milliseconds of such a pause, on average. */
const MAX_PAUSE = 50

/** The deadline of who waits. */
export interface TurnLimit {
  /** The caller, who is served in turn with others. */
  readonly caller?: QueueCaller | undefined
  /** Calls `listener` when the time is over; returns a function that stops that. */
  onOver(listener: () => void): () => void
}

/**
 * Lets those in this process who write one document come one after another, once some have come upon each other. Otherwise
 * all but one of those who try at once would have read and judged for nothing, again and again. It decides on nothing: who
 * is slow is not waited for, and the storage alone says what has changed.
 */
export class Turns {
  /** By document. Where none is contended there are none. */
  readonly lines = new Map<string, Line>()

  /** Those of some documents at which somebody has a turn. */
  findTaken(documents: readonly string[]): readonly string[] {
    return documents.filter((document) => this.lines.has(document))
  }

  /**
   * Resolves when it is one's turn, or the time is over: at the document for which most wait, and at those others for which
   * nobody does. So nobody keeps one document while waiting for another. Rejects with `overloaded` where too many wait.
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

/** One's turn at some documents. */
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

  /** Whether an attempt has taken so long that nobody would wait for another one. */
  get isSlow(): boolean {
    return this.#isSlow
  }

  /** Whether it still is one's turn at all of them. */
  get isWhole(): boolean {
    return this.#held().length === this.#documents.length
  }

  async begin({ caller }: Pick<TurnLimit, 'caller'>): Promise<void> {
    const [busiest] = this.#known().sort((a, b) => b.length - a.length)
    // Otherwise it is taken at once: all who have lost to the same one come in the same turn of the event loop.
    if (busiest) await busiest.enter(this, textOf(caller))
    for (const document of this.#documents) if (!this.#isOver) this.#takeIfFree(document)
    // Who has just got a turn has tried least: others who keep coming in between are let through first.
    const lost = Math.max(0, ...this.#held().map((line) => line.lost))
    if (lost > 0) {
      await this.#pause(Math.min(MAX_PAUSE, COURTESY * lost) * (0.5 + Math.random()))
      for (const line of this.#held()) line.watch()
    }
  }

  /** Says how long an attempt has taken, and at which document it was lost, if it was. */
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

// Read at start: a fake clock of a test must not stop what others wait for.
const [later, never] = [setTimeout, clearTimeout]
