import type BetterSqlite3 from 'better-sqlite3'
import { createBoundedMap } from '../../filter/bounded-map.js'
import { compilePattern, type Matcher } from '../../filter/pattern/compile-pattern.js'
import type { Pattern } from '../../filter/pattern/pattern.js'
import type { Value } from '../sql/dialect.js'
import { MATCHES } from './sqlite-dialect.js'
import { whileBusy } from './while-busy.js'

/** A connection to a database file. Everything happens at once, in the calling thread. */
export interface Connection {
  /** The first column of every row. */
  all(text: string, values: readonly Value[]): readonly unknown[]
  /** The first column of the first row. */
  first(text: string, values: readonly Value[]): unknown
  /** How many rows a statement changed. */
  run(text: string, values: readonly Value[]): number
  /** Runs statements that name no values. */
  execute(text: string): void
  readonly isInTransaction: boolean
  close(): void
}

/** Milliseconds that a statement waits for other processes, and this one with it, before it is tried again later. */
const PATIENCE = 20

/** Statements that a connection keeps prepared. */
const MAX_PREPARED = 256

/** Patterns that a connection keeps compiled. */
const MAX_PATTERNS = 64

/**
 * Opens a file, so that what is acknowledged is on disk (WAL, `synchronous=FULL`) and other processes may use it too.
 * Rejects with what to install where `better-sqlite3` is missing.
 */
export async function openConnection(file: string): Promise<Connection> {
  const Database = await importDriver()
  const database = new Database(file, { timeout: PATIENCE })
  try {
    // For this SQLite does not wait by itself, and processes that open a new file stand in each other's way.
    await whileBusy(() => database.pragma('journal_mode = WAL'))
    database.pragma('synchronous = FULL')
    if (database.pragma('encoding', { simple: true }) !== 'UTF-8')
      throw new Error(`${file} is not in UTF-8, so texts would be ordered otherwise`)
    database.function(MATCHES, { deterministic: true, directOnly: true }, createMatcher())
  } catch (thrown) {
    database.close()
    throw thrown
  }
  const prepared = createBoundedMap<string, BetterSqlite3.Statement<unknown[], unknown>>(MAX_PREPARED)
  const prepare = (text: string): BetterSqlite3.Statement<unknown[], unknown> => {
    const known = prepared.get(text)
    if (known) return known
    const statement = database.prepare(text)
    if (statement.reader) statement.pluck()
    prepared.set(text, statement)
    return statement
  }
  return {
    all: (text, values) => prepare(text).all(...values.map(toStored)),
    first: (text, values) => prepare(text).get(...values.map(toStored)),
    run: (text, values) => prepare(text).run(...values.map(toStored)).changes,
    execute: (text) => void database.exec(text),
    get isInTransaction() {
      return database.inTransaction
    },
    close: () => void database.close(),
  }
}

/** SQLite has no booleans. */
const toStored = (value: Value): unknown => (typeof value === 'boolean' ? Number(value) : value)

async function importDriver(): Promise<typeof BetterSqlite3> {
  try {
    return (await import('better-sqlite3')).default
  } catch (cause) {
    throw new Error('SQLite needs the package better-sqlite3: npm install better-sqlite3', { cause })
  }
}

/** The function that statements call: a text, and a pattern as JSON. NULL stays NULL. */
function createMatcher(): (text: unknown, pattern: unknown) => number | null {
  const compiled = createBoundedMap<string, Matcher['test']>(MAX_PATTERNS)
  return (text, pattern) => {
    if (typeof text !== 'string' || typeof pattern !== 'string') return null
    let test = compiled.get(pattern)
    if (!test) {
      test = compilePattern(JSON.parse(pattern) as Pattern).test
      compiled.set(pattern, test)
    }
    return test(text) ? 1 : 0
  }
}
