import BetterSqlite3 from 'better-sqlite3'
import type { BatchEngine } from '../../src/adapters/sqlite-programs/over-batch.js'
import type { ProgramSession } from '../../src/adapters/sqlite-programs/over-session.js'
import {
  isRead,
  type ProgramLimits,
  type ProgramResult,
  type ProgramStatement,
} from '../../src/adapters/sqlite-programs/program-driver.js'

/** The limits of Cloudflare's engines. */
const LIMITS: ProgramLimits = { parameters: 100, statementBytes: 100_000, depth: 100 }

/** The maximum number of bytes of a pattern of GLOB. */
const PATTERN = 50

/** A file that is opened by the first statement after it was closed, and accepts only statements within the limits. */
class File {
  readonly #file: string
  #database: BetterSqlite3.Database | undefined

  constructor(file: string) {
    this.#file = file
  }

  open(): BetterSqlite3.Database {
    this.#database ??= new BetterSqlite3(this.#file)
    return this.#database
  }

  run(statement: ProgramStatement): ProgramResult {
    requireWithin(statement)
    const prepared = this.open().prepare<unknown[], unknown>(statement.text)
    const values = Object.fromEntries(statement.values.map((value, i) => [i + 1, value]))
    const bound = statement.values.length > 0 ? [values] : []
    if (isRead(statement)) return { rows: prepared.pluck().all(...bound), changes: 0 }
    return { rows: [], changes: prepared.run(...bound).changes }
  }

  transact<T>(work: () => T): T {
    return this.open().transaction(work).immediate()
  }

  close(): void {
    this.#database?.close()
    this.#database = undefined
  }
}

function requireWithin({ text, values }: ProgramStatement): void {
  const patterns = [...text.matchAll(/GLOB '((?:[^']|'')*)'/g)]
  if (patterns.some(([, pattern = '']) => pattern.length > PATTERN))
    throw new RangeError(`a pattern is too long: ${text}`)
  if (Buffer.byteLength(text) > LIMITS.statementBytes) throw new RangeError('a statement is too long')
  if (values.length > LIMITS.parameters) throw new RangeError('a statement has too many values')
  for (const value of values)
    if (typeof value !== 'string' && typeof value !== 'number')
      throw new TypeError(`${typeof value} ${String(value)} is bound`)
}

/** A file, as an engine that runs in this thread. */
export function createFileSession(file: string): ProgramSession {
  const opened = new File(file)
  return {
    limits: LIMITS,
    isShared: true,
    run: (statement) => opened.run(statement),
    transact: (work) => opened.transact(work),
    close: () => opened.close(),
  }
}

/** A file, as an engine that only accepts lists of statements, and answers later. */
export function createFileBatches(file: string): BatchEngine {
  const opened = new File(file)
  return {
    limits: LIMITS,
    async sendBatch(statements) {
      await new Promise((resolve) => setImmediate(resolve))
      const results = opened.transact(() => statements.map((statement) => opened.run(statement)))
      await new Promise((resolve) => setImmediate(resolve))
      return results
    },
    close: () => opened.close(),
  }
}
