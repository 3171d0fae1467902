import { compileField } from '../../filter/compare.js'
import type { FieldRef, Scalar } from '../../filter/filter.js'
import type { StoredDocument } from '../../storage.js'

/** The values of a unique index, with their documents. A document that lacks one of the fields is not in it. */
export interface UniqueIndex {
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
export function createUniqueIndex(fields: readonly FieldRef[]): UniqueIndex {
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
