import { createHash } from 'node:crypto'
import { STRUCTURES } from '../sql/dialect.js'
import { tableNameOf } from '../sql/table-names.js'
import type { RunStatement } from './connection/session.js'

/** The names in a schema. A schema keeps its layout for ever, whichever versions use it. */
export interface Layout {
  /**
   * The column of the table of structures with the collection of a structure. Its name is what records the layout.
   * Versions that do not know the layout select their own column when they open the schema, and therefore fail.
   */
  readonly owner: string
  readonly tableNameOf: (collection: string) => string
}

/** The maximum length of a name in PostgreSQL, in bytes. */
const MAX_NAME = 63

/** Replaces the end of a name that is too long with a digest. */
const shorten = (name: string): string =>
  name.length <= MAX_NAME
    ? name
    : `${name.slice(0, 46)}~${createHash('sha256').update(name).digest('hex').slice(0, 16)}`

/** The columns of the table of a collection. */
const COLUMNS = ['_id', 'document']

/** The layout of new schemas. */
export const LAYOUT: Layout = {
  owner: 'of_collection',
  tableNameOf: (collection) => shorten(tableNameOf(collection)),
}

/** The layout of schemas that version 0.2 or an earlier version created. */
const FORMER: Layout = { owner: 'collection', tableNameOf: (collection) => collection }

/** The layout of a schema, and whether the schema records it. */
interface FoundLayout {
  readonly layout: Layout
  readonly isRecorded: boolean
}

/**
 * Reads the layout of a schema. If none is recorded, the layout is that of new schemas, unless there is a table of one
 * of the collections in the former layout: its record is lost, and opening the schema reports this.
 */
export async function readLayout(
  run: RunStatement,
  schema: string,
  collections: readonly string[],
): Promise<FoundLayout> {
  // Reads the tables of the catalog, because looking up a name may use a cache from before the wait for a lock.
  const { rows } = await run(
    `SELECT relname::text AS table, attname::text AS column FROM pg_catalog.pg_attribute
JOIN pg_catalog.pg_class ON pg_class.oid = attrelid JOIN pg_catalog.pg_namespace ON pg_namespace.oid = relnamespace
WHERE nspname = $1::text AND relname = ANY ($2::text[]) AND attname = ANY ($3::text[])`,
    [schema, [STRUCTURES, ...collections], [LAYOUT.owner, FORMER.owner, ...COLUMNS]],
  )
  const has = (name: string, columns: readonly string[]): boolean =>
    columns.every((column) => rows.some((row) => row.table === name && row.column === column))
  const recorded = [LAYOUT, FORMER].find(({ owner }) => has(STRUCTURES, [owner]))
  if (recorded) return { layout: recorded, isRecorded: true }
  const isLost = collections.some((name) => has(FORMER.tableNameOf(name), COLUMNS))
  return { layout: isLost ? FORMER : LAYOUT, isRecorded: false }
}
