import type { Collection } from '../config/plan.js'
import { and, everything, type Filter } from '../filter/filter.js'
import type { ReadAccess } from '../permissions/read-gate.js'
import { compileQuery, type Query } from '../query/compile-query.js'
import { rangesAfter, writeCursor } from '../query/cursor.js'
import { project } from '../query/projection.js'
import type { RawQuery } from '../query/query-string.js'
import { SYSTEM_FIELD_PLANS } from '../schema/field.js'
import { isUuid } from '../schema/names.js'
import type { ListQuery, StoredDocument } from '../storage.js'
import type { RequestScope, ServiceContext } from './context.js'

const [ID_FIELD] = SYSTEM_FIELD_PLANS

/** The query as this caller means it. Throws `invalid_query`. */
export function understandQuery(context: ServiceContext, access: ReadAccess, raw: RawQuery): Query {
  if (!ID_FIELD) throw new Error('every document has an _id')
  return compileQuery(raw, access, ID_FIELD, context.plan.limits)
}

/** A page of a list. */
export interface Page {
  /** The documents, a JSON array as text. */
  readonly json: string
  /** Where the next page begins; `undefined` where this is the last, or a page has no limit up to 1,000. */
  readonly next?: { readonly cursor: string; readonly skip: number }
  /** The size of the whole filter, where it was asked for. */
  readonly total?: number
}

/** Contract §3.7: the largest page that has a next one. */
const MAX_PAGE = 1000

/** The documents that the caller may read and asks for, in order (contract §2 and §3). */
export async function listDocuments(
  context: ServiceContext,
  scope: RequestScope,
  collection: Collection,
  access: ReadAccess,
  query: Query,
): Promise<Page> {
  const { sort, skip, limit, after } = query
  const filter = and([access.filter, query.filter])
  const total = query.isTotalAsked ? { total: await countStored(context, scope, collection, filter) } : {}
  if (limit === 0) return { json: '[]', ...total }
  const isPage = limit !== null && limit <= MAX_PAGE
  // One more shows whether there is a next page.
  const wanted = isPage ? limit + 1 : limit
  const found: StoredDocument[] = []
  for (const range of after ? rangesAfter(sort, after) : [everything]) {
    const rest = wanted === null ? null : wanted - found.length
    if (rest === 0) break
    const bounds = { filter: and([range, filter]), sort, skip, limit: rest }
    found.push(...(await listStored(context, scope, collection.name, bounds)))
  }
  const page = isPage ? found.slice(0, limit) : found
  const json = `[${page.map((document) => writeProjected(access, query, document)).join()}]`
  const last = page.at(-1)
  if (page.length === found.length || !last) return { json, ...total }
  const passed = (after?.passed ?? skip) + page.length
  return { json, ...total, next: { cursor: writeCursor(sort, last, passed), skip: passed } }
}

/** How many documents the caller may read and asks for. */
export function countDocuments(
  context: ServiceContext,
  scope: RequestScope,
  collection: Collection,
  access: ReadAccess,
  query: Query,
): Promise<number> {
  return countStored(context, scope, collection, and([access.filter, query.filter]))
}

function countStored(
  context: ServiceContext,
  scope: RequestScope,
  collection: Collection,
  filter: Filter,
): Promise<number> {
  scope.enter('read')
  return context.adapter.count(collection.name, filter, lazySignal(scope))
}

/** A document as the caller may read it, whole and as it was asked for, as JSON text. */
export interface Read {
  readonly whole: string
  readonly projected: string
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
  return { whole: access.write(document), projected: writeProjected(access, query, document) }
}

/** The stored document of an `_id`, whoever may read it. */
export async function findById(
  context: ServiceContext,
  scope: RequestScope,
  collection: string,
  id: string,
): Promise<StoredDocument | undefined> {
  if (!isUuid(id) || !ID_FIELD?.ref) return undefined
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

const writeProjected = (access: ReadAccess, { projection }: Query, document: StoredDocument): string =>
  projection ? JSON.stringify(project(access.show(document), projection)) : access.write(document)
