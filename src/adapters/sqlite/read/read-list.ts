import { bounds } from '../../../core/bounds.js'
import {
  type CompareItems,
  compileDocumentOrder,
  compileField,
  compileOrder,
  type Ordered,
} from '../../../core/filter/compare.js'
import { and, type Filter, hasPattern, ID, isOn } from '../../../core/filter/filter.js'
import { compileJudge, judgeSliced } from '../../../core/filter/matches.js'
import { freezeDeep } from '../../../core/json/freeze-deep.js'
import { whenReady } from '../../../core/promises.js'
import { forEachSliced, inSlices, sortSliced } from '../../../core/slices.js'
import type { Listed, ListQuery, MaybePromise, SortKey, StoredDocument } from '../../../core/storage.js'
import { quoteName } from '../../sql/dialect.js'
import { collectPage } from '../../sql/read/collect-page.js'
import { parseDocument } from '../../sql/read/judge-texts.js'
import type { Connection } from '../connection/connection.js'
import type { Seat } from '../connection/readers.js'
import { sqliteDialect } from '../sqlite-dialect.js'
import { type CachedDocument, type KeptDocuments, measure } from './kept-documents.js'
import { type CollectionPath, MAX_BOUNDED, type ReadPath } from './read-path.js'
import {
  costOf,
  countAllStatement,
  countCoveredStatement,
  countStatement,
  divide,
  findCandidates,
  idsStatement,
  isCovered,
  namedStatement,
  pageStatement,
} from './read-statements.js'

/**
 * `MAX_ROWS`: the maximum number of index rows that one statement counts, which takes about 10 ms. `MAX_DOCUMENTS`: the
 * maximum for a whole collection, whose documents are counted by pages instead of rows.
 */
const MAX_ROWS = 200_000
const MAX_DOCUMENTS = 4_000_000

/**
 * Counts with one statement over ranges of an index. Returns `undefined` if the conditions need more than the index, or
 * if there are too many rows.
 */
export function countDirectly(
  connection: Connection,
  { collection, path }: CollectionPath,
): number | undefined {
  if (path.rest.length > 0) return countCovered(connection, { collection, path })
  if (
    path.isOverlapping &&
    (path.counted ?? countUpTo(connection, { collection, path }, MAX_BOUNDED + 1)) > MAX_BOUNDED
  )
    return undefined
  const most = path.index === null ? MAX_DOCUMENTS : MAX_ROWS
  const { text, values } = countAllStatement(collection, path, most)
  const all = connection.first(text, values)
  if (all !== null) return Number(all)
  if (path.index === null) return undefined
  const least = countUpTo(connection, { collection, path }, MAX_ROWS + 1)
  return least > MAX_ROWS ? undefined : least
}

/**
 * Counts the documents of a range if its index contains all fields of the remaining conditions. Returns `undefined` if
 * the index lacks a field, or if the range is long.
 */
function countCovered(connection: Connection, { collection, path }: CollectionPath): number | undefined {
  const { asked, judged } = divide(path.rest)
  if (path.index === null || path.ranges || judged.length > 0 || !isCovered(path, asked)) return undefined
  const { text, values } = countCoveredStatement(collection, path, asked, MAX_BOUNDED)
  const counted = connection.first(text, values)
  return counted === undefined ? undefined : Number(counted)
}

/** Counts the documents on a path, but at most `most`. */
export function countUpTo(
  connection: Connection,
  { collection, path }: CollectionPath,
  most: number,
): number {
  const { text, values } = countStatement(collection, path, most)
  return Number(connection.first(text, values))
}

/** Counts in slices. */
export function countInSlices(seat: Seat, way: CollectionPath): MaybePromise<number> {
  let total = 0
  const counting = forEachSliced(seat.slices, findMatches(seat, way, { isCounting: true }), (match) => {
    total += typeof match === 'number' ? match : 1
  })
  return whenReady(counting, () => total)
}

/** A matching document, and its JSON text. */
export interface MatchingDocument {
  readonly document: StoredDocument
  readonly text: string
}

/**
 * Finds the first `most` matching documents on a path. Conditions that the SQL statement cannot check are checked here.
 * When the slice is used up, yields a number: how many matches were counted without reading them, often 0.
 */
export function* findMatches(
  seat: Seat,
  way: CollectionPath,
  options: { readonly isCounting: boolean; readonly most?: number },
): Generator<MatchingDocument | number, void> {
  const { path } = way
  const { slices } = seat
  const isAsked = areAsked(path)
  // Counting without reading documents counts rows, so no document may have several rows.
  const isCounting = options.isCounting && isAsked && !path.isOverlapping
  const judge = isAsked ? () => true : compileJudge(and(path.ranges ? path.rest : divide(path.rest).judged))
  const isNew = path.isOverlapping ? createIsNew(path) : () => true
  let { most = Number.POSITIVE_INFINITY } = options
  if (most === 0) return
  for (const text of findCandidates(seat, way, isCounting ? 'match' : 'document')) {
    if (typeof text === 'number') {
      yield text
      continue
    }
    const document = parseDocument(text, slices)
    let verdict = judge(document, slices)
    for (; verdict === undefined; verdict = judge(document, slices)) yield 0
    if (verdict && isNew(document)) {
      yield { text, document }
      most -= 1
      if (most === 0) return
    } else if (slices.left <= 0) yield 0
  }
}

/** Whether statements check all conditions of a path. */
export const areAsked = (path: ReadPath): boolean =>
  (path.ranges ?? [path]).every(({ rest }) => divide(rest).judged.length === 0)

/**
 * Returns a function that returns true for the first occurrence of each document. If the path is sorted, repetitions of
 * a document are adjacent, so only the last document is remembered.
 */
function createIsNew({ order }: ReadPath): (document: StoredDocument) => boolean {
  const known = new Set<string>()
  return ({ _id }) => {
    if (known.has(_id)) return false
    if (order.length > 0) known.clear()
    known.add(_id)
    return true
  }
}

/** The maximum number of documents in one batch. */
export const BATCH = 500

/** A batch of a stream. */
export interface Batch {
  readonly documents: readonly StoredDocument[]
  /** How many of the remaining ids this batch has handled, in their order. */
  readonly passed: number
}

/** The ids of the documents that a list did not include because of its byte limit. */
export interface ListRest {
  readonly collection: string
  readonly filter: Filter
  readonly ids: readonly string[]
}

/**
 * Reads the next documents of the rest of a list, if they still exist and match the filter. `connect` is called for
 * each read, because another connection may be free after a pause.
 */
export const readBatch = (
  connect: () => Connection,
  { collection, filter, ids }: ListRest,
  signal: () => AbortSignal | undefined,
): MaybePromise<Batch> =>
  inSlices(async (slices) => {
    const judge = compileJudge(filter)
    const documents: StoredDocument[] = []
    let bytes = 0
    for (const [i, id] of ids.entries()) {
      if (documents.length === BATCH) return { documents, passed: i }
      if (slices.left <= 0) await slices.next()
      slices.left -= LOOK_UP
      const text = connect().first(byId(collection), [id])
      if (typeof text !== 'string') continue
      bytes += Buffer.byteLength(text)
      if (documents.length > 0 && bytes > bounds.batchBytes) return { documents, passed: i }
      const document = parseDocument(text, slices)
      if (await judgeSliced(judge, document, slices)) documents.push(document)
      else bytes -= Buffer.byteLength(text)
    }
    return { documents, passed: ids.length }
  }, signal)

/** A list query, and the path to its documents. */
interface ListPlan extends CollectionPath {
  readonly query: ListQuery
}

/** The steps that storing the sort keys of a document costs. */
const ENTRY = 10

/** The number of sorted documents that are read again with one statement. */
const TOGETHER = 32

/**
 * Lists documents in the order of an index with one statement. Returns `undefined` if there is no such index, or if the
 * documents are too many or too large.
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

/** Returns the maximum number of documents in a list. */
const limitOf = ({ limit }: ListQuery, { most }: ReadPath): number => Math.min(most, limit ?? most)

/** A range of the documents on a path, and the maximum number of their bytes. */
interface PageBounds {
  readonly skip: number
  readonly limit: number
  readonly bytes: number
}

/** Reads the JSON texts of a range of the documents on a path. Returns `undefined` if one of the documents is large. */
function readPage(
  connection: Connection,
  { collection, path }: CollectionPath,
  page: PageBounds,
): readonly string[] | undefined {
  const { text, values } = pageStatement(collection, path, { ...page, cap: capOf(page) })
  const texts = connection.all(text, values)
  return texts.includes(null) ? undefined : texts.map(String)
}

/**
 * Returns the maximum size in bytes of each document of a page. If the page has only one document, there is no maximum.
 */
const capOf = ({ limit, bytes }: PageBounds): number =>
  limit > 1 ? Math.min(bounds.pageBytes, bytes) / limit : Number.MAX_SAFE_INTEGER

/**
 * Reads the JSON texts of documents by their ids, in the order of the ids, from one snapshot. Returns `undefined` if a
 * document is large or missing.
 */
function readNamed(
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

/** Lists in slices. */
export const listInSlices = (seat: Seat, plan: ListPlan): MaybePromise<Listed> =>
  plan.path.isOrdered ? walkInOrder(seat, plan) : sortFirst(seat, plan)

function walkInOrder(seat: Seat, { collection, query, path }: ListPlan): MaybePromise<Listed> {
  const { skip, limit } = query
  const most = limit === null ? Number.POSITIVE_INFINITY : skip + limit
  const page = collectPage(query.bytes)
  let passed = 0
  const matches = findMatches(seat, { collection, path }, { isCounting: false, most })
  const walking = forEachSliced(seat.slices, matches, (match) => {
    if (typeof match === 'number') return
    if (passed >= skip) page.add(match.document, Buffer.byteLength(match.text))
    passed += 1
  })
  return whenReady(walking, page.list)
}

/**
 * The maximum length of a string among the cached sort keys. Longer strings are cut. A cut may split a character, which
 * is harmless, because strings are compared one UTF-16 unit at a time.
 */
export const HELD = 64

/** The sort keys of documents. Each document has a slot, which is an index in `ids` and in each of `columns`. */
interface HeldKeys {
  readonly ids: readonly string[]
  readonly columns: readonly (readonly Ordered[])[]
  /** Replaces the content of a slot with the id and the sort keys of a document. */
  put(slot: number, document: StoredDocument): void
  /** Compares two slots. If both keys were cut and are equal up to the cut, reads the documents again. */
  readonly order: CompareItems<number>
}

/** Creates empty sort keys. `read` reads a document again, in the same snapshot, and takes its steps from the slice. */
export function createHeldKeys(sort: readonly SortKey[], read: (id: string) => StoredDocument): HeldKeys {
  const ids: string[] = []
  const keys = sort.map((key) => {
    const column: Ordered[] = []
    const held = compileOrder<number>([key], [(slot) => column[slot]])
    const whole = compileDocumentOrder([key])
    const order: CompareItems<number> = (a, b, slice) =>
      held(a, b, slice) || (isLong(column[a]) ? whole(readAgain(a), readAgain(b), slice) : 0)
    return { column, read: compileField(key.field), order }
  })
  // The last two documents are cached, because sorting compares one document with many others.
  let recent: readonly StoredDocument[] = []
  const readAgain = (slot: number): StoredDocument => {
    const id = ids[slot] ?? ''
    const document = recent.find(({ _id }) => _id === id) ?? read(id)
    recent = [document, ...recent.filter((other) => other !== document).slice(0, 1)]
    return document
  }
  return {
    ids,
    columns: keys.map(({ column }) => column),
    put(slot, document) {
      ids[slot] = document._id
      for (const { column, read } of keys) column[slot] = beginningOf(read(document))
    },
    order(a, b, slice) {
      for (const key of keys) {
        const order = key.order(a, b, slice)
        if (order !== 0) return order
      }
      return 0
    },
  }
}

const isLong = (value: Ordered): boolean => typeof value === 'string' && value.length >= HELD

/** Cuts a string. `slice` alone would keep the whole string in memory. */
const beginningOf = (value: Ordered): Ordered =>
  typeof value === 'string' && value.length > HELD
    ? (JSON.parse(JSON.stringify(value.slice(0, HELD))) as string)
    : value

/** The minimum number of documents for which `drop` of `FirstInOrder` is worthwhile. */
const MIN_HELD = 1024

/**
 * Collects the documents that come first in an order. Holds the sort keys of each candidate, and documents up to a
 * total of `bounds.firstCharacters`.
 */
export class FirstInOrder {
  readonly #keys: HeldKeys
  readonly #count: number
  readonly #slices: Seat['slices']
  #held: number[] = []
  readonly #free: number[] = []
  #slots = 0
  /** The slot of the last of the first documents so far. Documents that sort after it are not among them. */
  #last: number | undefined
  readonly #matches = new Map<number, MatchingDocument>()
  #characters = 0

  /** `count` is the number of documents to find. */
  constructor(keys: HeldKeys, count: number, slices: Seat['slices']) {
    this.#keys = keys
    this.#count = count
    this.#slices = slices
  }

  /** Adds a document. If there are many surplus documents, drops those that cannot be among the first. */
  add(match: MatchingDocument): MaybePromise<void> {
    const { put, order } = this.#keys
    const slot = this.#free.pop() ?? this.#slots++
    put(slot, match.document)
    if (this.#last !== undefined && order(slot, this.#last, this.#slices) >= 0) {
      this.#free.push(slot)
      return undefined
    }
    this.#held.push(slot)
    const { length } = match.text
    if (this.#characters + length <= bounds.firstCharacters) {
      this.#matches.set(slot, match)
      this.#characters += length
    }
    return this.#held.length >= Math.max(2 * this.#count, MIN_HELD) ? this.#drop() : undefined
  }

  /** Returns the first matches in order: each as a document or, if the document is not in memory, as its id. */
  finish(): MaybePromise<readonly (MatchingDocument | string)[]> {
    return whenReady(sortSliced(this.#slices, this.#held, this.#keys.order), (sorted) =>
      sorted.slice(0, this.#count).map((slot) => this.#matches.get(slot) ?? this.#keys.ids[slot] ?? ''),
    )
  }

  #drop(): MaybePromise<void> {
    return whenReady(sortSliced(this.#slices, this.#held, this.#keys.order), (sorted) => {
      for (const slot of sorted.slice(this.#count)) {
        this.#characters -= this.#matches.get(slot)?.text.length ?? 0
        this.#matches.delete(slot)
        this.#free.push(slot)
      }
      this.#held = sorted.slice(0, this.#count)
      this.#last = this.#held[this.#count - 1]
    })
  }
}

function sortFirst(seat: Seat, { collection, query, path }: ListPlan): MaybePromise<Listed> {
  const { sort, skip, limit } = query
  const { slices } = seat
  const textOf = (id: string): string => {
    const text = String(seat.connection.first(byId(collection), [id]))
    slices.left -= LOOK_UP + costOf(text.length)
    return text
  }
  const keys = createHeldKeys(sort, (id) => parseDocument(textOf(id), slices))
  const first = new FirstInOrder(keys, limit === null ? Number.POSITIVE_INFINITY : skip + limit, slices)
  const matches = findMatches(seat, { collection, path }, { isCounting: false })
  const finding = forEachSliced(slices, matches, (match) => {
    if (typeof match === 'number') return undefined
    slices.left -= ENTRY
    return first.add(match)
  })
  const page = collectPage(query.bytes)
  /** Adds the found documents to the page, and reads those that are not in memory, some at a time. */
  const readFound = (found: readonly (MatchingDocument | string)[]): MaybePromise<void> => {
    const lost = found.filter((one) => typeof one === 'string')
    let again = 0
    let texts: readonly string[] | undefined
    return forEachSliced(slices, found, (one) => {
      if (page.isFull()) return page.addRest(typeof one === 'string' ? one : one.document._id)
      if (typeof one !== 'string') return page.add(one.document, Buffer.byteLength(one.text))
      if (again % TOGETHER === 0) {
        const some = lost.slice(again, again + TOGETHER)
        slices.left -= some.length * ENTRY
        texts = readNamed(seat.connection, collection, some, bounds.sortedBytes)
      }
      const text = texts?.[again % TOGETHER] ?? textOf(one)
      again += 1
      return page.add(parseDocument(text, slices), Buffer.byteLength(text))
    })
  }
  const reading = whenReady(finding, () => whenReady(first.finish(), (found) => readFound(found.slice(skip))))
  return whenReady(reading, page.list)
}

/** The steps that reading one document by its id costs. */
const LOOK_UP = 50

/** Selects the JSON text of one document. */
export const byId = (collection: string): string =>
  `SELECT document FROM ${sqliteDialect.table(collection)} WHERE ${quoteName('_id')} = ?`

/** A connection, and the cache of its documents. `slice`: the steps that remain of `STEPS`. */
interface KeptSource {
  readonly connection: Connection
  readonly kept: KeptDocuments
  readonly slice: { left: number }
}

/** The steps that a list from the cache may take: about 0.5 ms. */
const STEPS = 10_000

/** The steps that each document in a list from the cache costs. */
const DOCUMENT = 4

/** If not all documents on a path match, `SOME` documents are read at a time, each with at most `MOST_BYTES` bytes. */
const SOME = 64
const MOST_BYTES = 4096

/**
 * Lists the first documents of a path by their ids, which an index provides in order. Uses cached documents, and reads
 * and caches the others. Returns `undefined` if there is no such index, if the matches are far apart or large, or if
 * another process has written.
 */
export function listKept(connection: Connection, kept: KeptDocuments, plan: ListPlan): Listed | undefined {
  const { query, path } = plan
  const { skip, bytes = bounds.pageBytes } = query
  const limit = limitOf(query, path)
  if (path.index === null || !path.isOrdered || skip + limit > MAX_BOUNDED) return undefined
  const source = { connection, kept, slice: { left: STEPS } }
  const found =
    path.rest.length > 0
      ? findFirst(source, plan, skip + limit)?.slice(skip)
      : readSome(source, plan, { skip, limit, bytes })
  if (!kept.isCurrent() || !found) return undefined
  const size = found.reduce((sum, one) => sum + one.size, 0)
  return size > bytes && found.length > 1 ? undefined : found.map(({ document }) => freezeDeep(document))
}

/**
 * Finds the first matches, reading some documents at a time. Returns `undefined` if the first documents on the path
 * contain too few matches.
 */
function findFirst(source: KeptSource, plan: ListPlan, count: number): readonly CachedDocument[] | undefined {
  const { slice } = source
  const judge = compileJudge(and(plan.path.rest))
  const found: CachedDocument[] = []
  if (count === 0) return found
  // For a pattern, only cached documents are used: a statement that looks for a literal of the pattern can skip
  // documents faster than they can be read here.
  const isSearch = hasPattern(and(plan.path.rest))
  // The first read asks for no more documents than needed, because usually all of them match, as in `mine` of the bench
  // `real`, and reading a document that does not match costs as much as reading a match.
  let size = isSearch ? SOME : Math.min(count, SOME)
  // The later reads end at multiples of `SOME` documents.
  for (let skip = 0; skip < count + SOME; skip += size, size = 2 * SOME - (skip % SOME || SOME)) {
    const some = readSome(source, plan, { skip, limit: size, bytes: size * MOST_BYTES }, !isSearch)
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

/**
 * Returns a range of the documents on a path. If one of them is not cached, reads and caches all of them, or returns
 * `undefined` if the file may not be read. A path with several ranges is read by the ids of the documents.
 */
function readSome(
  { connection, kept, slice }: KeptSource,
  way: CollectionPath,
  page: PageBounds,
  mayRead = true,
): readonly CachedDocument[] | undefined {
  const { collection, path } = way
  const ids = readIds(connection, way, page)
  slice.left -= ids.length * DOCUMENT
  const found = kept.find(collection, ids)
  if (found || !mayRead) return found
  const texts = path.ranges
    ? readNamed(connection, collection, ids, capOf(page))
    : readPage(connection, way, page)
  return texts?.map((text) => {
    const document = parseDocument(text, slice)
    return kept.put(collection, { document, size: Buffer.byteLength(text), held: measure(document) })
  })
}

/**
 * Reads the ids on a path. If the query itself names an id, that id is returned although the document may not exist.
 */
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
