import type BetterSqlite3 from 'better-sqlite3'
import { type Bound, COPIED, type SqliteDriver, type SqliteSession, type SqliteStatement } from './driver.js'
import { SqliteError } from './sqlite-error.js'

/** Loads the package. Rejects if it is missing, or was not built for this runtime. */
export async function loadBetterSqlite(): Promise<SqliteDriver> {
  const Database = (await import('better-sqlite3')).default
  // The package loads its native part only here.
  const database = new Database(':memory:')
  const version = String(database.prepare('SELECT sqlite_version()').pluck().get())
  database.close()
  return {
    name: 'better-sqlite3',
    version,
    update: 'npm install better-sqlite3@latest',
    open(file, { mode, patience: timeout }) {
      const options = { readonly: mode === 'read', fileMustExist: mode !== 'create', timeout }
      try {
        return new Session(new Database(file, options))
      } catch (thrown) {
        // The package checks itself whether the folder exists.
        throw thrown instanceof TypeError ? new SqliteError('SQLITE_CANTOPEN', thrown) : thrown
      }
    },
  }
}

class Session implements SqliteSession {
  readonly #database: BetterSqlite3.Database

  constructor(database: BetterSqlite3.Database) {
    this.#database = database
  }

  get isInTransaction(): boolean {
    return this.#database.inTransaction
  }

  prepare(text: string): SqliteStatement {
    return new Statement(this.#database.prepare(text))
  }

  async copyTo(file: string, onStep: (copied: number, all: number) => void): Promise<void> {
    await this.#database.backup(file, {
      progress({ totalPages, remainingPages }) {
        onStep(totalPages - remainingPages, totalPages)
        return COPIED
      },
    })
  }

  close(): void {
    this.#database.close()
  }
}

class Statement implements SqliteStatement {
  readonly #statement: BetterSqlite3.Statement<unknown[], unknown>
  readonly #hasRows: boolean
  /** Whether the statement returns all columns. */
  #isRaw = false

  constructor(statement: BetterSqlite3.Statement<unknown[], unknown>) {
    this.#statement = statement
    this.#hasRows = statement.reader
    if (this.#hasRows) statement.pluck()
  }

  all(values: readonly Bound[]): readonly unknown[] {
    if (this.#isRaw) this.#returnAll(false)
    return this.#statement.all(...values)
  }

  first(values: readonly Bound[]): unknown {
    // The package does not read the result of a statement that has none, such as some pragmas.
    if (!this.#hasRows) return void this.#statement.run(...values)
    if (this.#isRaw) this.#returnAll(false)
    return this.#statement.get(...values)
  }

  rows(values: readonly Bound[]): readonly (readonly unknown[])[] {
    if (!this.#isRaw) this.#returnAll(true)
    return this.#statement.all(...values) as readonly (readonly unknown[])[]
  }

  iterate(values: readonly Bound[]): IterableIterator<unknown> {
    if (this.#isRaw) this.#returnAll(false)
    return this.#statement.iterate(...values)
  }

  run(values: readonly Bound[]): number {
    return this.#statement.run(...values).changes
  }

  finish(): void {}

  #returnAll(isRaw: boolean): void {
    this.#isRaw = isRaw
    if (isRaw) this.#statement.raw()
    else this.#statement.pluck()
  }
}
