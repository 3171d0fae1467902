import { messageOf } from '../../sql/faults.js'
import { reasonOf } from './faults.js'
import {
  isRead,
  type ProgramDriver,
  type ProgramLimits,
  type ProgramResult,
  type ProgramStatement,
} from './program-driver.js'

/** An engine that only accepts lists of statements. */
export interface BatchEngine {
  readonly limits: ProgramLimits
  /** Runs statements in one transaction. Rejects if any of them fails. */
  sendBatch(statements: readonly ProgramStatement[]): Promise<readonly ProgramResult[]>
}

/** A statement that is sent, and whether its result is that of the next statement of the program. */
type SentStatement = readonly [statement: ProgramStatement, isResult: boolean]

/**
 * Creates the driver of an engine that only accepts lists of statements. A guard, which fails by itself, follows each
 * statement that must change a certain number of rows, and replaces each that must return a certain number.
 */
export const overBatch = (engine: BatchEngine): ProgramDriver => ({
  limits: engine.limits,
  isShared: true,
  read: (statements) => engine.sendBatch(statements),
  async write(program) {
    // Some engines reject an empty list.
    if (program.length === 0) return { ok: true, results: [] }
    const sent = program.flatMap((statement, i): readonly SentStatement[] => {
      const { text, values, expect } = statement
      if (expect === undefined) return [[statement, true]]
      if (isRead(statement))
        return [[{ text: writeGuard(`(SELECT count(*) FROM (${text}))`, expect, i), values }, true]]
      return [
        [statement, true],
        [{ text: writeGuard('changes()', expect, i), values: [] }, false],
      ]
    })
    try {
      const results = await engine.sendBatch(sent.map(([statement]) => statement))
      return { ok: true, results: results.filter((_, i) => sent[i]?.[1]) }
    } catch (cause) {
      const place = REFUSED.exec(messageOf(cause))?.[1]
      return place === undefined
        ? { ok: false, reason: reasonOf(cause, 'unknown'), cause }
        : { ok: false, reason: 'expected', statement: Number(place) }
    }
  },
})

/** Returns a statement that fails unless `count` is the expected number. The error shows the place of the statement. */
const writeGuard = (count: string, expect: number, place: number): string =>
  `SELECT json_extract('{}', CASE WHEN ${count} = ${expect} THEN '$' ELSE 'refused ${place}' END)`

/** SQLite reports an invalid path with its text. */
const REFUSED = /'refused (\d+)'/
