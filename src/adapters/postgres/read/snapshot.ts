import { afterId } from '../../../core/filter/after-id.js'
import type { Listed, Snapshot } from '../../../core/storage.js'
import type { SqlEngine } from '../../sql/engine.js'
import type { Connections } from '../connection/lease.js'
import type { DatabaseSession } from '../connection/session.js'
import { inTransaction } from '../connection/transaction.js'
import { explain, explained } from '../faults.js'
import { createReads } from './reads.js'

const BEGIN = 'BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY'

/** The reader of the snapshot, such as a pipe, may take long between two reads. */
const PATIENT = 'SET LOCAL idle_in_transaction_session_timeout = 0'

/** Opens a snapshot: a transaction that keeps one connection until the snapshot is closed. It blocks no writes. */
export async function openSnapshot(engine: SqlEngine, use: Connections['use']): Promise<Snapshot> {
  const { dialect } = engine
  const { session, close } = await holdSession(use)
  const { list } = createReads({
    engine,
    use: (work) => work(session),
    isOpen: () => true,
    isFullOfLong: () => false,
    indexesOf: () => [],
  })
  // A statement on a missing table would end the transaction.
  const hasTable = async (table: string): Promise<boolean> => {
    const [[found] = []] = await session.readRows('SELECT to_regclass($1::text)::text', [table])
    return typeof found === 'string'
  }
  const readNames = async (): Promise<readonly string[]> => {
    const { table, owner } = dialect.structures
    if (!(await hasTable(table))) return []
    const rows = await session.readRows(`SELECT DISTINCT ${owner()} FROM ${table}`, [])
    return rows.map(([name]) => String(name))
  }
  const readNext = async (collection: string, after: string): Promise<Listed> =>
    (await hasTable(dialect.table(collection))) ? list(collection, afterId(after)) : []
  return {
    collections: () => explained(readNames()),
    next: (collection, after) => explained(readNext(collection, after)),
    close,
  }
}

/** A session in a transaction. */
interface HeldSession {
  readonly session: DatabaseSession
  close(): Promise<void>
}

/** Opens a transaction, which sees one moment, and holds its connection until it is closed. */
async function holdSession(use: Connections['use']): Promise<HeldSession> {
  let held: DatabaseSession | undefined
  let end = (): void => {}
  const closing = new Promise<void>((resolve) => {
    end = resolve
  })
  const hold =
    (onOpen: (session: DatabaseSession) => void) =>
    async (session: DatabaseSession): Promise<void> => {
      // After a lost connection, another transaction would see another moment.
      if (held) return
      const work = async (): Promise<void> => {
        await session.run(PATIENT)
        // The transaction takes its snapshot with its first read.
        await session.run('SELECT 1')
        held = session
        onOpen(session)
        await closing
      }
      await inTransaction(session.run, BEGIN, work, () => false)
    }
  let ended: Promise<unknown> = closing
  const session = await new Promise<DatabaseSession>((resolve, reject) => {
    // After `resolve`, the error of a lost connection rejects the next read instead.
    ended = use(hold(resolve), {}, { mayBeLong: true }).catch((thrown: unknown) => reject(explain(thrown)))
  })
  return {
    session,
    async close() {
      end()
      await ended
    },
  }
}
