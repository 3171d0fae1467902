import { HEADERS } from '../../../core/addresses/read-header.js'
import { judgeTrust } from '../../../core/addresses/trust.js'
import { BASE_PATH } from '../../../core/config/options/check-options.js'
import { isOrigin } from '../../../core/config/options/origin.js'
import { suggest } from '../../../core/fields/schema/names.js'
import { LOG_FORMATS } from '../log-entry.js'

/** The error for an invalid command line. Its message says why. */
export class UsageError extends Error {}

/** The configuration that is used if the command line names none. */
export const DEFAULT_CONFIG = 'config.json'

/** Checks a value. `name` names it in the message. Throws `UsageError`. */
type CheckValue = (value: string, name: string) => void

/** An option of the command line. */
export interface Option {
  /** Whether the option has no value. */
  readonly isFlag?: boolean
  readonly isRepeatable?: boolean
  readonly check?: CheckValue
  /** The lines of the option in the help text. */
  readonly about: readonly string[]
}

/** Returns the check whether a value matches `pattern`. */
const mustBe =
  (what: string, pattern: RegExp): CheckValue =>
  (value, name) => {
    if (!pattern.test(value)) throw new UsageError(`${name} must be ${what}, found ${JSON.stringify(value)}`)
  }

export const PORT: CheckValue = mustBe(
  'a number from 0 to 65535',
  /^(?:\d{1,4}|[0-5]\d{4}|6[0-4]\d{3}|65[0-4]\d\d|655[0-2]\d|6553[0-5])$/,
)

const ORIGIN: CheckValue = (value, name) => {
  if (value !== '*' && !isOrigin(value))
    throw new UsageError(`${name} must be an origin like https://example.com, or *; found ${value}`)
}

/** Checks the URL of a database. The error does not repeat it, because it may contain a password. */
const DATABASE: CheckValue = (value, name) => {
  if (!/^postgres(?:ql)?:\/\//.test(value)) throw new UsageError(`${name} must begin with postgres://`)
}

const SCHEMA: CheckValue = (value, name) => {
  if (!/^[a-zA-Z_][a-zA-Z0-9_]{0,62}$/.test(value))
    throw new UsageError(
      `${name} must consist of at most 63 letters, digits and underscores, the first not a digit`,
    )
}

/** Reads the value of `--trust-proxy`: a number of proxies, or addresses and networks with commas between them. */
export const readTrust = (value: string): number | readonly string[] =>
  /^[+-]?\d*(?:\.\d+)?$/.test(value) ? Number(value) : value.split(',').map((one) => one.trim())

const TRUST: CheckValue = (value, name) => {
  const [fault] = judgeTrust(readTrust(value), name)
  if (fault) throw new UsageError(`${name}: ${fault.message}`)
}

const PATH: CheckValue = (value, name) => {
  const [isValid, allowed] = BASE_PATH
  if (isValid(value)) return
  const near = isValid(`/${value}`) ? `; did you mean /${value}?` : ''
  throw new UsageError(`${name} must be ${allowed}, found ${JSON.stringify(value)}${near}`)
}

const PROXY_HEADER: CheckValue = (value, name) => {
  if (!HEADERS.some((header) => header === value))
    throw new UsageError(
      `${name} must be ${HEADERS.join(' or ')}, found ${JSON.stringify(value)}${suggest(value, HEADERS)}`,
    )
}

/** The output formats of `check`, `matrix`, `diff` and `explain`. */
export const FORMATS = ['text', 'markdown', 'json'] as const

export type Format = (typeof FORMATS)[number]

const FORMAT: CheckValue = (value, name) => {
  if (!FORMATS.some((format) => format === value))
    throw new UsageError(
      `${name} must be text, markdown or json, found ${JSON.stringify(value)}${suggest(value, FORMATS)}`,
    )
}

const LOG: CheckValue = (value, name) => {
  if (!LOG_FORMATS.some((format) => format === value))
    throw new UsageError(
      `${name} must be text or json, found ${JSON.stringify(value)}${suggest(value, LOG_FORMATS)}`,
    )
}

/** The options of all commands, except `--help` and `--version`. */
export const OPTIONS = {
  port: {
    check: PORT,
    about: [
      'the port to listen on; 0 means any free port',
      '(default: the environment variable PORT, or 3000)',
    ],
  },
  host: {
    about: [
      'the address to listen on, or a name, whose first address',
      'it is; 0.0.0.0 accepts connections from other machines',
      '(default: localhost, only for this machine)',
    ],
  },
  watch: {
    isFlag: true,
    about: ['restarts when the configuration or the seed file changes'],
  },
  processes: {
    check: mustBe('a number from 1 to 999', /^[1-9]\d{0,2}$/),
    about: [
      'the number of processes that serve on the port',
      '(default: 1); a process that ends is replaced',
    ],
  },
  drain: {
    check: mustBe('a number of seconds from 0 to 999', /^\d{1,3}$/),
    about: [
      'the seconds after SIGTERM for which the command continues',
      'to serve while /_health/ready answers 503, so that a proxy',
      'sends its requests to other processes (default: 0)',
    ],
  },
  cors: {
    check: ORIGIN,
    isRepeatable: true,
    about: ['an origin whose pages may read answers, or * for all;', 'may be repeated'],
  },
  'base-path': {
    check: PATH,
    about: ['the path of the service, like /desk, if it is not /'],
  },
  stripped: {
    isFlag: true,
    about: ['for a proxy that removes the base path from requests;', 'paths in answers still begin with it'],
  },
  'trust-proxy': {
    check: TRUST,
    about: [
      'the reverse proxies in front of the server, which report',
      'the address of the client: their number, like 1, or their',
      'addresses and networks, like 10.0.0.0/8,192.0.2.7;',
      'loopback and private stand for networks',
    ],
  },
  'proxy-header': {
    check: PROXY_HEADER,
    about: [
      'the header that these proxies write: x-forwarded-for or',
      'forwarded (default: x-forwarded-for)',
    ],
  },
  seed: {
    about: [
      'a JSON file with documents: { "<collection>": [ ... ] };',
      'a server stores them only if its storage is empty,',
      'check reports the accounts in it',
    ],
  },
  page: {
    isFlag: true,
    about: ['serves the admin UI at /_page, also if NODE_ENV is production', '(default: unless it is)'],
  },
  'no-page': {
    isFlag: true,
    about: ['does not serve the admin UI'],
  },
  log: {
    check: LOG,
    about: ['the form of the log: text, or json with one object per line', '(default: text)'],
  },
  deliver: {
    about: [
      'a module that exports deliver(delivery), which sends',
      'tokens to the owners of accounts; console prints them,',
      'for development',
    ],
  },
  data: {
    about: [
      'a SQLite file (Node 20 needs better-sqlite3); a server',
      'without --data or --database keeps documents in memory',
    ],
  },
  database: {
    check: DATABASE,
    about: [
      'the URL of a PostgreSQL database (needs pg):',
      'postgres://user@host/name; for several hosts: a:5432,b:5432',
    ],
  },
  schema: {
    check: SCHEMA,
    about: ['the PostgreSQL schema that contains the tables', '(default: collection_service)'],
  },
  yes: {
    isFlag: true,
    about: [
      'replaces an existing file, which is kept under another name,',
      'or confirms --erase or --drop-unique',
    ],
  },
  verified: {
    isFlag: true,
    about: ['marks the identifier of the user as verified'],
  },
  sessions: {
    isFlag: true,
    about: ['dumps sessions too, so that users stay signed in'],
  },
  migrations: {
    about: ['a folder with the code of migrations: one module for each,', 'FOLDER/<name>.mjs'],
  },
  migrate: {
    isFlag: true,
    about: [
      'first brings stored documents into the form of the',
      'configuration, as the command migrate does',
    ],
  },
  'dry-run': {
    isFlag: true,
    about: ['changes nothing, and prints what a run would do'],
  },
  erase: {
    isFlag: true,
    about: ['removes the values of the names that the configuration lists', 'in "erase" (needs --yes)'],
  },
  'drop-unique': {
    about: [
      'the stored names of a collection and, after it, of the fields',
      'of a unique index that an earlier configuration declared;',
      'the index is dropped, and nothing else is done (needs --yes)',
    ],
  },
  resume: {
    isFlag: true,
    about: ['continues a load that was interrupted, from the same dump'],
  },
  format: {
    check: FORMAT,
    about: ['the output format: text, markdown or json (default: text)'],
  },
  authenticate: {
    isFlag: true,
    about: [
      'assumes options.authenticate: the host identifies the',
      'caller, so roles and $user may have any value',
    ],
  },
  production: {
    isFlag: true,
    about: [
      'assumes production, where it is an error if everyone may',
      'read and change all documents of a collection',
    ],
  },
  fills: {
    isRepeatable: true,
    check: mustBe('a collection and its field, like tickets.number', /^[^.]+\.[^.]+$/),
    about: ['a required field that a hook fills, like tickets.number;', 'may be repeated'],
  },
  'fail-on': {
    check: mustBe('widening', /^widening$/),
    about: ['widening: exits 1 if there is any difference other than', 'a narrowing'],
  },
  caller: {
    about: [
      'the caller: anonymous, or JSON like',
      '{ "_id": "...", "roles": [...] }, or a .json file with it',
      '(default: anonymous; openapi: all callers together)',
    ],
  },
  body: {
    about: ['the request body: JSON, or a .json file with it'],
  },
  header: {
    isRepeatable: true,
    check: mustBe('a name, a colon and a value, like "If-Match: *"', /^[\w-]+: *\S/),
    about: ['a request header, like "If-Match: *"; may be repeated'],
  },
  now: {
    about: ['the time of the request, like 2026-11-20T08:00:00Z', '(default: now)'],
  },
  out: { about: ['the file for the types (default: they are printed)'] },
} as const satisfies { readonly [name: string]: Option }

export type OptionName = keyof typeof OPTIONS

export const OPTION_NAMES = Object.keys(OPTIONS) as OptionName[]
