import { bounds } from '../../../bounds.js'
import type { Slice, Sliced } from '../../../slices.js'
import type { Listed, ListQuery, StoredDocument } from '../../../storage.js'
import { quoteName } from '../../sql/dialect.js'
import { parseDocument } from '../../sql/read/judge-texts.js'
import type { Connection } from '../connection/connection.js'
import { inSnapshot, type Seat } from '../connection/snapshot.js'
import { sqliteDialect } from '../sqlite-dialect.js'
import { costOf } from './candidates.js'
import { createFirstInOrder } from './first-in-order.js'
import { createHeldKeys } from './held-keys.js'
import { findMatches, type MatchingDocument } from './matches.js'
import { type CollectionPath, MAX_BOUNDED, type ReadPath } from './read-path.js'
import { namedStatement, pageStatement } from './read-statements.js'

/** A list, and the path to its documents. */
export interface ListPlan extends CollectionPath {
  readonly query: ListQuery
}

/** The steps of holding the sort keys of a document. */
const ENTRY = 10

/** The number of sorted documents that are read together. */
const TOGETHER = 32

/**
 * Lists a limited number of documents in the order of an index, by one statement; `undefined` without such an index,
 * or if the documents are large.
 */
export function listDirectly(
  connection: Connection,
  { collection, query, path }: ListPlan,
): Listed | undefined {
  const { skip, bytes = bounds.pageBytes } = query
  const limit = limitOf(query, path)
  if (path.ranges || path.rest.length > 0 || !path.isOrdered || skip + limit > MAX_BOUNDED) return undefined
  const texts = readPage(connection, { collection, path }, { skip, limit, bytes })
  return texts?.map((text) => JSON.parse(text) as StoredDocument)
}

/** The most documents that a list may have. */
export const limitOf = ({ limit }: ListQuery, { most }: ReadPath): number => Math.min(most, limit ?? most)

/** A slice of the documents of a path, and the most bytes of it. */
export interface PageBounds {
  readonly skip: number
  readonly limit: number
  readonly bytes: number
}

/** Reads the texts of some documents of a path; `undefined` if they are large. */
export function readPage(
  connection: Connection,
  { collection, path }: CollectionPath,
  page: PageBounds,
): readonly string[] | undefined {
  const { text, values } = pageStatement(collection, path, { ...page, cap: capOf(page) })
  const texts = connection.all(text, values)
  return texts.includes(null) ? undefined : texts.map(String)
}

/** The most bytes of each document of a page; a single document may have any size. */
export const capOf = ({ limit, bytes }: PageBounds): number =>
  limit > 1 ? Math.min(bounds.pageBytes, bytes) / limit : Number.MAX_SAFE_INTEGER

/**
 * Reads the texts of documents by their ids, in their order, from one snapshot; `undefined` if one is large or
 * missing.
 */
export function readNamed(
  connection: Connection,
  collection: string,
  ids: readonly unknown[],
  cap: number,
): readonly string[] | undefined {
  const { text, values } = namedStatement(collection, ids, cap)
  const rows = new Map<unknown, string>()
  for (const row of connection.rows(text, values)) {
    if (row[1] === null) return undefined
    rows.set(row[0], String(row[1]))
  }
  const texts = ids.flatMap((id) => rows.get(id) ?? [])
  return texts.length < ids.length ? undefined : texts
}

/** Lists in slices, on a snapshot of the collection. */
export const listInSlices = (seat: Seat, plan: ListPlan, slice: Slice): Sliced<Listed> =>
  inSnapshot(seat, plan.path.isOrdered ? walkInOrder(seat, plan, slice) : sortFirst(seat, plan, slice))

/** Collects documents up to `bytes`, but at least one, and the ids of all others. */
function createPage({ bytes = Number.POSITIVE_INFINITY }: ListQuery) {
  const documents: StoredDocument[] = []
  const rest: string[] = []
  let held = 0
  return {
    add({ document, text }: MatchingDocument): void {
      held += Buffer.byteLength(text)
      if (rest.length === 0 && (documents.length === 0 || held <= bytes)) documents.push(document)
      else rest.push(document._id)
    },
    /** Adds ids whose documents are no longer read. */
    addRest(ids: readonly string[]): void {
      for (const id of ids) rest.push(id)
    },
    isFull: (): boolean => rest.length > 0,
    list: (): Listed => (rest.length > 0 ? Object.assign(documents, { rest }) : documents),
  }
}

function* walkInOrder(seat: Seat, { collection, query, path }: ListPlan, slice: Slice): Sliced<Listed> {
  const { skip, limit } = query
  const end = limit === null ? Number.POSITIVE_INFINITY : skip + limit
  const page = createPage(query)
  const matches = findMatches(seat, { collection, path }, { isCounting: false })
  try {
    for (let passed = 0; passed < end; ) {
      const match = matches.next(slice)
      if (match === undefined) break
      if (typeof match !== 'number') {
        if (passed >= skip) page.add(match)
        passed += 1
      }
      if (slice.left <= 0 && passed < end) yield
    }
  } finally {
    matches.close()
  }
  return page.list()
}

function* sortFirst(seat: Seat, { collection, query, path }: ListPlan, slice: Slice): Sliced<Listed> {
  const { sort, skip, limit } = query
  const textOf = (id: string, slice: Slice): string => {
    const text = String(seat.connection.first(byId(collection), [id]))
    slice.left -= LOOK_UP + costOf(text.length)
    return text
  }
  const keys = createHeldKeys(sort, (id, slice) => parseDocument(textOf(id, slice), slice))
  const first = createFirstInOrder(keys, limit === null ? Number.POSITIVE_INFINITY : skip + limit)
  const matches = findMatches(seat, { collection, path }, { isCounting: false })
  try {
    for (;;) {
      const match = matches.next(slice)
      if (match === undefined) break
      if (typeof match !== 'number') {
        slice.left -= ENTRY
        first.add(match, slice)
      }
      if (first.isFull()) yield* first.drop(slice)
      if (slice.left <= 0) yield
    }
  } finally {
    matches.close()
  }
  const found = (yield* first.finish(slice)).slice(skip)
  const page = createPage(query)
  const lost = found.filter((one) => typeof one === 'string')
  let again = 0
  let texts: readonly string[] | undefined
  for (const [i, one] of found.entries()) {
    if (typeof one !== 'string') page.add(one)
    else {
      if (again % TOGETHER === 0) {
        const some = lost.slice(again, again + TOGETHER)
        slice.left -= some.length * ENTRY
        texts = readNamed(seat.connection, collection, some, bounds.sortedBytes)
      }
      const text = texts?.[again % TOGETHER] ?? textOf(one, slice)
      again += 1
      page.add({ text, document: parseDocument(text, slice) })
    }
    if (page.isFull()) {
      page.addRest(found.slice(i + 1).map((one) => (typeof one === 'string' ? one : one.document._id)))
      break
    }
    if (slice.left <= 0) yield
  }
  return page.list()
}

/** The steps of reading one document by its id. */
export const LOOK_UP = 50

/** Selects the text of one document. */
export const byId = (collection: string): string =>
  `SELECT document FROM ${sqliteDialect.table(collection)} WHERE ${quoteName('_id')} = ?`
