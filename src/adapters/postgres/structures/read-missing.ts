import { explainRecorded } from '../../sql/create-structures.js'
import { UnusableStorage } from '../../sql/faults.js'
import { lacking, type Structure } from '../../sql/structures.js'
import { namesOf, type Recorded } from '../../sql/warn-of-left.js'
import type { RunStatement } from '../connection/session.js'
import { isNamedElements, markOf, TRIGGERS } from '../elements.js'
import { isUndefined } from '../faults.js'
import { type DatabaseSchema, tableOf } from './place.js'

/** The wanted structures that are missing, or whose index is invalid; all if there is no schema. */
export const readMissing = async (
  run: RunStatement,
  place: DatabaseSchema,
  wanted: readonly Structure[],
): Promise<readonly Structure[]> => lacking(wanted, namesOf(await readRecorded(run, place, wanted)))

/**
 * All existing structures, without invalid indexes; none if there is no schema. Rejects if this role may not read the
 * table of a wanted one.
 */
export async function readRecorded(
  run: RunStatement,
  place: DatabaseSchema,
  wanted: readonly Structure[],
): Promise<readonly Recorded[]> {
  try {
    return await readRows(run, place, wanted)
  } catch (thrown) {
    if (!isUndefined(thrown)) throw explainRecorded(place.engine, thrown)
    return []
  }
}

async function readRows(
  run: RunStatement,
  place: DatabaseSchema,
  wanted: readonly Structure[],
): Promise<readonly Recorded[]> {
  const placed = placedIn(place)
  const isOfElements = isNamedElements('name')
  const table = `CASE WHEN ${isOfElements} THEN name ELSE collection END`
  const isValid = `CASE WHEN ${isOfElements} THEN ${writeAreKept(place, 'name', 'collection')} ELSE (SELECT indisvalid FROM pg_index WHERE indexrelid = ${placed('name')}) END`
  // For a table that was dropped by hand, the privilege is NULL.
  const { rows } = await run(
    `SELECT name, collection, bound, has_table_privilege(${placed(table)}, 'SELECT')::text AS "mayRead", current_setting('server_encoding') AS encoding, (${isValid})::text AS "isValid" FROM ${tableOf(place)}`,
  )
  for (const { name, collection, mayRead, encoding } of rows) {
    if (encoding !== 'UTF8') throw wrongEncoding(encoding)
    if (mayRead === 'false' && wanted.some((one) => one.name === name))
      throw new UnusableStorage(
        `this role may not read the table of ${collection} in the schema ${place.schema}; its owner grants it SELECT, INSERT, UPDATE and DELETE on all tables there`,
      )
  }
  return rows.flatMap(({ name, collection, bound, isValid }) =>
    isValid === 'false' ? [] : [{ name: String(name), collection: String(collection), bound: String(bound) }],
  )
}

const placedIn =
  ({ schema }: DatabaseSchema) =>
  (name: string): string =>
    `to_regclass(quote_ident('${schema}') || '.' || quote_ident(${name}))`

/** The SQL condition that a table of elements exists, and its triggers are enabled. */
function writeAreKept(place: DatabaseSchema, name: string, collection: string): string {
  const placed = placedIn(place)
  const triggers = `SELECT count(*) = ${TRIGGERS} FROM pg_trigger WHERE tgrelid = ${placed(collection)} AND tgenabled IN ('O', 'A') AND starts_with(tgname::text, ${name} || '_${markOf(place.schema)}_')`
  return `${placed(name)} IS NOT NULL AND (${triggers})`
}

/** Whether a table of elements exists, and its triggers are enabled. */
export async function areKept(
  run: RunStatement,
  place: DatabaseSchema,
  { name, collection }: Structure,
): Promise<boolean> {
  const text = `SELECT (${writeAreKept(place, '$1::text', '$2::text')})::text AS "areKept"`
  const [found] = (await run(text, [name, collection])).rows
  return found?.areKept === 'true'
}

/** The error of a database in another encoding. */
export const wrongEncoding = (encoding: unknown): Error =>
  new UnusableStorage(
    `the database is in ${encoding}, not in UTF8, so texts would be in another order; create one with ENCODING 'UTF8'`,
  )
