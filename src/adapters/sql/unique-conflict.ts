import { compileField } from '../../filter/compare.js'
import { and, type FieldRef, type Filter, isId, not } from '../../filter/filter.js'
import type { StoredDocument } from '../../storage.js'

/** The documents, other than this one, that hold the same values of a unique index; `null` where it does not bind this one. */
export function filterConflicting(fields: readonly FieldRef[], document: StoredDocument): Filter | null {
  const equalities: Filter[] = []
  for (const field of fields) {
    const value = compileField(field)(document)
    if (value === undefined) return null
    equalities.push({ kind: 'eq', field, value })
  }
  return and([...equalities, not(isId(document._id))])
}
