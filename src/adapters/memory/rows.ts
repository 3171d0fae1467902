import Loki from 'lokijs'
import { compileField, holdsType, type Ordered } from '../../core/filter/compare.js'
import type { FieldRef, Scalar } from '../../core/filter/filter.js'
import { compilePath, isObject, thaw } from '../../core/json/own-properties.js'
import type { StoredDocument } from '../../core/storage.js'
import type { DocumentRow } from './row.js'
import { createSortedList, type SortedList } from './sorted-list.js'

/**
 * Documents sorted by some fields, then by `_id`. A value that is not of its field's type counts as missing. An index
 * over elements of an array has a document once for each element, and not at all without elements. It holds
 * documents, not rows, because a scan is faster if its documents are close in memory.
 */
export interface SortedIndex {
  readonly fields: readonly FieldRef[]
  readonly documents: SortedList<StoredDocument>
  /** All current documents in this order; reads before the next write share one copy. */
  copyDocuments(): readonly StoredDocument[]
}

/** Creates an index that is sorted by fields. */
export function createSortedIndex(fields: readonly FieldRef[]): SortedIndex {
  const column = fields.findIndex(({ each }) => each)
  const elements = fields[column]
  const documents = createSortedList<StoredDocument>(
    fields.map(compileField),
    ({ _id }) => _id,
    elements && { column, valuesOf: compileElements(elements) },
  )
  // Only the walks that read the copy keep it alive.
  let copy: { readonly version: number; readonly all: WeakRef<readonly StoredDocument[]> } | undefined
  return {
    fields,
    documents,
    copyDocuments() {
      const shared = copy?.version === documents.version ? copy.all.deref() : undefined
      const all = shared ?? documents.map((document) => document)
      if (!shared) copy = { version: documents.version, all: new WeakRef(all) }
      return all
    },
  }
}

/** Compiles a field of array elements to a getter of their distinct values; those of another type are missing. */
function compileElements({
  path,
  type,
  inside,
}: FieldRef): (document: StoredDocument) => ReadonlySet<Ordered> {
  const readArray = compilePath(path)
  const readInside = inside === undefined ? undefined : compilePath(inside)
  const holds = holdsType(type)
  return (document) => {
    const values = new Set<Ordered>()
    const elements = readArray(document)
    if (!Array.isArray(elements)) return values
    for (const element of thaw(elements)) {
      const value = !readInside ? element : isObject(element) ? readInside(element) : undefined
      if (holds(value)) values.add(value as Ordered)
    }
    return values
  }
}

/** The values of a unique index, with their documents. A document that lacks one of the fields is not in it. */
interface UniqueIndex {
  readonly fields: readonly FieldRef[]
  /** The `_id` of another document with the same values. */
  findConflict(document: StoredDocument): string | undefined
  /** The `_id` of the document with this value, if the index has one field. */
  lookUp(value: Scalar): string | undefined
  add(document: StoredDocument): void
  remove(document: StoredDocument): void
  /** Replaces a document by its next version. */
  exchange(before: StoredDocument, after: StoredDocument): void
}

/** For one field its value, which a Map distinguishes by type; for several fields their JSON. */
type Key = Scalar

/** Creates an empty index. */
function createUniqueIndex(fields: readonly FieldRef[]): UniqueIndex {
  const owners = new Map<Key, string>()
  const readers = fields.map(compileField)
  const [only] = readers
  const joinValues = (document: StoredDocument): Key | undefined => {
    const values = readers.map((read) => read(document))
    return values.includes(undefined) ? undefined : JSON.stringify(values)
  }
  const keyOf: (document: StoredDocument) => Key | undefined =
    only && readers.length === 1 ? only : joinValues
  const add = (document: StoredDocument): void => {
    const key = keyOf(document)
    if (key !== undefined) owners.set(key, document._id)
  }
  const remove = (document: StoredDocument): void => {
    const key = keyOf(document)
    if (key !== undefined && owners.get(key) === document._id) owners.delete(key)
  }
  return {
    fields,
    add,
    remove,
    findConflict(document) {
      const key = keyOf(document)
      const owner = key === undefined ? undefined : owners.get(key)
      return owner === document._id ? undefined : owner
    },
    lookUp: (value) => owners.get(value),
    exchange(before, after) {
      if (keyOf(before) === keyOf(after)) return
      remove(before)
      add(after)
    },
  }
}

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
