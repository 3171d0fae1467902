import type { LogPlan } from '../../../storage.js'
import type { LogPlans } from '../../log/log-plans.js'
import { quoteName } from '../../sql/dialect.js'
import { LOG, printBy, type Recorder, type Recording } from '../../sql/log/recorder.js'
import { sqliteEngine } from '../sqlite-engine.js'

const TABLE = quoteName(LOG)

/** The table's key sorts the changes of a write; the second change of a document merges into the first. */
const record = (rows: string): string =>
  `INSERT INTO ${TABLE} (write, time, caller, collection, id, before, after) ${rows} ON CONFLICT (write, id, collection) DO UPDATE SET after = excluded.after`

/** A write, its time, and its caller. */
export interface NumberedWrite {
  readonly write: number
  readonly time: number
  readonly by: string | null
}

/** The value of `printBy`. */
const BY = `json_extract(?, '$[0]')`

/** Deletes the record of a write. */
export const UNDO = `DELETE FROM ${TABLE} WHERE write = ?`

const FORGET = `${UNDO} AND before IS NULL AND after IS NULL`

/**
 * Creates the recordings of writes. The record is written before the change; if the change is rejected, `UNDO`
 * deletes it.
 */
export function createRecordings(plans: LogPlans): (numbered: NumberedWrite) => Recording {
  const recorders = new Map<LogPlan, RecorderOf>()
  return (numbered) => ({
    of(collection) {
      const plan = plans.of(collection)
      if (!plan) return undefined
      const recorderOf = recorders.get(plan) ?? createRecorder(collection, plan)
      recorders.set(plan, recorderOf)
      return recorderOf(numbered)
    },
    forget: { text: FORGET, values: [numbered.write] },
  })
}

type RecorderOf = (numbered: NumberedWrite) => Recorder

function createRecorder(collection: string, { omit }: LogPlan): RecorderOf {
  const { statements } = sqliteEngine
  const names = omit.map((name) => `'$.${quoteName(name).replaceAll("'", "''")}'`)
  const leaveOut = (text: string): string =>
    omit.length > 0 ? `json_remove(${[text, ...names].join(', ')})` : text
  const inserted = record(`VALUES (?, ?, ${BY}, ?, ?, NULL, ${leaveOut('?')})`)
  const found = (text: string, after: string): string =>
    record(`SELECT ?, ?, ${BY}, ?, _id, ${leaveOut('document')}, ${after} FROM (${text}) AS found WHERE TRUE`)
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
