import type { Filter, Scalar } from '../../filter/filter.js'
import type { StoredDocument } from '../../storage.js'
import type { Rows } from './rows.js'
import type { UniqueIndex } from './unique-index.js'

/** Where the documents that can match a filter are looked for. */
export interface Scan {
  /** A superset of what matches. */
  readonly candidates: Iterable<StoredDocument>
  /** Whether the candidates come ascending by `_id`. */
  readonly isInIdOrder: boolean
}

/** Chooses the narrowest way to what a filter can match: an id, a unique value, else everything. */
export function planScan(filter: Filter, rows: Rows, indexes: readonly UniqueIndex[]): Scan {
  for (const condition of filter.kind === 'and' ? filter.filters : [filter]) {
    if (condition.kind !== 'eq' || condition.field.each) continue
    const id = findId(condition.field.path, condition.value, indexes)
    if (id === undefined) continue
    const document = id === null ? undefined : rows.get(id)
    return { candidates: document ? [document] : [], isInIdOrder: true }
  }
  return { candidates: rows.inOrder(), isInIdOrder: true }
}

/** The only id that can match; `null` where there is none, `undefined` where the field does not tell. */
function findId(path: string, value: Scalar, indexes: readonly UniqueIndex[]): string | null | undefined {
  if (path === '_id') return typeof value === 'string' ? value : null
  for (const index of indexes) {
    const [field, ...others] = index.fields
    if (others.length === 0 && field?.path === path) return index.lookUp(value) ?? null
  }
  return undefined
}
