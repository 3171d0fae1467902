import { isOrigin } from '../../../core/config/options/origin.js'
import { suggest } from '../../../core/fields/schema/names.js'
import { UsageError } from './usage-error.js'

/** The commands. A command line without the name of a command serves. */
export type Word = 'serve' | 'init' | 'import' | 'grant' | 'types' | InsightWord

/** The commands that explain a configuration. */
export type InsightWord = 'check' | 'matrix' | 'diff' | 'explain' | 'openapi'

/** An option of the command line. */
export interface Option {
  /** The commands that have this option. */
  readonly of: readonly Word[]
  /** Whether the option has no value. */
  readonly isFlag?: boolean
  readonly isRepeatable?: boolean
  /** Checks the value of the option. Throws `UsageError`. */
  readonly check?: (value: string, name: string) => void
  /** The lines of the option in the help text. */
  readonly about: readonly string[]
}

/** The options of all commands, except `--help` and `--version`. */
export const OPTIONS = {
  port: {
    of: ['serve'],
    check: checkPort,
    about: ['where to listen; 0 takes a free port', '(default: the variable PORT, else 3000)'],
  },
  host: {
    of: ['serve'],
    about: [
      'the address to listen on; 0.0.0.0 lets other machines in',
      '(default: localhost, which only this machine reaches)',
    ],
  },
  watch: {
    of: ['serve'],
    isFlag: true,
    about: ['restarts when the configuration or the seed changes'],
  },
  processes: {
    of: ['serve'],
    check: checkProcesses,
    about: ['how many processes serve on the port (default: 1);', 'a process that ends is replaced'],
  },
  cors: {
    of: ['serve'],
    check: checkOrigin,
    isRepeatable: true,
    about: ['an origin whose pages may read answers, or *; may be repeated'],
  },
  seed: {
    of: ['serve', 'explain'],
    about: [
      'initial documents: { "<collection>": [ ... ] };',
      'the server skips them if documents are stored already',
    ],
  },
  'no-page': {
    of: ['serve'],
    isFlag: true,
    about: ['disables the admin UI, which is at /_page otherwise'],
  },
  deliver: {
    of: ['serve'],
    about: [
      'delivers tokens to account owners: a module that exports',
      'deliver(delivery); console prints them, for development',
    ],
  },
  data: {
    of: ['serve', 'grant', 'check'],
    about: [
      'a file of SQLite, through better-sqlite3;',
      'a server without storage keeps documents in memory',
    ],
  },
  database: {
    of: ['serve', 'grant', 'check'],
    check: checkUrl,
    about: [
      'a database of PostgreSQL, through pg:',
      'postgres://user@host/name; several hosts as a:5432,b:5432',
    ],
  },
  schema: {
    of: ['grant', 'check'],
    check: checkSchema,
    about: ['the PostgreSQL schema of the tables', '(default: collection_service)'],
  },
  verified: {
    of: ['grant'],
    isFlag: true,
    about: ['marks the identifier of the user as verified'],
  },
  format: {
    of: ['check', 'matrix', 'diff', 'explain'],
    check: checkFormat,
    about: ['text, markdown or json (default: text)'],
  },
  authenticate: {
    of: ['check', 'matrix', 'diff', 'explain', 'openapi'],
    isFlag: true,
    about: ['the host names the caller: roles and $user may be anything'],
  },
  production: {
    of: ['check', 'matrix', 'diff', 'explain', 'openapi'],
    isFlag: true,
    about: ['as in production, which rejects rules open to all'],
  },
  fills: {
    of: ['types', 'check', 'diff', 'openapi'],
    isRepeatable: true,
    check: checkFilled,
    about: ['a required field that a hook fills, as tickets.number;', 'may be repeated'],
  },
  'fail-on': {
    of: ['diff'],
    check: checkFailOn,
    about: ['widening: exits 1 on any difference but a narrowing'],
  },
  caller: {
    of: ['explain', 'openapi'],
    about: [
      'the caller: anonymous, or JSON as',
      '{ "_id": "...", "roles": [...] }, or a file of it',
      '(default: anonymous; openapi: all callers together)',
    ],
  },
  body: {
    of: ['explain'],
    about: ['the body: JSON, or a file of it'],
  },
  header: {
    of: ['explain'],
    isRepeatable: true,
    check: checkHeader,
    about: ['a header, as "If-Match: *"; may be repeated'],
  },
  now: {
    of: ['explain'],
    about: ['the time of the request, as 2026-11-20T08:00:00Z', '(default: now)'],
  },
  out: { of: ['types'], about: ['the file for the types; without it, they are printed'] },
} as const satisfies { readonly [name: string]: Option }

/** The name of an option. */
export type OptionName = keyof typeof OPTIONS

/** The names of all options. */
export const OPTION_NAMES = Object.keys(OPTIONS) as OptionName[]

/** Checks a port number. Throws `UsageError`. */
export function checkPort(value: string, name: string): void {
  if (!/^\d{1,5}$/.test(value) || Number(value) > 65_535)
    throw new UsageError(`${name} must be a number from 0 to 65535, found ${JSON.stringify(value)}`)
}

function checkProcesses(value: string, name: string): void {
  if (!/^[1-9]\d{0,2}$/.test(value))
    throw new UsageError(`${name} must be a number from 1 to 999, found ${JSON.stringify(value)}`)
}

/** The message does not repeat the value, which may contain a password. */
function checkOrigin(value: string, name: string): void {
  if (value !== '*' && !isOrigin(value))
    throw new UsageError(`${name} takes an origin like https://example.com, or *; found ${value}`)
}

function checkUrl(value: string, name: string): void {
  if (!/^postgres(?:ql)?:\/\//.test(value)) throw new UsageError(`${name} must begin with postgres://`)
}

function checkSchema(value: string, name: string): void {
  if (!/^[a-zA-Z_][a-zA-Z0-9_]{0,62}$/.test(value))
    throw new UsageError(`${name} takes letters, digits and underscores, at most 63`)
}

/** The output formats of `check`, `matrix`, `diff` and `explain`. */
export const FORMATS = ['text', 'markdown', 'json'] as const

export type Format = (typeof FORMATS)[number]

function checkFormat(value: string, name: string): void {
  if (!FORMATS.some((format) => format === value))
    throw new UsageError(
      `${name} takes text, markdown or json, found ${JSON.stringify(value)}${suggest(value, FORMATS)}`,
    )
}

function checkFilled(value: string, name: string): void {
  if (!/^[^.]+\.[^.]+$/.test(value))
    throw new UsageError(
      `${name} takes a collection and its field, as tickets.number, found ${JSON.stringify(value)}`,
    )
}

function checkFailOn(value: string, name: string): void {
  if (value !== 'widening') throw new UsageError(`${name} takes widening, found ${JSON.stringify(value)}`)
}

function checkHeader(value: string, name: string): void {
  if (!/^[\w-]+: *\S/.test(value))
    throw new UsageError(`${name} takes a name, a colon and a value, found ${JSON.stringify(value)}`)
}
