import type { Slice, Sliced } from '../../../core/slices.js'
import type { Change, ChangePage, ChangeQuery, StoredDocument } from '../../../core/storage.js'
import { isKept, type Position, parsePosition, printPosition } from '../../log/position.js'
import { CHARACTERS } from '../../sql/read/judge-texts.js'
import type { Connection } from '../connection/connection.js'
import { inSnapshot } from '../connection/snapshot.js'
import { BEHIND, type ChangeKey, comparePlaces, isPlace, readHead, readTime } from './log-writer.js'

/**
 * A query of the log for the changes after a position. If `after` is `null`, it returns no changes, but the last
 * position.
 */
export interface LogQuery extends ChangeQuery {
  readonly after: string | null
  readonly files: LogFiles
}

/** Identifies the files that contain a log. */
export interface LogFiles {
  readonly name: string
  /**
   * Whether this process had other files open at the same paths before. Positions from those files are reported as
   * gaps.
   */
  readonly areOthers: boolean
}

/** Selects a row as one JSON text, because this is cheaper than several columns and one `JSON.parse` suffices. */
const ROW = `'[' || write || ',' || json_quote(id) || ',' || json_quote(collection) || ',' || time || ',' || json_quote(caller) || ',' || coalesce(before, 'null') || ',' || coalesce(after, 'null') || ']'`

type ChangeRow = readonly [
  ...place: ChangeKey,
  time: number,
  by: string | null,
  before: StoredDocument | null,
  after: StoredDocument | null,
]

/** Reads a page of the log from one snapshot. */
export const readChanges = (connection: Connection, query: LogQuery, slice: Slice): Sliced<ChangePage> =>
  inSnapshot({ connection }, readPage(connection, query, slice))

function* readPage(
  connection: Connection,
  { after, limit, bytes = Number.POSITIVE_INFINITY, files: { name: files, areOthers } }: LogQuery,
  slice: Slice,
): Sliced<ChangePage> {
  const { log, dropped, last } = readHead(connection)
  const end: Position<ChangeKey> = { log, place: last, time: Date.now(), files }
  const given = after === null ? end : parsePosition(after, isPlace)
  const made = given?.log === log ? readTime(connection, given.place) : null
  const isKnown = given?.log === log && isKept(given, made, comparePlaces(given.place, dropped) === 0)
  const start = isKnown ? given.place : dropped
  const changes: Change[] = []
  let size = 0
  let more = false
  for (const row of connection.iterate(`SELECT ${ROW} ${BEHIND} LIMIT ?`, [...start, limit + 1])) {
    const text = String(row)
    size += Buffer.byteLength(text)
    more = changes.length === limit || (size > bytes && changes.length > 0)
    if (more) break
    slice.left -= text.length / CHARACTERS
    if (slice.left <= 0) yield
    const [write, id, collection, time, by, before, became] = JSON.parse(text) as ChangeRow
    const position = printPosition({
      log,
      place: [write, id, collection] as ChangeKey,
      time,
      made: time,
      files,
    })
    changes.push({ in: collection, id, before, after: became, write, time, by, position })
  }
  const here = { log, place: start, time: Date.now(), made: isKnown ? made : null, files }
  const position = changes.at(-1)?.position ?? printPosition(here)
  return { changes, position, more, gap: !isKnown || (areOthers && given.files !== files) }
}
