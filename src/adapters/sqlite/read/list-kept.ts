import { bounds } from '../../../bounds.js'
import { and, hasPattern, ID } from '../../../filter/filter.js'
import { isOn } from '../../../filter/index-order.js'
import { compileJudge } from '../../../filter/matches.js'
import { freezeDeep } from '../../../json/freeze-deep.js'
import type { Slice } from '../../../slices.js'
import type { Listed } from '../../../storage.js'
import { type CachedDocument, measure } from '../../sql/read/generations.js'
import { parseDocument } from '../../sql/read/judge-texts.js'
import type { Connection } from '../connection/connection.js'
import type { KeptDocuments } from './kept-documents.js'
import { capOf, type ListPlan, limitOf, type PageBounds, readNamed, readPage } from './read-list.js'
import { type CollectionPath, MAX_BOUNDED } from './read-path.js'
import { idsStatement } from './read-statements.js'

/** The source of lists of cached documents. */
export interface KeptSource {
  readonly connection: Connection
  readonly kept: KeptDocuments
}

/** The steps that such a list may take at once: about 0.5 ms. */
const STEPS = 10_000

/** The steps of one document. */
const DOCUMENT = 4

/** The number of documents that are read at a time if not all match, and the most bytes of each. */
const SOME = 64
const MOST_BYTES = 4096

/**
 * Lists the first documents of a path by their ids, which an index has in order. Cached documents are used, others
 * are read and cached. `undefined` if there is no such index, the matches are far apart or large, or another process
 * has written.
 */
export function listKept(source: KeptSource, plan: ListPlan): Listed | undefined {
  const { query, path } = plan
  const { skip, bytes = bounds.pageBytes } = query
  const limit = limitOf(query, path)
  if (path.index === null || !path.isOrdered || skip + limit > MAX_BOUNDED) return undefined
  const slice = { left: STEPS }
  const found =
    path.rest.length > 0
      ? findFirst(source, plan, skip + limit, slice)?.slice(skip)
      : readSome(source, plan, { skip, limit, bytes }, slice)
  if (!source.kept.isCurrent() || !found) return undefined
  const size = found.reduce((sum, one) => sum + one.size, 0)
  return size > bytes && found.length > 1 ? undefined : found.map(({ document }) => freezeDeep(document))
}

/** Finds the first matches, some documents at a time; `undefined` if they are not among the first documents. */
function findFirst(
  source: KeptSource,
  plan: ListPlan,
  count: number,
  slice: Slice,
): readonly CachedDocument[] | undefined {
  const judge = compileJudge(and(plan.path.rest))
  const found: CachedDocument[] = []
  if (count === 0) return found
  // A statement can skip documents by a literal of the pattern, so reading them here is not worthwhile.
  const isSearch = hasPattern(and(plan.path.rest))
  const read = isSearch ? findSome : readSome
  // Usually all of the first documents match, as in `mine` of the bench `real`, and each document read in vain costs
  // as much as a match.
  let size = isSearch ? SOME : Math.min(count, SOME)
  // The next pieces end at multiples of a whole page.
  for (let skip = 0; skip < count + SOME; skip += size, size = 2 * SOME - (skip % SOME || SOME)) {
    const some = read(source, plan, { skip, limit: size, bytes: size * MOST_BYTES }, slice)
    if (!some) return undefined
    for (const one of some) {
      const verdict = slice.left > 0 ? judge(one.document, slice) : undefined
      if (verdict === undefined) return undefined
      if (verdict && found.push(one) === count) return found
    }
    if (some.length < size) return found
  }
  return undefined
}

/** Finds some documents of a path, if all of them are cached. */
function findSome(
  { connection, kept }: KeptSource,
  { collection, path }: CollectionPath,
  page: PageBounds,
  slice: Slice,
): readonly CachedDocument[] | undefined {
  const ids = readIds(connection, { collection, path }, page)
  slice.left -= ids.length * DOCUMENT
  return kept.find(collection, ids)
}

/** Reads some documents of a path; all of them if one is not cached. */
function readSome(
  source: KeptSource,
  { collection, path }: CollectionPath,
  page: PageBounds,
  slice: Slice,
): readonly CachedDocument[] | undefined {
  const { connection, kept } = source
  const ids = readIds(connection, { collection, path }, page)
  slice.left -= ids.length * DOCUMENT
  return (
    kept.find(collection, ids) ??
    readTexts(connection, { collection, path }, page, ids)?.map((text) => {
      const document = parseDocument(text, slice)
      return kept.put(collection, { document, size: Buffer.byteLength(text), held: measure(document) })
    })
  )
}

/** Reads the texts of documents on a path; on a path of several ranges, by their ids. */
function readTexts(
  connection: Connection,
  way: CollectionPath,
  page: PageBounds,
  ids: readonly unknown[],
): readonly string[] | undefined {
  if (!way.path.ranges) return readPage(connection, way, page)
  return readNamed(connection, way.collection, ids, capOf(page))
}

/** The ids on a path. Ids that a query names may not exist. */
function readIds(
  connection: Connection,
  { collection, path }: CollectionPath,
  page: PageBounds,
): readonly unknown[] {
  const [bound] = path.bounds
  if (bound?.kind === 'eq' && isOn(bound.field, ID) && page.skip === 0 && page.limit > 0) return [bound.value]
  const { text, values } = idsStatement(collection, path, page)
  return connection.all(text, values)
}
