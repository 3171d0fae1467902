/** A line of a tree in print. */
export interface TreeLine {
  readonly depth: number
  /** Absent for a line that is neither. */
  readonly isGood?: boolean
  readonly text: string
  /** Where the configuration says so, as a JSON pointer. */
  readonly pointer?: string | null
}
