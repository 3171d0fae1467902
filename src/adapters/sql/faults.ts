/**
 * The error of a storage that was reached, but cannot be used: the message says why and what to do (CONTRACT.md §7,
 * "Storage").
 */
export class UnusableStorage extends Error {
  readonly code = 'unusable_storage'

  constructor(message: string, cause?: unknown) {
    super(message, cause === undefined ? {} : { cause })
    this.name = 'UnusableStorage'
  }
}

/** The message of an error; empty if it has none. */
export const messageOf = (thrown: unknown): string => (thrown instanceof Error ? thrown.message : '')

/** A text property of an error; empty if it has none of this name. */
export function textOf(thrown: unknown, name: 'code' | 'severity' | 'constraint'): string {
  const { [name]: text } = (typeof thrown === 'object' && thrown !== null ? thrown : {}) as {
    readonly [name: string]: unknown
  }
  return typeof text === 'string' ? text : ''
}
