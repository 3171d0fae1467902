import { type Filter, isId } from '../filter/filter.js'
import { isUuid } from '../schema/names.js'
import type { Listed, ListQuery, StoredDocument } from '../storage.js'
import type { RequestScope, ServiceContext } from './context.js'

/** The stored document of an `_id`, whoever may read it. */
export async function findById(
  context: ServiceContext,
  scope: RequestScope,
  collection: string,
  id: string,
): Promise<StoredDocument | undefined> {
  return isUuid(id) ? findOne(context, scope, collection, isId(id)) : undefined
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
export async function listStored(
  context: ServiceContext,
  scope: RequestScope,
  collection: string,
  query: Omit<ListQuery, 'signal'>,
): Promise<Listed> {
  scope.enter('read')
  const { filter, sort, skip, limit, bytes } = query
  return context.adapter.list(collection, {
    filter,
    sort,
    skip,
    limit,
    ...(bytes === undefined ? {} : { bytes }),
    get signal() {
      return scope.signal
    },
  })
}

/** Bytes of documents that are read at once, where they are brought into memory for it. */
export const BATCH_BYTES = 1024 * 1024

/** A signal costs: it is made only for an adapter that looks at it. */
export const lazySignal = (scope: RequestScope): { readonly signal: AbortSignal } => ({
  get signal() {
    return scope.signal
  },
})
