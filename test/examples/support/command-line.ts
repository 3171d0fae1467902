import { expect } from 'vitest'
import { DEFAULT_LIMITS } from '../../../src/core/config/defaults.js'
import { parseArguments } from '../../../src/tools/cli/arguments/parse-arguments.js'

/** The file that a process manager starts, without `npx`, so that its signals reach the command itself. */
const PROGRAM = 'node_modules/collection-service/dist/cli.js'

/** Parses the command line of a file for a process manager. `variables` are texts that the manager replaces. */
export function parseCommand(
  [program = '', ...words]: readonly string[],
  variables: { readonly [name: string]: string } = {},
) {
  expect(program.split('/').at(-1)).toBe('node')
  expect(words[0]).toBe(PROGRAM)
  const parsed = parseArguments(words.slice(1).map((word) => variables[word] ?? word))
  if (parsed.word !== 'serve') throw new Error('it does not serve')
  return parsed
}

/** The seconds that a stop takes at most: CONTRACT.md §7, "The command". */
export const secondsOfStop = ({ drain }: { readonly drain: number }): number =>
  drain + DEFAULT_LIMITS.requestSeconds + 6
