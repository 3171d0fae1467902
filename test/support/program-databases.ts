import BetterSqlite3 from 'better-sqlite3'
import type { D1Binding } from '../../src/adapters/sqlite/programs/d1.js'
import type { DurableObjectSql } from '../../src/adapters/sqlite/programs/durable-object.js'

/** The limits of SQLite at Cloudflare: the values and the bytes of a statement, and the bytes of a pattern of GLOB. */
const VALUES = 100
const BYTES = 100_000
const PATTERN = 50
/** The bytes of a row. */
const ROW = 2_000_000

/** A file that is opened by the first statement after it was closed, and accepts only statements within the limits. */
class File {
  readonly #file: string
  #database: BetterSqlite3.Database | undefined

  constructor(file: string) {
    this.#file = file
  }

  open(): BetterSqlite3.Database {
    if (this.#database) return this.#database
    this.#database = new BetterSqlite3(this.#file)
    // No test interrupts the process, so nothing needs to wait for a disk.
    this.#database.pragma('synchronous = OFF')
    return this.#database
  }

  run(text: string, values: readonly (string | number)[]): { rows: readonly object[]; changes: number } {
    requireWithin(text, values)
    const prepared = this.open().prepare<unknown[], object>(text)
    // The package takes numbered parameters for named ones.
    const named = Object.fromEntries(values.map((value, i) => [i + 1, value]))
    const bound = values.length > 0 ? [named] : []
    if (prepared.reader) return { rows: prepared.all(...bound), changes: 0 }
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

function requireWithin(text: string, values: readonly unknown[]): void {
  const patterns = [...text.matchAll(/GLOB '((?:[^']|'')*)'/g)]
  if (patterns.some(([, pattern = '']) => pattern.length > PATTERN))
    throw new RangeError(`a pattern is too long: ${text}`)
  if (Buffer.byteLength(text) > BYTES) throw new RangeError('a statement is too long')
  if (values.length > VALUES) throw new RangeError('a statement has too many values')
  const bytes = values.reduce((sum: number, value) => sum + Buffer.byteLength(String(value)), 0)
  if (bytes > ROW) throw new Error('string or blob too big: SQLITE_TOOBIG')
  for (const value of values)
    if (typeof value !== 'string' && !Number.isFinite(value))
      throw new TypeError(`${typeof value} ${String(value)} is bound`)
}

/** A database that is closed when a test is over, and may be used again. */
export type Closable<T> = T & { close(): void }

/** Creates a storage like that of a Durable Object, over a file. */
export function createObjectStorage(file: string): Closable<DurableObjectSql> {
  const opened = new File(file)
  return {
    sql: {
      exec(text, ...values) {
        const { rows } = opened.run(text, values)
        return { toArray: () => rows }
      },
    },
    transactionSync: (work) => opened.transact(work),
    close: () => opened.close(),
  }
}

/** Creates a database like one of D1, over a file: it answers later, and other databases of the file write meanwhile. */
export function createD1Database(file: string): Closable<D1Binding> {
  const opened = new File(file)
  type Bound = readonly [text: string, values: readonly (string | number)[]]
  return {
    prepare: (text) => ({ bind: (...values): Bound => [text, values] }),
    async batch(statements) {
      if (statements.length === 0) throw new Error('D1_ERROR: No SQL statements detected.')
      await new Promise((resolve) => setImmediate(resolve))
      const results = opened.transact(() =>
        (statements as readonly Bound[]).map(([text, values]) => opened.run(text, values)),
      )
      await new Promise((resolve) => setImmediate(resolve))
      return results.map(({ rows: found, changes }) => ({ results: found, meta: { changes } }))
    },
    close: () => opened.close(),
  }
}
