import { parseArgs } from 'node:util'
import { suggest } from '../../../core/fields/schema/names.js'
import type { AnyHooks } from '../../../core/hooks/types.js'
import { TEMPLATE_NAMES } from '../commands/templates.js'
import type {
  Arguments,
  ExplainArguments,
  GrantArguments,
  ImportArguments,
  InitArguments,
  InsightArguments,
  NamedWord,
  ServeArguments,
  StorageArguments,
} from './arguments.js'
import {
  checkPort,
  FORMATS,
  type InsightWord,
  OPTION_NAMES,
  OPTIONS,
  type Option,
  type OptionName,
  type Word,
} from './options.js'
import { DEFAULT_CONFIG } from './read-options.js'
import { UsageError } from './usage-error.js'

type InsightLine = Extract<Arguments, { readonly word: InsightWord }>

/** The values of each option. The list is empty if the option is not on the command line. */
type OptionValues = { readonly [name in OptionName]: readonly string[] }

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
function checkText(value: string, what: string): void {
  if (value.trim() === '') throw new UsageError(`${what} must not be empty`)
}

/** Reads the arguments of a command that explains a configuration. Throws `UsageError`. */
function readInsight(word: InsightWord, names: readonly string[], options: OptionValues): InsightLine {
  const common: InsightArguments = {
    format: FORMATS.find((format) => format === options.format[0]) ?? 'text',
    authenticate: options.authenticate.length > 0,
    production: options.production.length > 0,
    ...readHooks(options),
  }
  const caller = options.caller[0]
  switch (word) {
    case 'check': {
      const storage = readStorage(options)
      return { word, ...common, config: readConfig(names), ...(storage ? { storage } : {}) }
    }
    case 'matrix':
      return { word, ...common, config: readConfig(names) }
    case 'diff':
      return { word, ...common, ...readPair(names), failsOnWidening: options['fail-on'].length > 0 }
    case 'explain':
      return { word, ...common, ...readRequest(names), ...readSent(options), caller }
    case 'openapi':
      return { word, ...common, config: readConfig(names), caller }
    default:
      return word satisfies never
  }
}

function readPair([before, after, ...others]: readonly string[]): {
  readonly before: string
  readonly after: string
} {
  if (before === undefined || after === undefined || others.length > 0)
    throw new UsageError('diff needs two configurations: first the old one, then the new one')
  checkText(before, 'the name of the old configuration')
  checkText(after, 'the name of the new configuration')
  return { before, after }
}

function readRequest([method, path, ...others]: readonly string[]): Pick<
  ExplainArguments,
  'method' | 'path' | 'config'
> {
  if (method === undefined || path === undefined)
    throw new UsageError('explain needs a method and a path, like GET /articles')
  if (!/^[A-Z]+$/i.test(method))
    throw new UsageError(`the method must be a word like GET, found ${JSON.stringify(method)}`)
  if (!path.startsWith('/'))
    throw new UsageError(`the path must begin with a slash, found ${JSON.stringify(path)}`)
  return { method: method.toUpperCase(), path, config: readConfig(others) }
}

const readSent = ({
  body,
  header,
  seed,
  now,
}: OptionValues): Pick<ExplainArguments, 'body' | 'headers' | 'seed' | 'now'> => ({
  body: body[0],
  headers: header,
  seed: seed[0],
  now: now[0],
})

const DEFAULT_PORT = '3000'
const DEFAULT_HOST = 'localhost'
const DEFAULT_DATABASE = 'db.json'
const [DEFAULT_TEMPLATE] = TEMPLATE_NAMES

const NAMED_WORDS: readonly NamedWord[] = [
  'init',
  'import',
  'grant',
  'types',
  'check',
  'matrix',
  'diff',
  'explain',
  'openapi',
]

/** Returns the command of a command line, even if the command line is invalid; `undefined` if it names no command. */
export function readWord(args: readonly string[]): NamedWord | undefined {
  const { positionals } = parseArgs({ ...SHAPE, args: [...args], strict: false })
  return NAMED_WORDS.find((word) => word === positionals[0])
}

/** Parses a command line. Throws `UsageError`. */
export function parseArguments(
  args: readonly string[],
  environment: { readonly PORT?: string | undefined } = {},
): Arguments {
  const { values, positionals } = readArguments(args)
  const word = readWord(args)
  if (values.help) return { word: 'help', of: word }
  if (values.version) return { word: 'version' }
  const options = readOptions(values, word ?? 'serve')
  const names = word === undefined ? positionals : positionals.slice(1)
  switch (word) {
    case undefined:
      checkNearWord(names[0])
      return { word: 'serve', ...readServe(names, options, environment) }
    case 'grant':
      return { word, ...readGrant(names, options) }
    case 'types':
      return { word, config: readConfig(names), out: options.out[0], ...readHooks(options) }
    case 'init':
      return { word, ...readInit(names) }
    case 'import':
      return { word, ...readImport(names) }
    case 'check':
    case 'matrix':
    case 'diff':
    case 'explain':
    case 'openapi':
      return readInsight(word, names, options)
    default:
      return word satisfies never
  }
}

/** Throws `UsageError` for a misspelt command, which would otherwise be read as the name of a configuration. */
function checkNearWord(name = ''): void {
  const near = /^[a-z-]+$/i.test(name) ? suggest(name, NAMED_WORDS) : ''
  if (near !== '')
    throw new UsageError(`there is no command ${name}${near} (to serve a file of that name, write ./${name})`)
}

function readServe(
  names: readonly string[],
  options: OptionValues,
  environment: { readonly PORT?: string | undefined },
): ServeArguments {
  const storage = readStorage(options)
  const [deliver] = options.deliver
  return {
    config: readConfig(names),
    port: Number(options.port[0] ?? readPort(environment.PORT)),
    host: options.host[0] ?? DEFAULT_HOST,
    watch: options.watch.length > 0,
    processes: readProcesses(options, storage),
    cors: options.cors,
    seed: options.seed[0],
    ...(options['no-page'].length > 0 ? { hidesPage: true } : {}),
    ...(deliver === undefined ? {} : { deliver }),
    ...(storage ? { storage } : {}),
  }
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
  checkPort(variable, 'the variable PORT')
  return variable
}

function readGrant([identifier, ...others]: readonly string[], options: OptionValues): GrantArguments {
  const isVerified = options.verified.length > 0
  const isRoleless = isVerified && others[0]?.endsWith('.json') === true
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

function readInit([name = DEFAULT_TEMPLATE, folder = '.', ...others]: readonly string[]): InitArguments {
  const template = TEMPLATE_NAMES.find((known) => known === name)
  const allowed = TEMPLATE_NAMES.join(', ')
  if (template === undefined) {
    const found = `found ${JSON.stringify(name)}${suggest(name, TEMPLATE_NAMES)}`
    throw new UsageError(`init needs a template (${allowed}), and then a folder; ${found}`)
  }
  checkFolder(folder, others)
  return { template, folder }
}

function readImport([file = DEFAULT_DATABASE, folder = '.', ...others]: readonly string[]): ImportArguments {
  checkText(file, 'the name of the file')
  checkFolder(folder, others)
  return { file, folder }
}

function checkFolder(folder: string, others: readonly string[]): void {
  if (others.length > 0) throw new UsageError(`only one folder can be given; also found ${others.join(', ')}`)
  checkText(folder, 'the name of the folder')
}

type Values = ReturnType<typeof readArguments>['values']

const readOptions = (values: Values, word: Word): OptionValues =>
  Object.fromEntries(OPTION_NAMES.map((name) => [name, readOption(name, values[name], word)])) as OptionValues

/**
 * Returns the values of one option. Throws `UsageError` if the command does not have the option, if a value is empty or
 * invalid, or if the option is repeated although it is not repeatable.
 */
function readOption(
  name: OptionName,
  values: readonly (string | boolean)[] | undefined,
  word: Word,
): readonly string[] {
  const { of, isFlag = false, isRepeatable = false, check }: Option = OPTIONS[name]
  if (!values) return []
  if (!of.includes(word)) {
    const [taker] = of
    const owner = taker === 'serve' ? 'serving a configuration' : of.join(' and ')
    throw new UsageError(
      `${word === 'serve' ? 'serving' : word} has no option --${name}, which belongs to ${owner}`,
    )
  }
  if (values.length > 1 && !isRepeatable) throw new UsageError(`--${name} may be given only once`)
  return values.map((value) => {
    const text = String(value)
    if (isFlag) return text
    checkText(text, `--${name}`)
    check?.(text, `--${name}`)
    return text
  })
}

type ParsedOption = { readonly type: 'string' | 'boolean'; readonly multiple: true }

const typeOf = ({ isFlag = false }: Option): ParsedOption['type'] => (isFlag ? 'boolean' : 'string')

/** The options in the form that Node's `parseArgs` accepts. */
const SHAPE = {
  allowPositionals: true,
  options: {
    ...(Object.fromEntries(
      OPTION_NAMES.map((name) => [name, { type: typeOf(OPTIONS[name]), multiple: true }]),
    ) as { readonly [name in OptionName]: ParsedOption }),
    help: { type: 'boolean', short: 'h' },
    version: { type: 'boolean', short: 'v' },
  },
} as const

function readArguments(args: readonly string[]) {
  try {
    return parseArgs({ ...SHAPE, args: [...args] })
  } catch (thrown) {
    const unknown = findUnknownOption(args)
    if (unknown !== undefined) throw new UsageError(`there is no option ${describeUnknown(unknown)}`)
    throw new UsageError(thrown instanceof Error ? thrown.message : 'the arguments cannot be read')
  }
}

/** Returns the first unknown option of a command line, as the user wrote it. */
function findUnknownOption(args: readonly string[]): string | undefined {
  const { tokens } = parseArgs({ ...SHAPE, args: [...args], strict: false, tokens: true })
  const options = tokens.flatMap((token) => (token.kind === 'option' ? [token] : []))
  return options.find(({ name }) => !Object.hasOwn(SHAPE.options, name))?.rawName
}

const describeUnknown = (option: string): string =>
  option +
  suggest(
    option,
    Object.keys(SHAPE.options).map((name) => `--${name}`),
  )
