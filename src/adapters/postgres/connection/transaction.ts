import type { RunStatement } from './session.js'

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
