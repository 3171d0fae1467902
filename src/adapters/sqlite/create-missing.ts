import { runAtOnce } from '../../slices.js'
import type { CollectionPlan } from '../../storage.js'
import { createStructures, explainRecorded } from '../sql/create-structures.js'
import { quoteName, STRUCTURES } from '../sql/dialect.js'
import { lacking, lapseLogging, structuresOf } from '../sql/structures.js'
import { namesOf, type Recorded, warnOfLeft } from '../sql/warn-of-left.js'
import type { Connection } from './connection/connection.js'
import { drive } from './connection/drive.js'
import { sqliteDialect } from './sqlite-dialect.js'
import { sqliteEngine } from './sqlite-engine.js'
import { formerNameOf, IS_TABLE, tableNameOf } from './table-names.js'

const TABLE = sqliteDialect.structures.table

/**
 * Creates the missing tables and indexes of the plans, and ends logs that the plans do not want, all or none. Checks
 * first without a lock. Returns the names of all existing structures.
 */
export function createMissing(
  connection: Connection,
  plans: readonly CollectionPlan[],
): ReadonlySet<unknown> {
  const wanted = structuresOf(plans, sqliteDialect)
  const recorded = readRecorded(connection)
  warnOfLeft(wanted, recorded)
  const present = namesOf(recorded)
  const isWhole = lacking(wanted, present).length === 0 && renamed(connection, plans).length === 0
  if (isWhole && lapseLogging(plans, present, sqliteDialect).length === 0) return present
  connection.execute('BEGIN IMMEDIATE')
  try {
    connection.execute(
      `CREATE TABLE IF NOT EXISTS ${TABLE} (name TEXT NOT NULL PRIMARY KEY, collection TEXT NOT NULL, bound TEXT NOT NULL)`,
    )
    for (const statement of renamed(connection, plans)) connection.execute(statement)
    const present = namesOf(readRecorded(connection))
    for (const statement of lapseLogging(plans, present, sqliteDialect)) connection.execute(statement)
    const missing = lacking(wanted, present)
    runAtOnce((slice) => drive(connection, createStructures(sqliteEngine, missing), slice))
    connection.execute('COMMIT')
    return new Set([...present, ...missing.map(({ name }) => name)])
  } catch (thrown) {
    if (connection.isInTransaction) connection.execute('ROLLBACK')
    throw thrown
  }
}

/** The statements that rename tables with names of earlier versions. */
const renamed = (connection: Connection, plans: readonly CollectionPlan[]): readonly string[] =>
  plans.flatMap(({ name }) => {
    const [former, now] = [formerNameOf(name), tableNameOf(name)]
    const isThere = former !== now && connection.first(IS_TABLE, [former]) === 1
    return isThere ? [`ALTER TABLE ${quoteName(former)} RENAME TO ${quoteName(now)}`] : []
  })

function readRecorded(connection: Connection): readonly Recorded[] {
  const isThere = connection.first('SELECT count(*) FROM sqlite_schema WHERE name = ?', [STRUCTURES]) === 1
  if (!isThere) return []
  const text = `SELECT json_object('name', name, 'collection', collection, 'bound', bound) FROM ${TABLE}`
  try {
    return connection.all(text, []).map((row) => JSON.parse(String(row)) as Recorded)
  } catch (thrown) {
    throw explainRecorded(sqliteEngine, thrown)
  }
}
