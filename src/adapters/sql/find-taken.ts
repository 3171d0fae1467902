import { compileField } from '../../core/filter/compare.js'
import { and, type FieldRef, type Filter, ID, isId, not } from '../../core/filter/filter.js'
import type { StoredDocument } from '../../core/storage.js'
import { exists, type TakenValue } from './apply-steps.js'
import { readUnique } from './create-structures.js'
import type { DatabaseWork, SqlEngine } from './engine.js'

/**
 * The fields of the violated unique index. If several are violated, the first in the order of creation counts, not
 * the first that the engine checked.
 */
export function* findTaken(
  engine: SqlEngine,
  { collection, document, isNew, index }: TakenValue,
): DatabaseWork<readonly string[]> {
  const { dialect } = engine
  const unique = yield* readUnique(dialect, 'collection', collection)
  const candidates = [
    ...(isNew ? [{ fields: [ID], conflicting: isId(document._id) }] : []),
    ...unique.map((fields) => ({ fields, conflicting: filterConflicting(fields, document) })),
  ]
  for (const { fields, conflicting } of candidates)
    if (conflicting && (yield* exists(engine, collection, conflicting))) return pathsOf(fields)
  // Another step of the same write has the value, or it has become free since.
  const [named] = yield* readUnique(dialect, 'name', index)
  return pathsOf(named ?? [ID])
}

const pathsOf = (fields: readonly FieldRef[]): readonly string[] => fields.map(({ path }) => path)

/** Matches other documents with the same values of a unique index; `null` if the index does not cover this one. */
function filterConflicting(fields: readonly FieldRef[], document: StoredDocument): Filter | null {
  const equalities: Filter[] = []
  for (const field of fields) {
    const value = compileField(field)(document)
    if (value === undefined) return null
    equalities.push({ kind: 'eq', field, value })
  }
  return and([...equalities, not(isId(document._id))])
}
