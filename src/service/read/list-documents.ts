import { SYSTEM_FIELD_PLANS } from '../../fields/compile-fields.js'
import type { Filter } from '../../filter/filter.js'
import type { ReadAccess } from '../../permissions/read-gate.js'
import { compileQuery, type Query } from '../../query/compile-query.js'
import { writeCursor } from '../../query/cursor.js'
import type { RawQuery } from '../../query/raw-query.js'
import type { StoredDocument } from '../../storage.js'
import type { Call } from '../call.js'
import { holdOrStream, printArray } from './hold-or-stream.js'
import { createPrinter, printShortArray, type Reading } from './print-documents.js'
import { readBatches, readPage, readPageBatches } from './read-batches.js'
import type { TextStream } from './text-stream.js'

const [ID_FIELD] = SYSTEM_FIELD_PLANS

/** Compiles the query of a caller. Throws `invalid_query`. */
export function understandQuery({ service }: Call, access: ReadAccess, raw: RawQuery): Query {
  if (!ID_FIELD) throw new Error('every document has an _id')
  return compileQuery(raw, access, ID_FIELD, service.plan.limits)
}

/** A page of a list. */
export interface Page {
  /** The documents, a JSON array. */
  readonly json: string | TextStream
  /** The start of the next page; `undefined` on the last page, or where a page has no limit up to 1,000. */
  readonly next?: { readonly cursor: string; readonly skip: number }
  /** The number of all matches, where the query asks for it. */
  readonly total?: number
}

/** The largest page that has a next one (CONTRACT.md §3.7). */
const MAX_PAGE = 1000

/** Lists the documents that a caller asks for and may read, in order (CONTRACT.md §2 and §3). */
export async function listDocuments(call: Call, reading: Reading): Promise<Page> {
  const { access, query } = reading
  const { limit, after, sort, skip, filter } = query
  const total = query.isTotalAsked ? { total: await countDocuments(call, access, filter) } : {}
  if (limit === 0) return { json: '[]', ...total }
  const write = (
    isOnce: boolean,
    read: (current: Call) => AsyncIterable<readonly StoredDocument[]>,
  ): Promise<string | TextStream> =>
    holdOrStream(call, (current) => printArray(read(current), createPrinter(current, reading, { isOnce })))
  if (limit === null || limit > MAX_PAGE)
    return { json: await write(true, (current) => readBatches(current.store.read(access), query)), ...total }
  const page = await readPage(call.store.read(access), query, limit)
  const short = page.rest.length === 0 ? printShortArray(page.documents, reading) : undefined
  const json =
    short ?? (await write(false, (current) => readPageBatches(current.store.read(access), query, page)))
  if (!page.last) return { json, ...total }
  const passed = (after?.passed ?? skip) + page.size
  return { json, ...total, next: { cursor: writeCursor(sort, page.last, passed), skip: passed } }
}

/** Counts the matches that the caller may read. */
export const countDocuments = (call: Call, access: ReadAccess, filter: Filter): Promise<number> =>
  call.store.read(access).count(filter)
