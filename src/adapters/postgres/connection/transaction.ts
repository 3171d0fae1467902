import type { RunStatement } from './session.js'

/**
 * Limits how long the server waits for the next statement of a transaction that holds locks, so that the locks of a
 * stopped process are released (CONTRACT.md §10, "Cancelling").
 */
export const BOUND_IDLE = `SET LOCAL idle_in_transaction_session_timeout = '20s'`

/** Limits how long a statement of a transaction that holds locks may take. */
export const BOUND_STATEMENT = `SET LOCAL statement_timeout = '60s'`

/** The statements that end a transaction. */
export const COMMIT = 'COMMIT'
export const ROLLBACK = 'ROLLBACK'

/** Whether a statement begins a transaction. */
export const isBegin = (text: string): boolean => text.startsWith('BEGIN')

/**
 * Runs `work` in a transaction that `begin` opens, and commits if `isKept` returns true. In all other cases it rolls
 * back, even if `begin` fails or the COMMIT is not sent, so that the connection is free again. A connection whose
 * rollback fails is not used again.
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
    if (isKept(result)) {
      await run(COMMIT)
      return result
    }
  } catch (thrown) {
    await run(ROLLBACK).catch(() => {})
    throw thrown
  }
  await run(ROLLBACK)
  return result
}
