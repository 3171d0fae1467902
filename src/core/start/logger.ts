import { ignoreFailure } from '../promises.js'
import type { Logger } from '../types/host.js'
import type { JsonObject } from '../types.js'
import { printDetails, toPrintable } from './printable.js'

const LEVELS = ['info', 'warn', 'error'] as const

/**
 * Formats a log entry as one string, because consoles do not escape the line feeds and escape sequences inside objects
 * and errors.
 */
const print = (message: string, details: JsonObject = {}): string =>
  toPrintable(message) + printDetails(details)

// biome-ignore-start lint/suspicious/noConsole: the default logger is the console
const CONSOLE: Logger = {
  info() {},
  warn: (message, details) => console.warn(print(message, details)),
  error: (message, details) => console.error(print(message, details)),
}
// biome-ignore-end lint/suspicious/noConsole: the default logger is the console

/**
 * Creates a logger from that of the host. The console is used for methods that the host's logger lacks. Errors that a
 * logger throws are ignored.
 */
export function createLogger(given: Partial<Logger> = {}): Logger {
  const guarded = LEVELS.map((level) => {
    const write: Logger[typeof level] = (message, details) => {
      try {
        // Called as a method: a logger may be an instance of a class.
        if (given[level]) ignoreFailure(given[level](message, details))
        else CONSOLE[level](message, details)
      } catch {
        // The error cannot be reported anywhere.
      }
    }
    return [level, write] as const
  })
  return Object.fromEntries(guarded) as unknown as Logger
}
