import { withinGrace } from './cancel.js'
import type { PostgresClient, PostgresPool } from './pool.js'
import { ignore, toRows } from './session.js'

/** Milliseconds between checks of running work. */
const LOOK = 1000

/** Keeps the connections of work that outlasts its caller. */
export interface KeepAlive {
  /** Waits until a write that was given up has ended. Returns false once the server does not report it as running. */
  wait(client: PostgresClient, writing: Promise<unknown>): Promise<boolean>
  /** Whether the server is busy with a client's statement; `undefined` if that cannot be observed. */
  goesOn(client: PostgresClient): Promise<boolean | undefined>
  /** Ends all waits and sends no more queries. Resolves when the query under way is over. */
  stop(): Promise<unknown>
}

/**
 * Waits as long as the server reports that a write is running, for example while it waits for a standby: the server
 * would keep the process even if its connection was closed, and each further write would need another. A connection
 * unknown to the server is dead, or belongs to another server.
 */
export function createKeepAlive(pool: PostgresPool): KeepAlive {
  // Checks run one at a time: if all connections are in use, the first one that is dropped makes room for the next
  // check.
  let turn: Promise<unknown> = Promise.resolve()
  const inTurn = <T>(look: () => Promise<T>): Promise<T> => {
    const looking = turn.then(look)
    turn = looking
    return looking
  }
  const stopping = new AbortController()
  const stopped = new Promise<void>((resolve) => {
    stopping.signal.addEventListener('abort', () => resolve(), { once: true })
  })
  const look = async (client: PostgresClient): Promise<boolean | undefined> => {
    const process = processOf(client)
    if (typeof process !== 'number' || stopping.signal.aborted) return undefined
    return withinGrace(ask(pool, process, stopping.signal).catch(() => undefined))
  }
  return {
    async wait(client, writing) {
      let isOver = false
      const over = (): void => {
        isOver = true
      }
      const ended = writing.then(over, over)
      const hasMore = async (): Promise<boolean> =>
        !stopping.signal.aborted && (isOver || (await look(client)) === true)
      do await Promise.race([ended, stopped, new Promise((resolve) => later(resolve, LOOK).unref())])
      while (!isOver && (await inTurn(hasMore)))
      return isOver
    },
    goesOn: (client) => inTurn(() => look(client)),
    stop() {
      stopping.abort()
      return turn
    },
  }
}

const processOf = (client: PostgresClient): number | null | undefined =>
  (client as { readonly processID?: number | null }).processID

async function ask(pool: PostgresPool, process: number, stopped: AbortSignal): Promise<boolean | undefined> {
  const other = await pool.connect()
  if (stopped.aborted) {
    other.release()
    return undefined
  }
  other.on('error', ignore)
  const text = `SELECT count(*) AS total, pg_backend_pid() AS own FROM pg_stat_activity WHERE pid = $1 AND state IS DISTINCT FROM 'idle'`
  const answer = await withinGrace(other.query({ text, values: [process] })).catch(() => undefined)
  other.removeListener('error', ignore)
  other.release(answer === undefined)
  const [found] = toRows(answer).rows
  if (Number(found?.total) === 1) return true
  // A pooler reports process numbers of its own, which the server does not know.
  return found && Number(found.own) === processOf(other) ? false : undefined
}

// Captured on load: the fake timers of a test must not stop this module.
const later = setTimeout
