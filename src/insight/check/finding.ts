import type { FindingCode, Level } from './codes.js'

/** What is wrong, or almost surely wrong, with a configuration, and where. */
export interface Finding {
  /** Stable, lower_snake (CONTRACT.md §8, "Check"). */
  readonly code: FindingCode
  readonly level: Level
  /** A JSON pointer into the configuration. */
  readonly pointer: string
  /** For people; may change between releases. */
  readonly message: string
  /** What can be done about it. */
  readonly mend: string
  /** The place in the text, counted from 1; absent where a value was checked. */
  readonly line?: number
  readonly column?: number
}
