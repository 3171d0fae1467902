import { resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import {
  type Bound,
  COPIED,
  type OpenMode,
  type SqliteDriver,
  type SqliteSession,
  type SqliteStatement,
} from './driver.js'
import { isSound, LEAST } from './sound.js'
import { nameError, SqliteError } from './sqlite-error.js'

/** The part of `node:sqlite` that the driver uses. */
interface NodeSqlite {
  readonly DatabaseSync: new (
    file: string,
    options?: { readonly readOnly: boolean; readonly timeout: number },
  ) => NodeDatabase
  readonly backup: (
    database: NodeDatabase,
    file: string,
    options: { readonly rate: number; readonly progress: (step: BackupStep) => void },
  ) => Promise<unknown>
}

interface BackupStep {
  readonly totalPages: number
  readonly remainingPages: number
}

interface NodeDatabase {
  readonly isTransaction: boolean
  prepare(text: string): NodeStatement
  close(): void
}

interface NodeStatement {
  setReturnArrays(isOn: boolean): void
  all(...values: readonly Bound[]): readonly (readonly unknown[])[]
  get(...values: readonly Bound[]): readonly unknown[] | undefined
  iterate(...values: readonly Bound[]): IterableIterator<readonly unknown[]>
  run(...values: readonly Bound[]): { readonly changes: number | bigint }
}

/** Loads the module of Node and Deno. Throws if the runtime has none, or if its SQLite can corrupt a file. */
export function loadNodeSqlite(): SqliteDriver {
  // No `import`, because bundlers do not know the module, and Jest cannot run `import()` in a script.
  const module = process.getBuiltinModule?.('node:sqlite') as NodeSqlite | undefined
  if (!module) throw new Error('this runtime has no module node:sqlite')
  const database = new module.DatabaseSync(':memory:')
  const { version } = database.prepare('SELECT sqlite_version() AS version').get() as unknown as {
    version: string
  }
  database.close()
  // Its earlier versions also lack some of the methods that are used here.
  if (!isSound(version))
    throw new Error(`SQLite ${version} of this runtime can corrupt a file; ${LEAST} cannot`)
  return {
    name: 'node:sqlite',
    version,
    update: 'use a later version of Node or Deno',
    open(file, { mode, patience: timeout }) {
      try {
        const options = { readOnly: mode === 'read', timeout }
        return new Session(new module.DatabaseSync(locate(file, mode), options), module.backup)
      } catch (thrown) {
        const named = explain(thrown)
        // Deno reports no number here.
        const isUnopened =
          named === thrown && thrown instanceof Error && /^unable to open/.test(thrown.message)
        throw isUnopened ? new SqliteError('SQLITE_CANTOPEN', thrown) : named
      }
    },
  }
}

/** Returns an absolute path, because the module takes some relative ones for URIs; or the URI of an existing file. */
const locate = (file: string, mode: OpenMode): string =>
  mode === 'write' ? `${pathToFileURL(resolve(file))}?mode=rw` : resolve(file)

/** Returns an error with the name that SQLite gives it. The module reports only its number. */
const explain = (thrown: unknown): unknown => nameError(thrown, (thrown as { errcode?: unknown })?.errcode)

class Session implements SqliteSession {
  readonly #database: NodeDatabase
  readonly #backup: NodeSqlite['backup']

  constructor(database: NodeDatabase, backup: NodeSqlite['backup']) {
    this.#database = database
    this.#backup = backup
  }

  get isInTransaction(): boolean {
    return this.#database.isTransaction
  }

  prepare(text: string): SqliteStatement {
    const prepareNew = (): NodeStatement => {
      try {
        const statement = this.#database.prepare(text)
        statement.setReturnArrays(true)
        return statement
      } catch (thrown) {
        throw explain(thrown)
      }
    }
    return new Statement(prepareNew)
  }

  async copyTo(file: string, onStep: (copied: number, all: number) => void): Promise<void> {
    try {
      await this.#backup(this.#database, file, {
        rate: COPIED,
        progress({ totalPages, remainingPages }) {
          onStep(totalPages - remainingPages, totalPages)
        },
      })
    } catch (thrown) {
      throw explain(thrown)
    }
  }

  close(): void {
    this.#database.close()
  }
}

class Statement implements SqliteStatement {
  readonly #statement: NodeStatement
  readonly #prepare: () => NodeStatement
  /** A statement for iterations only, because an iteration that has not ended changes what the others return. */
  #iterated: NodeStatement | undefined

  constructor(prepare: () => NodeStatement) {
    this.#statement = prepare()
    this.#prepare = prepare
  }

  all(values: readonly Bound[]): readonly unknown[] {
    return this.rows(values).map((row) => row[0])
  }

  first(values: readonly Bound[]): unknown {
    try {
      return this.#statement.get(...values)?.[0]
    } catch (thrown) {
      throw explain(thrown)
    }
  }

  rows(values: readonly Bound[]): readonly (readonly unknown[])[] {
    try {
      return this.#statement.all(...values)
    } catch (thrown) {
      throw explain(thrown)
    }
  }

  *iterate(values: readonly Bound[]): Generator<unknown, void> {
    try {
      this.#iterated ??= this.#prepare()
      for (const row of this.#iterated.iterate(...values)) yield row[0]
    } catch (thrown) {
      throw explain(thrown)
    }
  }

  run(values: readonly Bound[]): number {
    try {
      return Number(this.#statement.run(...values).changes)
    } catch (thrown) {
      throw explain(thrown)
    }
  }

  finish(): void {}
}
