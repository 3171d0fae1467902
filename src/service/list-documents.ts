import type { Collection } from '../config/plan.js'
import { and, type Filter } from '../filter/filter.js'
import type { KnownCaller } from '../permissions/caller.js'
import type { ReadAccess } from '../permissions/read-gate.js'
import { compileQuery, type Query } from '../query/compile-query.js'
import { writeCursor } from '../query/cursor.js'
import { project } from '../query/projection.js'
import type { RawQuery } from '../query/query-string.js'
import { SYSTEM_FIELD_PLANS } from '../schema/field.js'
import type { StoredDocument } from '../storage.js'
import type { RequestScope, ServiceContext } from './context.js'
import { expandDocuments } from './expand-documents.js'
import { findById, lazySignal } from './find-documents.js'
import { readBatches, readFirst, type Walk } from './read-batches.js'
import { createTextStream, type TextStream } from './text-stream.js'

const [ID_FIELD] = SYSTEM_FIELD_PLANS

/** What a caller may read of a collection, and what of it is asked for. */
export interface Reading {
  readonly collection: Collection
  readonly caller: KnownCaller | null
  readonly access: ReadAccess
  readonly query: Query
}

/** The query as this caller means it. Throws `invalid_query`. */
export function understandQuery(context: ServiceContext, access: ReadAccess, raw: RawQuery): Query {
  if (!ID_FIELD) throw new Error('every document has an _id')
  return compileQuery(raw, access, ID_FIELD, context.plan.limits)
}

/** A page of a list. */
export interface Page {
  /** The documents, a JSON array. */
  readonly json: string | TextStream
  /** Where the next page begins; `undefined` where this is the last, or a page has no limit up to 1,000. */
  readonly next?: { readonly cursor: string; readonly skip: number }
  /** The size of the whole filter, where it was asked for. */
  readonly total?: number
}

/** Contract §3.7: the largest page that has a next one. Whatever is larger is streamed. */
const MAX_PAGE = 1000

/** The documents that the caller may read and asks for, in order (contract §2 and §3). */
export async function listDocuments(
  context: ServiceContext,
  scope: RequestScope,
  reading: Reading,
): Promise<Page> {
  const { collection, access, query } = reading
  const { limit, after, sort, skip } = query
  const filter = and([access.filter, query.filter])
  const total = query.isTotalAsked ? { total: await countStored(context, scope, collection, filter) } : {}
  if (limit === 0) return { json: '[]', ...total }
  const walk: Walk = { collection, filter, query }
  if (limit === null || limit > MAX_PAGE)
    return { json: await streamAll(context, scope, reading, walk), ...total }
  // One more shows whether there is a next page.
  const found = await readFirst(context, scope, walk, limit + 1)
  const page = found.slice(0, limit)
  const json = `[${(await writeAll(context, scope, reading, page)).join()}]`
  const last = page.at(-1)
  if (page.length === found.length || !last) return { json, ...total }
  const passed = (after?.passed ?? skip) + page.length
  return { json, ...total, next: { cursor: writeCursor(sort, last, passed), skip: passed } }
}

/** A list of any length: what is small is text at once. The first batch still belongs to the request's own time. */
async function streamAll(
  context: ServiceContext,
  scope: RequestScope,
  reading: Reading,
  walk: Walk,
): Promise<string | TextStream> {
  const stream = createTextStream()
  // Whoever waits for the first batch may give up, and whoever reads the rest may leave.
  const current: RequestScope = {
    signal: stream.signal,
    enter: (wait) => (stream.hasBegun ? stream.signal.throwIfAborted() : scope.enter(wait)),
  }
  const batches = readBatches(context, current, walk)
  const write = async (batch: readonly StoredDocument[]): Promise<string> =>
    (await writeAll(context, current, reading, batch, { isOnce: true })).join()
  const stop = (): void => stream.cancel()
  scope.signal.addEventListener('abort', stop, { once: true })
  try {
    const first = await batches.next()
    if (first.done) return '[]'
    const text = await write(first.value)
    const second = await batches.next()
    if (second.done) return `[${text}]`
    const texts = writeArray(`${text},${await write(second.value)}`, batches, write)
    return stream.begin(texts, () => batches.return())
  } catch (thrown) {
    await batches.return()
    throw thrown
  } finally {
    scope.signal.removeEventListener('abort', stop)
  }
}

/** The text of a JSON array whose first elements are known. */
async function* writeArray(
  first: string,
  batches: AsyncGenerator<readonly StoredDocument[], void, undefined>,
  write: (batch: readonly StoredDocument[]) => Promise<string>,
): AsyncGenerator<string, void, undefined> {
  try {
    yield `[${first}`
    for await (const batch of batches) yield `,${await write(batch)}`
    yield ']'
  } finally {
    await batches.return()
  }
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

async function countStored(
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
  readonly asked: string
}

/** One document, or `undefined` where it does not exist or the caller may not read it. */
export async function readDocument(
  context: ServiceContext,
  scope: RequestScope,
  reading: Reading,
  id: string,
): Promise<Read | undefined> {
  const { collection, access } = reading
  const document = await findById(context, scope, collection.name, id)
  if (!document || !access.isReadable(document)) return undefined
  const [asked = ''] = await writeAll(context, scope, reading, [document])
  return { whole: access.write(document), asked }
}

/** Documents as they were asked for, as JSON texts. `isOnce`: not worth keeping. */
async function writeAll(
  context: ServiceContext,
  scope: RequestScope,
  { access, query: { projection, expand }, caller }: Reading,
  documents: readonly StoredDocument[],
  options: { readonly isOnce?: boolean } = {},
): Promise<readonly string[]> {
  if (!projection && expand.length === 0) {
    return documents.map((document) =>
      options.isOnce ? JSON.stringify(access.show(document)) : access.write(document),
    )
  }
  const shown = documents.map((document) =>
    projection ? project(access.show(document), projection) : access.show(document),
  )
  const asked = expand.length > 0 ? await expandDocuments(context, scope, caller, expand, shown) : shown
  return asked.map((document) => JSON.stringify(document))
}
