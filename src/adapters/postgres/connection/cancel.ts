import type { PostgresClient, PostgresPool } from './pool.js'
import { ignore } from './session.js'

/** Milliseconds between two attempts to cancel a statement. */
const CANCEL_PAUSE = 50

/** Milliseconds after which a connection is dropped if its statement could not be cancelled. */
const GRACE = 1000

/**
 * Cancels work on a client until it has ended, because a cancellation that arrives before its statement has
 * no effect. Returns whether all has ended in time: a late cancellation could hit the next user of the
 * connection.
 */
export async function cancelWork(
  pool: PostgresPool,
  client: PostgresClient,
  working: Promise<unknown>,
): Promise<boolean> {
  let isOver = false
  const over = (): void => {
    isOver = true
  }
  const ended = working.then(over, over)
  const cancelAll = async (): Promise<true> => {
    while (!isOver) {
      await cancel(pool, client).catch(ignore)
      await Promise.race([ended, new Promise((resolve) => setTimeout(resolve, CANCEL_PAUSE))])
    }
    return true
  }
  const hasEnded = await withinGrace(cancelAll())
  over()
  return hasEnded === true
}

/**
 * Cancels the statement of a client over another connection; there may be none until clients that hang are
 * dropped.
 */
async function cancel(pool: PostgresPool, client: PostgresClient): Promise<void> {
  const { processID } = client as { readonly processID?: number }
  if (processID === undefined) return
  const other = await pool.connect()
  other.on('error', ignore)
  const query = { text: 'SELECT pg_cancel_backend($1)', values: [processID] }
  const isDone = await withinGrace(other.query(query).then(() => true)).catch(() => false)
  other.removeListener('error', ignore)
  other.release(isDone !== true)
}

/** The value of a promise, or `undefined` when it takes too long. */
async function withinGrace<T>(promise: Promise<T>): Promise<T | undefined> {
  let timer: ReturnType<typeof setTimeout> | undefined
  const late = new Promise<undefined>((resolve) => {
    timer = setTimeout(() => resolve(undefined), GRACE)
  })
  return Promise.race([promise, late]).finally(() => clearTimeout(timer))
}
