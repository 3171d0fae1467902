import type { Collection } from '../config/plan.js'
import { and, type Filter } from '../filter/filter.js'
import type { ReadAccess } from '../permissions/read-gate.js'
import { compileQuery, type Query } from '../query/compile-query.js'
import { project } from '../query/projection.js'
import type { RawQuery } from '../query/query-string.js'
import { SYSTEM_FIELD_PLANS } from '../schema/field.js'
import type { ListQuery, StoredDocument } from '../storage.js'
import type { Document } from '../types.js'
import type { RequestScope, ServiceContext } from './context.js'

const [ID_FIELD] = SYSTEM_FIELD_PLANS

/** The query as this caller means it. Throws `invalid_query`. */
export function understandQuery(context: ServiceContext, access: ReadAccess, raw: RawQuery): Query {
  if (!ID_FIELD) throw new Error('every document has an _id')
  return compileQuery(raw, access, ID_FIELD, context.plan.limits)
}

/** The documents that the caller may read and asks for, in order (contract §2 and §3). */
export async function listDocuments(
  context: ServiceContext,
  scope: RequestScope,
  collection: Collection,
  access: ReadAccess,
  query: Query,
): Promise<readonly Document[]> {
  if (query.limit === 0) return []
  const documents = await listStored(context, scope, collection.name, {
    filter: and([access.filter, query.filter]),
    sort: query.sort,
    skip: query.skip,
    limit: query.limit,
  })
  return documents.map((document) => projectShown(query, access.show(document)))
}

/** How many documents the caller may read and asks for. */
export function countDocuments(
  context: ServiceContext,
  scope: RequestScope,
  collection: Collection,
  access: ReadAccess,
  query: Query,
): Promise<number> {
  scope.enter('read')
  return context.adapter.count(collection.name, and([access.filter, query.filter]), lazySignal(scope))
}

/** A document as the caller may read it, whole and as it was asked for. */
export interface Read {
  readonly shown: Document
  readonly projected: Document
}

/** One document, or `undefined` where it does not exist or the caller may not read it. */
export async function readDocument(
  context: ServiceContext,
  scope: RequestScope,
  collection: Collection,
  access: ReadAccess,
  query: Query,
  id: string,
): Promise<Read | undefined> {
  const document = await findById(context, scope, collection.name, id)
  if (!document || !access.isReadable(document)) return undefined
  const shown = access.show(document)
  return { shown, projected: projectShown(query, shown) }
}

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/

/** The stored document of an `_id`, whoever may read it. */
export async function findById(
  context: ServiceContext,
  scope: RequestScope,
  collection: string,
  id: string,
): Promise<StoredDocument | undefined> {
  if (!UUID.test(id) || !ID_FIELD?.ref) return undefined
  return findOne(context, scope, collection, { kind: 'eq', field: ID_FIELD.ref, value: id })
}

/** The first document that matches, if any. */
export async function findOne(
  context: ServiceContext,
  scope: RequestScope,
  collection: string,
  filter: Filter,
): Promise<StoredDocument | undefined> {
  const [document] = await listStored(context, scope, collection, { filter, sort: [], skip: 0, limit: 1 })
  return document
}

/** Asks the storage for documents, whoever may read them. */
export function listStored(
  context: ServiceContext,
  scope: RequestScope,
  collection: string,
  query: Omit<ListQuery, 'signal'>,
): Promise<readonly StoredDocument[]> {
  scope.enter('read')
  const { filter, sort, skip, limit } = query
  return context.adapter.list(collection, {
    filter,
    sort,
    skip,
    limit,
    get signal() {
      return scope.signal
    },
  })
}

/** A signal costs: it is made only for an adapter that looks at it. */
export const lazySignal = (scope: RequestScope): { readonly signal: AbortSignal } => ({
  get signal() {
    return scope.signal
  },
})

const projectShown = ({ projection }: Query, shown: Document): Document =>
  projection ? (project(shown, projection) as Document) : shown
