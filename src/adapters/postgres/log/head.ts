import type { LogPlans } from '../../log/log-plans.js'
import { parsePosition } from '../../log/position.js'
import { createHeldWarning } from '../../log/warn-of-held.js'
import type { SqlDialect } from '../../sql/dialect.js'
import { LOG, LOG_HEAD } from '../../sql/log/recorder.js'
import type { RunStatement } from '../connection/session.js'
import { BOUND_IDLE, BOUND_STATEMENT, inTransaction } from '../connection/transaction.js'
import { millisecondsOf } from './milliseconds.js'
import { isPlace } from './place.js'

/** The head of the log. One process at a time works on it. */
export interface LogHead {
  /**
   * Assigns positions to the next committed changes that have none, and drops old changes. `wait`: whether to wait
   * for another process that is working on the head. Returns whether more changes may need positions, or be
   * droppable.
   */
  advance(run: RunStatement, wait: boolean): Promise<{ readonly toNumber: boolean; readonly toDrop: boolean }>
}

/** The most changes that get positions at once. The changes of a write stay together, unless they alone are more. */
const MOST = 5000

/** The most changes that are dropped at once, in number and in bytes. */
const MOST_DROPPED = 2000
const MOST_BYTES = 2 ** 24

/**
 * Readers do not wait for a standby: after a fail-over the timeline differs, and positions are assigned again. For
 * the same reason, cancelling this transaction loses nothing.
 */
const BEGIN = [
  'BEGIN ISOLATION LEVEL READ COMMITTED',
  'SET LOCAL synchronous_commit = local',
  BOUND_STATEMENT,
  BOUND_IDLE,
].join('; ')

/** The stored bytes of a change's documents: nothing is decompressed. */
const SIZE = '(coalesce(pg_column_size(before), 0) + coalesce(pg_column_size(after), 0))'

/** The state of the log, as its head stores it. */
interface StoredHead {
  readonly dropped: number
  readonly last: number
  readonly now: number
  /** The total of the last change; `NaN` if a process of an earlier version assigned its position. */
  readonly total: number
}

/** Creates the head of a log. */
export function createLogHead(dialect: SqlDialect, plans: LogPlans): LogHead {
  const [log, head] = [dialect.table(LOG), dialect.table(LOG_HEAD)]
  const warnOfHeld = createHeldWarning()
  const lock = `SELECT last, dropped, ${millisecondsOf('clock_timestamp()')} AS now,
(SELECT ${millisecondsOf('time')} FROM ${log} WHERE position > dropped ORDER BY position LIMIT 1) AS oldest,
(SELECT total - ${SIZE} FROM ${log} WHERE position > dropped ORDER BY position LIMIT 1) AS before,
(SELECT total FROM ${log} WHERE position = last) AS total
FROM ${head} FOR UPDATE OF _log_head`
  // A later change of a document has a higher `seq`. The last `seq` of a write orders all its changes.
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

  /** The first mark. */
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
   * Whether the changes after `position` exceed the byte limit. The newest change is always kept; an unknown total
   * counts as within the limit.
   */
  const isBeyond = (position: number, before: unknown, { total, last }: StoredHead): boolean =>
    position < last && before !== null && total - Number(before) > plans.bytes()

  /** Drops changes that are old enough, or beyond the byte limit. Returns whether there may be more. */
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

  return {
    async advance(run, wait) {
      let count = 0
      let isMore = false
      await inTransaction(run, BEGIN, async () => {
        const [held] = (await run(wait ? lock : `${lock} SKIP LOCKED`)).rows
        if (!held) {
          count = MOST
          return
        }
        // A separate statement sees commits made while the lock was awaited.
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
    },
  }
}
