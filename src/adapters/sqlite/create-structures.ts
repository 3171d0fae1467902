import type { FieldRef } from '../../filter/filter.js'
import type { CollectionPlan } from '../../storage.js'
import { quoteName } from '../sql/dialect.js'
import { notUnique, STRUCTURES, type Structure, structuresOf } from '../sql/structures.js'
import type { Connection } from './connection/connection.js'
import { isTaken } from './faults.js'
import { sqliteDialect } from './sqlite-dialect.js'

const TABLE = quoteName(STRUCTURES)

/** Creates what is missing of the tables and indexes that plans ask for, all of it or nothing. Asks first, without a lock. */
export function createStructures(connection: Connection, plans: readonly CollectionPlan[]): void {
  const wanted = structuresOf(plans, sqliteDialect)
  if (findMissing(connection, wanted).length === 0) return
  connection.execute('BEGIN IMMEDIATE')
  try {
    connection.execute(
      `CREATE TABLE IF NOT EXISTS ${TABLE} (name TEXT NOT NULL PRIMARY KEY, collection TEXT NOT NULL, bound TEXT NOT NULL)`,
    )
    for (const structure of findMissing(connection, wanted)) create(connection, structure)
    connection.execute('COMMIT')
  } catch (thrown) {
    if (connection.isInTransaction) connection.execute('ROLLBACK')
    throw thrown
  }
}

function findMissing(connection: Connection, wanted: readonly Structure[]): readonly Structure[] {
  const isThere = connection.first('SELECT count(*) FROM sqlite_schema WHERE name = ?', [STRUCTURES]) === 1
  const known = new Set(isThere ? connection.all(`SELECT name FROM ${TABLE}`, []) : [])
  return wanted.filter(({ name }) => !known.has(name))
}

function create(connection: Connection, structure: Structure): void {
  const { name, collection, unique, sql } = structure
  try {
    connection.execute(sql)
  } catch (thrown) {
    throw isTaken(thrown) ? notUnique(structure) : thrown
  }
  const bound = JSON.stringify(unique)
  connection.run(`INSERT INTO ${TABLE} (name, collection, bound) VALUES (?, ?, ?)`, [name, collection, bound])
}

/** The fields of every unique index of a collection, whoever asked for it, in the order of their creation. */
export const readUniqueFields = (
  connection: Connection,
  collection: string,
): readonly (readonly FieldRef[])[] =>
  connection
    .all(`SELECT bound FROM ${TABLE} WHERE collection = ? AND bound <> 'null' ORDER BY rowid`, [collection])
    .map((bound) => JSON.parse(String(bound)) as readonly FieldRef[])
