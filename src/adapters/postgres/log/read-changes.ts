import { runSliced } from '../../../slices.js'
import type { Change, ChangePage, ChangeQuery, StoredDocument } from '../../../storage.js'
import { isKept, parsePosition, printPosition } from '../../log/position.js'
import type { SqlDialect } from '../../sql/dialect.js'
import { LOG, LOG_HEAD } from '../../sql/log/recorder.js'
import type { Connections } from '../connection/connections.js'
import type { DatabaseSession } from '../connection/session.js'
import { parseText } from '../read/parse-documents.js'
import type { LogHead } from './head.js'
import { microsecondsOf, millisecondsOf } from './milliseconds.js'
import { isPlace, type TimelinePosition } from './place.js'

/** Reads a page of the log: the changes after a position; `null` reads none and returns the last position. */
export type ReadChanges = (after: string | null, query: ChangeQuery) => Promise<ChangePage>

/**
 * A copy of the storage may use the same positions for other changes. Its log is read again from this many
 * milliseconds before: more than clocks differ, and than a write takes.
 */
const OVERLAP = 60_000

const MILLISECONDS = millisecondsOf('time')

/**
 * When a change was made, in microseconds: two changes of the same millisecond may swap places when a storage is
 * restored.
 */
const MICROSECONDS = microsecondsOf('time')

type LogRow = readonly [
  position: number,
  label: number | null,
  made: number,
  by: string | null,
  collection: string,
  id: string,
  before: StoredDocument | null,
  after: StoredDocument | null,
]

/** The result of one statement. */
interface LogPageRow {
  readonly log: string
  readonly timeline: string
  readonly last: number
  readonly dropped: number
  readonly now: number
  /** The time of the change at the start position, or of the last change; `null` if there is none. */
  readonly made: number | null
  /** Whether there are committed changes without a position. */
  readonly isFresh: boolean
  /** The JSON of a list of rows. */
  readonly list: string
}

/** Creates the reader of the log. */
export function createReadChanges(dialect: SqlDialect, use: Connections['use'], head: LogHead): ReadChanges {
  const [log, heads] = [dialect.table(LOG), dialect.table(LOG_HEAD)]
  const running = 'OVER (ROWS UNBOUNDED PRECEDING)'
  // Rows are converted one by one up to the limit; later rows never are.
  const page = `WITH page AS MATERIALIZED (SELECT * FROM ${log} WHERE position > $1::bigint ORDER BY position LIMIT $2::bigint),
written AS MATERIALIZED (SELECT json_build_array(position, write, ${MICROSECONDS}, caller, collection, id, before, after)::text AS change FROM page),
beyond AS MATERIALIZED (SELECT greatest(place - 1, 1) AS given FROM (SELECT row_number() ${running} AS place, sum(octet_length(change)) ${running} AS total FROM written) AS summed WHERE total > $3::float8 LIMIT 1)
SELECT log, left(pg_walfile_name(pg_current_wal_lsn()), 8) AS timeline, last, dropped, ${millisecondsOf('clock_timestamp()')} AS now,
(SELECT seq FROM ${log} WHERE position IS NULL ORDER BY seq LIMIT 1) AS fresh,
(SELECT ${MICROSECONDS} FROM ${log} WHERE position = least($1::bigint, last)) AS made,
(SELECT '[' || string_agg(change, ',') || ']' FROM (SELECT change FROM written LIMIT (SELECT given FROM beyond)) AS first) AS list
FROM ${heads}`
  const since = `SELECT position - 1 FROM ${log} WHERE position > $1::bigint AND ${MILLISECONDS} >= $2::bigint ORDER BY position LIMIT 1`

  const readPage = async (
    { readRows }: DatabaseSession,
    place: number,
    { limit, bytes = Number.POSITIVE_INFINITY }: ChangeQuery,
  ): Promise<LogPageRow> => {
    const [[name, timeline, last, dropped, now, fresh, made, list] = []] = await readRows(page, [
      place,
      limit,
      bytes,
    ])
    return {
      log: String(name),
      timeline: String(timeline),
      last: Number(last),
      dropped: Number(dropped),
      now: Number(now),
      isFresh: fresh !== null,
      list: list ?? '[]',
      made: made === null ? null : Number(made),
    }
  }
  /** The position at which to resume after a gap. */
  const findStart = async (
    { readRows }: DatabaseSession,
    { log, dropped }: LogPageRow,
    given: ReturnType<typeof parsePosition<TimelinePosition>>,
  ): Promise<number> => {
    if (given?.log !== log) return dropped
    const [[first] = []] = await readRows(since, [dropped, given.time - OVERLAP])
    return Math.max(dropped, Math.min(given.place[1], first ? Number(first) : given.place[1]))
  }
  const toPage = async (
    read: LogPageRow,
    start: number,
    gap: boolean,
    query: ChangeQuery,
  ): Promise<ChangePage> => {
    const { log, timeline, now, last, isFresh, list } = read
    const rows = await runSliced(
      (slice) => parseText(list, slice),
      () => query.signal,
    )
    const positionOf = (place: number, time: number, made: number | null): string =>
      printPosition({ log, place: [timeline, place], time, made })
    const changes = (rows as readonly LogRow[]).map(
      ([place, label, made, by, collection, id, before, after]): Change => {
        const time = Math.round(made / 1000)
        return {
          in: collection,
          id,
          before,
          after,
          time,
          by,
          // A write of one statement has no label, and one change.
          write: label ?? -place,
          position: positionOf(place, time, made),
        }
      },
    )
    const end = (rows as readonly LogRow[]).at(-1)?.[0] ?? start
    return {
      changes,
      position: changes.at(-1)?.position ?? positionOf(start, now, read.made),
      more: isFresh || end < last,
      gap,
    }
  }

  /** No change comes after this position. */
  const NOWHERE = Number.MAX_SAFE_INTEGER

  return async (after, query) => {
    const given = after === null ? undefined : parsePosition(after, isPlace)
    // A reader that follows the log stops only by its signal.
    const caller = { signal: query.signal, isUnhurried: true }
    const { read, start, gap } = await use(async (session) => {
      if (after === null) {
        while ((await head.advance(session.run, true)).toNumber);
        const read = await readPage(session, NOWHERE, { ...query, limit: 1 })
        return { read: { ...read, isFresh: false }, start: read.last, gap: false }
      }
      let start = given?.place[1] ?? NOWHERE
      let read = await readPage(session, start, query)
      const isKnown =
        given?.log === read.log &&
        given.place[0] === read.timeline &&
        start <= read.last &&
        isKept(given, read.made, start === read.dropped)
      if (read.isFresh) await head.advance(session.run, false)
      if (!isKnown) start = await findStart(session, read, given)
      if (read.isFresh || !isKnown) read = await readPage(session, start, query)
      return { read, start, gap: !isKnown || start < read.dropped }
    }, caller)
    return toPage(read, start, gap, query)
  }
}
