/** A printed line of a tree. */
export interface TreeLine {
  readonly depth: number
  /** Whether the line is a success or a failure; absent if neither. */
  readonly isGood?: boolean
  readonly text: string
  /** The JSON pointer of the part of the configuration. */
  readonly pointer?: string | null
}
