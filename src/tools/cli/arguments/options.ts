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
    about: [
      'the port to listen on; 0 means any free port',
      '(default: the environment variable PORT, or 3000)',
    ],
  },
  host: {
    of: ['serve'],
    about: [
      'the address to listen on; 0.0.0.0 accepts connections',
      'from other machines',
      '(default: localhost, only for this machine)',
    ],
  },
  watch: {
    of: ['serve'],
    isFlag: true,
    about: ['restarts when the configuration or the seed file changes'],
  },
  processes: {
    of: ['serve'],
    check: checkProcesses,
    about: [
      'the number of processes that serve on the port',
      '(default: 1); a process that ends is replaced',
    ],
  },
  cors: {
    of: ['serve'],
    check: checkOrigin,
    isRepeatable: true,
    about: ['an origin whose pages may read answers, or * for all;', 'may be repeated'],
  },
  seed: {
    of: ['serve', 'explain'],
    about: [
      'a JSON file with documents: { "<collection>": [ ... ] };',
      'a server stores them only if its storage is empty',
    ],
  },
  'no-page': {
    of: ['serve'],
    isFlag: true,
    about: ['does not serve the admin UI, which is otherwise at /_page'],
  },
  deliver: {
    of: ['serve'],
    about: [
      'a module that exports deliver(delivery), which sends',
      'tokens to the owners of accounts; console prints them,',
      'for development',
    ],
  },
  data: {
    of: ['serve', 'grant', 'check'],
    about: [
      'a SQLite file (needs better-sqlite3); a server without',
      '--data or --database keeps documents in memory',
    ],
  },
  database: {
    of: ['serve', 'grant', 'check'],
    check: checkUrl,
    about: [
      'the URL of a PostgreSQL database (needs pg):',
      'postgres://user@host/name; for several hosts: a:5432,b:5432',
    ],
  },
  schema: {
    of: ['grant', 'check'],
    check: checkSchema,
    about: ['the PostgreSQL schema that contains the tables', '(default: collection_service)'],
  },
  verified: {
    of: ['grant'],
    isFlag: true,
    about: ['marks the identifier of the user as verified'],
  },
  format: {
    of: ['check', 'matrix', 'diff', 'explain'],
    check: checkFormat,
    about: ['the output format: text, markdown or json (default: text)'],
  },
  authenticate: {
    of: ['check', 'matrix', 'diff', 'explain', 'openapi'],
    isFlag: true,
    about: [
      'assumes options.authenticate: the host identifies the',
      'caller, so roles and $user may have any value',
    ],
  },
  production: {
    of: ['check', 'matrix', 'diff', 'explain', 'openapi'],
    isFlag: true,
    about: [
      'assumes production, where it is an error if everyone may',
      'read and change all documents of a collection',
    ],
  },
  fills: {
    of: ['types', 'check', 'diff', 'openapi'],
    isRepeatable: true,
    check: checkFilled,
    about: ['a required field that a hook fills, like tickets.number;', 'may be repeated'],
  },
  'fail-on': {
    of: ['diff'],
    check: checkFailOn,
    about: ['widening: exits 1 if there is any difference other than', 'a narrowing'],
  },
  caller: {
    of: ['explain', 'openapi'],
    about: [
      'the caller: anonymous, or JSON like',
      '{ "_id": "...", "roles": [...] }, or a .json file with it',
      '(default: anonymous; openapi: all callers together)',
    ],
  },
  body: {
    of: ['explain'],
    about: ['the request body: JSON, or a .json file with it'],
  },
  header: {
    of: ['explain'],
    isRepeatable: true,
    check: checkHeader,
    about: ['a request header, like "If-Match: *"; may be repeated'],
  },
  now: {
    of: ['explain'],
    about: ['the time of the request, like 2026-11-20T08:00:00Z', '(default: now)'],
  },
  out: { of: ['types'], about: ['the file for the types (default: they are printed)'] },
} as const satisfies { readonly [name: string]: Option }

export type OptionName = keyof typeof OPTIONS

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

function checkOrigin(value: string, name: string): void {
  if (value !== '*' && !isOrigin(value))
    throw new UsageError(`${name} must be an origin like https://example.com, or *; found ${value}`)
}

/** Checks the URL of a database. The error does not repeat it, because it may contain a password. */
function checkUrl(value: string, name: string): void {
  if (!/^postgres(?:ql)?:\/\//.test(value)) throw new UsageError(`${name} must begin with postgres://`)
}

function checkSchema(value: string, name: string): void {
  if (!/^[a-zA-Z_][a-zA-Z0-9_]{0,62}$/.test(value))
    throw new UsageError(
      `${name} must consist of at most 63 letters, digits and underscores, the first not a digit`,
    )
}

/** The output formats of `check`, `matrix`, `diff` and `explain`. */
export const FORMATS = ['text', 'markdown', 'json'] as const

export type Format = (typeof FORMATS)[number]

function checkFormat(value: string, name: string): void {
  if (!FORMATS.some((format) => format === value))
    throw new UsageError(
      `${name} must be text, markdown or json, found ${JSON.stringify(value)}${suggest(value, FORMATS)}`,
    )
}

function checkFilled(value: string, name: string): void {
  if (!/^[^.]+\.[^.]+$/.test(value))
    throw new UsageError(
      `${name} must be a collection and its field, like tickets.number, found ${JSON.stringify(value)}`,
    )
}

function checkFailOn(value: string, name: string): void {
  if (value !== 'widening') throw new UsageError(`${name} must be widening, found ${JSON.stringify(value)}`)
}

function checkHeader(value: string, name: string): void {
  if (!/^[\w-]+: *\S/.test(value))
    throw new UsageError(
      `${name} must be a name, a colon and a value, like "If-Match: *", found ${JSON.stringify(value)}`,
    )
}
