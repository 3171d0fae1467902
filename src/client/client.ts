import { createAuth } from './auth.js'
import { createBatch } from './batch.js'
import { createDocuments } from './documents.js'
import { createChanges } from './following.js'
import { createLists } from './lists.js'
import { createLive } from './live-list.js'
import { createPages } from './pages.js'
import { createTransport } from './transport.js'
import type { Client, ClientOptions, HandlerTarget } from './types.js'

export type {
  AccountTypes,
  CollectionName,
  CollectionsOf,
  CollectionTypes,
  CreateBodyOf,
  DocumentOf,
  UpdateBodyOf,
} from '../infer/collections.js'
export type {
  AuthClient,
  CallOptions,
  Identified,
  Registered,
  SessionView,
  SignedIn,
} from './account-types.js'
export type { AggregateOptions, Group, GroupForm, GroupPage } from './aggregate-types.js'
export type { ChangeEvent, ChangesOptions, LiveOptions } from './change-types.js'
export { ClientError, type ClientErrorCode, isClientError } from './client-error.js'
export { type EdgeUnit, edges } from './edges.js'
export { escapePattern } from './escape-pattern.js'
export type { FilterOf, SortOf } from './query-types.js'
export { type RetryOptions, retry } from './retry.js'
export type {
  Addressed,
  BatchCollection,
  BatchCollections,
  BatchResults,
  Client,
  ClientOptions,
  CollectionClient,
  ConditionOptions,
  CountOptions,
  CreateOptions,
  GetOptions,
  HandlerTarget,
  IgnoredContext,
  ListOptions,
  NamedParameters,
  NextPage,
  OnIgnored,
  Operation,
  Page,
  PageOptions,
  QueryParameters,
} from './types.js'
export { toQuery } from './write-query.js'

/**
 * Creates a client of a service. The target is the URL of the service including its base path, or a handler in this
 * process. From a handler, the client infers the types of the collections. With a URL, they are given as
 * `createClient<typeof config>(url)`, or as the `Collections` that `collection-service types` prints.
 *
 * @example
 * ```ts
 * const client = createClient<Collections>('https://example.com/api')
 * const notes = await client.collection('notes').list({ sort: { createdAt: 'desc' }, limit: 10 })
 * ```
 */
export function createClient<C = unknown>(
  target: string | URL | HandlerTarget<C>,
  options?: ClientOptions,
): Client<C> {
  const transport = createTransport(target, options)
  // The types of the calls follow from the configuration `C`. The compiler cannot check that the calls have these
  // types.
  return Object.assign(transport.state, {
    collection: (name: string) => ({
      ...createDocuments(name, transport),
      ...createLists(name, transport),
      ...createPages(name, transport),
      ...createChanges(name, transport),
      ...createLive(name, transport),
    }),
    batch: createBatch(transport),
    auth: createAuth(transport),
  }) as unknown as Client<C>
}
