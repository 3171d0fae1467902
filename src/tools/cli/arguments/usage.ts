import { TEMPLATE_NAMES } from '../commands/templates.js'
import { OPTION_NAMES, OPTIONS, type Option, type Word } from './options.js'

interface Usage {
  readonly synopsis: string
  /** The lines of the command in the help text. */
  readonly about: readonly string[]
}

const CONFIG: readonly string[] = ['the configuration (default: config.json in this folder)']

/** The help text of each command. */
const WORDS: { readonly [word in Word]: Usage } = {
  serve: {
    synopsis:
      'collection-service [config.json] [--port 3000] [--host localhost] [--watch] [--processes N] [--cors ORIGIN] [--seed documents.json] [--deliver console|FILE.mjs] [--no-page] [--data FILE.db | --database URL]',
    about: [],
  },
  init: {
    synopsis: `collection-service init [${TEMPLATE_NAMES.join('|')}] [folder]`,
    about: ['writes a first configuration, documents and a test'],
  },
  import: {
    synopsis: 'collection-service import [db.json] [folder]',
    about: [
      'converts a json-server file, a JSON list, NDJSON',
      'or a mongoexport to a configuration and documents',
    ],
  },
  grant: {
    synopsis:
      'collection-service grant <identifier> [role] [--verified] [config.json] (--data FILE.db | --database URL [--schema NAME])',
    about: ['gives a role to a user, such as the first administrator'],
  },
  types: {
    synopsis: 'collection-service types [config.json] [--out FILE.ts] [--fills COLLECTION.FIELD]',
    about: ['prints TypeScript types of the documents,', 'for createClient<Collections>(url)'],
  },
  check: {
    synopsis:
      'collection-service check [config.json] [--authenticate] [--production] [--fills COLLECTION.FIELD] [--format FORMAT] [--data FILE.db | --database URL [--schema NAME]]',
    about: [
      'finds errors and likely mistakes in a configuration;',
      'exits 1 if there is an error or a warning',
    ],
  },
  matrix: {
    synopsis: 'collection-service matrix [config.json] [--authenticate] [--production] [--format FORMAT]',
    about: ['prints all permissions in tables, for reviews'],
  },
  diff: {
    synopsis:
      'collection-service diff <before.json> <after.json> [--authenticate] [--production] [--fills COLLECTION.FIELD] [--format FORMAT] [--fail-on widening]',
    about: ['compares the permissions of two configurations, with a', 'counterexample for each difference'],
  },
  explain: {
    synopsis:
      'collection-service explain <method> <path> [config.json] [--caller CALLER] [--body JSON] [--header HEADER] [--seed documents.json] [--now TIME] [--authenticate] [--production] [--format FORMAT]',
    about: ['explains the answer to a request and, if it is rejected,', 'names a grant that would allow it'],
  },
  openapi: {
    synopsis:
      'collection-service openapi [config.json] [--caller CALLER] [--authenticate] [--production] [--fills COLLECTION.FIELD]',
    about: ['prints the OpenAPI 3.1 document of the service'],
  },
}

const WORD_NAMES = Object.keys(WORDS) as Word[]

const describeLine = (name: string, [first = '', ...others]: readonly string[]): string =>
  [`  ${name.padEnd(16)}${first}`, ...others.map((line) => ' '.repeat(18) + line)].join('\n')

const describeOptions = (words: readonly Word[]): readonly string[] =>
  OPTION_NAMES.flatMap((name) => {
    const { of, about }: Option = OPTIONS[name]
    return words.some((word) => of.includes(word)) ? [describeLine(`--${name}`, about)] : []
  })

/** Returns the synopsis of a command, and the command line that prints its help text. */
export const describeShape = (word: Word = 'serve'): string =>
  `${WORDS[word].synopsis}\n\nFor all options: collection-service ${word === 'serve' ? '' : `${word} `}--help`

/** Returns the help text of one command, or of all commands. */
export function describeUsage(word?: Word): string {
  const words = word === undefined ? WORD_NAMES : [word]
  const takesConfig = words.some((name) => WORDS[name].synopsis.includes('config.json'))
  return [
    ...words.map((name) => WORDS[name].synopsis),
    '',
    ...words.flatMap((name) => (name === 'serve' ? [] : [describeLine(name, WORDS[name].about)])),
    ...(takesConfig ? [describeLine('config.json', CONFIG)] : []),
    ...describeOptions(words),
    describeLine('--help', ['prints this text, or after a command the help for it']),
    ...(word === undefined ? [describeLine('--version', ['prints the version of collection-service'])] : []),
  ].join('\n')
}
