import { everything } from '../../../core/filter/filter.js'
import { whenReady } from '../../../core/promises.js'
import { forEachSliced } from '../../../core/slices.js'
import type {
  Change,
  ChangePage,
  ChangeQuery,
  LogPlan,
  MaybePromise,
  StoredDocument,
  WriteOptions,
  WriteStep,
} from '../../../core/storage.js'
import type { LogPlans } from '../../log/log-plans.js'
import { isKept, type Position, parsePosition, printPosition } from '../../log/position.js'
import { createHeldWarning } from '../../log/warn-of-held.js'
import { printBy, type Recorder, type Recording } from '../../sql/log/recorder.js'
import { CHARACTERS } from '../../sql/read/judge-texts.js'
import type { Connection } from '../connection/connection.js'
import type { Seat } from '../connection/readers.js'
import { readRows } from '../read/read-statements.js'
import { sqliteEngine } from '../sqlite-engine.js'
import {
  type ChangeKey,
  comparePlaces,
  createOmission,
  HEAD,
  isPlace,
  LAST,
  PLACE,
  PLACE_TEXT,
  parseChange,
  parsePlace,
  ROW,
  record,
  SIZE,
  TABLE,
} from './log-rows.js'

/** Selects the changes after a key, in order. */
const BEHIND = `FROM ${TABLE} WHERE (${PLACE}) > (?, ?, ?) ORDER BY ${PLACE}`

/** A write with its number, time and caller. */
interface NumberedWrite {
  readonly write: number
  readonly time: number
  readonly by: string | null
  readonly isMigration: boolean
}

/** The SQL expression for the caller. Its parameter is the result of `printBy`. */
const BY = `json_extract(?, '$[0]')`

/** Returns the values of the columns for the caller, and for a run of `migrate`. */
const authorOf = (isMigration: boolean): string => `${BY}, ${isMigration ? 1 : 'NULL'}`

/** Deletes the recorded changes of a write. */
const UNDO = `DELETE FROM ${TABLE} WHERE write = ?`

const FORGET = `${UNDO} AND before IS NULL AND after IS NULL`

/**
 * Returns a function that creates the recording of a write. Each change is recorded before it is made. If the write is
 * rejected, `UNDO` deletes its record.
 */
function createRecordings(plans: LogPlans): (numbered: NumberedWrite) => Recording {
  const known = [new Map<LogPlan, RecorderOf>(), new Map<LogPlan, RecorderOf>()] as const
  return (numbered) => ({
    of(collection) {
      const plan = plans.of(collection)
      if (!plan) return undefined
      const { isMigration } = numbered
      const recorders = known[isMigration ? 1 : 0]
      const recorderOf = recorders.get(plan) ?? createRecorder(collection, plan, isMigration)
      recorders.set(plan, recorderOf)
      return recorderOf(numbered)
    },
    forget: { text: FORGET, values: [numbered.write] },
  })
}

type RecorderOf = (numbered: NumberedWrite) => Recorder

function createRecorder(collection: string, { omit }: LogPlan, isMigration: boolean): RecorderOf {
  const author = authorOf(isMigration)
  const { statements } = sqliteEngine
  const leaveOut = createOmission(omit)
  const inserted = record(`VALUES (?, ?, ${author}, ?, ?, NULL, ${leaveOut('?')})`)
  const found = (text: string, after: string): string =>
    record(
      `SELECT ?, ?, ${author}, ?, _id, ${leaveOut('document')}, ${after} FROM (${text}) AS found WHERE TRUE`,
    )
  const replaced = found(statements.current(collection, '', 0).text, leaveOut('?'))
  return ({ write, time, by }) => {
    const place = [write, time, printBy(by), collection]
    return {
      insert(document) {
        const insert = statements.insert(collection, document)
        return [{ text: inserted, values: [...place, ...insert.values] }, insert]
      },
      replace(document, version) {
        const replace = statements.replace(collection, document, version)
        return [{ text: replaced, values: [...place, ...replace.values] }, replace]
      },
      remove(removal) {
        const selection = removal.text.replace(/^DELETE/, 'SELECT _id, document')
        return [{ text: found(selection, 'NULL'), values: [...place, ...removal.values] }, removal]
      },
    }
  }
}

/** The name of a log, and the keys between which its changes are. */
interface LogBounds {
  readonly log: string
  /** The key of the last dropped change. */
  readonly dropped: ChangeKey
  /** The key of the last change. If the log is empty, it equals `dropped`. */
  readonly last: ChangeKey
}

/** Reads the name and the bounds of the log. */
function readHead(connection: Connection): LogBounds {
  const [log, dropped, lastPlace] = connection.row(`SELECT log, dropped, (${LAST}) FROM ${HEAD}`, [])
  const gone = parsePlace(dropped)
  return { log: String(log), dropped: gone, last: lastPlace === null ? gone : parsePlace(lastPlace) }
}

const total = (connection: Connection, where: string, values: readonly (string | number)[]): number =>
  Number(connection.first(`SELECT total(${SIZE}) FROM ${TABLE} WHERE ${where}`, values))

/**
 * Returns the size of the log in bytes (`all`), and how much of it the writes with numbers above `before` added
 * (`added`). The whole log is measured only if a process with an earlier version has written to the log or dropped
 * changes since the last measurement.
 */
function readBytes(connection: Connection, before: number): { readonly all: number; readonly added: number } {
  const added = total(connection, 'write > ?', [before])
  const [dropped, size] = connection.row(`SELECT dropped, size FROM ${HEAD}`, [])
  const [bytes, from, to] = size === null ? [] : (JSON.parse(String(size)) as readonly unknown[])
  const isKnown = typeof bytes === 'number' && from === dropped && to === before
  return { all: isKnown ? bytes + added : total(connection, 'TRUE', []), added }
}

/**
 * Stores the size of the log, with the last dropped key and the number of the last write, so that `readBytes` can tell
 * whether the size is still right.
 */
function storeBytes(connection: Connection, bytes: number): void {
  const { dropped, last } = readHead(connection)
  connection.run(`UPDATE ${HEAD} SET size = ?`, [JSON.stringify([bytes, JSON.stringify(dropped), last[0]])])
}

/** Returns the total size of the changes after `dropped`, up to and including `end`. */
const bytesUpTo = (connection: Connection, dropped: ChangeKey, end: ChangeKey): number =>
  total(connection, `(${PLACE}) > (?, ?, ?) AND (${PLACE}) <= (?, ?, ?)`, [...dropped, ...end])

/**
 * Adds up the sizes of the oldest changes, and returns the key of the change at which their sum reaches `bytes`.
 * Considers only the first `most` changes, and none of the last write.
 */
function findBytes(
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

/** Returns the time of the change with this key, or `null` if there is no such change. */
function readTime(connection: Connection, place: ChangeKey): number | null {
  const time = connection.first(`SELECT time FROM ${TABLE} WHERE (${PLACE}) = (?, ?, ?)`, place)
  return time === undefined ? null : Number(time)
}

/** Deletes the changes up to a key, and stores the key as the last dropped one. */
function dropUpTo(connection: Connection, place: ChangeKey): void {
  connection.run(`DELETE FROM ${TABLE} WHERE (${PLACE}) <= (?, ?, ?)`, place)
  connection.run(`UPDATE ${HEAD} SET dropped = ?`, [JSON.stringify(place)])
}

/** The record of one write. */
interface Recorded {
  readonly recording: Recording
  /** Deletes the recorded changes. Called if the write was rejected and its other effects are undone. */
  undo(): void
}

/**
 * For each step of a write, `DROPPED` old changes become due to be dropped: more than one, because a single `remove`
 * step may record as many changes as many earlier steps combined. Once `LEAST` changes are due, at most `MOST` of them
 * and about `MOST_BYTES` are dropped at a time.
 */
const DROPPED = 4
const LEAST = 256
const MOST = 1024
const MOST_BYTES = 2 ** 22

/**
 * How much is dropped when the log exceeds its byte limit: `PACE` bytes for each byte that a write adds, plus
 * `LEAST_BYTES`. At most `MOST_ROWS` changes are dropped at a time. Their number is estimated on the assumption that a
 * change has at least `LEAST_SIZE` bytes.
 */
const PACE = 2
const LEAST_BYTES = 2 ** 16
const LEAST_SIZE = 128
const MOST_ROWS = 2 ** 15

/** Records the writes of a connection. */
export class LogWriter {
  readonly #connection: Connection
  readonly #plans: LogPlans
  readonly #onRecorded: () => void
  readonly #warnOfHeld = createHeldWarning()
  readonly #recordingOf: (numbered: NumberedWrite) => Recording
  /** The number of the last write. It is read once per transaction, because other processes write too. */
  #last: number | undefined
  /** The number of the last write before the current transaction. */
  #before = 0
  /** The number of changes that are due to be dropped as soon as they are old enough. */
  #due = 0

  /** `onRecorded` is called after a transaction with recorded changes was committed. */
  constructor(connection: Connection, plans: LogPlans, onRecorded: () => void) {
    this.#connection = connection
    this.#plans = plans
    this.#onRecorded = onRecorded
    this.#recordingOf = createRecordings(plans)
  }

  /** Begins to record a write in the open transaction. Returns `undefined` if none of its collections is logged. */
  begin(
    steps: readonly WriteStep[],
    { by = null, isMigration = false }: Pick<WriteOptions, 'by' | 'isMigration'>,
  ): Recorded | undefined {
    if (!this.#plans.records(steps)) return undefined
    const connection = this.#connection
    if (this.#last === undefined) this.#before = readHead(connection).last[0]
    const write = 1 + (this.#last ?? this.#before)
    this.#last = write
    this.#due += steps.length * DROPPED
    const recording = this.#recordingOf({ write, time: Date.now(), by, isMigration })
    return { recording, undo: () => void connection.run(UNDO, [write]) }
  }

  /** Called before the open transaction is committed. */
  beforeCommit(): void {
    if (this.#last === undefined) return
    const { all, added } = readBytes(this.#connection, this.#before)
    const most = this.#plans.bytes()
    let bytes = all
    if (this.#due >= LEAST) {
      const dropped = Math.min(this.#due, MOST)
      this.#due = Math.min(this.#due - dropped, MOST)
      bytes -= this.#drop(dropped)
    }
    if (bytes > most) bytes -= this.#dropBeyond(bytes - most, added)
    else this.#warnOfHeld(false)
    storeBytes(this.#connection, bytes)
  }

  /** Called when the transaction has ended. */
  end(isCommitted: boolean): void {
    if (this.#last !== undefined && isCommitted) this.#onRecorded()
    this.#last = undefined
  }

  /** Drops the oldest changes, at most `most`, if they are old enough. Returns the size of the dropped changes. */
  #drop(most: number): number {
    const connection = this.#connection
    const { log, dropped } = readHead(connection)
    const { unmarked, any } = this.#plans.horizon(Date.now())
    // Usually no change is old enough. To see this, reading the time of the oldest change is enough.
    const oldest = connection.first(`SELECT time ${BEHIND} LIMIT 1`, dropped)
    if (oldest === undefined || Number(oldest) >= unmarked) return 0
    const mark = this.#findMark(log)
    let end: ChangeKey | undefined
    let bytes = 0
    const rows = connection.all(`SELECT json_array(${PLACE}, time, ${SIZE}) ${BEHIND} LIMIT ?`, [
      ...dropped,
      most,
    ])
    for (const row of rows) {
      const [write, id, collection, time, size] = JSON.parse(String(row)) as [...ChangeKey, number, number]
      if (time >= unmarked || bytes > MOST_BYTES) break
      const place: ChangeKey = [write, id, collection]
      if (mark && comparePlaces(place, mark) > 0 && time >= any) break
      end = place
      bytes += size
    }
    if (end) dropUpTo(connection, end)
    return bytes
  }

  /**
   * Drops the oldest changes because the log exceeds its byte limit by `beyond`. Drops more than was added, so that the
   * log shrinks to the limit. Returns the size of the dropped changes.
   */
  #dropBeyond(beyond: number, added: number): number {
    const connection = this.#connection
    const head = readHead(connection)
    const bytes = Math.min(beyond, added * PACE + LEAST_BYTES)
    const found = findBytes(connection, head, bytes, Math.min(MOST_ROWS, Math.ceil(bytes / LEAST_SIZE)))
    const mark = this.#findMark(head.log)
    const isHeld = mark !== undefined && found !== undefined && comparePlaces(found, mark) > 0
    this.#warnOfHeld(isHeld)
    const end = isHeld ? mark : found
    if (!end || comparePlaces(end, head.dropped) <= 0) return 0
    const freed = bytesUpTo(connection, head.dropped, end)
    dropUpTo(connection, end)
    return freed
  }

  #findMark(log: string): ChangeKey | undefined {
    const documentsOf = (collection: string): readonly StoredDocument[] => {
      const all = { filter: everything, sort: [], skip: 0, limit: null }
      const { text, values } = sqliteEngine.statements.list(collection, all)
      return this.#connection.all(text, values).map((row) => JSON.parse(String(row)) as StoredDocument)
    }
    return this.#plans.findMark(log, documentsOf, isPlace, comparePlaces)
  }
}

/**
 * A query of the log for the changes after a position. If `after` is `null`, it returns no changes, but the last
 * position.
 */
export interface LogQuery extends ChangeQuery {
  readonly after: string | null
  readonly files: LogFiles
}

/** Identifies the files that contain a log. */
interface LogFiles {
  readonly name: string
  /**
   * Whether this process had other files open at the same paths before. Positions from those files are reported as
   * gaps.
   */
  readonly areOthers: boolean
}

/** Reads a page of the log. */
export function readChanges(
  seat: Seat,
  { after, limit, bytes = Number.POSITIVE_INFINITY, files: { name: files, areOthers } }: LogQuery,
): MaybePromise<ChangePage> {
  const { connection, slices } = seat
  const { log, dropped, last } = readHead(connection)
  const end: Position<ChangeKey> = { log, place: last, time: Date.now(), files }
  const given = after === null ? end : parsePosition(after, isPlace)
  const made = given?.log === log ? readTime(connection, given.place) : null
  const isKnown = given?.log === log && isKept(given, made, comparePlaces(given.place, dropped) === 0)
  const start = isKnown ? given.place : dropped
  const changes: Change[] = []
  let size = 0
  let more = false
  /** Reads the texts of the changes, up to the limits of the query. */
  function* readTexts(): Generator<string, void> {
    for (const row of readRows(seat, { text: `SELECT ${ROW} ${BEHIND}`, values: start })) {
      const text = String(row)
      size += Buffer.byteLength(text)
      more = changes.length === limit || (size > bytes && changes.length > 0)
      if (more) return
      yield text
    }
  }
  const reading = forEachSliced(slices, readTexts(), (text) => {
    slices.left -= text.length / CHARACTERS
    changes.push(parseChange(text, { log, files }))
  })
  return whenReady(reading, () => {
    const here = { log, place: start, time: Date.now(), made: isKnown ? made : null, files }
    const position = changes.at(-1)?.position ?? printPosition(here)
    return { changes, position, more, gap: !isKnown || (areOthers && given.files !== files) }
  })
}
