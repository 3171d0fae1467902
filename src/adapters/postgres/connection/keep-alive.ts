import type { PostgresClient, PostgresPool } from './pool.js'
import { ignore, toRows } from './session.js'
import { GRACE, pause, within } from './timers.js'

/** Milliseconds between two checks of a write that was given up. */
const LOOK = 1000

/** Counts the processes of the server that are busy with a statement of a client. */
const BUSY = `SELECT count(*) AS total, pg_backend_pid() AS own FROM pg_stat_activity WHERE pid = $1 AND state IS DISTINCT FROM 'idle'`

const processOf = (client: PostgresClient): number | null | undefined =>
  (client as { readonly processID?: number | null }).processID

/**
 * Decides how long to keep the connection of work whose caller no longer waits: as long as the server reports a write
 * as running, for example because the write waits for a standby. If the connection were closed, the server would still
 * keep its process, and each further write would need another process. If the server does not know the connection, the
 * connection is dead or leads to another server.
 */
export class KeepAlive {
  readonly #pool: PostgresPool
  /**
   * The last check. Checks run one at a time: if all connections are in use, the first connection that is dropped makes
   * room for the next check.
   */
  #last: Promise<unknown> = Promise.resolve()
  #isStopped = false
  #stop = ignore
  readonly #stopped = new Promise<void>((resolve) => {
    this.#stop = resolve
  })

  constructor(pool: PostgresPool) {
    this.#pool = pool
  }

  /**
   * Waits until a write that was given up has ended, and returns true. Returns false if the server no longer reports
   * the write as running.
   */
  async wait(client: PostgresClient, writing: Promise<unknown>): Promise<boolean> {
    let isOver = false
    const over = (): void => {
      isOver = true
    }
    const ended = writing.then(over, over)
    do await Promise.race([ended, this.#stopped, pause(LOOK)])
    while (!isOver && (await this.#look(client, () => isOver)) === true)
    return isOver
  }

  /** Whether the server is still busy with a client's statement; `undefined` if the service cannot find out. */
  goesOn(client: PostgresClient): Promise<boolean | undefined> {
    return this.#look(client, () => false)
  }

  /** Ends all waits and sends no more queries. Resolves when the running query has ended. */
  stop(): Promise<unknown> {
    this.#isStopped = true
    this.#stop()
    return this.#last
  }

  #look(client: PostgresClient, isOver: () => boolean): Promise<boolean | undefined> {
    const look = async (): Promise<boolean | undefined> => {
      if (isOver()) return true
      const process = processOf(client)
      if (typeof process !== 'number' || this.#isStopped) return undefined
      return within(
        GRACE,
        this.#ask(process).catch(() => undefined),
      )
    }
    const looking = this.#last.then(look)
    this.#last = looking
    return looking
  }

  async #ask(process: number): Promise<boolean | undefined> {
    const other = await this.#pool.connect()
    if (this.#isStopped) {
      other.release()
      return undefined
    }
    other.on('error', ignore)
    const answer = await within(GRACE, other.query({ text: BUSY, values: [process] })).catch(() => undefined)
    other.removeListener('error', ignore)
    other.release(answer === undefined)
    const [found] = toRows(answer).rows
    if (Number(found?.total) === 1) return true
    // A pooler reports its own process numbers, which the server does not know.
    return found && Number(found.own) === processOf(other) ? false : undefined
  }
}
