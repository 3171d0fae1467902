import type { JsonObject, Logger } from '../../types.js'
import { printDetails, toPrintable } from './printable.js'

const LEVELS = ['info', 'warn', 'error'] as const

/** As one text: what consoles make of objects and errors keeps the line feeds and escape sequences in them. */
const print = (message: string, details: JsonObject = {}): string =>
  toPrintable(message) + printDetails(details)

// biome-ignore-start lint/suspicious/noConsole: the default logger is the console
const CONSOLE: Logger = {
  info() {},
  warn: (message, details) => console.warn(print(message, details)),
  error: (message, details) => console.error(print(message, details)),
}
// biome-ignore-end lint/suspicious/noConsole: the default logger is the console

/** A host's logger, the console for what it lacks. A log that fails fails nothing else. */
export function createLogger(given: Partial<Logger> = {}): Logger {
  const guarded = LEVELS.map((level) => {
    const write: Logger[typeof level] = (message, details) => {
      try {
        // Called as its method: a logger may be an instance of a class.
        if (given[level]) given[level](message, details)
        else CONSOLE[level](message, details)
      } catch {
        // There is nowhere left to say so.
      }
    }
    return [level, write] as const
  })
  return Object.fromEntries(guarded) as unknown as Logger
}
