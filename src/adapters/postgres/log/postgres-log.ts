import { inSlices } from '../../../core/slices.js'
import type { Change, ChangePage, ChangeQuery, StoredDocument, WriteStep } from '../../../core/storage.js'
import type { LogPlans } from '../../log/log-plans.js'
import { createNotifier } from '../../log/notifier.js'
import { isKept, isWhole, type Position, parsePosition, printPosition } from '../../log/position.js'
import { createHeldWarning } from '../../log/warn-of-held.js'
import type { SqlDialect } from '../../sql/dialect.js'
import { LOG, LOG_HEAD } from '../../sql/log/recorder.js'
import { parseText } from '../../sql/read/judge-texts.js'
import type { Connections } from '../connection/lease.js'
import type { DatabaseSession, RunStatement } from '../connection/session.js'
import { BOUND_IDLE, BOUND_STATEMENT, inTransaction } from '../connection/transaction.js'
import { explained } from '../faults.js'
import { isLarge } from '../write/is-large.js'

/**
 * Assigns positions to the next committed changes, and drops old changes. One process at a time does so; `wait`: whether
 * to wait if another process is doing it. Returns whether more changes may need a position (`toNumber`) or may have to
 * be dropped (`toDrop`).
 */
type AdvanceLog = (
  run: RunStatement,
  wait: boolean,
) => Promise<{ readonly toNumber: boolean; readonly toDrop: boolean }>

/**
 * The maximum number of changes that get their positions in one statement. All changes of a write get their positions
 * together, unless the write has more changes than this.
 */
const MOST = 5000

/** The maximum number of changes that one transaction drops, and their maximum size in bytes. */
const MOST_DROPPED = 2000
const MOST_BYTES = 2 ** 24

/**
 * Begins the transaction that works on the head. Its commit does not wait for a standby, because after a fail-over, the
 * timeline differs and positions are assigned again. If this transaction is cancelled, a later one does its work.
 */
const BEGIN = [
  'BEGIN ISOLATION LEVEL READ COMMITTED',
  'SET LOCAL synchronous_commit = local',
  BOUND_STATEMENT,
  BOUND_IDLE,
].join('; ')

/** An expression for the bytes of a change's documents as they are stored, which decompresses nothing. */
const SIZE = '(coalesce(pg_column_size(before), 0) + coalesce(pg_column_size(after), 0))'

/** The state of the log, as its head stores it. */
interface StoredHead {
  readonly dropped: number
  readonly last: number
  readonly now: number
  /**
   * The `total` of the last change; `NaN` if it has none, because a process of an earlier version assigned its
   * position.
   */
  readonly total: number
}

/**
 * Builds an expression for a time in milliseconds since 1970. The cast to an integer is needed before PostgreSQL 14:
 * `extract` returns a float8 there, and the server setting `extra_float_digits` decides how many of its digits are
 * printed.
 */
const millisecondsOf = (time: string): string => `(extract(epoch FROM ${time}) * 1000)::bigint`

/** The `place` in a `Position`: the number of a change, and the server's timeline on which it was assigned. */
type TimelinePosition = readonly [timeline: string, position: number]

function isPlace(value: unknown): value is TimelinePosition {
  const [timeline, position, ...others] = Array.isArray(value) ? (value as readonly unknown[]) : []
  return typeof timeline === 'string' && isWhole(position) && others.length === 0
}

function createAdvanceLog(dialect: SqlDialect, plans: LogPlans): AdvanceLog {
  const [log, head] = [dialect.ownTable(LOG), dialect.ownTable(LOG_HEAD)]
  const warnOfHeld = createHeldWarning()
  const lock = `SELECT last, dropped, ${millisecondsOf('clock_timestamp()')} AS now,
(SELECT ${millisecondsOf('time')} FROM ${log} WHERE position > dropped ORDER BY position LIMIT 1) AS oldest,
(SELECT total - ${SIZE} FROM ${log} WHERE position > dropped ORDER BY position LIMIT 1) AS before,
(SELECT total FROM ${log} WHERE position = last) AS total
FROM ${head} FOR UPDATE OF _log_head`
  // Writes get positions in the order of their last `seq`, so that the changes of one write stay together and a later
  // change of a document comes later.
  const number = `WITH fresh AS MATERIALIZED (SELECT seq, write, id, collection, ${SIZE} AS size FROM ${log} WHERE position IS NULL ORDER BY seq LIMIT ${MOST}),
ends AS MATERIALIZED (SELECT count(*) AS count, max(seq) AS seq FROM fresh),
cut AS MATERIALIZED (SELECT DISTINCT write FROM fresh WHERE (SELECT count FROM ends) = ${MOST} AND EXISTS
(SELECT FROM ${log} AS rest WHERE rest.write = fresh.write AND rest.position IS NULL AND rest.seq > (SELECT seq FROM ends))),
whole AS MATERIALIZED (SELECT * FROM fresh WHERE write IS NULL OR write NOT IN (SELECT write FROM cut)),
next AS (SELECT * FROM whole UNION ALL SELECT * FROM fresh WHERE NOT EXISTS (SELECT FROM whole)),
turns AS (SELECT seq, id, collection, size, max(seq) OVER (PARTITION BY coalesce(write, -seq)) AS turn FROM next),
placed AS (SELECT seq, row_number() OVER ordered AS place, sum(size) OVER (ordered ROWS UNBOUNDED PRECEDING) AS sum FROM turns WINDOW ordered AS (ORDER BY turn, id, collection)),
numbered AS (UPDATE ${log} AS log SET position = $1::bigint + place, total = $2::bigint + sum FROM placed WHERE log.seq = placed.seq AND log.position IS NULL RETURNING position, total)
UPDATE ${head} SET last = greatest(last, (SELECT max(position) FROM numbered)) RETURNING (SELECT count FROM ends) AS seen, (SELECT max(total) FROM numbered) AS total, last`
  const oldest = `SELECT position, ${millisecondsOf('time')} AS time, ${SIZE} AS size, total
FROM ${log} WHERE position > $1::bigint ORDER BY position LIMIT ${MOST_DROPPED}`
  const drop = `WITH gone AS (DELETE FROM ${log} WHERE position <= $1::bigint) UPDATE ${head} SET dropped = $1::bigint`

  /** Finds the earliest mark. Changes after it have not been handled yet. Returns infinity if there is no mark. */
  const findMark = async (run: RunStatement): Promise<number> => {
    let first = Number.POSITIVE_INFINITY
    for (const [collection, property] of plans.marks) {
      const { rows } = await run(`SELECT document ->> $1::text AS mark FROM ${dialect.table(collection)}`, [
        property,
      ])
      for (const { mark } of rows) {
        const position = typeof mark === 'string' ? parsePosition(mark, isPlace) : undefined
        if (position) first = Math.min(first, position.place[1])
      }
    }
    return first
  }
  /**
   * Whether the log, without its first `before` bytes, exceeds the byte limit. False at the position of the last
   * change, because that is always kept, and if a total is unknown.
   */
  const isBeyond = (position: number, before: unknown, { total, last }: StoredHead): boolean =>
    position < last && before !== null && total - Number(before) > plans.bytes()

  /** Drops changes that are old enough or exceed the byte limit. Returns whether there may be more such changes. */
  const dropOldest = async (run: RunStatement, kept: StoredHead): Promise<boolean> => {
    const { dropped, now } = kept
    const { unmarked, any } = plans.horizon(now)
    const mark = await findMark(run)
    let end = dropped
    let bytes = 0
    let isHeld = false
    let isMore = true
    for (const row of (await run(oldest, [dropped])).rows) {
      const [position, time, size] = [Number(row.position), Number(row.time), Number(row.size)]
      const goes = isBeyond(position, row.total === null ? null : Number(row.total) - size, kept)
      isHeld = goes && position > mark && time >= any
      isMore = (goes || time < unmarked) && !(position > mark && time >= any)
      if (!isMore || bytes > MOST_BYTES) break
      bytes += size
      end = position
    }
    warnOfHeld(isHeld)
    if (end > dropped) await run(drop, [end])
    return isMore && end > dropped
  }

  return async (run, wait) => {
    let count = 0
    let isMore = false
    await inTransaction(run, BEGIN, async () => {
      const [held] = (await run(wait ? lock : `${lock} SKIP LOCKED`)).rows
      if (!held) {
        count = MOST
        return
      }
      // This is a separate statement, so that it sees commits that were made while this transaction waited for the
      // lock.
      const [numbered] = (await run(number, [Number(held.last), Number(held.total ?? 0)])).rows
      count = Number(numbered?.seen)
      const last = Number(numbered?.last ?? held.last)
      const total = Number(numbered?.total ?? held.total ?? Number.NaN)
      const kept = { dropped: Number(held.dropped), now: Number(held.now), last, total }
      const isOld = held.oldest !== null && Number(held.oldest) < plans.horizon(kept.now).unmarked
      if (isOld || (held.oldest !== null && isBeyond(kept.dropped, held.before, kept)))
        isMore = await dropOldest(run, kept)
    })
    return { toNumber: count >= MOST, toDrop: isMore }
  }
}

/**
 * In a restored database, the log may use the same positions for other changes. Such a log is read again from this
 * many milliseconds before the time of the reader's position. That is longer than a write takes, and more than clocks
 * differ.
 */
const OVERLAP = 60_000

const MILLISECONDS = millisecondsOf('time')

/**
 * The time of a change, in microseconds since 1970, which is the precision of the server's times: two changes of the
 * same millisecond may swap their positions when a database is restored.
 */
const MICROSECONDS = '(extract(epoch FROM time) * 1000000)::bigint'

type LogRow = readonly [
  position: number,
  label: number | null,
  made: number,
  by: string | null,
  migration: boolean | null,
  collection: string,
  id: string,
  before: StoredDocument | null,
  after: StoredDocument | null,
]

/** The row that the statement for a page returns. */
interface LogPageRow {
  readonly log: string
  readonly timeline: string
  readonly last: number
  readonly dropped: number
  readonly now: number
  /**
   * The time of the change at the start position, in microseconds. If the start position is after the last change, the
   * time of the last change. `null` if there is no such change.
   */
  readonly made: number | null
  /** Whether there are committed changes without a position. */
  readonly isFresh: boolean
  /** A JSON list of rows (`LogRow`). */
  readonly list: string
}

/**
 * Creates the reader of the log. It reads a page: the changes after a position. With `null`, it reads no changes and
 * returns the last position.
 */
function createReadChanges(dialect: SqlDialect, use: Connections['use'], advance: AdvanceLog) {
  const [log, heads] = [dialect.ownTable(LOG), dialect.ownTable(LOG_HEAD)]
  const running = 'OVER (ROWS UNBOUNDED PRECEDING)'
  // Rows are converted to JSON one by one, and only until the byte limit is exceeded.
  const page = `WITH page AS MATERIALIZED (SELECT * FROM ${log} WHERE position > $1::bigint ORDER BY position LIMIT $2::bigint),
written AS MATERIALIZED (SELECT json_build_array(position, write, ${MICROSECONDS}, caller, migration, collection, id, before, after)::text AS change FROM page),
beyond AS MATERIALIZED (SELECT greatest(place - 1, 1) AS given FROM (SELECT row_number() ${running} AS place, sum(octet_length(change)) ${running} AS total FROM written) AS summed WHERE total > $3::float8 LIMIT 1)
SELECT log, left(pg_walfile_name(pg_current_wal_lsn()), 8) AS timeline, last, dropped, ${millisecondsOf('clock_timestamp()')} AS now,
(SELECT seq FROM ${log} WHERE position IS NULL ORDER BY seq LIMIT 1) AS fresh,
(SELECT ${MICROSECONDS} FROM ${log} WHERE position = least($1::bigint, last)) AS made,
(SELECT '[' || string_agg(change, ',') || ']' FROM (SELECT change FROM written LIMIT (SELECT given FROM beyond)) AS first) AS list
FROM ${heads}`
  const since = `SELECT position - 1 FROM ${log} WHERE position > $1::bigint AND ${MILLISECONDS} >= $2::bigint ORDER BY position LIMIT 1`

  return async (after: string | null, query: ChangeQuery): Promise<ChangePage> => {
    const given = after === null ? undefined : parsePosition(after, isPlace)
    // The signal of a reader that follows the log may never abort, so this read ends by itself if the database does
    // not answer.
    const caller = { signal: query.signal, isUnhurried: true }
    const { read, start, gap } = await use(async (session) => {
      if (after === null) {
        while ((await advance(session.run, true)).toNumber);
        const read = await readPage(session, page, NOWHERE, { ...query, limit: 1 })
        return { read: { ...read, isFresh: false }, start: read.last, gap: false }
      }
      let start = given?.place[1] ?? NOWHERE
      let read = await readPage(session, page, start, query)
      const isKnown =
        given?.log === read.log &&
        given.place[0] === read.timeline &&
        start <= read.last &&
        isKept(given, read.made, start === read.dropped)
      if (read.isFresh) await advance(session.run, false)
      if (!isKnown && given?.log === read.log) start = await findStart(session, since, read, given)
      else if (!isKnown) start = read.dropped
      if (read.isFresh || !isKnown) read = await readPage(session, page, start, query)
      return { read, start, gap: !isKnown || start < read.dropped }
    }, caller)
    return toPage(read, start, gap, query)
  }
}

/** A position after all changes. */
const NOWHERE = Number.MAX_SAFE_INTEGER

async function readPage(
  { readRows }: DatabaseSession,
  page: string,
  place: number,
  { limit, bytes = Number.POSITIVE_INFINITY }: ChangeQuery,
): Promise<LogPageRow> {
  const [row = []] = await readRows(page, [place, limit, bytes])
  const [name, timeline, last, dropped, now, fresh, made, list] = row
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

/** Returns the position at which to resume in a log that may have other changes at the same positions. */
async function findStart(
  { readRows }: DatabaseSession,
  since: string,
  { dropped }: LogPageRow,
  { place: [, position], time }: Position<TimelinePosition>,
): Promise<number> {
  const [[first] = []] = await readRows(since, [dropped, time - OVERLAP])
  return Math.max(dropped, Math.min(position, first ? Number(first) : position))
}

async function toPage(
  { log, timeline, now, last, isFresh, list, made }: LogPageRow,
  start: number,
  gap: boolean,
  { signal }: ChangeQuery,
): Promise<ChangePage> {
  const rows = (await inSlices(
    (slices) => parseText(list, slices),
    () => signal,
  )) as readonly LogRow[]
  const positionOf = (place: number, time: number, made: number | null): string =>
    printPosition({ log, place: [timeline, place], time, made })
  const changes = rows.map(([place, label, made, by, migration, collection, id, before, after]): Change => {
    const time = Math.round(made / 1000)
    // A write of one statement has no label and a single change, so the position of the change identifies the write.
    const write = label ?? -place
    const position = positionOf(place, time, made)
    const change: Change = { in: collection, id, before, after, time, by, write, position }
    return migration ? { ...change, isMigration: true } : change
  })
  return {
    changes,
    position: changes.at(-1)?.position ?? positionOf(start, now, made),
    more: isFresh || (rows.at(-1)?.[0] ?? start) < last,
    gap,
  }
}

/** Milliseconds after which a waiting reader looks for the writes of other processes. */
const LOOK = 200

/**
 * The number of written steps after which positions are assigned and old changes dropped, even if no process reads
 * the log.
 */
const UNREAD = 500

/** A large write (`isLarge`: about 64 KiB or more) counts as this many additional steps. */
const LARGE = 50

/** The maximum number of calls of `advance` in one run in the background. */
const ROUNDS = 100

/** Creates the log of an adapter. */
export function createPostgresLog(dialect: SqlDialect, plans: LogPlans, use: Connections['use']) {
  const notifier = createNotifier(LOOK)
  const advance = createAdvanceLog(dialect, plans)
  const read = createReadChanges(dialect, use, advance)
  let unread = 0
  /** The run in the background. Only one at a time is under way. If it fails, a later write starts another run. */
  let advancing: Promise<unknown> | undefined
  const advanceOften = async ({ run }: DatabaseSession): Promise<void> => {
    for (let round = 0; round < ROUNDS; round += 1) if (!(await advance(run, false)).toDrop) return
  }
  return {
    changes: (after: string | null, query: ChangeQuery): Promise<ChangePage> =>
      notifier.readWhenNotified(
        () => explained(read(after, query)),
        after === null ? { ...query, wait: 0 } : query,
      ),
    /** Called after each recorded write. */
    noteWrite(steps: readonly WriteStep[]): void {
      notifier.notify()
      unread += steps.length + (isLarge(steps) ? LARGE : 0)
      if (unread < UNREAD) return
      unread = 0
      advancing ??= use(advanceOften, {})
        .catch(() => {})
        .then(() => {
          advancing = undefined
        })
    },
    /** Resolves when work in the background has ended. */
    async settle(): Promise<void> {
      await advancing
    },
  }
}
