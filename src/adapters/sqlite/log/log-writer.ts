import { everything } from '../../../filter/filter.js'
import type { WriteStep } from '../../../storage.js'
import type { LogPlans } from '../../log/log-plans.js'
import { parsePosition } from '../../log/position.js'
import { createHeldWarning } from '../../log/warn-of-held.js'
import type { Recording } from '../../sql/log/recorder.js'
import type { Connection } from '../connection/connection.js'
import { sqliteEngine } from '../sqlite-engine.js'
import {
  BEHIND,
  bytesUpTo,
  type ChangeKey,
  comparePlaces,
  dropUpTo,
  findBytes,
  isPlace,
  readBytes,
  readHead,
  storeBytes,
} from './place.js'
import { createRecordings, UNDO } from './recording.js'

/** Records the writes of a connection. */
export interface LogWriter {
  /** Begins to record a write in the open transaction; `undefined` if none of its collections is logged. */
  begin(steps: readonly WriteStep[], by: string | null): Recorded | undefined
  /** Called before the open transaction is committed. */
  beforeCommit(): void
  /** Called when the transaction is over. */
  end(isCommitted: boolean): void
}

/** The record of one write. */
export interface Recorded {
  readonly recording: Recording
  /** Deletes the record, if nothing else of the write is left. */
  undo(): void
}

/**
 * How many old changes are dropped per step: a removal deletes as many documents as other steps have created. They
 * are dropped in batches of at most `MOST` changes and about `MOST_BYTES`.
 */
const DROPPED = 4
const LEAST = 256
const MOST = 1024
const MOST_BYTES = 2 ** 22

/**
 * The bytes of changes dropped when the log exceeds its byte limit: `PACE` for each byte that a write adds, plus
 * `LEAST_BYTES`. `LEAST_SIZE`: the assumed least size of a change; `MOST_ROWS`: the most changes dropped at once.
 */
const PACE = 2
const LEAST_BYTES = 2 ** 16
const LEAST_SIZE = 128
const MOST_ROWS = 2 ** 15

/** Creates the log writer of a connection. `onRecorded` is called after recorded changes were committed. */
export function createLogWriter(connection: Connection, plans: LogPlans, onRecorded: () => void): LogWriter {
  /** The number of the last write, read once per transaction, because other processes write too. */
  let last: number | undefined
  /** The number of the last write before the transaction. */
  let before = 0
  const warnOfHeld = createHeldWarning()
  const recordingOf = createRecordings(plans)
  /** The number of changes that may be dropped. */
  let due = 0

  /** Drops the oldest changes that are old enough. Returns their bytes. */
  const drop = (most: number): number => {
    const { log, dropped } = readHead(connection)
    const { unmarked, any } = plans.horizon(Date.now())
    // Usually no change is old enough, which one row shows.
    const oldest = connection.first(`SELECT time ${BEHIND} LIMIT 1`, dropped)
    if (oldest === undefined || Number(oldest) >= unmarked) return 0
    const columns = `write, time, octet_length(coalesce(before, '')) + octet_length(coalesce(after, '')), id, collection`
    let mark: ChangeKey | null | undefined
    let end: ChangeKey | undefined
    let bytes = 0
    const rows = connection.all(`SELECT json_array(${columns}) ${BEHIND} LIMIT ?`, [...dropped, most])
    for (const row of rows) {
      const [write, time, size, id, collection] = JSON.parse(String(row)) as [
        number,
        number,
        number,
        string,
        string,
      ]
      if (time >= unmarked || bytes > MOST_BYTES) break
      const place: ChangeKey = [write, id, collection]
      mark ??= findMark(log)
      if (mark && comparePlaces(place, mark) > 0 && time >= any) break
      end = place
      bytes += size
    }
    if (end) dropUpTo(connection, end)
    return bytes
  }
  /**
   * Drops the oldest changes beyond the byte limit: more than were added, so that the log shrinks to the limit.
   * Returns their bytes.
   */
  const dropBeyond = (beyond: number, added: number): number => {
    const head = readHead(connection)
    const bytes = Math.min(beyond, added * PACE + LEAST_BYTES)
    const found = findBytes(connection, head, bytes, Math.min(MOST_ROWS, Math.ceil(bytes / LEAST_SIZE)))
    const mark = findMark(head.log)
    const isHeld = mark !== null && found !== undefined && comparePlaces(found, mark) > 0
    warnOfHeld(isHeld)
    const end = isHeld ? mark : found
    if (!end || comparePlaces(end, head.dropped) <= 0) return 0
    const freed = bytesUpTo(connection, head.dropped, end)
    dropUpTo(connection, end)
    return freed
  }
  /** The first mark; `null` if there is none. */
  const findMark = (log: string): ChangeKey | null => {
    let first: ChangeKey | null = null
    for (const [collection, property] of plans.marks) {
      const { text, values } = sqliteEngine.statements.list(collection, {
        filter: everything,
        sort: [],
        skip: 0,
        limit: null,
      })
      for (const row of connection.all(text, values)) {
        const { [property]: mark } = JSON.parse(String(row)) as { readonly [name: string]: unknown }
        const position = typeof mark === 'string' ? parsePosition(mark, isPlace) : undefined
        if (position?.log === log && (!first || comparePlaces(position.place, first) < 0))
          first = position.place
      }
    }
    return first
  }
  return {
    begin(steps, by) {
      if (!plans.records(steps)) return undefined
      if (last === undefined) before = readHead(connection).last[0]
      last = 1 + (last ?? before)
      due += steps.length * DROPPED
      const numbered = { write: last, time: Date.now(), by }
      return { recording: recordingOf(numbered), undo: () => void connection.run(UNDO, [numbered.write]) }
    },
    beforeCommit() {
      if (last === undefined) return
      const { all, added } = readBytes(connection, before)
      let bytes = all
      if (due >= LEAST) {
        const most = Math.min(due, MOST)
        due = Math.min(due - most, MOST)
        bytes -= drop(most)
      }
      if (bytes > plans.bytes()) bytes -= dropBeyond(bytes - plans.bytes(), added)
      else warnOfHeld(false)
      storeBytes(connection, bytes)
    },
    end(isCommitted) {
      if (last !== undefined && isCommitted) onRecorded()
      last = undefined
    },
  }
}
