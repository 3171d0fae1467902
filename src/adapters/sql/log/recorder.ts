import type { StoredDocument, WriteStep } from '../../../storage.js'
import type { Statement } from '../dialect.js'

/** The table of all changes, and that of what holds for the log as a whole. */
export const LOG = '_log'
export const LOG_HEAD = '_log_head'

/**
 * Writes the statements that change a logged collection and record what they do. The last of each tells how many
 * documents were changed.
 */
export interface Recorder {
  insert(document: StoredDocument): readonly Statement[]
  replace(document: StoredDocument, version: number): readonly Statement[]
  /** `removal`: removes what matches a filter, and nothing else. */
  remove(removal: Statement): readonly Statement[]
}

/** How one write is recorded. */
export interface Recording {
  /** `undefined` for a collection that is not logged. */
  of(collection: string): Recorder | undefined
  /** Takes away what was absent before the write and is absent behind it. */
  readonly forget: Statement
}

/** A caller, who may be absent, as a parameter: a list in JSON. */
export const printBy = (by: string | null): string => JSON.stringify(by === null ? [] : [by])

/** Whether a step may remove what a step before has made, so that there is nothing to record. */
export function mayVanish(steps: readonly WriteStep[]): boolean {
  const made = new Set<string>()
  return steps.some((step) => {
    if ('insert' in step) made.add(step.in)
    return 'remove' in step && made.has(step.in)
  })
}
