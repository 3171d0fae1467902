import { everything } from '../../../core/filter/filter.js'
import type {
  ChangePage,
  ChangeQuery,
  LogPlan,
  StoredDocument,
  WriteOptions,
  WriteStep,
} from '../../../core/storage.js'
import type { LogPlans } from '../../log/log-plans.js'
import { createNotifier } from '../../log/notifier.js'
import { isKept, type Position, parsePosition, printPosition } from '../../log/position.js'
import { createHeldWarning } from '../../log/warn-of-held.js'
import type { Bind, Statement } from '../../sql/dialect.js'
import { printBy, type Recorder } from '../../sql/log/recorder.js'
import { writeStatement } from '../../sql/statements.js'
import {
  type ChangeKey,
  comparePlaces,
  createOmission,
  HEAD,
  isPlace,
  LAST,
  PLACE,
  parseChange,
  parsePlace,
  ROW,
  record,
  SIZE,
  TABLE,
} from '../log/log-rows.js'
import type { ProgramDriver } from './program-driver.js'
import { programEngine, toProgramStatement, writeAround } from './program-engine.js'
import { readAll } from './read-rows.js'

const { dialect, statements } = programEngine

const plain = (text: string): Statement => ({ text, values: [] })

/** The number of the write that a program records: that of its first row, which has an empty key. */
const NUMBER = `(SELECT max(write) FROM ${TABLE})`

/** The number of the last write before the program. */
const BEFORE = `coalesce((SELECT max(write) FROM ${TABLE} WHERE write < ${NUMBER}), json_extract(dropped, '$[0]'))`

/** Takes the next number, with a row that is deleted at the end of the program. */
const BEGIN = plain(
  `INSERT INTO ${TABLE} (write, time, collection, id) SELECT 1 + max(coalesce(${NUMBER}, 0), json_extract(dropped, '$[0]')), 0, '', '' FROM ${HEAD}`,
)

const IS_RECORDED = `EXISTS (SELECT 1 FROM ${TABLE} WHERE write = ${NUMBER} AND coalesce(before, after) IS NOT NULL)`
const sizeOf = (where: string): string => `(SELECT total(${SIZE}) FROM ${TABLE} WHERE ${where})`

/** The size of the log before the program. It is measured if another adapter has written or dropped changes since. */
const SIZE_BEFORE = `iif(json_extract(size, '$[1]') = dropped AND json_extract(size, '$[2]') = ${BEFORE}, json_extract(size, '$[0]'), ${sizeOf(`write < ${NUMBER}`)})`

const END: readonly Statement[] = [
  plain(
    `UPDATE ${HEAD} SET size = json_array(CAST(${SIZE_BEFORE} + ${sizeOf(`write = ${NUMBER}`)} AS INTEGER), dropped, iif(${IS_RECORDED}, ${NUMBER}, ${BEFORE}))`,
  ),
  plain(`DELETE FROM ${TABLE} WHERE write = ${NUMBER} AND before IS NULL AND after IS NULL`),
  plain(`SELECT json_array(json_extract(size, '$[0]'), ${sizeOf(`write = ${NUMBER}`)}) FROM ${HEAD}`),
]

/** The statements that record a write. The last of `end` returns the size of the log and of its last write. */
export interface ProgramRecording {
  readonly begin: readonly Statement[]
  readonly of: (collection: string) => Recorder | undefined
  readonly end: readonly Statement[]
}

function createRecorder(
  collection: string,
  { omit }: LogPlan,
  { by = null, isMigration = false }: WriteOptions,
): Recorder {
  const leaveOut = createOmission(omit)
  const time = Date.now()
  const columnsOf = (bind: Bind): string =>
    `${NUMBER}, ${bind(time)}, json_extract(${bind(printBy(by))}, '$[0]'), ${isMigration ? 1 : 'NULL'}, ${bind(collection)}`
  const found = (text: string, after: string, bind: Bind): string =>
    record(
      `SELECT ${columnsOf(bind)}, _id, ${leaveOut('document')}, ${after} FROM (${text}) AS found WHERE TRUE`,
    )
  return {
    insert(document) {
      const recorded = writeStatement(dialect, (bind) => {
        const after = leaveOut(bind(JSON.stringify(document)))
        return record(`SELECT ${columnsOf(bind)}, ${bind(document._id)}, NULL, ${after} WHERE TRUE`)
      })
      return [recorded, statements.insert(collection, document)]
    },
    replace(document, version) {
      const recorded = writeAround(statements.current(collection, document._id, version), (text, bind) =>
        found(text, leaveOut(bind(JSON.stringify(document))), bind),
      )
      return [recorded, statements.replace(collection, document, version)]
    },
    remove(removal) {
      const recorded = writeAround(removal, (text, bind) =>
        found(text.replace(/^DELETE/, 'SELECT _id, document'), 'NULL', bind),
      )
      return [recorded, removal]
    },
  }
}

/**
 * The numbers that limit how much is dropped at a time: for each step of a write, `DROPPED` changes become due to be
 * dropped. Once `LEAST` are due, at most `MOST` are dropped. Beyond the byte limit, `PACE` bytes are dropped for each
 * byte that a write adds, plus `LEAST_BYTES`, on the assumption that a change has at least `LEAST_SIZE` bytes.
 */
const DROPPED = 4
const LEAST = 256
const MOST = 1024
const PACE = 2
const LEAST_BYTES = 2 ** 16
const LEAST_SIZE = 128

/** The milliseconds between two reads of a waiting reader, if other processes write. */
const LOOK = 200

/** The state of the log when a page was read. */
interface LogState {
  readonly log: string
  readonly dropped: ChangeKey
  /** The key of the last change, and its time: `dropped`, and `null`, if the log is empty. */
  readonly last: ChangeKey
  readonly lastTime: number | null
}

// `|| ''` keeps SQLite from embedding the key as an array.
const STATE = plain(
  `SELECT json_array(log, dropped, (${LAST}) || '', (SELECT time FROM ${TABLE} ORDER BY write DESC, id DESC, collection DESC LIMIT 1)) FROM ${HEAD}`,
)

function parseState(row: unknown): LogState {
  const [log, dropped, last, lastTime] = JSON.parse(String(row)) as readonly [
    string,
    string,
    string | null,
    number | null,
  ]
  return { log, dropped: parsePlace(dropped), last: parsePlace(last ?? dropped), lastTime }
}

const printKey = (key: ChangeKey, bind: Bind): string => `(${key.map(bind).join(', ')})`

/** The log of a database: records its writes by statements of their programs, and reads it. */
export class ProgramLog {
  readonly #driver: ProgramDriver
  readonly #plans: LogPlans
  readonly #notifier: ReturnType<typeof createNotifier>
  readonly #warnOfHeld = createHeldWarning()
  /** The number of changes that are due to be dropped as soon as they are old enough. */
  #due = 0

  constructor(driver: ProgramDriver, plans: LogPlans) {
    this.#driver = driver
    this.#plans = plans
    this.#notifier = createNotifier(driver.isShared ? LOOK : undefined)
  }

  /** Returns the statements that record a write, or `undefined` if none of its collections is logged. */
  record(steps: readonly WriteStep[], options: WriteOptions): ProgramRecording | undefined {
    if (!this.#plans.records(steps)) return undefined
    return {
      begin: [BEGIN],
      of: (collection) => {
        const plan = this.#plans.of(collection)
        return plan && createRecorder(collection, plan, options)
      },
      end: END,
    }
  }

  /**
   * Called after a recorded write took effect, with the last row of its program. Drops changes that are too old or beyond
   * the byte limit. If this fails, a later write does it.
   */
  async tookEffect(steps: readonly WriteStep[], row: unknown): Promise<void> {
    this.#notifier.notify()
    this.#due += steps.length * DROPPED
    const [bytes, added] = JSON.parse(String(row)) as readonly [number, number]
    const beyond = Math.max(0, bytes - this.#plans.bytes())
    if (beyond === 0) this.#warnOfHeld(false)
    if (this.#due < LEAST && beyond === 0) return
    const surplus = Math.min(beyond, added * PACE + LEAST_BYTES)
    await this.#drop(surplus).catch(() => {})
  }

  /** Drops the oldest changes: those that are old enough, and others while their bytes are less than `surplus`. */
  async #drop(surplus: number): Promise<void> {
    const most = Math.max(MOST, Math.ceil(surplus / LEAST_SIZE))
    this.#due = Math.max(0, Math.min(this.#due - MOST, MOST))
    const marks = [...this.#plans.marks.keys()]
    const all = { filter: everything, sort: [], skip: 0, limit: null }
    const oldest = writeStatement(
      dialect,
      (bind) =>
        `SELECT json_array(${PLACE}, time, ${SIZE}) FROM ${TABLE} ORDER BY ${PLACE} LIMIT ${bind(most)}`,
    )
    const [[state] = [], rows = [], ...marked] = await readAll(this.#driver, [
      STATE,
      oldest,
      ...marks.map((collection) => statements.list(collection, all)),
    ])
    const { log, dropped, last } = parseState(state)
    const documentsOf = (collection: string): readonly StoredDocument[] =>
      (marked[marks.indexOf(collection)] ?? []).map((row) => JSON.parse(String(row)) as StoredDocument)
    const mark = this.#plans.findMark(log, documentsOf, isPlace, comparePlaces)
    const { unmarked, any } = this.#plans.horizon(Date.now())
    let end: ChangeKey | undefined
    let freed = 0
    let isHeld = false
    for (const row of rows) {
      const [write, id, collection, time, size] = JSON.parse(String(row)) as [...ChangeKey, number, number]
      const place: ChangeKey = [write, id, collection]
      const isMarked = mark !== undefined && comparePlaces(place, mark) > 0
      const isOld = time < (isMarked ? any : unmarked)
      const isSurplus = freed < surplus && write !== last[0]
      if (!isOld && (!isSurplus || isMarked)) {
        isHeld = isSurplus
        break
      }
      end = place
      freed += size
    }
    if (surplus > 0) this.#warnOfHeld(isHeld)
    if (end) await this.#dropUpTo(end, dropped)
  }

  async #dropUpTo(end: ChangeKey, dropped: ChangeKey): Promise<void> {
    const forget = writeStatement(dialect, (bind) => {
      const next = bind(JSON.stringify(end))
      const size = `json_array(CAST(json_extract(size, '$[0]') - ${sizeOf(`(${PLACE}) <= ${printKey(end, bind)}`)} AS INTEGER), ${next}, json_extract(size, '$[2]'))`
      const isKnown = `json_extract(size, '$[1]') = dropped`
      return `UPDATE ${HEAD} SET size = iif(${isKnown}, ${size}, NULL), dropped = ${next} WHERE dropped = ${bind(JSON.stringify(dropped))}`
    })
    const remove = writeStatement(
      dialect,
      (bind) => `DELETE FROM ${TABLE} WHERE (${PLACE}) <= ${printKey(end, bind)}`,
    )
    const { limits } = this.#driver
    await this.#driver.write([toProgramStatement(forget, limits, 1), toProgramStatement(remove, limits)])
  }

  /** See `StorageAdapter.changes`. */
  changes(after: string | null, query: ChangeQuery): Promise<ChangePage> {
    const asked = after === null ? { ...query, wait: 0 } : query
    return this.#notifier.readWhenNotified(() => this.#readPage(after, query), asked)
  }

  async #readPage(after: string | null, query: ChangeQuery): Promise<ChangePage> {
    const given = after === null ? undefined : parsePosition(after, isPlace)
    const times = given
      ? [
          writeStatement(
            dialect,
            (bind) => `SELECT time FROM ${TABLE} WHERE (${PLACE}) = ${printKey(given.place, bind)}`,
          ),
        ]
      : []
    for (;;) {
      const [[row] = [], [time = null] = []] = await readAll(this.#driver, [STATE, ...times])
      const state = parseState(row)
      if (after === null) {
        const { log, last, lastTime } = state
        const position = printPosition({ log, place: last, time: Date.now(), made: lastTime })
        return { changes: [], position, more: false, gap: false }
      }
      const page = await this.#readAfter(given, time === null ? null : Number(time), state, query)
      if (page) return page
    }
  }

  /** Reads the changes after a position. Returns `undefined` if changes were dropped since `state` was read. */
  async #readAfter(
    given: Position<ChangeKey> | undefined,
    time: number | null,
    { log, dropped }: LogState,
    { limit, bytes = Number.MAX_SAFE_INTEGER }: ChangeQuery,
  ): Promise<ChangePage | undefined> {
    const made = given?.log === log ? time : null
    const isKnown = given?.log === log && isKept(given, made, comparePlaces(given.place, dropped) === 0)
    const start = isKnown ? given.place : dropped
    const page = (bind: Bind): string =>
      `SELECT * FROM ${TABLE} WHERE (${PLACE}) > ${printKey(start, bind)} ORDER BY ${PLACE} LIMIT ${bind(limit + 1)}`
    const texts = writeStatement(dialect, (bind) => {
      const all = `SELECT ${ROW} AS text, row_number() OVER (ORDER BY ${PLACE}) AS place FROM (${page(bind)})`
      const sized = `SELECT text, place, sum(octet_length(text)) OVER (ORDER BY place ROWS UNBOUNDED PRECEDING) AS total FROM (${all})`
      return `SELECT text FROM (${sized}) WHERE place = 1 OR (total <= ${bind(bytes)} AND place <= ${bind(limit)}) ORDER BY place`
    })
    const count = writeStatement(dialect, (bind) => `SELECT count(*) FROM (${page(bind)})`)
    const [[row] = [], rows = [], [total] = []] = await readAll(this.#driver, [STATE, texts, count])
    const now = parseState(row)
    if (now.log !== log || comparePlaces(now.dropped, dropped) !== 0) return undefined
    const changes = rows.map((text) => parseChange(String(text), { log }))
    const here = { log, place: start, time: Date.now(), made: isKnown ? made : null }
    const position = changes.at(-1)?.position ?? printPosition(here)
    return { changes, position, more: Number(total) > changes.length, gap: !isKnown }
  }
}
