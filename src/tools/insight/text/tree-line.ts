/** A printed line of a tree. */
export interface TreeLine {
  readonly depth: number
  /** Whether the line reports a success or a failure. Absent if it reports neither. */
  readonly isGood?: boolean
  readonly text: string
  /** The JSON pointer to the part of the configuration. */
  readonly pointer?: string | null
}
