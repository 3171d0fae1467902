/** The milliseconds for which an attempt keeps others waiting: what is slow holds up nobody for long. */
const PATIENCE = 250

/** How long one pauses for each attempt that those in other processes have cost, in attempts. */
const COURTESY = 8

/** The most milliseconds of such a pause, on average. */
const MAX_PAUSE = 100

/** How much what has just happened counts beside all before. */
const WEIGHT = 0.25

/** Those who write one document. */
interface Line {
  /** Who has the turn. */
  holder: object
  /** Who comes next, in the order in which they came. */
  readonly waiting: (() => void)[]
  /** How many attempts one whose turn it is loses, to others in other processes. */
  losses: number
  /** The milliseconds of an attempt. */
  cost: number
}

/**
 * Lets those in this process who write one document come one after another, once some have come upon each other. Otherwise
 * all but one of those who try at once would have read and judged for nothing, again and again. It decides on nothing: who
 * is slow loses its turn, and the storage alone says what has changed.
 */
export class Turns {
  /** By document. Where none is contended there are none. */
  readonly lines = new Map<string, Line>()

  /** The first of some documents at which somebody has a turn. */
  findTaken(documents: readonly (string | undefined)[]): string | undefined {
    return documents.find((document) => document !== undefined && this.lines.has(document))
  }

  /** Resolves when it is one's turn at all of some documents. They are taken in one order by all. */
  async take(documents: Iterable<string>): Promise<Turn> {
    const turn = new Turn(this, [...documents].sort())
    await turn.begin()
    return turn
  }

  /** Gets into the line of a document; resolves at its head. */
  enter(document: string, holder: object): Promise<void> | undefined {
    const line = this.lines.get(document)
    if (!line) {
      this.lines.set(document, { holder, waiting: [], losses: 0, cost: 0 })
      return undefined
    }
    return new Promise((resolve) => {
      line.waiting.push(() => {
        line.holder = holder
        resolve()
      })
    })
  }

  leave(document: string, holder: object): void {
    const line = this.lines.get(document)
    if (line?.holder !== holder) return
    const next = line.waiting.shift()
    if (next) next()
    else this.lines.delete(document)
  }
}

/** One's turn at some documents. */
export class Turn {
  readonly #turns: Turns
  readonly #documents: readonly string[]
  #patience: ReturnType<typeof setTimeout> | undefined

  constructor(turns: Turns, documents: readonly string[]) {
    this.#turns = turns
    this.#documents = documents
  }

  async begin(): Promise<void> {
    for (const document of this.#documents) await this.#turns.enter(document, this)
    // Who has just got a turn has tried least: others who keep coming in between are let through first.
    const pause = Math.max(...this.#lines().map(({ losses, cost }) => COURTESY * losses * cost))
    if (pause > 0) await sleep(Math.min(MAX_PAUSE, pause) * (0.5 + Math.random()))
    this.#wait()
  }

  /** Says how long an attempt has taken, and whether it was lost. */
  tell(milliseconds: number, isLost: boolean): void {
    for (const line of this.#lines()) {
      line.cost = milliseconds
      line.losses = isLost ? line.losses + WEIGHT : line.losses * (1 - WEIGHT)
    }
    this.#wait()
  }

  end(): void {
    clearTimeout(this.#patience)
    for (const document of this.#documents) this.#turns.leave(document, this)
  }

  /** Waits anew for an attempt. */
  #wait(): void {
    clearTimeout(this.#patience)
    this.#patience = later(() => this.end(), PATIENCE)
  }

  /** Those at whose head it still is. */
  #lines(): readonly Line[] {
    return this.#documents.flatMap((document) => {
      const line = this.#turns.lines.get(document)
      return line?.holder === this ? [line] : []
    })
  }
}

// Read at start: a fake clock of a test must not stop what others wait for.
const later = setTimeout

const sleep = (milliseconds: number): Promise<void> =>
  new Promise((resolve) => void later(resolve, milliseconds))
