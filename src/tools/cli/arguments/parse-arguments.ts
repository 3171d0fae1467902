import { parseArgs } from 'node:util'
import { suggest } from '../../../core/fields/schema/names.js'
import {
  type ArgumentsOf,
  COMMANDS,
  checkText,
  type Environment,
  type OptionValues,
  WORDS,
  type Word,
  wordsWith,
} from './commands.js'
import { OPTION_NAMES, OPTIONS, type Option, type OptionName, UsageError } from './options.js'

/** The words with which a command line selects a command. Serving needs no word. */
type NamedWord = Exclude<Word, 'serve'>

const NAMED_WORDS = WORDS.filter((word): word is NamedWord => word !== 'serve')

/** The command of a command line, and its arguments. */
export type Arguments =
  | { [W in Word]: { readonly word: W } & ArgumentsOf<W> }[Word]
  | { readonly word: 'help'; readonly of: NamedWord | undefined }
  | { readonly word: 'version' }

/** Returns the command of a command line, even if the command line is invalid; `undefined` if it names no command. */
export function readWord(args: readonly string[]): NamedWord | undefined {
  const { positionals } = parseArgs({ ...SHAPE, args: [...args], strict: false })
  return NAMED_WORDS.find((word) => word === positionals[0])
}

/** Parses a command line. Throws `UsageError`. */
export function parseArguments(args: readonly string[], environment: Environment = {}): Arguments {
  const { values, positionals } = readArguments(args)
  const word = readWord(args)
  if (values.help) return { word: 'help', of: word }
  if (values.version) return { word: 'version' }
  const options = readOptions(values, word ?? 'serve')
  const names = word === undefined ? positionals : positionals.slice(1)
  if (word === undefined) checkNearWord(names[0])
  const { read } = COMMANDS[word ?? 'serve']
  return { word: word ?? 'serve', ...read({ names, options, environment }) } as Arguments
}

/** Throws `UsageError` for a misspelt command, which would otherwise be read as the name of a configuration. */
function checkNearWord(name = ''): void {
  const near = /^[a-z-]+$/i.test(name) ? suggest(name, NAMED_WORDS) : ''
  if (near !== '')
    throw new UsageError(`there is no command ${name}${near} (to serve a file of that name, write ./${name})`)
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
  const { isFlag = false, isRepeatable = false, check }: Option = OPTIONS[name]
  if (!values) return []
  const owners = wordsWith(name)
  if (!owners.includes(word)) {
    const owner = owners[0] === 'serve' ? 'serving a configuration' : owners.join(' and ')
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
