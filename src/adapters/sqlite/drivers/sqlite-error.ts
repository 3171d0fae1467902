import { messageOf } from '../../sql/faults.js'

/** The names of the primary error codes of SQLite, by their number. */
const NAMES = [
  'OK',
  'ERROR',
  'INTERNAL',
  'PERM',
  'ABORT',
  'BUSY',
  'LOCKED',
  'NOMEM',
  'READONLY',
  'INTERRUPT',
  'IOERR',
  'CORRUPT',
  'NOTFOUND',
  'FULL',
  'CANTOPEN',
  'PROTOCOL',
  'EMPTY',
  'SCHEMA',
  'TOOBIG',
  'CONSTRAINT',
  'MISMATCH',
  'MISUSE',
  'NOLFS',
  'AUTH',
  'FORMAT',
  'RANGE',
  'NOTADB',
]

/** The extended codes that the adapter distinguishes. All others get the name of their primary code. */
const EXTENDED: { readonly [code: number]: string } = {
  1555: 'CONSTRAINT_PRIMARYKEY',
  2067: 'CONSTRAINT_UNIQUE',
}

/** An error of SQLite. `code` is its name, such as `SQLITE_BUSY`. */
export class SqliteError extends Error {
  readonly code: string

  constructor(code: string, thrown: unknown) {
    super(messageOf(thrown))
    this.name = 'SqliteError'
    this.code = code
  }
}

/** Returns an error with the name of a number. Returns the error unchanged if the number is no code of SQLite. */
export function nameError(thrown: unknown, number: unknown): unknown {
  if (typeof number !== 'number') return thrown
  const name = EXTENDED[number] ?? NAMES[number & 0xff]
  return name === undefined ? thrown : new SqliteError(`SQLITE_${name}`, thrown)
}
