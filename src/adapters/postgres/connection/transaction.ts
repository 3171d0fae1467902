import type { RunStatement } from './session.js'

/**
 * Bounds how long the server waits for the next statement of a transaction that holds locks: a process that is stopped in
 * the middle keeps them no longer (CONTRACT.md §10, "Cancelling").
 */
export const BOUND_IDLE = `SET LOCAL idle_in_transaction_session_timeout = '20s'`

/** Bounds how long a statement of a transaction that holds locks may take. */
export const BOUND_STATEMENT = `SET LOCAL statement_timeout = '60s'`

/** Whether a statement ends a transaction. */
export const isEnd = (text: string): boolean => text === 'COMMIT' || text === 'ROLLBACK'

/**
 * Runs `work` in a transaction that `begin` opens, and commits where `isKept` is true. In every other case,
 * also if `begin` fails, it rolls back, so that the connection is free. A connection on which the rollback
 * fails is not used again.
 */
export async function inTransaction<T>(
  run: RunStatement,
  begin: string,
  work: () => Promise<T>,
  isKept: (result: T) => boolean = () => true,
): Promise<T> {
  let result: T
  try {
    await run(begin)
    result = await work()
  } catch (thrown) {
    await run('ROLLBACK').catch(() => {})
    throw thrown
  }
  await run(isKept(result) ? 'COMMIT' : 'ROLLBACK')
  return result
}
