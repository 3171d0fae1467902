import {
  everything,
  type FieldRef,
  type Filter,
  type Scalar,
  type ValueType,
} from '../../../../core/filter/filter.js'
import type {
  CollectionPlan,
  ListQuery,
  SortKey,
  StorageAdapter,
  StoredDocument,
  WriteStep,
} from '../../../../core/storage.js'
import type { JsonObject } from '../../../../core/types.js'
import { checkSame } from './check.js'
import { checkWrite } from './check-write.js'

/** Returns a reference to a field at a path of a document. */
export const fieldOf = (path: string, type: ValueType, each = false): FieldRef => ({ path, type, each })

export const ID = fieldOf('_id', 'string')

/** Returns a document in version 1. */
export const documentOf = (_id: string, properties: JsonObject = {}): StoredDocument => ({
  ...properties,
  _id,
  _version: 1,
})

/** Returns a filter that is true if a field has this value. */
export const eq = (field: FieldRef, value: Scalar): Filter => ({ kind: 'eq', field, value })

/** Returns a filter that is true if a field has a value. */
export const present = (field: FieldRef): Filter => ({ kind: 'present', field })

/** Returns a filter that is true if all filters are. Unlike `and` of the core, it does not simplify. */
export const allOf = (...filters: readonly Filter[]): Filter => ({ kind: 'and', filters })

/** Returns a filter that is true if any filter is. */
export const anyOf = (...filters: readonly Filter[]): Filter => ({ kind: 'or', filters })

/** Returns a filter that is true if the filter is not. */
export const notOf = (filter: Filter): Filter => ({ kind: 'not', filter })

/** Returns the plan of a collection. Each index is written as `[unique, ...fields]`. */
export const planOf = (
  name: string,
  ...indexes: readonly (readonly [unique: boolean, ...fields: readonly FieldRef[]])[]
): CollectionPlan => ({ name, indexes: indexes.map(([unique, ...fields]) => ({ unique, fields })) })

/** Returns a sort key. */
export const by = (field: FieldRef, descending = false): SortKey => ({ field, descending })

/** Returns a query for all documents, sorted by `_id`. Properties in `parts` override this. */
export const queryOf = (parts: Partial<ListQuery> = {}): ListQuery => ({
  filter: everything,
  sort: [by(ID)],
  skip: 0,
  limit: null,
  ...parts,
})

export const idsOf = (documents: readonly StoredDocument[]): readonly string[] =>
  documents.map(({ _id }) => _id)

/** Stores documents in one write. */
export async function insertAll(
  adapter: StorageAdapter,
  collection: string,
  documents: readonly StoredDocument[],
): Promise<void> {
  const steps = documents.map((insert): WriteStep => ({ in: collection, insert }))
  await checkWrite(adapter, steps, { ok: true, removed: 0 })
}

/** Checks that a collection contains exactly these documents. */
export async function checkStored(
  adapter: StorageAdapter,
  collection: string,
  documents: readonly StoredDocument[],
  what: string,
): Promise<void> {
  const byId = [...documents].sort((a, b) => (a._id < b._id ? -1 : 1))
  checkSame(await adapter.list(collection, queryOf()), byId, `${what}: all documents by _id`)
}
