import { runSliced, type Slice, type Sliced } from '../../../slices.js'
import type { MaybePromise } from '../../../storage.js'
import { unavailable } from '../faults.js'
import { type Connection, openReader } from './connection.js'

/** A read on a connection, in slices. */
export type Reading<T> = (connection: Connection, slice: Slice) => Sliced<T>

/** The signal of a query, created when it is first needed. */
export interface Abortable {
  readonly signal?: AbortSignal
}

/** Connections for long reads; each read sees a snapshot of the file. */
export interface Readers {
  /**
   * Reads as soon as a connection is free. Rejects where too many wait, and with the signal's reason when it
   * aborts.
   */
  read<T>(reading: Reading<T>, query: Abortable): MaybePromise<T>
  /** Closes all connections once they are free; with a reason, ends with it what is read. */
  close(reason?: unknown): Promise<void>
}

/** The reads at a time. */
const CONNECTIONS = 4

/** The most reads that wait. */
const MAX_WAITING = 1000

/** Opens the connections for reading. */
export async function openReaders(file: string, cache: number): Promise<Readers> {
  const all: Connection[] = []
  try {
    for (let i = 0; i < CONNECTIONS; i++) all.push(await openReader(file, cache))
  } catch (thrown) {
    for (const connection of all) connection.close()
    throw thrown
  }
  const free = [...all]
  const waiting: ((connection: Connection) => void)[] = []
  let onFree: (() => void) | undefined
  const ending = new AbortController()

  const release = (connection: Connection): void => {
    const next = waiting.shift()
    if (next) next(connection)
    else free.push(connection)
    if (free.length === all.length) onFree?.()
  }
  const use = <T>(connection: Connection, reading: Reading<T>, query: Abortable): MaybePromise<T> => {
    let result: MaybePromise<T> | undefined
    try {
      result = runSliced(
        (slice) => reading(connection, slice),
        () => (query.signal ? AbortSignal.any([query.signal, ending.signal]) : ending.signal),
      )
    } finally {
      if (!(result instanceof Promise)) release(connection)
    }
    return result instanceof Promise ? result.finally(() => release(connection)) : result
  }
  const wait = (signal: AbortSignal | undefined): Promise<Connection> =>
    new Promise((resolve, reject) => {
      const take = (connection: Connection): void => {
        signal?.removeEventListener('abort', giveUp)
        resolve(connection)
      }
      const giveUp = (): void => {
        waiting.splice(waiting.indexOf(take), 1)
        reject(signal?.reason)
      }
      if (signal?.aborted) reject(signal.reason)
      else if (waiting.length >= MAX_WAITING) reject(unavailable(new Error('too many readings wait')))
      else {
        signal?.addEventListener('abort', giveUp, { once: true })
        waiting.push(take)
      }
    })
  return {
    read(reading, query) {
      const connection = free.pop()
      if (connection) return use(connection, reading, query)
      return wait(query.signal).then((freed) => use(freed, reading, query))
    },
    async close(reason) {
      if (reason !== undefined) ending.abort(reason)
      if (free.length < all.length) {
        await new Promise<void>((resolve) => {
          onFree = resolve
        })
      }
      for (const connection of all) connection.close()
    },
  }
}
