import type { ChangePage, ChangeQuery, StorageAdapter, WriteStep } from '../../../storage.js'
import type { LogPlans } from '../../log/log-plans.js'
import { createNotifier } from '../../log/notifier.js'
import type { SqlDialect } from '../../sql/dialect.js'
import type { Connections } from '../connection/connections.js'
import type { DatabaseSession } from '../connection/session.js'
import { explain } from '../faults.js'
import { isLarge } from '../write/is-large.js'
import { createLogHead } from './head.js'
import { createReadChanges } from './read-changes.js'

/** The log of an adapter. */
export interface PostgresLog {
  readonly changes: NonNullable<StorageAdapter['changes']>
  /** Called after each recorded write. */
  noteWrite(steps: readonly WriteStep[]): void
  /** Waits for background work. */
  settle(): Promise<void>
}

/** Milliseconds between polls for the writes of other processes. */
const LOOK = 200

/** The number of steps after which positions are assigned and old changes dropped, even if no process reads the log. */
const UNREAD = 500

/** The weight of a write of large documents, in steps: such documents have at least about 64 KiB. */
const LARGE = 50

/** The most rounds in a row. */
const ROUNDS = 100

/** Creates the log of an adapter. */
export function createPostgresLog(
  dialect: SqlDialect,
  plans: LogPlans,
  use: Connections['use'],
): PostgresLog {
  const notifier = createNotifier(LOOK)
  const head = createLogHead(dialect, plans)
  const read = createReadChanges(dialect, use, head)
  let unread = 0
  let isAdvancing = false
  const advance = async ({ run }: DatabaseSession): Promise<void> => {
    for (let round = 0; round < ROUNDS; round += 1) if (!(await head.advance(run, false)).toDrop) return
  }
  let advancing: Promise<unknown> = Promise.resolve()

  const explained = async (after: string | null, query: ChangeQuery): Promise<ChangePage> => {
    try {
      return await read(after, query)
    } catch (thrown) {
      throw explain(thrown)
    }
  }
  return {
    changes: (after, query) =>
      notifier.readWhenNotified(
        () => explained(after, query),
        after === null ? { ...query, wait: 0 } : query,
      ),
    noteWrite(steps) {
      notifier.notify()
      unread += steps.length + (isLarge(steps) ? LARGE : 0)
      if (unread < UNREAD) return
      unread = 0
      // One run at a time, until it has caught up. The next write retries.
      if (isAdvancing) return
      isAdvancing = true
      advancing = use(advance, {})
        .catch(() => {})
        .then(() => {
          isAdvancing = false
        })
    },
    async settle() {
      await advancing
    },
  }
}
