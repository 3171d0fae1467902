import { withinGrace } from './cancel.js'
import type { PostgresClient, PostgresPool } from './pool.js'
import { ignore, toRows } from './session.js'

/** The milliseconds between two looks at what goes on. */
const LOOK = 1000

/** Keeps the connection of work that outlasts its caller. */
export interface KeepAlive {
  /** Waits until a write that was given up has ended. Returns false where nobody can say that it goes on. */
  wait(client: PostgresClient, writing: Promise<unknown>): Promise<boolean>
  /** Whether the server is busy with what a client has sent; `undefined` where nobody can say. */
  goesOn(client: PostgresClient): Promise<boolean | undefined>
  /** Waits for nothing any more, and asks nothing more. Resolves when the question under way is over. */
  stop(): Promise<unknown>
}

/**
 * Waits as long as the server says that a write goes on, as one that waits for a standby: if its connection was closed,
 * the server would keep it nevertheless, and each further write would need another. A connection of which the server knows
 * nothing is dead, or of another server.
 */
export function createKeepAlive(pool: PostgresPool): KeepAlive {
  // One at a time: where all connections are held, the first that is dropped makes room for this question.
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
  // A pooler in between gives processes numbers of its own, which the server does not know.
  return found && Number(found.own) === processOf(other) ? false : undefined
}

// Read at start: a fake clock of a test must not stop what others wait for.
const later = setTimeout
