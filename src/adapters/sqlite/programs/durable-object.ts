import type { StorageAdapter } from '../../../core/storage.js'
import { LIMITS } from './cloudflare-limits.js'
import { overSession } from './over-session.js'
import { createProgramAdapter } from './program-adapter.js'
import { isRead, type ProgramStatement } from './program-driver.js'

/** The storage of a Durable Object with SQLite: its `ctx.storage`. */
export interface DurableObjectSql {
  readonly sql: {
    exec(text: string, ...values: (string | number)[]): { toArray(): readonly object[] }
  }
  transactionSync<T>(work: () => T): T
}

/**
 * Creates an adapter that stores documents in the SQLite database of a Durable Object. The object is the only one that
 * writes to its storage, through one adapter. The Worker needs the flag `enable_request_signal`.
 *
 * @example
 * ```ts
 * const adapter = createDurableObjectAdapter(ctx.storage)
 * const service = createCollectionService(config, adapter)
 * ```
 */
export function createDurableObjectAdapter(storage: DurableObjectSql): StorageAdapter {
  // The cursor is always read to its end, because a rollback ends open cursors.
  const exec = ({ text, values }: ProgramStatement): readonly unknown[] =>
    storage.sql
      .exec(text, ...values)
      .toArray()
      .map(firstColumn)
  const driver = overSession({
    limits: LIMITS,
    run(statement) {
      const rows = exec(statement)
      return { rows, changes: isRead(statement) ? 0 : Number(exec(CHANGES)[0]) }
    },
    transact: (work) => storage.transactionSync(work),
  })
  return createProgramAdapter(driver)
}

/** The number of rows that the last statement changed. */
const CHANGES: ProgramStatement = { text: 'SELECT changes()', values: [] }

const firstColumn = (row: object): unknown => Object.values(row)[0]
