import type { StoredDocument, WriteStep } from '../../../core/storage.js'
import type { Statement } from '../dialect.js'

/** The table of all changes, and the table of the log's state. */
export const LOG = '_log'
export const LOG_HEAD = '_log_head'

/**
 * Writes the statements that change a logged collection and record the changes. The last statement of each list
 * returns the number of changed documents.
 */
export interface Recorder {
  insert(document: StoredDocument): readonly Statement[]
  replace(document: StoredDocument, version: number): readonly Statement[]
  /** `removal`: deletes the matches of a filter, and nothing else. */
  remove(removal: Statement): readonly Statement[]
}

/** How one write is recorded. */
export interface Recording {
  /** `undefined` for a collection that is not logged. */
  of(collection: string): Recorder | undefined
  /** Deletes the records of documents that are absent both before and after the write. */
  readonly forget: Statement
}

/** A caller, or none, as a parameter: a JSON list. */
export const printBy = (by: string | null): string => JSON.stringify(by === null ? [] : [by])

/** Whether a step may remove a document that an earlier step inserted, which leaves nothing to record. */
export function mayVanish(steps: readonly WriteStep[]): boolean {
  const made = new Set<string>()
  return steps.some((step) => {
    if ('insert' in step) made.add(step.in)
    return 'remove' in step && made.has(step.in)
  })
}
