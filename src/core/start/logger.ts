import { ignoreFailure } from '../promises.js'
import type { Logger } from '../types/host.js'
import type { JsonObject } from '../types.js'
import { toPrintable } from './printable.js'

const LEVELS = ['info', 'warn', 'error'] as const

/** The maximum number of characters that are printed of one text. */
const MAX_LENGTH = 10_000

/** The maximum number of levels of causes that are printed. */
const MAX_DEPTH = 5

/**
 * Prints names and values, one per line; for an error also its stack and its causes. Every line is indented, so that no
 * value can look like a log entry of its own.
 */
const printDetails = (details: { readonly [name: string]: unknown }): string =>
  Object.entries(details)
    .flatMap(([name, value]) => printValue(name, value, 0))
    .map((line) => `\n  ${line}`)
    .join('')

function printValue(name: string, value: unknown, depth: number): readonly string[] {
  const [first = '', ...others] = describe(value, depth)
  return [`${toPrintable(name)}: ${first}`, ...others]
}

function describe(value: unknown, depth: number): readonly string[] {
  try {
    return isError(value) ? describeError(value, depth) : [shorten(JSON.stringify(value) ?? String(value))]
  } catch {
    // The value contains a cycle, or a getter that throws.
    return ['cannot be printed']
  }
}

const shorten = (text: string): string => toPrintable(text.slice(0, MAX_LENGTH))

const isError = (value: unknown): value is Error & { readonly stack: string } =>
  typeof value === 'object' &&
  value !== null &&
  typeof (value as Partial<Error>).message === 'string' &&
  typeof (value as Partial<Error>).stack === 'string'

function describeError(error: Error & { readonly stack: string }, depth: number): readonly string[] {
  const [head, frames] = splitStack(error)
  const own = Object.entries(error).filter(([, value]) => /^(?:string|number|boolean)$/.test(typeof value))
  const { errors } = error as { readonly errors?: unknown }
  const behind: readonly (readonly [string, unknown])[] =
    depth === MAX_DEPTH
      ? []
      : [
          ...(error.cause === undefined ? [] : [['cause', error.cause] as const]),
          ...(Array.isArray(errors) ? errors.slice(0, MAX_DEPTH).map((one) => ['error', one] as const) : []),
        ]
  return [
    shorten(head),
    ...frames.map(shorten),
    ...own.map(([name, value]) => `  ${toPrintable(name)}: ${shorten(JSON.stringify(value))}`),
    ...behind.flatMap(([name, value]) => printValue(name, value, depth + 1)).map((line) => `  ${line}`),
  ]
}

/** Splits a stack into the message and the frames. The message may contain lines of user input. */
function splitStack({ message, stack }: { readonly message: string; readonly stack: string }) {
  const [start = ''] = /^[^:\n]*(?:: )?/.exec(stack) ?? []
  const head = message === '' ? start : start + message
  // If the message was changed after the error was created, it no longer matches the stack.
  const isRepeated = stack === head || stack.startsWith(`${head}\n`)
  return isRepeated
    ? ([head, stack.slice(head.length + 1).split('\n')] as const)
    : ([`${message} ${stack}`, []] as const)
}

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

/** A symbol that every logger of pino has, since pino 5. It is in the global symbol registry. */
const PINO = Symbol.for('pino.serializers')

/** A method of pino: the details come first. */
type PinoMethod = (details: JsonObject, message: string) => void

/**
 * Returns the methods of a logger of pino in the form of `Logger`. A cause is named `err`, because pino prints an error
 * under any other name as an empty object. Any other logger is returned unchanged.
 */
function adaptPino(given: Partial<Logger>): Partial<Logger> {
  if (!(PINO in given)) return given
  const adapt = (level: (typeof LEVELS)[number]): Logger[typeof level] => {
    return (message, { cause, ...details } = {}) => {
      const merged = cause === undefined ? details : { ...details, err: cause }
      return (given as unknown as { readonly [level: string]: PinoMethod })[level]?.(merged, message)
    }
  }
  return { info: adapt('info'), warn: adapt('warn'), error: adapt('error') }
}

/**
 * Creates a logger from that of the host. The console is used for methods that the host's logger lacks. Errors that a
 * logger throws are ignored.
 */
export function createLogger(host: Partial<Logger> = {}): Logger {
  const given = adaptPino(host)
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
