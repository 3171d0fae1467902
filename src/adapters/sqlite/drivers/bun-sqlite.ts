import { resolve } from 'node:path'
import type { Bound, SqliteDriver, SqliteSession, SqliteStatement } from './driver.js'
import { nameError } from './sqlite-error.js'

/** The part of `bun:sqlite` that the driver uses. */
interface BunSqlite {
  readonly Database: new (
    file: string,
    options?: { readonly readonly?: true; readonly readwrite?: true; readonly create?: boolean },
  ) => BunDatabase
}

interface BunDatabase {
  readonly inTransaction: boolean
  prepare(text: string): BunStatement
  close(): void
}

interface BunStatement {
  readonly columnNames: readonly string[]
  /** `null` for a statement that has no result, such as some pragmas. */
  values(...values: readonly Bound[]): readonly (readonly unknown[])[] | null
  iterate(...values: readonly Bound[]): IterableIterator<{ readonly [column: string]: unknown }>
  run(...values: readonly Bound[]): { readonly changes: number }
  finalize(): void
}

/** Loads the module of Bun. Throws in other runtimes, and in versions of Bun that do not store all strings. */
export function loadBunSqlite(): SqliteDriver {
  // No `import`, because bundlers do not know the module.
  const module = process.getBuiltinModule?.('bun:sqlite') as BunSqlite | undefined
  if (!module) throw new Error('this runtime has no module bun:sqlite')
  const database = new module.Database(':memory:')
  const [version, mark] = database.prepare('SELECT sqlite_version(), hex(?)').values('\u{feff}')?.[0] ?? []
  database.close()
  // Bun 1.4.0 and earlier versions drop this character from the beginning of a string.
  if (mark !== 'EFBBBF') throw new Error('this version of Bun changes strings')
  return {
    name: 'bun:sqlite',
    version: String(version),
    update: 'use a later version of Bun, or its Database.setCustomSQLite() on macOS',
    open(file, { mode, patience }) {
      const options =
        mode === 'read'
          ? ({ readonly: true } as const)
          : ({ readwrite: true, create: mode === 'create' } as const)
      const session = named(() => new Session(new module.Database(resolve(file), options)))
      session.prepare(`PRAGMA busy_timeout = ${patience}`).first([])
      return session
    },
  }
}

/** Returns an error with the name that SQLite gives it. Early versions of Bun name only some, but number all. */
const explain = (thrown: unknown): unknown => nameError(thrown, (thrown as { errno?: unknown })?.errno)

function named<T>(work: () => T): T {
  try {
    return work()
  } catch (thrown) {
    throw explain(thrown)
  }
}

class Session implements SqliteSession {
  readonly #database: BunDatabase
  /** All statements that are not finished. Bun leaves the log behind if a file is closed before they are. */
  readonly #unfinished = new Set<BunStatement>()

  constructor(database: BunDatabase) {
    this.#database = database
  }

  get isInTransaction(): boolean {
    return this.#database.inTransaction
  }

  prepare(text: string): SqliteStatement {
    return new Statement(this, text)
  }

  /** Prepares a statement, which `finish` must free. */
  open(text: string): BunStatement {
    const statement = named(() => this.#database.prepare(text))
    this.#unfinished.add(statement)
    return statement
  }

  finish(statement: BunStatement): void {
    this.#unfinished.delete(statement)
    statement.finalize()
  }

  close(): void {
    for (const statement of this.#unfinished) this.finish(statement)
    this.#database.close()
  }
}

class Statement implements SqliteStatement {
  readonly #session: Session
  readonly #text: string
  readonly #statement: BunStatement
  #changes: BunStatement | undefined

  constructor(session: Session, text: string) {
    this.#session = session
    this.#text = text
    this.#statement = session.open(text)
  }

  all(values: readonly Bound[]): readonly unknown[] {
    return this.rows(values).map((row) => row[0])
  }

  first(values: readonly Bound[]): unknown {
    return this.rows(values)[0]?.[0]
  }

  rows(values: readonly Bound[]): readonly (readonly unknown[])[] {
    return named(() => this.#statement.values(...values)) ?? []
  }

  *iterate(values: readonly Bound[]): Generator<unknown, void> {
    // A statement of its own, because an iteration that has not ended changes what other calls return.
    const statement = this.#session.open(this.#text)
    try {
      const [column = ''] = statement.columnNames
      for (const row of statement.iterate(...values)) yield row[column]
    } catch (thrown) {
      throw explain(thrown)
    } finally {
      this.#session.finish(statement)
    }
  }

  run(values: readonly Bound[]): number {
    const { changes } = named(() => this.#statement.run(...values))
    if (changes === 0) return 0
    // Early versions of Bun add the rows that triggers have changed.
    this.#changes ??= this.#session.open('SELECT changes()')
    return Number(this.#changes.values()?.[0]?.[0])
  }

  finish(): void {
    for (const one of [this.#statement, this.#changes]) if (one) this.#session.finish(one)
  }
}
