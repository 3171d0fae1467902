import type { Value } from '../../sql/dialect.js'
import { classify, explain, isLost, isRepeatable, isUnprepared, unavailable } from '../faults.js'
import { createLane, MAX_WAITING, overloaded } from './lane.js'
import type { PoolSource, PostgresClient } from './pool.js'
import { createPreparedStatements } from './prepared.js'

/** The result of a statement. */
export interface Rows {
  readonly rows: readonly { readonly [column: string]: unknown }[]
  readonly rowCount: number
}

/** Runs one statement on a connection. */
export type RunStatement = (text: string, values?: readonly (Value | null)[]) => Promise<Rows>

/** How work uses a connection. */
export interface Use {
  /** When it aborts, the statement is cancelled and the connection released. */
  readonly signal: AbortSignal | undefined
  /** Long work shares half of the connections, so that it never blocks short work. */
  readonly mayBeLong?: boolean
}

/** The connections to one database. */
export interface Connections {
  /** Runs `work` on a connection of its own. */
  use<T>(work: (run: RunStatement) => Promise<T>, how: Use): Promise<T>
  close(): Promise<void>
}

/** Milliseconds between two attempts to cancel a statement. */
const CANCEL_PAUSE = 50

/** Milliseconds after which a connection is dropped if its statement could not be cancelled. */
const GRACE = 1000

/** The connections of a pool with no known size: the default of `pg`. */
const DEFAULT_SIZE = 10

/** Creates the connections of a pool. */
export function createConnections(source: PoolSource): Connections {
  const long = createLane(Math.max(1, Math.floor((source.pool.options?.max ?? DEFAULT_SIZE) / 2)))
  const prepared = createPreparedStatements()
  if (!source.isOwn) prepared.stop()

  /** Runs statements on a client; `onLost` is called when the client can no longer be used. */
  const runOn =
    (client: PostgresClient, onLost: () => void): RunStatement =>
    async (text, values = []) => {
      // A text of several statements has no values and cannot be prepared.
      const name = values.length > 0 ? prepared.nameOf(client, text) : undefined
      const query = { text, ...(values.length > 0 ? { values: [...values] } : {}), ...(name ? { name } : {}) }
      try {
        return toRows(await client.query(query))
      } catch (cause) {
        const thrown = classify(cause)
        if (isLost(thrown)) onLost()
        // A pooler in between does not keep prepared statements.
        if (isUnprepared(thrown)) prepared.stop()
        throw thrown
      }
    }

  const connect = async (signal: AbortSignal | undefined): Promise<PostgresClient> => {
    if (source.pool.waitingCount >= MAX_WAITING) throw overloaded()
    const connecting = source.pool.connect().catch((thrown: unknown) => {
      throw classify(thrown)
    })
    try {
      return await orAborted(connecting, signal)
    } catch (thrown) {
      // A client that comes too late is released for others.
      connecting.then(
        (client) => client.release(),
        () => {},
      )
      throw explain(thrown)
    }
  }

  /**
   * Cancels the statement of a client over another connection; there may be none until clients that hang are
   * dropped.
   */
  const cancel = async (client: PostgresClient): Promise<void> => {
    const { processID } = client as { readonly processID?: number }
    if (processID === undefined) return
    const other = await source.pool.connect()
    other.on('error', ignore)
    const query = { text: 'SELECT pg_cancel_backend($1)', values: [processID] }
    const isDone = await withinGrace(other.query(query).then(() => true)).catch(() => false)
    other.removeListener('error', ignore)
    other.release(isDone !== true)
  }

  /**
   * Cancels work until it has ended, because a cancellation that arrives before its statement has no effect.
   * Returns whether all has ended in time: a late cancellation could hit the next user of the connection.
   */
  const cancelWork = async (client: PostgresClient, working: Promise<unknown>): Promise<boolean> => {
    let isOver = false
    const over = (): void => {
      isOver = true
    }
    const ended = working.then(over, over)
    const cancelAll = async (): Promise<true> => {
      while (!isOver) {
        await cancel(client).catch(ignore)
        await Promise.race([ended, new Promise((resolve) => setTimeout(resolve, CANCEL_PAUSE))])
      }
      return true
    }
    const hasEnded = await withinGrace(cancelAll())
    over()
    return hasEnded === true
  }

  return {
    async use(work, { signal, mayBeLong = false }) {
      if (mayBeLong) await long.enter(signal)
      const leave = mayBeLong ? long.leave : ignore
      const client = await connect(signal).catch((thrown: unknown) => {
        leave()
        throw thrown
      })
      client.on('error', ignore)
      let isUsable = true
      const done = (): void => {
        client.removeListener('error', ignore)
        client.release(!isUsable || prepared.isFull(client))
        leave()
      }
      const lose = (): void => {
        isUsable = false
      }
      const working = work(runOn(client, lose))
      try {
        const result = await orAborted(working, signal)
        done()
        return result
      } catch (thrown) {
        if (signal?.aborted) {
          void cancelWork(client, working).then((hasEnded) => {
            if (!hasEnded) lose()
            done()
          })
        } else done()
        throw thrown
      }
    },
    close: source.end,
  }
}

/** A lost connection makes its statement fail; without a listener it would also end the process. */
const ignore = (): void => {}

/** The value of a promise, or `undefined` when it takes too long. */
async function withinGrace<T>(promise: Promise<T>): Promise<T | undefined> {
  let timer: ReturnType<typeof setTimeout> | undefined
  const late = new Promise<undefined>((resolve) => {
    timer = setTimeout(() => resolve(undefined), GRACE)
  })
  return Promise.race([promise, late]).finally(() => clearTimeout(timer))
}

function toRows(result: unknown): Rows {
  const { rows, rowCount } = result as { readonly rows?: Rows['rows']; readonly rowCount?: number | null }
  return { rows: rows ?? [], rowCount: rowCount ?? 0 }
}

/** The value of a promise, or a rejection as soon as the signal aborts. */
function orAborted<T>(promise: Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  if (!signal) return promise
  return new Promise((resolve, reject) => {
    const abort = (): void => reject(unavailable(signal.reason))
    if (signal.aborted) abort()
    else signal.addEventListener('abort', abort, { once: true })
    const settled = (): void => signal.removeEventListener('abort', abort)
    promise.then(
      (value) => {
        settled()
        resolve(value)
      },
      (thrown: unknown) => {
        settled()
        reject(thrown)
      },
    )
  })
}

/**
 * The most attempts after losing against another transaction, and the longest pause before one, in
 * milliseconds.
 */
const MAX_RETRIES = 3
const PAUSE = 50

/** Runs `attempt` again, a limited number of times, while it loses against other transactions. */
export async function retry<T>(attempt: () => Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  for (let retries = 0; ; retries++) {
    try {
      return await attempt()
    } catch (thrown) {
      if (!isRepeatable(thrown) || retries >= MAX_RETRIES || signal?.aborted) throw thrown
      await new Promise((resolve) => setTimeout(resolve, Math.random() * PAUSE * (retries + 1)))
    }
  }
}
