import { andFinally, whenFailed } from '../../../core/promises.js'
import { inSlices, Slices, stepsOfFirst } from '../../../core/slices.js'
import type { MaybePromise } from '../../../core/storage.js'
import { WaitingLine } from '../../../core/waiting-line.js'
import { unavailable } from '../faults.js'
import { type Connection, readDataVersion } from './connection.js'

/** The connection and the slices of a read, which sees one snapshot of the file. */
export class Seat {
  /** While the read is paused, it can be replaced with another connection. */
  connection: Connection
  readonly slices: Slices
  /** Closes the open iterator. The read continues at the same row with a new iterator. */
  leave: (() => void) | undefined
  #version: unknown
  #isOpen = false

  constructor(connection: Connection, slices: Slices) {
    this.connection = connection
    this.slices = slices
  }

  /** Runs a read in a transaction, so that it sees one snapshot. */
  run<T>(reading: SeatedRead<T>): MaybePromise<T> {
    this.#version = readDataVersion(this.connection)
    this.connection.run('BEGIN', [])
    this.#isOpen = true
    return andFinally(
      () => reading(this),
      () => this.end(),
    )
  }

  /**
   * Moves a paused read to another connection with the same snapshot. Returns false if the file has changed: the
   * snapshot is lost, and the read must start again.
   */
  moveTo(connection: Connection): boolean {
    const former = this.connection
    try {
      connection.run('BEGIN', [])
      // With this first read, the transaction takes its snapshot. Until then the former connection holds the old
      // snapshot.
      connection.first('SELECT 1 FROM sqlite_schema', [])
    } finally {
      this.end()
      this.connection = connection
      this.#isOpen = true
    }
    if (readDataVersion(former) === this.#version) return true
    this.end()
    return false
  }

  /** Ends the transaction, if it has not ended yet. */
  end(): void {
    this.leave?.()
    // An error in SQLite may already have ended the transaction.
    if (this.#isOpen && this.connection.isInTransaction) this.connection.run('ROLLBACK', [])
    this.#isOpen = false
  }
}

/** A read in slices. It must not wait for anything else than the next slice. */
export type SeatedRead<T> = (seat: Seat) => MaybePromise<T>

/** The options of a query that can be aborted. `signal` may be a getter that creates the signal on first use. */
export interface Abortable {
  readonly signal?: AbortSignal
  /** The caller, used as the key for fairness in queues. */
  readonly caller?: string | undefined
}

/** How a read leaves its first connection. */
interface Leaving {
  /** Moves the read to a free connection. Returns false if none is free, or if the snapshot is lost. */
  move(): boolean
  /** Waits for a connection, on which the read starts again. Always rejects. */
  wait(): Promise<never>
}

/**
 * The slices of a read that leaves its connection at its first pause. On another connection it continues immediately
 * with a first slice: most reads end in it, and hold no connection while others wait (`real.js`, search on SQLite).
 */
class FirstSlices extends Slices {
  #leaving: Leaving | undefined

  constructor(left: number, signal: () => AbortSignal, leaving: Leaving) {
    super(left, signal)
    this.#leaving = leaving
  }

  override extend(): boolean {
    if (!this.#leaving?.move()) return false
    this.#leaving = undefined
    this.left = stepsOfFirst()
    return true
  }

  override async next(): Promise<void> {
    if (!this.#leaving) return super.next()
    if (!this.extend()) await this.#leaving.wait()
  }
}

/** The maximum number of waiting reads. */
const MAX_WAITING = 1000

/** Thrown in a read that has lost its snapshot at its first pause. */
const LOST = Symbol('lost')

/** A pool of connections for long reads. */
export class Readers {
  readonly #all: readonly Connection[]
  readonly #free: Connection[]
  readonly #waiting = new WaitingLine<undefined, Connection>(MAX_WAITING, (aborted) =>
    aborted ? aborted.reason : unavailable(new Error('too many reads are already waiting for a connection')),
  )
  readonly #ending = new AbortController()
  #onFree: (() => void) | undefined

  constructor(all: readonly Connection[]) {
    this.#all = all
    this.#free = [...all]
  }

  /**
   * Reads immediately on the connection `short` if the read takes at most `steps`. Otherwise the read continues in
   * slices on a connection of the pool. It starts again only if it has to wait for one, fairly among callers. Rejects
   * if too many reads wait, or, with the signal's reason, if the signal aborts.
   */
  read<T>(
    { short, steps }: { readonly short: Connection; readonly steps: number },
    reading: SeatedRead<T>,
    query: Abortable,
  ): MaybePromise<T> {
    let own: Connection | undefined
    let ended: AbortSignal | undefined
    const signal = (): AbortSignal => {
      ended ??= AbortSignal.any([...(query.signal ? [query.signal] : []), this.#ending.signal])
      return ended
    }
    // Nothing else may use the connection `short` after a pause, so a read leaves it synchronously.
    const leaving: Leaving = {
      move: () => {
        // A read that has a connection and is not on it has lost its snapshot.
        if (own) return false
        own = this.#free.pop()
        return own !== undefined && seat.moveTo(own)
      },
      wait: async () => {
        seat.end()
        own ??= await this.#waiting.wait(undefined, query)
        throw LOST
      },
    }
    const seat = new Seat(short, new FirstSlices(steps, signal, leaving))
    const readAgain = (thrown: unknown): MaybePromise<T> => {
      const connection = own
      if (thrown !== LOST || !connection) throw thrown
      return inSlices((slices) => new Seat(connection, slices).run(reading), signal)
    }
    return andFinally(
      () => whenFailed(() => seat.run(reading), readAgain),
      () => this.#release(own),
    )
  }

  /** Closes all connections once they are free. If `reason` is given, aborts the current reads for this reason. */
  async close(reason?: unknown): Promise<void> {
    if (reason !== undefined) this.#ending.abort(reason)
    if (this.#free.length < this.#all.length) {
      await new Promise<void>((resolve) => {
        this.#onFree = resolve
      })
    }
    for (const connection of this.#all) connection.close()
  }

  #release(connection: Connection | undefined): void {
    if (!connection) return
    const next = this.#waiting.take()
    if (next) next.start(connection)
    else this.#free.push(connection)
    if (this.#free.length === this.#all.length) this.#onFree?.()
  }
}
