import type {
  Bound,
  SqliteDriver,
  SqliteSession,
  SqliteStatement,
} from '../../src/adapters/sqlite/drivers/driver.js'

/** A driver that accepts only what all libraries of SQLite treat alike, and throws for everything else. */
export const createStrictDriver = (driver: SqliteDriver): SqliteDriver => ({
  ...driver,
  open: (file, options) => new StrictSession(driver.open(file, options)),
})

class StrictSession implements SqliteSession {
  readonly #session: SqliteSession
  /** The texts of the statements that iterate. */
  readonly #iterating = new Set<string>()

  constructor(session: SqliteSession) {
    this.#session = session
  }

  get isInTransaction(): boolean {
    return this.#session.isInTransaction
  }

  prepare(text: string): SqliteStatement {
    const iterating = this.#iterating
    const statement = this.#session.prepare(text)
    const isRead = /^SELECT\b|^PRAGMA\b/.test(text)
    const places = text.startsWith('CREATE') ? 0 : countPlaces(text)
    const check = (values: readonly Bound[]): void => {
      for (const value of values) requireBindable(value)
      if (values.length !== places) throw new TypeError(`${values.length} values for ${places}: ${text}`)
      if (iterating.has(text)) throw new TypeError(`a statement is used while it iterates: ${text}`)
    }
    const requireRead = (): void => {
      if (!isRead) throw new TypeError(`rows are read of a statement that has none: ${text}`)
    }
    return {
      all(values) {
        check(values)
        requireRead()
        return statement.all(values)
      },
      first(values) {
        check(values)
        requireRead()
        return statement.first(values)
      },
      rows(values) {
        check(values)
        requireRead()
        return statement.rows(values)
      },
      *iterate(values) {
        check(values)
        requireRead()
        iterating.add(text)
        try {
          yield* statement.iterate(values)
        } finally {
          iterating.delete(text)
        }
      },
      run(values) {
        check(values)
        if (isRead) throw new TypeError(`a statement that returns rows is run: ${text}`)
        if (iterating.size > 0 && !/^(?:BEGIN|ROLLBACK)$/.test(text))
          throw new TypeError(`a statement writes while others iterate: ${text}`)
        return statement.run(values)
      },
      finish: () => statement.finish(),
    }
  }

  copyTo(file: string, onStep: (copied: number, all: number) => void): Promise<void> {
    if (!this.#session.copyTo) throw new Error('the driver cannot copy in steps')
    return this.#session.copyTo(file, onStep)
  }

  close(): void {
    if (this.#iterating.size > 0) throw new TypeError('a session is closed while statements iterate')
    this.#session.close()
  }
}

/** Libraries differ in what they make of all other values. */
function requireBindable(value: unknown): void {
  if (typeof value !== 'string' && !(typeof value === 'number' && !Number.isNaN(value)))
    throw new TypeError(`${typeof value} ${String(value)} is bound`)
}

/** Counts the placeholders outside of strings and quoted names. */
const countPlaces = (text: string): number =>
  text.replaceAll(/'(?:[^']|'')*'|"(?:[^"]|"")*"/g, '').split('?').length - 1
