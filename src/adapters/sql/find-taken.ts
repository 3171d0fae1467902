import { compileField } from '../../filter/compare.js'
import { and, type FieldRef, type Filter, ID, isId, not } from '../../filter/filter.js'
import type { StoredDocument } from '../../storage.js'
import { exists, type Taken } from './apply-steps.js'
import { readUnique } from './create-structures.js'
import type { Asking, SqlEngine } from './engine.js'

/** What a unique index refused: the fields of the first in the order of creation, not of the one that the engine asked first. */
export function* findTaken(
  { dialect, statements }: SqlEngine,
  { collection, document, isNew, index }: Taken,
): Asking<readonly string[]> {
  const unique = yield* readUnique(dialect, 'collection', collection)
  const candidates = [
    ...(isNew ? [{ fields: [ID], conflicting: isId(document._id) }] : []),
    ...unique.map((fields) => ({ fields, conflicting: filterConflicting(fields, document) })),
  ]
  for (const { fields, conflicting } of candidates)
    if (conflicting && (yield* exists(statements, collection, conflicting))) return pathsOf(fields)
  // Another step of the same write holds the value, or it has been free again since.
  const [named] = yield* readUnique(dialect, 'name', index)
  return pathsOf(named ?? [ID])
}

const pathsOf = (fields: readonly FieldRef[]): readonly string[] => fields.map(({ path }) => path)

/** The documents, other than this one, that hold the same values of a unique index; `null` where it does not bind this one. */
function filterConflicting(fields: readonly FieldRef[], document: StoredDocument): Filter | null {
  const equalities: Filter[] = []
  for (const field of fields) {
    const value = compileField(field)(document)
    if (value === undefined) return null
    equalities.push({ kind: 'eq', field, value })
  }
  return and([...equalities, not(isId(document._id))])
}
