import { createHash } from 'node:crypto'
import { isObject } from '../../core/json/own-properties.js'
import type { StoredDocument } from '../../core/storage.js'

/** The name and the version of the format, in the first line of a dump. */
export const FORMAT = 'collection-service dump'
export const VERSION = 1

/** The first line of a dump: its collections, in the order of their documents. */
export interface DumpHead {
  readonly format: typeof FORMAT
  readonly version: typeof VERSION
  readonly collections: readonly string[]
}

/** A line for a document, which is as the storage returns it. */
export interface DumpedDocument {
  readonly in: string
  readonly document: StoredDocument
}

/** The number of documents of a collection, and their digest (`createTally`). */
export interface CollectionTally {
  readonly documents: number
  readonly sha256: string
}

/** The counts and digests of some collections. */
export interface Tallies {
  readonly [collection: string]: CollectionTally
}

/** The last line of a dump. */
export interface DumpEnd {
  readonly end: Tallies
}

/** Prints a line of a dump. */
export const printLine = (line: DumpHead | DumpedDocument | DumpEnd): string => `${JSON.stringify(line)}\n`

/** Counts and digests the documents of a collection. */
export interface Tally {
  add(document: StoredDocument): void
  result(): CollectionTally
}

/**
 * Creates a tally. The digest is the SHA-256 of the documents in the order of `_id`, each as JSON with sorted keys and a
 * line feed. It does not depend on the storage: PostgreSQL does not keep the order of keys.
 */
export function createTally(): Tally {
  const hash = createHash('sha256')
  let documents = 0
  return {
    add(document) {
      hash.update(`${printSorted(document)}\n`)
      documents += 1
    },
    result: () => ({ documents, sha256: hash.copy().digest('hex') }),
  }
}

/** Prints a JSON value with the keys of all objects sorted, so that equal values have equal texts. */
export const printSorted = (value: unknown): string => JSON.stringify(sortKeys(value))

function sortKeys(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sortKeys)
  if (!isObject(value)) return value
  return Object.fromEntries(
    Object.keys(value)
      .sort()
      .map((name) => [name, sortKeys(value[name])]),
  )
}
