/**
 * The error for a database that can be reached but cannot be used. Its message says why and what to do (CONTRACT.md
 * §7, "Storage").
 */
export class UnusableStorage extends Error {
  readonly code = 'unusable_storage'

  constructor(message: string, cause?: unknown) {
    super(message, cause === undefined ? {} : { cause })
    this.name = 'UnusableStorage'
  }
}

/** Returns the message of an error, or an empty string if it has none. */
export const messageOf = (thrown: unknown): string => (thrown instanceof Error ? thrown.message : '')

/** Returns a property of an error if it is a string, otherwise an empty string. */
export function textOf(thrown: unknown, name: 'code' | 'severity' | 'constraint'): string {
  const { [name]: text } = (typeof thrown === 'object' && thrown !== null ? thrown : {}) as {
    readonly [name: string]: unknown
  }
  return typeof text === 'string' ? text : ''
}
