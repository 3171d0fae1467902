import { parseArgs } from 'node:util'

/** Where documents outlast the process. */
export type StorageArguments =
  | { readonly kind: 'file'; readonly file: string }
  | { readonly kind: 'database'; readonly url: string }

/** Who is to have which role, in which storage. */
export interface GrantArguments {
  readonly identifier: string
  readonly role: string
  readonly storage: StorageArguments
}

/** Where the types of a configuration's documents go. */
export interface TypesArguments {
  /** On the terminal where it is missing. */
  readonly out: string | undefined
}

/** What the command was told. */
export interface Arguments {
  readonly config: string
  readonly port: number
  readonly cors: readonly string[]
  readonly seed: string | undefined
  /** In memory where it is missing. */
  readonly storage?: StorageArguments
  /** In place of serving. */
  readonly grant?: GrantArguments
  /** In place of serving. */
  readonly types?: TypesArguments
  readonly help: boolean
}

/** A command line that makes no sense. */
export class UsageError extends Error {}

type Command = 'serve' | 'grant' | 'types'

interface Option {
  /** The commands that take it. */
  readonly of: readonly Command[]
  readonly isRepeatable?: boolean
  /** Throws `UsageError`. */
  readonly check?: (value: string) => void
  /** Its lines in the usage. */
  readonly about: readonly string[]
}

/** The options that take a value. */
const OPTIONS = {
  port: { of: ['serve'], check: checkPort, about: ['where to listen; 0 takes a free port'] },
  cors: {
    of: ['serve'],
    isRepeatable: true,
    about: ['an origin whose pages may read answers, or *; may be repeated'],
  },
  seed: {
    of: ['serve'],
    about: [
      'documents to begin with: { "<collection>": [ ... ] };',
      'passed over where a file or a database holds documents already',
    ],
  },
  data: {
    of: ['serve', 'grant'],
    about: ['keeps the documents in a file of SQLite, through better-sqlite3;', 'without it, in memory'],
  },
  database: {
    of: ['serve', 'grant'],
    check: checkUrl,
    about: ['keeps them in PostgreSQL, through pg: postgres://user@host/name'],
  },
  out: { of: ['types'], about: ['the file that types go into; without it, they are printed'] },
} as const satisfies { readonly [name: string]: Option }

type OptionName = keyof typeof OPTIONS

const OPTION_NAMES = Object.keys(OPTIONS) as OptionName[]

const describeLine = (name: string, [first = '', ...others]: readonly string[]): string =>
  [`  ${name.padEnd(14)}${first}`, ...others.map((line) => ' '.repeat(16) + line)].join('\n')

/** What the command takes, for people. */
export const USAGE = `collection-service [config.json] [--port 3000] [--cors ORIGIN] [--seed documents.json] [--data FILE.db | --database URL]
collection-service grant <identifier> <role> [config.json] (--data FILE.db | --database URL)
collection-service types [config.json] [--out FILE.ts]

${describeLine('config.json', ['what to serve (default: config.json in this folder)'])}
${OPTION_NAMES.map((name) => describeLine(`--${name}`, OPTIONS[name].about)).join('\n')}
${describeLine('grant', ['gives a registered user a role: how an administrator begins'])}
${describeLine('types', ['describes the documents in TypeScript,', 'for createClient<Collections>(url)'])}`

const DEFAULT_PORT = '3000'

/** Parses a command line. Throws `UsageError`. */
export function parseArguments(args: readonly string[]): Arguments {
  const { values, positionals } = readArguments(args)
  const [first] = positionals
  const command: Command = first === 'grant' || first === 'types' ? first : 'serve'
  const named = command === 'serve' ? positionals : positionals.slice(1)
  const [identifier, role, ...rest] = command === 'grant' ? named : ['', '', ...named]
  const [config = 'config.json', ...others] = rest
  const given = { config, port: Number(DEFAULT_PORT), cors: [], seed: undefined }
  if (values.help) return { ...given, help: true }

  if (others.length > 0) throw new UsageError(`one configuration at a time; also found ${others.join(', ')}`)
  const options = new Map(OPTION_NAMES.map((name) => [name, readOption(name, values[name], command)]))
  const [port = DEFAULT_PORT] = options.get('port') ?? []
  const [seed] = options.get('seed') ?? []
  const [out] = options.get('out') ?? []
  const storage = readStorage(options.get('data')?.[0], options.get('database')?.[0])
  return {
    config,
    port: Number(port),
    cors: options.get('cors') ?? [],
    seed,
    ...(storage ? { storage } : {}),
    ...(command === 'grant' ? { grant: readGrant(identifier, role, storage) } : {}),
    ...(command === 'types' ? { types: { out } } : {}),
    help: false,
  }
}

/** The values of one option. None stands twice that may not, none is empty. */
function readOption(
  name: OptionName,
  values: readonly string[] | undefined,
  command: Command,
): readonly string[] {
  const { of, isRepeatable = false, check }: Option = OPTIONS[name]
  if (!values) return []
  if (!of.includes(command)) throw new UsageError(`${command} takes no --${name}`)
  if (values.length > 1 && !isRepeatable) throw new UsageError(`--${name} stands here more than once`)
  for (const value of values) {
    checkText(value, `--${name}`)
    check?.(value)
  }
  return values
}

function readStorage(file: string | undefined, url: string | undefined): StorageArguments | undefined {
  if (file !== undefined && url !== undefined)
    throw new UsageError('--data and --database exclude each other')
  if (file !== undefined) return { kind: 'file', file }
  return url === undefined ? undefined : { kind: 'database', url }
}

function readGrant(
  identifier: string | undefined,
  role: string | undefined,
  storage: StorageArguments | undefined,
): GrantArguments {
  if (identifier === undefined || role === undefined)
    throw new UsageError('grant needs the identifier of a user, and a role')
  checkText(identifier, 'the identifier')
  checkText(role, 'the role')
  if (!storage)
    throw new UsageError('grant needs --data or --database: what is in memory ends with its process')
  return { identifier, role, storage }
}

function checkText(value: string, what: string): void {
  if (value.trim() === '') throw new UsageError(`${what} must not be empty`)
}

function checkPort(value: string): void {
  if (!/^\d{1,5}$/.test(value) || Number(value) > 65_535)
    throw new UsageError(`--port must be a number from 0 to 65535, found ${JSON.stringify(value)}`)
}

/** Does not repeat what was found: there may be a password in it. */
function checkUrl(value: string): void {
  if (!/^postgres(?:ql)?:\/\//.test(value)) throw new UsageError('--database must begin with postgres://')
}

type ParsedOption = { readonly type: 'string'; readonly multiple: true }

const PARSED = Object.fromEntries(
  OPTION_NAMES.map((name) => [name, { type: 'string', multiple: true }]),
) as unknown as { readonly [name in OptionName]: ParsedOption }

function readArguments(args: readonly string[]) {
  try {
    return parseArgs({
      args: [...args],
      allowPositionals: true,
      options: { ...PARSED, help: { type: 'boolean', short: 'h' } },
    })
  } catch (thrown) {
    throw new UsageError(thrown instanceof Error ? thrown.message : 'the arguments cannot be read')
  }
}
