import type { Filter } from '../../filter/filter.js'
import type { Bytes } from '../../json/bytes.js'
import type { ReadAccess } from '../../permissions/read-access.js'
import { whenReady } from '../../promises.js'
import type { Call } from '../../request/call.js'
import type { KeptPage } from '../../request/kept-pages.js'
import type { StoredDocument } from '../../storage.js'
import type { MaybePromise } from '../../types.js'
import {
  createPrinter,
  holdOrStream,
  type ListRequest,
  type PageOfWalk,
  printArray,
  printShort,
  readBatches,
  readPage,
  readPageBatches,
  readStart,
  START,
  type Start,
} from './hold-or-stream.js'
import type { Text } from './text-stream.js'

/** A page of a list. */
export interface ListedPage {
  /** The documents, as a JSON array. */
  readonly json: Text
  /** The cached page with this text, if there is one. */
  readonly kept?: KeptPage
  /** The position of the next page; `undefined` on the last page, or if the query has no limit or one above 1,000. */
  readonly next?: { readonly last: StoredDocument; readonly passed: number }
  /** The number of all matches, if the query requests it. */
  readonly total?: number
}

/** The largest limit with which a page has a next page (CONTRACT.md §3.7). */
const MAX_PAGE = 1000

/** Lists the documents that a caller requests and may read, in order (CONTRACT.md §2 and §3). */
export function listDocuments(call: Call, reading: ListRequest): MaybePromise<ListedPage> {
  const { access, query } = reading
  if (!query.isTotalAsked) return listPage(call, reading)
  return whenReady(countDocuments(call, access, query.filter), (total) =>
    whenReady(listPage(call, reading), (page) => ({ total, ...page })),
  )
}

function listPage(call: Call, reading: ListRequest): MaybePromise<ListedPage> {
  const { access, query } = reading
  const { limit, after, skip } = query
  if (limit === 0) return { json: '[]' }
  if (limit === null || limit > MAX_PAGE) return listAll(call, reading)
  return whenReady(readPage(call.store.read(access), query, limit), (page) => {
    const passed = (after?.passed ?? skip) + page.size
    const next = page.last && { next: { last: page.last, passed } }
    return printPage(call, reading, page, next)
  })
}

function printPage(
  call: Call,
  reading: ListRequest,
  page: PageOfWalk,
  next: Pick<ListedPage, 'next'> | undefined,
): MaybePromise<ListedPage> {
  const { access, query } = reading
  const printing = page.rest.length === 0 ? printShort(call, page.documents, reading) : undefined
  return whenReady(printing, (short) => {
    if (short !== undefined) return Object.assign(hold(short), next)
    const json = write(call, reading, false, (current) =>
      readPageBatches(current.store.read(access), query, page),
    )
    return json.then((text) => ({ json: text, ...next }))
  })
}

/** Lists documents without a limit, or with a large one. A short list is written like a page. */
function listAll(call: Call, reading: ListRequest): MaybePromise<ListedPage> {
  const { access, query } = reading
  const writeBehind = (start?: Start): Promise<ListedPage> =>
    write(call, reading, true, (current) => readBatches(current.store.read(access), query, start)).then(
      (json) => ({ json }),
    )
  const starting = readStart(call.store.read(access), query)
  if (!starting) return writeBehind()
  return whenReady(starting, (start) => {
    const isShort = start.isWhole && start.documents.length < START
    const printing = isShort ? printShort(call, start.documents, reading) : undefined
    return whenReady(printing, (short) => (short === undefined ? writeBehind(start) : hold(short)))
  })
}

const hold = (short: string | Bytes | KeptPage): ListedPage =>
  typeof short === 'object' && 'json' in short ? { json: short.json, kept: short } : { json: short }

const write = (
  call: Call,
  reading: ListRequest,
  isOnce: boolean,
  read: (current: Call) => AsyncIterable<readonly StoredDocument[]>,
): Promise<Text> =>
  holdOrStream(call, (current) => printArray(read(current), createPrinter(current, reading, { isOnce })))

/** Counts the matches that the caller may read. */
export const countDocuments = (call: Call, access: ReadAccess, filter: Filter): MaybePromise<number> =>
  call.store.read(access).count(filter)
