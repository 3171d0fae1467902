import { compileField } from '../../filter/compile-field.js'
import { and, type FieldRef, type Filter, not } from '../../filter/filter.js'
import type { StoredDocument } from '../../storage.js'

/** What every document has, and every storage keeps unique. */
export const ID: FieldRef = { path: '_id', type: 'string', each: false }

/** The documents, other than this one, that hold the same values of a unique index; `null` where it does not bind this one. */
export function filterConflicting(fields: readonly FieldRef[], document: StoredDocument): Filter | null {
  const equalities: Filter[] = []
  for (const field of fields) {
    const value = compileField(field)(document)
    if (value === undefined) return null
    equalities.push({ kind: 'eq', field, value })
  }
  return and([...equalities, not({ kind: 'eq', field: ID, value: document._id })])
}
