import type { Proxies } from '../../../core/addresses/address-finder.js'
import { DEFAULT_HEADER, HEADERS } from '../../../core/addresses/read-header.js'
import { suggest } from '../../../core/fields/schema/names.js'
import type { AnyHooks } from '../../../core/hooks/types.js'
import { TEMPLATE_NAMES } from '../commands/templates.js'
import { isConfigName } from '../config-name.js'
import { LOG_FORMATS } from '../log-entry.js'
import { DEFAULT_CONFIG, FORMATS, type OptionName, PORT, readTrust, UsageError } from './options.js'

/** The variables of the environment that a command line depends on. */
export interface Environment {
  readonly PORT?: string | undefined
  readonly NODE_ENV?: string | undefined
}

/** A command line without the name of its command. */
interface CommandLine {
  /** The arguments that are not options. */
  readonly names: readonly string[]
  readonly options: OptionValues
  readonly environment: Environment
}

/** The values of each option. The list is empty if the option is not on the command line. */
export type OptionValues = { readonly [name in OptionName]: readonly string[] }

/** A command: its help text, its options, and its arguments. */
interface Command {
  readonly synopsis: string
  /** The lines of the command in the help text. */
  readonly about: readonly string[]
  readonly options: readonly OptionName[]
  /** Reads the arguments of the command. Throws `UsageError`. */
  readonly read: (line: CommandLine) => object
}

/** The commands. A command line without the name of a command serves. */
export const COMMANDS = {
  serve: {
    synopsis:
      'collection-service [config.json] [--port 3000] [--host localhost] [--watch] [--processes N] [--drain SECONDS] [--cors ORIGIN] [--base-path /PATH [--stripped]] [--trust-proxy HOPS|NETWORK,… [--proxy-header HEADER]] [--seed documents.json] [--deliver console|FILE.mjs] [--page | --no-page] [--log text|json] [--migrate [--migrations FOLDER]] [--data FILE.db | --database URL]',
    about: [],
    options: [
      ...(['port', 'host', 'watch', 'processes', 'drain', 'cors', 'base-path', 'stripped'] as const),
      ...(['trust-proxy', 'proxy-header', 'seed', 'page', 'no-page', 'log'] as const),
      ...(['deliver', 'migrate', 'migrations', 'data', 'database'] as const),
    ],
    read: readServe,
  },
  init: {
    synopsis: `collection-service init [${TEMPLATE_NAMES.join('|')}] [folder]`,
    about: ['writes a first configuration, documents and a test'],
    options: [],
    read: readInit,
  },
  import: {
    synopsis: 'collection-service import [db.json] [folder]',
    about: [
      'converts a json-server file, a JSON list, NDJSON',
      'or a mongoexport to a configuration and documents',
    ],
    options: [],
    read: readImport,
  },
  backup: {
    synopsis: 'collection-service backup --data FILE.db OUT.db',
    about: ['copies a SQLite file, also while it is served, to a new file,', 'and checks the copy'],
    options: ['data'],
    read: readBackup,
  },
  restore: {
    synopsis: 'collection-service restore BACKUP.db --data FILE.db [--yes]',
    about: ['checks a backup and copies it to FILE.db, which no process', 'may serve'],
    options: ['data', 'yes'],
    read: ({ names, options }) => ({
      file: readFileOf('restore', options),
      backup: readOneFile(names, 'restore needs the name of a backup'),
      replaces: options.yes.length > 0,
    }),
  },
  grant: {
    synopsis:
      'collection-service grant <identifier> [role] [--verified] [config.json] (--data FILE.db | --database URL [--schema NAME])',
    about: ['gives a role to a user, such as the first administrator'],
    options: ['data', 'database', 'schema', 'verified'],
    read: readGrant,
  },
  dump: {
    synopsis:
      'collection-service dump [config.json] [--sessions] (--data FILE.db | --database URL [--schema NAME]) > dump.ndjson',
    about: ['prints all documents as they are stored, as of one moment,', 'with hashes of secrets'],
    options: ['data', 'database', 'schema', 'sessions'],
    read: (line) => ({ ...readTransfer('dump', line), sessions: line.options.sessions.length > 0 }),
  },
  load: {
    synopsis:
      'collection-service load [config.json] [--resume] (--data FILE.db | --database URL [--schema NAME]) < dump.ndjson',
    about: ['stores a dump in an empty storage, and compares both'],
    options: ['data', 'database', 'schema', 'resume'],
    read: readLoad,
  },
  migrate: {
    synopsis:
      'collection-service migrate [config.json] [--migrations FOLDER] [--erase --yes] [--drop-unique COLLECTION FIELD… --yes] [--dry-run] [--format FORMAT] (--data FILE.db | --database URL [--schema NAME])',
    about: [
      'brings stored documents into the form of a configuration:',
      'values of fill, normal form of texts, migrations, and erase;',
      'or drops a unique index that is no longer declared',
    ],
    options: [
      ...(['data', 'database', 'schema', 'migrations', 'erase', 'drop-unique'] as const),
      ...(['yes', 'dry-run', 'format'] as const),
    ],
    read: readMigrate,
  },
  types: {
    synopsis: 'collection-service types [config.json] [--out FILE.ts] [--fills COLLECTION.FIELD]',
    about: ['prints TypeScript types of the documents,', 'for createClient<Collections>(url)'],
    options: ['fills', 'out'],
    read: ({ names, options }) => ({ config: readConfig(names), out: options.out[0], ...readHooks(options) }),
  },
  check: {
    synopsis:
      'collection-service check [config.json] [--authenticate] [--production [--seed documents.json]] [--fills COLLECTION.FIELD] [--format FORMAT] [--data FILE.db | --database URL [--schema NAME]]',
    about: [
      'finds errors and likely mistakes in a configuration;',
      'exits 1 if there is an error or a warning',
    ],
    options: ['data', 'database', 'schema', 'seed', 'format', 'authenticate', 'production', 'fills'],
    read: readCheck,
  },
  matrix: {
    synopsis: 'collection-service matrix [config.json] [--authenticate] [--production] [--format FORMAT]',
    about: ['prints all permissions in tables, for reviews'],
    options: ['format', 'authenticate', 'production'],
    read: (line) => ({ ...readInsight(line), config: readConfig(line.names) }),
  },
  diff: {
    synopsis:
      'collection-service diff <before.json> <after.json> [--authenticate] [--production] [--fills COLLECTION.FIELD] [--format FORMAT] [--fail-on widening]',
    about: ['compares the permissions of two configurations, with a', 'counterexample for each difference'],
    options: ['format', 'authenticate', 'production', 'fills', 'fail-on'],
    read: readDiff,
  },
  explain: {
    synopsis:
      'collection-service explain <method> <path> [config.json] [--caller CALLER] [--body JSON] [--header HEADER] [--seed documents.json] [--now TIME] [--authenticate] [--production] [--format FORMAT]',
    about: ['explains the answer to a request and, if it is rejected,', 'names a grant that would allow it'],
    options: ['seed', 'format', 'authenticate', 'production', 'caller', 'body', 'header', 'now'],
    read: readExplain,
  },
  openapi: {
    synopsis:
      'collection-service openapi [config.json] [--caller CALLER] [--authenticate] [--production] [--fills COLLECTION.FIELD]',
    about: ['prints the OpenAPI 3.1 document of the service'],
    options: ['authenticate', 'production', 'fills', 'caller'],
    read: (line) => ({
      ...readInsight(line),
      config: readConfig(line.names),
      caller: line.options.caller[0],
    }),
  },
} as const satisfies { readonly [word: string]: Command }

export type Word = keyof typeof COMMANDS

/** The arguments of a command. */
export type ArgumentsOf<W extends Word> = Readonly<ReturnType<(typeof COMMANDS)[W]['read']>>

export const WORDS = Object.keys(COMMANDS) as readonly Word[]

/** Returns the commands that have an option. */
export const wordsWith = (name: OptionName): readonly Word[] =>
  WORDS.filter((word) => (COMMANDS[word].options as readonly OptionName[]).includes(name))

/** A storage that keeps its documents when the process ends: a SQLite file or a PostgreSQL database. */
export type StorageArguments =
  | { readonly kind: 'file'; readonly file: string }
  | { readonly kind: 'database'; readonly url: string; readonly schema?: string }

const DEFAULT_PORT = '3000'
const DEFAULT_HOST = 'localhost'
const DEFAULT_DATABASE = 'db.json'
const [DEFAULT_TEMPLATE] = TEMPLATE_NAMES

/** Returns the configuration that a command line names. Throws `UsageError` for more than one. */
function readConfig([config = DEFAULT_CONFIG, ...others]: readonly string[]): string {
  if (others.length > 0)
    throw new UsageError(`only one configuration can be given; also found ${others.join(', ')}`)
  checkText(config, 'the name of the configuration')
  return config
}

/** Returns the storage that the options name; `undefined` if they name none. Throws `UsageError`. */
function readStorage({ data, database, schema }: OptionValues): StorageArguments | undefined {
  const [[file], [url], [place]] = [data, database, schema]
  if (file !== undefined && url !== undefined)
    throw new UsageError('--data and --database cannot be used together')
  if (place !== undefined && url === undefined)
    throw new UsageError('--schema needs --database, because a SQLite file has no schema')
  if (file !== undefined) return { kind: 'file', file }
  if (url === undefined) return undefined
  return { kind: 'database', url, ...(place === undefined ? {} : { schema: place }) }
}

/** Returns hooks that declare the fields in `--fills`; none without the option. */
function readHooks({ fills }: OptionValues): { readonly hooks?: AnyHooks } {
  const named = new Map<string, string[]>()
  for (const [collection = '', field = ''] of fills.map((one) => one.split('.')))
    named.set(collection, [...(named.get(collection) ?? []), field])
  const hooks = Array.from(named, ([name, fields]) => [name, { fills: fields, before() {} }] as const)
  return hooks.length > 0 ? { hooks: Object.fromEntries(hooks) } : {}
}

/** Throws `UsageError` if a value is empty or consists of spaces. `what` names the value in the message. */
export function checkText(value: string, what: string): void {
  if (value.trim() === '') throw new UsageError(`${what} must not be empty`)
}

/** Reads the options that all commands which explain a configuration have in common. */
function readInsight({ options }: CommandLine) {
  return {
    format: FORMATS.find((format) => format === options.format[0]) ?? 'text',
    /** Whether the service runs with `options.authenticate`, so that the host identifies the callers. */
    authenticate: options.authenticate.length > 0,
    production: options.production.length > 0,
    ...readHooks(options),
  }
}

function readCheck(line: CommandLine) {
  const insight = readInsight(line)
  const [seed] = line.options.seed
  if (seed !== undefined && !insight.production)
    throw new UsageError(
      '--seed needs --production here: accounts in a seed are only reported for production',
    )
  return {
    ...insight,
    /** The file with the seed that is checked too. */
    seed,
    config: readConfig(line.names),
    /** The storage whose documents are checked too. */
    storage: readStorage(line.options),
  }
}

function readDiff(line: CommandLine) {
  const [before, after, ...others] = line.names
  if (before === undefined || after === undefined || others.length > 0)
    throw new UsageError('diff needs two configurations: first the old one, then the new one')
  checkText(before, 'the name of the old configuration')
  checkText(after, 'the name of the new configuration')
  return { ...readInsight(line), before, after, failsOnWidening: line.options['fail-on'].length > 0 }
}

function readExplain(line: CommandLine) {
  const [method, path, ...others] = line.names
  if (method === undefined || path === undefined)
    throw new UsageError('explain needs a method and a path, like GET /articles')
  if (!/^[A-Z]+$/i.test(method))
    throw new UsageError(`the method must be a word like GET, found ${JSON.stringify(method)}`)
  if (!path.startsWith('/'))
    throw new UsageError(`the path must begin with a slash, found ${JSON.stringify(path)}`)
  const { body, header, seed, now, caller } = line.options
  return {
    ...readInsight(line),
    method: method.toUpperCase(),
    /** It may contain a query. */
    path,
    config: readConfig(others),
    caller: caller[0],
    /** JSON, or the name of a JSON file. */
    body: body[0],
    /** Headers in the form of HTTP: a name, a colon and a value. */
    headers: header,
    seed: seed[0],
    now: now[0],
  }
}

function readServe({ names, options, environment }: CommandLine) {
  const storage = readStorage(options)
  return {
    config: readConfig(names),
    port: Number(options.port[0] ?? readPort(environment.PORT)),
    host: options.host[0] ?? DEFAULT_HOST,
    watch: options.watch.length > 0,
    processes: readProcesses(options, storage),
    /** Seconds. */
    drain: Number(options.drain[0] ?? 0),
    cors: options.cors,
    ...readPaths(options),
    /** The reverse proxies in front of the server; `undefined` if there are none. */
    proxies: readProxies(options),
    seed: options.seed[0],
    page: readPage(options, environment),
    log: LOG_FORMATS.find((format) => format === options.log[0]) ?? 'text',
    /** Whether the environment is that of production, in which the command warns of more. */
    isProduction: isProduction(environment),
    /** The module that delivers tokens, or `console`. Default: tokens are not delivered. */
    deliver: options.deliver[0],
    ...readMigrations(options),
    /** Default: documents are stored in memory. */
    storage,
  }
}

const isProduction = ({ NODE_ENV }: Environment): boolean => NODE_ENV === 'production'

/** Whether the admin UI is served: `on`, `off`, or `unasked` if it is off because nothing asks for it in production. */
function readPage(
  { page, 'no-page': noPage }: OptionValues,
  environment: Environment,
): 'on' | 'off' | 'unasked' {
  if (page.length > 0 && noPage.length > 0)
    throw new UsageError('--page and --no-page cannot be used together')
  if (noPage.length > 0) return 'off'
  return page.length > 0 || !isProduction(environment) ? 'on' : 'unasked'
}

/** Returns the prefix of the requests, and that of the paths in answers if it is another one. */
function readPaths({ 'base-path': [path], stripped }: OptionValues): {
  readonly basePath: string
  readonly publicPath?: string
} {
  if (stripped.length === 0) return { basePath: path ?? '' }
  if (path === undefined) throw new UsageError('--stripped needs --base-path, which names the removed path')
  return { basePath: '', publicPath: path }
}

function readProxies({
  'trust-proxy': [trust],
  'proxy-header': [header],
}: OptionValues): Proxies | undefined {
  if (trust === undefined) {
    if (header === undefined) return undefined
    throw new UsageError('--proxy-header needs --trust-proxy, which names the proxies that write the header')
  }
  return { trust: readTrust(trust), header: HEADERS.find((known) => known === header) ?? DEFAULT_HEADER }
}

function readProcesses(
  { processes: [processes = '1'], watch }: OptionValues,
  storage: StorageArguments | undefined,
): number {
  if (Number(processes) === 1) return 1
  if (watch.length > 0) throw new UsageError('--watch and --processes cannot be used together')
  if (!storage || (storage.kind === 'file' && storage.file === ':memory:'))
    throw new UsageError(
      '--processes needs --data or --database, because processes cannot share documents in memory',
    )
  return Number(processes)
}

/** Reads the variable `PORT`, in which hosting platforms set the port. An empty variable is ignored. */
function readPort(variable = ''): string {
  if (variable === '') return DEFAULT_PORT
  PORT(variable, 'the variable PORT')
  return variable
}

function readGrant({ names: [identifier, ...others], options }: CommandLine) {
  const isVerified = options.verified.length > 0
  const isRoleless = isVerified && isConfigName(others[0] ?? '')
  const role = isRoleless ? undefined : others[0]
  if (identifier === undefined || (role === undefined && !isVerified))
    throw new UsageError('grant needs the identifier of a user, and a role or --verified')
  checkText(identifier, 'the identifier')
  if (role !== undefined) checkText(role, 'the role')
  const storage = readStorage(options)
  if (!storage)
    throw new UsageError(
      'grant needs --data or --database, because documents in memory are lost when their process ends',
    )
  return { config: readConfig(isRoleless ? others : others.slice(1)), identifier, role, isVerified, storage }
}

/** Reads what `dump` and `load` have in common. */
function readTransfer(word: string, { names, options }: CommandLine) {
  const storage = readStorage(options)
  if (!storage) throw new UsageError(`${word} needs --data or --database, which name the storage`)
  return { config: readConfig(names), storage }
}

function readLoad(line: CommandLine) {
  const { config, storage } = readTransfer('load', line)
  if (storage.kind === 'file' && storage.file === ':memory:')
    throw new UsageError('load needs a file, because documents in memory are lost when its process ends')
  return { config, storage, resume: line.options.resume.length > 0 }
}

/** Returns whether a server migrates the stored documents first, and the folder with the code. */
function readMigrations({ migrate, migrations: [folder] }: OptionValues) {
  if (folder !== undefined && migrate.length === 0)
    throw new UsageError('--migrations needs --migrate, without which a server runs no migrations')
  if (folder !== undefined) checkText(folder, 'the name of the folder')
  return { migrates: migrate.length > 0, migrations: folder }
}

/** Reads `--drop-unique`, which is followed by the names of fields. Returns the other names of the command line too. */
function readDropUnique({ names, options }: CommandLine) {
  const {
    'drop-unique': [collection],
    yes,
    ...others
  } = options
  if (collection === undefined) return { names, dropUnique: undefined }
  const fields = names.filter((name) => !isConfigName(name))
  const beside = (['erase', 'dry-run', 'migrations', 'format'] as const).find(
    (name) => others[name].length > 0,
  )
  if (beside !== undefined) throw new UsageError(`--drop-unique and --${beside} cannot be used together`)
  if (fields.length === 0)
    throw new UsageError(
      '--drop-unique needs the stored names of a collection and of the fields of the index, like --drop-unique articles slug',
    )
  if (yes.length === 0)
    throw new UsageError('migrate --drop-unique allows equal values from now on, and needs --yes')
  return { names: names.filter(isConfigName), dropUnique: { collection, fields } }
}

function readMigrate(line: CommandLine) {
  const {
    'dry-run': dryRun,
    'drop-unique': [unique],
    erase,
    format,
    migrations: [migrations],
    yes,
  } = line.options
  if (erase.length > 0 && yes.length === 0 && dryRun.length === 0)
    throw new UsageError('migrate --erase removes values for good, and needs --yes (or --dry-run)')
  if (erase.length === 0 && unique === undefined && yes.length > 0)
    throw new UsageError('--yes of migrate needs --erase or --drop-unique')
  if (migrations !== undefined) checkText(migrations, 'the name of the folder')
  if (format[0] === 'markdown') throw new UsageError('migrate has the formats text and json')
  const { names, dropUnique } = readDropUnique(line)
  return {
    ...readTransfer('migrate', { ...line, names }),
    /** The unique index to drop, by stored names. Nothing else is done then. */
    dropUnique,
    dryRun: dryRun.length > 0,
    erase: erase.length > 0,
    /** The folder with the code of migrations. */
    migrations,
    format: format[0] === 'json' ? 'json' : 'text',
  } as const
}

function readInit({ names: [name = DEFAULT_TEMPLATE, folder = '.', ...others] }: CommandLine) {
  const template = TEMPLATE_NAMES.find((known) => known === name)
  const allowed = TEMPLATE_NAMES.join(', ')
  if (template === undefined) {
    const found = `found ${JSON.stringify(name)}${suggest(name, TEMPLATE_NAMES)}`
    throw new UsageError(`init needs a template (${allowed}), and then a folder; ${found}`)
  }
  checkFolder(folder, others)
  return { template, folder }
}

function readImport({ names: [file = DEFAULT_DATABASE, folder = '.', ...others] }: CommandLine) {
  checkText(file, 'the name of the file')
  checkFolder(folder, others)
  return { file, folder }
}

function checkFolder(folder: string, others: readonly string[]): void {
  if (others.length > 0) throw new UsageError(`only one folder can be given; also found ${others.join(', ')}`)
  checkText(folder, 'the name of the folder')
}

function readBackup({ names, options }: CommandLine) {
  return {
    file: readFileOf('backup', options),
    out: readOneFile(names, 'backup needs the name of a new file'),
  }
}

/** Reads the SQLite file of `backup` or `restore`. The error does not repeat a URL, because it may contain a password. */
function readFileOf(word: string, { data: [file] }: OptionValues): string {
  if (file === undefined || file === ':memory:')
    throw new UsageError(`${word} needs --data, which names the SQLite file of the service`)
  if (/^postgres(?:ql)?:\/\//.test(file))
    throw new UsageError(
      `${word} is for SQLite files; for PostgreSQL use pg_dump and pg_restore, see docs/backup.md`,
    )
  return file
}

function readOneFile([file, ...others]: readonly string[], needs: string): string {
  if (file === undefined) throw new UsageError(needs)
  if (others.length > 0) throw new UsageError(`${needs}, and only one; also found ${others.join(', ')}`)
  checkText(file, 'the name of the file')
  return file
}
