import type { Collection } from '../../config/plan.js'
import { and, type Filter } from '../../filter/filter.js'
import type { KnownCaller } from '../../permissions/caller.js'
import type { ReadAccess } from '../../permissions/read-gate.js'
import { compileQuery, type Query } from '../../query/compile-query.js'
import { writeCursor } from '../../query/cursor.js'
import type { RawQuery } from '../../query/query-string.js'
import { SYSTEM_FIELD_PLANS } from '../../schema/field.js'
import type { StoredDocument } from '../../storage.js'
import type { RequestScope, ServiceContext } from '../context.js'
import { findById, lazySignal } from '../find-documents.js'
import { holdOrStream, writeAlone, writeArray } from './hold-or-stream.js'
import { createWriter, writeOne, writeShortArray } from './print-documents.js'
import { readBatches, type Walk } from './read-batches.js'
import { readPage, readPageBatches } from './read-page.js'
import type { TextStream } from './text-stream.js'

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

/** CONTRACT.md §3.7: the largest page that has a next one. */
const MAX_PAGE = 1000

/** The documents that the caller may read and asks for, in order (CONTRACT.md §2 and §3). */
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
  const write = (
    isOnce: boolean,
    read: (current: RequestScope) => AsyncIterable<readonly StoredDocument[]>,
  ): Promise<string | TextStream> =>
    holdOrStream(scope, (current) =>
      writeArray(read(current), createWriter(context, current, reading, { isOnce })),
    )
  if (limit === null || limit > MAX_PAGE)
    return { json: await write(true, (current) => readBatches(context, current, walk)), ...total }
  const page = await readPage(context, scope, walk, limit)
  const short = page.rest.length === 0 ? writeShortArray(page.documents, reading) : undefined
  const json = short ?? (await write(false, (current) => readPageBatches(context, current, walk, page)))
  if (!page.last) return { json, ...total }
  const passed = (after?.passed ?? skip) + page.size
  return { json, ...total, next: { cursor: writeCursor(sort, page.last, passed), skip: passed } }
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
  const { access, query } = reading
  const document = await findReadable(context, scope, reading, id)
  if (!document) return undefined
  const whole = access.write(document)
  return { whole, asked: query.projection ? writeOne(document, reading) : whole }
}

/** The same with the documents to which it refers in the place of their ids. */
export async function readExpanded(
  context: ServiceContext,
  scope: RequestScope,
  reading: Reading,
  id: string,
): Promise<string | TextStream | undefined> {
  const document = await findReadable(context, scope, reading, id)
  return (
    document &&
    holdOrStream(scope, (current) =>
      writeAlone(document, createWriter(context, current, reading, { isOnce: true })),
    )
  )
}

async function findReadable(
  context: ServiceContext,
  scope: RequestScope,
  { collection, access }: Reading,
  id: string,
): Promise<StoredDocument | undefined> {
  const document = await findById(context, scope, collection.name, id)
  return document && access.isReadable(document) ? document : undefined
}
