export interface Block {
  readonly language: string
  readonly text: string
  /** The first line. */
  readonly title: string
}

/** Blocks that are neither compiled nor run, by their first line, and why. */
export const NOT_RUN: { readonly [title: string]: string }

/**
 * The blocks that must work, those of ts as one. Throws when an exception is not needed, or a language is unknown.
 */
export function readBlocks(page: string): readonly Block[]
