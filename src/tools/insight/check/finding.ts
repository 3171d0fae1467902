import type { FindingCode, Level } from './codes.js'

/** An error or a likely mistake in a configuration, and its place. */
export interface Finding {
  /** Stable, lower_snake (CONTRACT.md §8, "Check"). */
  readonly code: FindingCode
  readonly level: Level
  /** A JSON pointer into the configuration. */
  readonly pointer: string
  /** For people; may change between releases. */
  readonly message: string
  /** How to fix it. */
  readonly mend: string
  /** The place in the text, counted from 1; absent if the input was a value. */
  readonly line?: number
  readonly column?: number
}
