import type { RunStatement } from './connections.js'

/**
 * Runs `work` in a transaction that `begin` opens, and commits where `isKept` says so; in every other case, a failing
 * `begin` among them, it is rolled back, so that the connection is free for others. A connection on which even that
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
