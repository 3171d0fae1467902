import Loki from 'lokijs'
import type { FieldRef } from '../../filter/filter.js'
import type { StoredDocument } from '../../storage.js'
import type { DocumentRow } from './row.js'
import { createSortedIndex, type SortedIndex } from './sorted-index.js'
import { createUniqueIndex, type UniqueIndex } from './unique-index.js'

/** The documents of one collection, with their indexes. */
export interface Rows {
  readonly unique: readonly UniqueIndex[]
  /** The index in the order of `_id`. */
  readonly byId: SortedIndex
  /** All sorted indexes, with that of `_id`. */
  readonly sorted: readonly SortedIndex[]
  readonly size: number
  get(id: string): DocumentRow | undefined
  insert(document: StoredDocument): void
  replace(document: StoredDocument): void
  remove(id: string): void
  /** Sorts the pending insertions of one index, if they are many. Only one, so that no write pays for all indexes. */
  tidy(): void
  /**
   * Creates an index over the present documents, and returns a function that puts it in force unless it is already.
   * Throws if the documents are not unique.
   */
  prepareUnique(fields: readonly FieldRef[]): () => void
  addSorted(fields: readonly FieldRef[]): void
}

const isSame = (a: unknown, b: unknown): boolean => JSON.stringify(a) === JSON.stringify(b)

/** Creates a database that exists only in memory, in any runtime. */
export const createDatabase = (): Loki =>
  new Loki('memory', { env: 'NA', persistenceMethod: 'memory', autosave: false })

/**
 * Uses LokiJS only as a container of rows: the behaviour of its indexes, queries, constraints and metadata differs
 * from this service's guarantees.
 */
export function createRows(database: Loki, name: string): Rows {
  const collection: Collection<DocumentRow> = database.addCollection<DocumentRow>(name, {
    disableMeta: true,
    disableChangesApi: true,
    asyncListeners: false,
    clone: false,
  })
  const known = new Map<string, DocumentRow>()
  const unique: UniqueIndex[] = []
  const byId = createSortedIndex([])
  const sorted: SortedIndex[] = [byId]

  const enter = (row: DocumentRow): void => {
    for (const index of unique) index.add(row.document)
    for (const index of sorted) index.documents.insert(row.document)
  }
  const leave = (row: DocumentRow): void => {
    for (const index of unique) index.remove(row.document)
    for (const index of sorted) index.documents.remove(row.document)
  }
  return {
    unique,
    byId,
    sorted,
    get size() {
      return known.size
    },
    get: (id) => known.get(id),
    insert(document) {
      const row: DocumentRow = { _id: document._id, document, $loki: undefined }
      collection.insert(row)
      known.set(row._id, row)
      enter(row)
    },
    replace(document) {
      const row = known.get(document._id)
      if (!row) return
      const before = row.document
      for (const index of unique) index.exchange(before, document)
      for (const index of sorted) index.documents.exchange(before, document)
      row.document = document
    },
    remove(id) {
      const row = known.get(id)
      if (!row) return
      leave(row)
      collection.remove(row as DocumentRow & LokiObj)
      known.delete(id)
    },
    tidy() {
      for (const index of sorted) if (index.documents.tidy()) return
    },
    prepareUnique(fields) {
      if (hasIndex(unique, fields)) return () => {}
      const index = createUniqueIndex(fields)
      for (const { document } of collection.data) {
        if (index.findConflict(document) !== undefined) {
          const names = fields.map(({ path }) => path).join(' and ')
          throw new Error(`documents of ${name} have the same ${names}, which must be unique`)
        }
        index.add(document)
      }
      return () => {
        if (!hasIndex(unique, fields)) unique.push(index)
      }
    },
    addSorted(fields) {
      if (hasIndex(sorted, fields)) return
      const index = createSortedIndex(fields)
      for (const { document } of collection.data) index.documents.insert(document)
      index.documents.tidy()
      sorted.push(index)
    },
  }
}

const hasIndex = (
  indexes: readonly { readonly fields: readonly FieldRef[] }[],
  fields: readonly FieldRef[],
): boolean => indexes.some((index) => isSame(index.fields, fields))
