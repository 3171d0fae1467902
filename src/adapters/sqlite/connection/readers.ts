import { FairQueue } from '../../../core/fair-queue.js'
import { runSliced, type Slice, type Sliced } from '../../../core/slices.js'
import type { MaybePromise } from '../../../core/storage.js'
import { unavailable } from '../faults.js'
import { type Connection, openReader } from './connection.js'

/** A read on a connection, done in slices. */
export type SlicedRead<T> = (connection: Connection, slice: Slice) => Sliced<T>

/** The options of a query that can be aborted. `signal` may be a getter that creates the signal on first use. */
export interface Abortable {
  readonly signal?: AbortSignal
  /** The caller, used as the key for fairness in queues. */
  readonly caller?: string | undefined
}

/** A read that waits for a free connection. */
interface QueuedRead {
  start(connection: Connection): void
  refuse(reason: unknown): void
}

/** A pool of connections for long reads. Each read sees a snapshot of the file. */
export interface Readers {
  /**
   * Starts the read as soon as a connection is free, fairly among callers. Rejects if too many reads wait, or, with the
   * signal's reason, if the signal aborts.
   */
  read<T>(reading: SlicedRead<T>, query: Abortable): MaybePromise<T>
  /** Closes all connections once they are free. If `reason` is given, aborts the current reads for this reason. */
  close(reason?: unknown): Promise<void>
}

/** The maximum number of simultaneous long reads. */
const CONNECTIONS = 4

/** The maximum number of waiting reads. */
const MAX_WAITING = 1000

/** Opens a pool of connections for long reads. */
export async function openReaders(file: string, cache: number): Promise<Readers> {
  const all: Connection[] = []
  try {
    for (let i = 0; i < CONNECTIONS; i++) all.push(await openReader(file, cache))
  } catch (thrown) {
    for (const connection of all) connection.close()
    throw thrown
  }
  return new OpenReaders(all)
}

class OpenReaders implements Readers {
  readonly #all: readonly Connection[]
  readonly #free: Connection[]
  readonly #waiting = new FairQueue<QueuedRead>(MAX_WAITING)
  readonly #ending = new AbortController()
  #onFree: (() => void) | undefined

  constructor(all: readonly Connection[]) {
    this.#all = all
    this.#free = [...all]
  }

  read<T>(reading: SlicedRead<T>, query: Abortable): MaybePromise<T> {
    const connection = this.#free.pop()
    if (connection) return this.#use(connection, reading, query)
    return waitIn(this.#waiting, query).then((freed) => this.#use(freed, reading, query))
  }

  async close(reason?: unknown): Promise<void> {
    if (reason !== undefined) this.#ending.abort(reason)
    if (this.#free.length < this.#all.length) {
      await new Promise<void>((resolve) => {
        this.#onFree = resolve
      })
    }
    for (const connection of this.#all) connection.close()
  }

  #use<T>(connection: Connection, reading: SlicedRead<T>, query: Abortable): MaybePromise<T> {
    const ending = this.#ending.signal
    let result: MaybePromise<T> | undefined
    try {
      result = runSliced(
        (slice) => reading(connection, slice),
        () => (query.signal ? AbortSignal.any([query.signal, ending]) : ending),
      )
    } finally {
      if (!(result instanceof Promise)) this.#release(connection)
    }
    return result instanceof Promise ? result.finally(() => this.#release(connection)) : result
  }

  #release(connection: Connection): void {
    const next = this.#waiting.take()
    if (next) next.start(connection)
    else this.#free.push(connection)
    if (this.#free.length === this.#all.length) this.#onFree?.()
  }
}

const waitIn = (waiting: FairQueue<QueuedRead>, { signal, caller }: Abortable): Promise<Connection> =>
  new Promise((resolve, reject) => {
    const entry: QueuedRead = {
      start(connection) {
        signal?.removeEventListener('abort', giveUp)
        resolve(connection)
      },
      refuse(reason) {
        signal?.removeEventListener('abort', giveUp)
        reject(reason)
      },
    }
    const giveUp = (): void => {
      waiting.delete(entry)
      entry.refuse(signal?.reason)
    }
    if (signal?.aborted) return reject(signal.reason)
    signal?.addEventListener('abort', giveUp, { once: true })
    waiting
      .add(entry, caller)
      ?.refuse(unavailable(new Error('too many reads are already waiting for a connection')))
  })
