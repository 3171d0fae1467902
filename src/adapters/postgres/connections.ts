import { ServiceError } from '../../errors.js'
import type { Scalar } from '../../filter/filter.js'
import { classify, explain, isLost, isRepeatable, isUnprepared, unavailable } from './faults.js'
import type { PoolSource, PostgresClient } from './pool.js'

/** What a statement gave. */
export interface Rows {
  readonly rows: readonly { readonly [column: string]: unknown }[]
  readonly rowCount: number
}

/** Runs one statement on a connection. */
export type RunStatement = (text: string, values?: readonly (Scalar | null)[]) => Promise<Rows>

/** The connections to one database. */
export interface Connections {
  /** Runs `work` on a connection of its own. A signal that aborts cancels its statement and gives the connection up. */
  use<T>(work: (run: RunStatement) => Promise<T>, signal: AbortSignal | undefined): Promise<T>
  /** The same for work whose results come one by one: the connection is held until they end. */
  stream<T>(
    work: (run: RunStatement) => AsyncIterable<T>,
    signal: AbortSignal | undefined,
  ): AsyncGenerator<T, void, undefined>
  close(): Promise<void>
}

/** Requests that wait for a connection at most; one more is told at once that it is too many. */
const MAX_WAITING = 256

/** Statements that connections keep prepared. */
const MAX_PREPARED = 200

/** Milliseconds after which a connection whose statement could not be cancelled is given up. */
const GRACE = 1000

export function createConnections(source: PoolSource): Connections {
  const names = new Map<string, string>()
  let isPreparing = source.isOwn

  /** The name under which a connection prepares a statement; none where there are many already. */
  const nameOf = (text: string): { readonly name?: string } => {
    if (!isPreparing) return {}
    const known = names.get(text)
    if (known !== undefined) return { name: known }
    if (names.size >= MAX_PREPARED) return {}
    const name = `collection_service_${names.size}`
    names.set(text, name)
    return { name }
  }

  const runOn =
    (client: PostgresClient): RunStatement =>
    async (text, values = []) => {
      const query = async (name: { readonly name?: string }): Promise<Rows> => {
        try {
          // Several statements at once name no values.
          return toRows(
            await client.query(values.length > 0 ? { text, values: [...values], ...name } : { text }),
          )
        } catch (thrown) {
          throw classify(thrown)
        }
      }
      try {
        return await query(nameOf(text))
      } catch (thrown) {
        // Nothing has been done: a pooler between us and the server forgot what was prepared.
        if (!isUnprepared(thrown) || !isPreparing) throw thrown
        isPreparing = false
        return query({})
      }
    }

  const connect = async (signal: AbortSignal | undefined): Promise<PostgresClient> => {
    if (source.pool.waitingCount >= MAX_WAITING)
      throw new ServiceError('overloaded', 'Too many requests wait for the database.')
    const connecting = source.pool.connect().catch((thrown: unknown) => {
      throw classify(thrown)
    })
    try {
      return await orAborted(connecting, signal)
    } catch (thrown) {
      // Who comes too late is of use to others.
      connecting.then(
        (client) => client.release(),
        () => {},
      )
      throw explain(thrown)
    }
  }

  const cancel = async (client: PostgresClient): Promise<void> => {
    const { processID } = client as { readonly processID?: number }
    if (processID === undefined) return
    const other = await source.pool.connect()
    other.on('error', ignore)
    const query = { text: 'SELECT pg_cancel_backend($1)', values: [processID] }
    // A network that swallows everything must not keep this connection too.
    const isInTime = await withinGrace(other.query(query).then(() => true)).catch(() => false)
    other.removeListener('error', ignore)
    other.release(isInTime !== true)
  }

  const hold = async (
    signal: AbortSignal | undefined,
  ): Promise<{ readonly client: PostgresClient; readonly done: (isBroken: boolean) => void }> => {
    const client = await connect(signal)
    client.on('error', ignore)
    const done = (isBroken: boolean): void => {
      client.removeListener('error', ignore)
      client.release(isBroken)
    }
    return { client, done }
  }

  return {
    async use(work, signal) {
      const { client, done } = await hold(signal)
      const working = work(runOn(client))
      try {
        const result = await orAborted(working, signal)
        done(false)
        return result
      } catch (thrown) {
        if (signal?.aborted) void giveUp(working, () => cancel(client), done)
        else done(isLost(thrown))
        throw thrown
      }
    },
    async *stream(work, signal) {
      const { client, done } = await hold(signal)
      let cancelled: Promise<void> | undefined
      let isBroken = false
      const abort = (): void => {
        cancelled = cancel(client).catch(() => {})
      }
      signal?.addEventListener('abort', abort, { once: true })
      try {
        for await (const result of work(runOn(client))) {
          if (signal?.aborted) throw unavailable(signal.reason)
          yield result
        }
      } catch (thrown) {
        isBroken = isLost(thrown)
        throw thrown
      } finally {
        signal?.removeEventListener('abort', abort)
        // A cancellation still under way could hit whoever has the connection next.
        await cancelled
        done(isBroken)
      }
    },
    close: source.end,
  }
}

/** What happens to a connection shows in its statement; without a listener it would end the process. */
const ignore = (): void => {}

/** What a promise gives, or `undefined` when it takes too long. */
async function withinGrace<T>(promise: Promise<T>): Promise<T | undefined> {
  let timer: ReturnType<typeof setTimeout> | undefined
  const late = new Promise<undefined>((resolve) => {
    timer = setTimeout(() => resolve(undefined), GRACE)
  })
  return Promise.race([promise, late]).finally(() => clearTimeout(timer))
}

/** Cancels a statement that nobody waits for. Its connection is used again only if it ended in time. */
async function giveUp(
  working: Promise<unknown>,
  cancel: () => Promise<void>,
  done: (isBroken: boolean) => void,
): Promise<void> {
  const ended = working.then(
    () => false,
    (thrown: unknown) => isLost(thrown),
  )
  const cancelled = cancel().catch(() => {})
  // A cancellation still under way could hit whoever has the connection next.
  const both = Promise.all([ended, cancelled]).then(([isBroken]) => isBroken)
  done((await withinGrace(both)) ?? true)
}

function toRows(result: unknown): Rows {
  const { rows, rowCount } = result as { readonly rows?: Rows['rows']; readonly rowCount?: number | null }
  return { rows: rows ?? [], rowCount: rowCount ?? 0 }
}

/** What a promise gives, or a rejection as soon as the signal aborts. */
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

/** How often what lost against another transaction is tried again, and the longest pause before, in milliseconds. */
const MAX_RETRIES = 3
const PAUSE = 50

/** Runs `attempt` again, a bounded number of times, while it loses against other transactions. */
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
