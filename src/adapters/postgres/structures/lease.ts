import { randomUUID } from 'node:crypto'
import { quoteName, STRUCTURES } from '../../sql/dialect.js'
import type { RunStatement } from '../connection/session.js'
import { BOUND_IDLE, inTransaction } from '../connection/transaction.js'
import { isUndefined } from '../faults.js'
import type { DatabaseSchema } from './place.js'

/**
 * Who may build indexes. It is a row that the others look at from time to time: a process that waits for a lock keeps a
 * snapshot, for which a building of an index waits in turn.
 */
export interface Lease {
  /** Takes it, or keeps it. False while another has it, or what another has begun goes on. */
  take(run: RunStatement): Promise<boolean>
  giveBack(run: RunStatement): Promise<void>
}

/** For how long it lasts beside the building itself, which the server tells of. */
const LASTS = '15 seconds'

/** Begins what creates structures: each statement sees what others have created before it, also where the default of the server is stricter. */
export const BEGIN_STRUCTURES = `BEGIN ISOLATION LEVEL READ COMMITTED; ${BOUND_IDLE}`

/** Waits until nobody else creates structures without a lease; ends with the transaction. */
export const lockStructures = (run: RunStatement, { schema }: DatabaseSchema): Promise<unknown> =>
  run('SELECT pg_advisory_xact_lock(hashtextextended($1, 0))', [`collection-service ${schema}`])

/** Creates a lease of the place. */
export function createLease(place: DatabaseSchema): Lease {
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
