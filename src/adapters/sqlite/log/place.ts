import { compareText } from '../../../json/compare-text.js'
import { isWhole } from '../../log/position.js'
import { quoteName } from '../../sql/dialect.js'
import { LOG, LOG_HEAD } from '../../sql/log/recorder.js'
import type { Connection } from '../connection/connection.js'

/** The key of a change: the number of its write, its `_id` and its collection. The log is in this order. */
export type ChangeKey = readonly [write: number, id: string, collection: string]

const TABLE = quoteName(LOG)
const HEAD = quoteName(LOG_HEAD)

/** The columns of a key, and the clause for the changes after a key. */
export const PLACE = 'write, id, collection'
export const BEHIND = `FROM ${TABLE} WHERE (${PLACE}) > (?, ?, ?) ORDER BY ${PLACE}`

/** The key of a row, as JSON. */
const PLACE_TEXT = `json_array(${PLACE})`

export function isPlace(value: unknown): value is ChangeKey {
  const [write, id, collection, ...others] = Array.isArray(value) ? (value as readonly unknown[]) : []
  return isWhole(write) && typeof id === 'string' && typeof collection === 'string' && others.length === 0
}

/** Compares two keys. */
export const comparePlaces = (a: ChangeKey, b: ChangeKey): number =>
  a[0] - b[0] || compareText(a[1], b[1]) || compareText(a[2], b[2])

/** The name and the bounds of a log. */
export interface LogBounds {
  readonly log: string
  /** The last dropped change. */
  readonly dropped: ChangeKey
  /** The last change; the last dropped one if there is none. */
  readonly last: ChangeKey
}

/** Reads the bounds of the log. */
export function readHead(connection: Connection): LogBounds {
  const last = `SELECT ${PLACE_TEXT} FROM ${TABLE} ORDER BY write DESC, id DESC, collection DESC LIMIT 1`
  const [log, dropped, lastPlace] = connection.row(`SELECT log, dropped, (${last}) FROM ${HEAD}`, [])
  const gone = parsePlace(dropped)
  return { log: String(log), dropped: gone, last: lastPlace === null ? gone : parsePlace(lastPlace) }
}

/** The bytes of the documents of a change. SQLite knows them without reading the documents. */
const SIZE = `octet_length(coalesce(before, '')) + octet_length(coalesce(after, ''))`

const total = (connection: Connection, where: string, values: readonly (string | number)[]): number =>
  Number(connection.first(`SELECT total(${SIZE}) FROM ${TABLE} WHERE ${where}`, values))

/**
 * The bytes of the log after the writes after `before` were recorded. They are counted again only if a process of an
 * earlier version has written to the log, or dropped changes, meanwhile.
 */
export function readBytes(
  connection: Connection,
  before: number,
): { readonly all: number; readonly added: number } {
  const added = total(connection, 'write > ?', [before])
  const [dropped, size] = connection.row(`SELECT dropped, size FROM ${HEAD}`, [])
  const [bytes, from, to] = size === null ? [] : (JSON.parse(String(size)) as readonly unknown[])
  const isKnown = typeof bytes === 'number' && from === dropped && to === before
  return { all: isKnown ? bytes + added : total(connection, 'TRUE', []), added }
}

/** Stores the bytes of the log. */
export function storeBytes(connection: Connection, bytes: number): void {
  const { dropped, last } = readHead(connection)
  connection.run(`UPDATE ${HEAD} SET size = ?`, [JSON.stringify([bytes, JSON.stringify(dropped), last[0]])])
}

/** The bytes of the oldest changes, up to a key. */
export const bytesUpTo = (connection: Connection, dropped: ChangeKey, end: ChangeKey): number =>
  total(connection, `(${PLACE}) > (?, ?, ?) AND (${PLACE}) <= (?, ?, ?)`, [...dropped, ...end])

/** The change at which the oldest changes reach `bytes`, among the first `most`, and before the last write. */
export function findBytes(
  connection: Connection,
  { dropped, last }: LogBounds,
  bytes: number,
  most: number,
): ChangeKey | undefined {
  const summed = `SELECT ${PLACE}, ${SIZE} AS size, sum(${SIZE}) OVER (ORDER BY ${PLACE} ROWS UNBOUNDED PRECEDING) AS total ${BEHIND.replace('ORDER BY', 'AND write < ? ORDER BY')} LIMIT ?`
  const found = connection.first(
    `SELECT ${PLACE_TEXT} FROM (${summed}) WHERE total - size < ? ORDER BY write DESC, id DESC, collection DESC LIMIT 1`,
    [...dropped, last[0], most, bytes],
  )
  return found === undefined ? undefined : parsePlace(found)
}

/** When the change with a key was made; `null` if there is none. */
export function readTime(connection: Connection, place: ChangeKey): number | null {
  const time = connection.first(`SELECT time FROM ${TABLE} WHERE (${PLACE}) = (?, ?, ?)`, place)
  return time === undefined ? null : Number(time)
}

function parsePlace(text: unknown): ChangeKey {
  const place: unknown = JSON.parse(String(text))
  if (!isPlace(place)) throw new Error('the log of changes has no key')
  return place
}

/** Deletes changes up to a key, and records that key. */
export function dropUpTo(connection: Connection, place: ChangeKey): void {
  connection.run(`DELETE FROM ${TABLE} WHERE (${PLACE}) <= (?, ?, ?)`, place)
  connection.run(`UPDATE ${HEAD} SET dropped = ?`, [JSON.stringify(place)])
}
