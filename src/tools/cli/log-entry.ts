import type { JsonObject } from '../../core/types.js'

/** The formats of the log of a server. */
export const LOG_FORMATS = ['text', 'json'] as const

export type LogFormat = (typeof LOG_FORMATS)[number]

export type LogLevel = 'info' | 'warn' | 'error'

/** Writes an entry of the log. */
export type WriteEntry = (level: LogLevel, message: string, details?: JsonObject) => void

/** The maximum number of levels of errors and their causes that are printed. */
const MAX_DEPTH = 5

/** The maximum number of characters that are printed of one text of the details. */
const MAX_LENGTH = 10_000

/** Prints an entry of the log as one line of JSON. Details come after the members that every entry has. */
export function printEntry(level: LogLevel, message: string, details: JsonObject = {}): string {
  const always = { time: new Date().toISOString(), level, pid: process.pid, message }
  const printed = Object.entries(details).map(([name, value]) => printDetail(name, value))
  return `${JSON.stringify(always).slice(0, -1)}${printed.join('')}}`
}

/** Returns the JSON text of a detail as a further member of an object; empty if JSON has nothing for the value. */
function printDetail(name: string, value: unknown): string {
  try {
    const text = JSON.stringify({ [name]: value }, toShown).slice(1, -1)
    return text === '' ? '' : `,${text}`
  } catch {
    // The detail contains a cycle, a bigint, or a getter that throws.
    return `,${JSON.stringify(name)}:"cannot be printed"`
  }
}

/**
 * Replaces errors by what a log shows of them, and cuts long texts. The value is read from its holder, because `toJSON` of
 * an error, which may return all of a request and its credentials, has already replaced the argument.
 */
function toShown(this: { readonly [name: string]: unknown }, name: string, value: unknown): unknown {
  const { [name]: own } = this
  if (own instanceof Error) return toPlain(own, 0)
  return typeof value === 'string' ? value.slice(0, MAX_LENGTH) : value
}

/** Converts an error to an object, because JSON shows nothing of an error. Any other value is returned unchanged. */
function toPlain(value: unknown, depth: number): unknown {
  if (!(value instanceof Error)) return value
  const { name, message, stack, cause } = value
  const { errors } = value as { readonly errors?: unknown }
  const within = (inner: unknown): unknown => (depth === MAX_DEPTH ? undefined : toPlain(inner, depth + 1))
  return {
    type: name,
    message,
    stack,
    ...ownScalars(value),
    ...(cause === undefined ? {} : { cause: within(cause) }),
    ...(Array.isArray(errors) ? { errors: errors.slice(0, MAX_DEPTH).map(within) } : {}),
  }
}

/** Returns the enumerable properties of an error, such as `code`, that are texts, numbers or booleans. */
const ownScalars = (error: Error): JsonObject =>
  Object.fromEntries(
    Object.entries(error).filter(([, value]) => /^(?:string|number|boolean)$/.test(typeof value)),
  )
