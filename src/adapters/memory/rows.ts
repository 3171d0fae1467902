import Loki from 'lokijs'
import { compileField, holdsType, type Ordered } from '../../core/filter/compare.js'
import type { FieldRef, Scalar } from '../../core/filter/filter.js'
import { compilePath, isObject, thaw } from '../../core/json/own-properties.js'
import type { StoredDocument } from '../../core/storage.js'
import { SortedList } from './sorted-list.js'

/**
 * Documents sorted by some fields, then by `_id`. A value that does not have its field's type counts as missing. An
 * index over the elements of an array contains a document once for each distinct element, so a document without
 * elements is not in it. The index contains documents instead of rows, because a scan is faster if its documents are
 * close in memory.
 */
export interface SortedIndex {
  readonly fields: readonly FieldRef[]
  readonly documents: SortedList<StoredDocument>
  /** Returns all current documents in the order of the index. Calls between two writes share one copy. */
  copyDocuments(): readonly StoredDocument[]
}

/** Creates an empty index that is sorted by the given fields. */
export function createSortedIndex(fields: readonly FieldRef[]): SortedIndex {
  const column = fields.findIndex(({ each }) => each)
  const elements = fields[column]
  const documents = new SortedList<StoredDocument>(
    fields.map(compileField),
    ({ _id }) => _id,
    elements && { column, valuesOf: compileElements(elements) },
  )
  // The copy is weakly referenced, so that it is freed when the last read that uses it ends.
  let copy: { readonly version: number; readonly all: WeakRef<readonly StoredDocument[]> } | undefined
  return {
    fields,
    documents,
    copyDocuments() {
      const shared = copy?.version === documents.version ? copy.all.deref() : undefined
      const all = shared ?? documents.toArray()
      if (!shared) copy = { version: documents.version, all: new WeakRef(all) }
      return all
    },
  }
}

/** Compiles a field of array elements to a function that returns the distinct values of the field's type. */
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

/**
 * The key of an index over one field is its value, because a Map distinguishes values by type. The key of an index over
 * several fields is the JSON of their values.
 */
type Key = Scalar

/** Maps the values of a unique index to documents. A document that lacks one of the fields is not in the index. */
class UniqueIndex {
  readonly fields: readonly FieldRef[]
  readonly #owners = new Map<Key, string>()
  readonly #keyOf: (document: StoredDocument) => Key | undefined

  constructor(fields: readonly FieldRef[]) {
    this.fields = fields
    const readers = fields.map(compileField)
    const [only] = readers
    const joinValues = (document: StoredDocument): Key | undefined => {
      const values = readers.map((read) => read(document))
      return values.includes(undefined) ? undefined : JSON.stringify(values)
    }
    this.#keyOf = only && readers.length === 1 ? only : joinValues
  }

  /** Returns the `_id` of a different document that has the same values, if there is one. */
  findConflict(document: StoredDocument): string | undefined {
    const key = this.#keyOf(document)
    const owner = key === undefined ? undefined : this.#owners.get(key)
    return owner === document._id ? undefined : owner
  }

  /** Returns the `_id` of the document with this value. Works only for an index over one field. */
  lookUp(value: Scalar): string | undefined {
    return this.#owners.get(value)
  }

  add(document: StoredDocument): void {
    const key = this.#keyOf(document)
    if (key !== undefined) this.#owners.set(key, document._id)
  }

  remove(document: StoredDocument): void {
    const key = this.#keyOf(document)
    if (key !== undefined && this.#owners.get(key) === document._id) this.#owners.delete(key)
  }

  /** Replaces a document with its next version. */
  exchange(before: StoredDocument, after: StoredDocument): void {
    if (this.#keyOf(before) === this.#keyOf(after)) return
    this.remove(before)
    this.add(after)
  }
}

/**
 * A row in LokiJS. LokiJS writes its own id, `$loki`, into the row, but never changes the document, which is frozen.
 */
export interface DocumentRow {
  readonly _id: string
  document: StoredDocument
  /**
   * Set to `undefined` when the row is created, because V8 stores a property that is added later in a second object.
   */
  $loki?: number | undefined
}

/** The documents of one collection, with their indexes. */
export interface Rows {
  readonly unique: readonly UniqueIndex[]
  /** The index in the order of `_id`. */
  readonly byId: SortedIndex
  /** All sorted indexes, including `byId`. */
  readonly sorted: readonly SortedIndex[]
  readonly size: number
  get(id: string): DocumentRow | undefined
  insert(document: StoredDocument): void
  replace(document: StoredDocument): void
  remove(id: string): void
  /**
   * Sorts the pending insertions of an index that has many, but of at most one index per call, so that no write pays
   * for all indexes.
   */
  tidy(): void
  /**
   * Creates a unique index over the current documents without using it yet. Returns a function that starts to enforce
   * the index, unless an equal index is already enforced. Throws if the documents violate uniqueness.
   */
  prepareUnique(fields: readonly FieldRef[]): () => void
  /** Ends the unique indexes over exactly these paths, in any order. */
  dropUnique(paths: readonly string[]): void
  addSorted(fields: readonly FieldRef[]): void
}

/** Creates a database that exists only in memory, in any JavaScript runtime. */
export const createDatabase = (): Loki =>
  new Loki('memory', { env: 'NA', persistenceMethod: 'memory', autosave: false })

/**
 * Creates the rows of a collection. LokiJS is used only to store the rows, because its indexes, queries, constraints
 * and metadata behave differently from what this service guarantees.
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
      const index = new UniqueIndex(fields)
      for (const { document } of collection.data) {
        if (index.findConflict(document) !== undefined) {
          const names = fields.map(({ path }) => path).join(' and ')
          throw new Error(
            `documents of ${name} have the same ${names}, which must be unique; change or delete all but one of the documents with equal values`,
          )
        }
        index.add(document)
      }
      return () => {
        if (!hasIndex(unique, fields)) unique.push(index)
      }
    },
    dropUnique(paths) {
      const isOther = ({ fields }: UniqueIndex): boolean =>
        !hasSamePaths(
          fields.map(({ path }) => path),
          paths,
        )
      unique.splice(0, unique.length, ...unique.filter(isOther))
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

/** Whether two lists have the same paths, in any order. */
export const hasSamePaths = (a: readonly string[], b: readonly string[]): boolean =>
  a.length === b.length && a.every((path) => b.includes(path))

const hasIndex = (
  indexes: readonly { readonly fields: readonly FieldRef[] }[],
  fields: readonly FieldRef[],
): boolean => indexes.some((index) => JSON.stringify(index.fields) === JSON.stringify(fields))
