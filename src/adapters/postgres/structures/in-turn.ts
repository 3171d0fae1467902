import { randomUUID } from 'node:crypto'
import { quoteName, STRUCTURES } from '../../sql/dialect.js'
import type { Connections } from '../connection/connections.js'
import type { RunStatement } from '../connection/session.js'
import { BOUND_IDLE, inTransaction } from '../connection/transaction.js'
import { isUndefined } from '../faults.js'
import type { DatabaseSchema } from './place.js'

/**
 * The right of one process to build indexes. It is a row that other processes poll. A process that waited for a lock
 * instead would hold a snapshot, and the index build would wait for that snapshot.
 */
interface Lease {
  /** Takes or renews the lease. Returns false while another process holds it or is still building an index. */
  take(run: RunStatement): Promise<boolean>
  giveBack(run: RunStatement): Promise<void>
}

/** How long the lease lasts. It does not expire while the server reports a running index build. */
const LASTS = '15 seconds'

/**
 * Begins a transaction that creates structures. It sets the isolation level, because with a stricter default of the
 * server, a statement would not see structures that were created after the transaction began.
 */
export const BEGIN_STRUCTURES = `BEGIN ISOLATION LEVEL READ COMMITTED; ${BOUND_IDLE}`

/** Takes the lock for creating structures without a lease. The end of the transaction releases it. */
export const lockStructures = (run: RunStatement, { schema }: DatabaseSchema): Promise<unknown> =>
  run('SELECT pg_advisory_xact_lock(hashtextextended($1, 0))', [`collection-service ${schema}`])

function createLease(place: DatabaseSchema): Lease {
  const holder = randomUUID()
  const table = `${quoteName(place.schema)}.${quoteName(`${STRUCTURES}_lease`)}`
  const building = `SELECT FROM pg_stat_progress_create_index AS building JOIN pg_class AS indexed ON indexed.oid = building.relid WHERE building.datname = current_database() AND indexed.relnamespace = to_regnamespace($2)`
  const take = `UPDATE ${table} SET holder = $1, until = clock_timestamp() + interval '${LASTS}' WHERE holder = $1 OR (until < clock_timestamp() AND NOT EXISTS (${building}))`
  const create = (run: RunStatement): Promise<void> =>
    inTransaction(run, BEGIN_STRUCTURES, async () => {
      await lockStructures(run, place)
      await run(`CREATE TABLE IF NOT EXISTS ${table} (holder text NOT NULL, until timestamptz NOT NULL)`)
      await run(`INSERT INTO ${table} SELECT '', '-infinity' WHERE NOT EXISTS (SELECT FROM ${table})`)
    })
  const tryTake = async (run: RunStatement): Promise<boolean> =>
    (await run(take, [holder, quoteName(place.schema)])).rowCount === 1
  return {
    async take(run) {
      try {
        return await tryTake(run)
      } catch (thrown) {
        if (!isUndefined(thrown)) throw thrown
      }
      await create(run)
      return tryTake(run)
    },
    async giveBack(run) {
      await run(`UPDATE ${table} SET until = '-infinity' WHERE holder = $1`, [holder])
    },
  }
}

/** Milliseconds between checks while another process holds the lease. */
const LOOK = 200

/** Work that creates or drops structures. */
export type StructureWork = (run: RunStatement) => Promise<void>

/**
 * Runs the work that `findNext` finds, again and again until it finds none. One process at a time runs such work,
 * while other processes write documents. Resolves when no work is left, even if another process has done it.
 */
export async function workInTurn(
  use: Connections['use'],
  place: DatabaseSchema,
  findNext: (run: RunStatement) => Promise<StructureWork | undefined>,
): Promise<void> {
  const lease = createLease(place)
  let isHeld = false
  try {
    for (;;) {
      const next = await use(({ run }) => findNext(run), {})
      if (!next) return
      const wasHeld = isHeld
      isHeld = await use(({ run }) => lease.take(run), {})
      // The work is run only if it was found while this process held the lease. Otherwise another process may have
      // done it.
      if (isHeld && wasHeld) await use(({ run }) => next(run), {}, { mayBeLong: true, mayKeepAlive: true })
      else if (!isHeld) await new Promise((resolve) => later(resolve, LOOK))
    }
  } finally {
    // If returning the lease fails, the lease expires.
    if (isHeld) await use(({ run }) => lease.giveBack(run), {}).catch(() => {})
  }
}

// Captured when this module loads, so that the fake timers of a test do not stop it.
const later = setTimeout
