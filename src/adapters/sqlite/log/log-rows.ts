import { compareText } from '../../../core/json/compare-text.js'
import type { Change, StoredDocument } from '../../../core/storage.js'
import { isWhole, type Position, printPosition } from '../../log/position.js'
import { quoteName } from '../../sql/dialect.js'
import { LOG, LOG_HEAD } from '../../sql/log/recorder.js'

/** The quoted names of the tables of the log. */
export const TABLE = quoteName(LOG)
export const HEAD = quoteName(LOG_HEAD)

/**
 * Returns the statement that records rows in the log. The log's primary key sorts the changes of a write. If a write
 * changes a document twice, the second change is merged into the first.
 */
export const record = (rows: string): string =>
  `INSERT INTO ${TABLE} (write, time, caller, migration, collection, id, before, after) ${rows} ON CONFLICT (write, id, collection) DO UPDATE SET after = excluded.after`

/** Returns a function that builds the expression for a document without the properties that the log omits. */
export function createOmission(omit: readonly string[]): (text: string) => string {
  const names = omit.map((name) => `'$.${quoteName(name).replaceAll("'", "''")}'`)
  return (text) => (names.length > 0 ? `json_remove(${[text, ...names].join(', ')})` : text)
}

/**
 * The key of a change: the number of its write, the document's `_id` and its collection. The log is sorted by this key.
 */
export type ChangeKey = readonly [write: number, id: string, collection: string]

/** The columns of a change's key. */
export const PLACE = 'write, id, collection'

/** The key of a row as a JSON array. */
export const PLACE_TEXT = `json_array(${PLACE})`

/** Selects the key of the last change. */
export const LAST = `SELECT ${PLACE_TEXT} FROM ${TABLE} ORDER BY write DESC, id DESC, collection DESC LIMIT 1`

/** The size in bytes of both documents of a change. SQLite computes it without reading the documents. */
export const SIZE = `octet_length(coalesce(before, '')) + octet_length(coalesce(after, ''))`

export function isPlace(value: unknown): value is ChangeKey {
  const [write, id, collection, ...others] = Array.isArray(value) ? (value as readonly unknown[]) : []
  return isWhole(write) && typeof id === 'string' && typeof collection === 'string' && others.length === 0
}

export const comparePlaces = (a: ChangeKey, b: ChangeKey): number =>
  a[0] - b[0] || compareText(a[1], b[1]) || compareText(a[2], b[2])

export function parsePlace(text: unknown): ChangeKey {
  const place: unknown = JSON.parse(String(text))
  if (!isPlace(place)) throw new Error('the log of changes is damaged: it contains an invalid key')
  return place
}

/** Selects a row as one JSON text, because this is cheaper than several columns and one `JSON.parse` suffices. */
export const ROW = `'[' || write || ',' || json_quote(id) || ',' || json_quote(collection) || ',' || time || ',' || json_quote(caller) || ',' || coalesce(migration, 0) || ',' || coalesce(before, 'null') || ',' || coalesce(after, 'null') || ']'`

type ChangeRow = readonly [
  ...place: ChangeKey,
  time: number,
  by: string | null,
  migration: number,
  before: StoredDocument | null,
  after: StoredDocument | null,
]

/** Returns the change of a `ROW`, with its position in a log. */
export function parseChange(text: string, origin: Pick<Position<ChangeKey>, 'log' | 'files'>): Change {
  const [write, id, collection, time, by, migration, before, after] = JSON.parse(text) as ChangeRow
  const position = printPosition({ ...origin, place: [write, id, collection], time, made: time })
  const change: Change = { in: collection, id, before, after, write, time, by, position }
  return migration === 1 ? { ...change, isMigration: true } : change
}
