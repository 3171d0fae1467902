import type { FindingCode, Level } from './codes.js'

/** An error or a likely mistake in a configuration, and its location. */
export interface Finding {
  /** A stable name in lower_snake_case (CONTRACT.md §8, "Check"). */
  readonly code: FindingCode
  readonly level: Level
  /** A JSON pointer to the part of the configuration. */
  readonly pointer: string
  /** A text for people, which may change between releases. */
  readonly message: string
  /** How to fix the mistake. */
  readonly mend: string
  /** The position in the text, counted from 1. Absent if the configuration was given as a value. */
  readonly line?: number
  readonly column?: number
}
