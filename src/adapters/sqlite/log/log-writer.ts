import { everything } from '../../../filter/filter.js'
import type { WriteStep } from '../../../storage.js'
import type { LogPlans } from '../../log/log-plans.js'
import { parsePosition } from '../../log/position.js'
import type { Recording } from '../../sql/log/recorder.js'
import type { Connection } from '../connection/connection.js'
import { sqliteEngine } from '../sqlite-engine.js'
import { BEHIND, comparePlaces, dropUpTo, isPlace, type Place, readHead } from './place.js'
import { createRecordings, UNDO } from './recording.js'

/** Records what is written through a connection. */
export interface LogWriter {
  /** Begins to record a write in the open transaction; `undefined` where none of its collections is logged. */
  begin(steps: readonly WriteStep[], by: string | null): Recorded | undefined
  /** Called before the open transaction is committed. */
  beforeCommit(): void
  /** Called when the transaction is over. */
  end(isCommitted: boolean): void
}

/** The record of one write. */
export interface Recorded {
  readonly recording: Recording
  /** Takes it back, where nothing else of the write is left. */
  undo(): void
}

/**
 * How many old changes may go for each step: a removal takes as many documents as other steps have made. They go
 * some at a time, never more than `MOST`, and not many bytes.
 */
const DROPPED = 4
const LEAST = 256
const MOST = 1024
const MOST_BYTES = 2 ** 22

/** Creates the writer of a connection. `onRecorded` is called when changes have been committed. */
export function createLogWriter(connection: Connection, plans: LogPlans, onRecorded: () => void): LogWriter {
  /** The number of the last write, read once in each transaction: others write too. */
  let last: number | undefined
  const recordingOf = createRecordings(plans)
  /** The changes that may go. */
  let due = 0

  /** Drops the oldest changes that need not be kept. */
  const drop = (most: number): void => {
    const { log, dropped } = readHead(connection)
    const { unmarked, any } = plans.horizon(Date.now())
    // Mostly nothing is old enough: one row says so.
    const oldest = connection.first(`SELECT time ${BEHIND} LIMIT 1`, dropped)
    if (oldest === undefined || Number(oldest) >= unmarked) return
    const columns = `write, time, octet_length(coalesce(before, '')) + octet_length(coalesce(after, '')), id, collection`
    let mark: Place | null | undefined
    let end: Place | undefined
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
      const place: Place = [write, id, collection]
      mark ??= findMark(log)
      if (mark && comparePlaces(place, mark) > 0 && time >= any) break
      end = place
      bytes += size
    }
    if (end) dropUpTo(connection, end)
  }
  /** The first mark; `null` where there is none. */
  const findMark = (log: string): Place | null => {
    let first: Place | null = null
    for (const [collection, property] of plans.marks) {
      const { text, values } = sqliteEngine.statements.list(collection, {
        ...{ filter: everything, sort: [], skip: 0, limit: null },
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
      last = 1 + (last ?? readHead(connection).last[0])
      due += steps.length * DROPPED
      const numbered = { write: last, time: Date.now(), by }
      return { recording: recordingOf(numbered), undo: () => void connection.run(UNDO, [numbered.write]) }
    },
    beforeCommit() {
      if (last === undefined || due < LEAST) return
      const most = Math.min(due, MOST)
      due = Math.min(due - most, MOST)
      drop(most)
    },
    end(isCommitted) {
      if (last !== undefined && isCommitted) onRecorded()
      last = undefined
    },
  }
}
