import { COMMANDS, WORDS, type Word, wordsWith } from './commands.js'
import { OPTION_NAMES, OPTIONS } from './options.js'

const CONFIG: readonly string[] = [
  'the configuration: JSON, or a module like config.ts that',
  'exports it (default: config.json in this folder)',
]

const describeLine = (name: string, [first = '', ...others]: readonly string[]): string =>
  [`  ${name.padEnd(16)}${first}`, ...others.map((line) => ' '.repeat(18) + line)].join('\n')

const describeOptions = (words: readonly Word[]): readonly string[] =>
  OPTION_NAMES.flatMap((name) => {
    const owners = wordsWith(name)
    return words.some((word) => owners.includes(word)) ? [describeLine(`--${name}`, OPTIONS[name].about)] : []
  })

/** Returns the synopsis of a command, and the command line that prints its help text. */
export const describeShape = (word: Word = 'serve'): string =>
  `${COMMANDS[word].synopsis}\n\nFor all options: collection-service ${word === 'serve' ? '' : `${word} `}--help`

/** Returns the help text of one command, or of all commands. */
export function describeUsage(word?: Word): string {
  const words = word === undefined ? WORDS : [word]
  const takesConfig = words.some((name) => COMMANDS[name].synopsis.includes('config.json'))
  return [
    ...words.map((name) => COMMANDS[name].synopsis),
    '',
    ...words.flatMap((name) => (name === 'serve' ? [] : [describeLine(name, COMMANDS[name].about)])),
    ...(takesConfig ? [describeLine('config.json', CONFIG)] : []),
    ...describeOptions(words),
    describeLine('--help', ['prints this text, or after a command the help for it']),
    ...(word === undefined ? [describeLine('--version', ['prints the version of collection-service'])] : []),
  ].join('\n')
}
