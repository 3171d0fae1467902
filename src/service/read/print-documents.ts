import { bounds } from '../../bounds.js'
import { type Bytes, joinArray } from '../../json/bytes.js'
import type { ReadAccess } from '../../permissions/read-access.js'
import { whenReady } from '../../promises.js'
import { project } from '../../query/projection.js'
import type { LinkedQuery } from '../../query/query-reader.js'
import { runWithin, type Slice, type Sliced, stepsToWrite } from '../../slices.js'
import type { StoredDocument } from '../../storage.js'
import type { JsonObject, MaybePromise } from '../../types.js'
import { boundBytes } from '../byte-budget.js'
import type { Call } from '../call.js'
import type { KeptPage } from '../kept-pages.js'
import { createPace } from '../pace.js'
import { createExpandingPrinter } from './expand-documents.js'
import { createLevelPrinter } from './expand-levels.js'
import { expandPage } from './expand-page.js'

/** An access and a query. */
export interface ListRequest {
  readonly access: ReadAccess
  readonly query: LinkedQuery
}

/** Prints the JSON texts of documents, separated by commas, in pieces. */
export type PrintDocuments = (documents: readonly StoredDocument[]) => AsyncGenerator<string, void, undefined>

/** The selected part of a document, before anything is expanded. */
const select = (document: StoredDocument, { access, query: { projection } }: ListRequest): JsonObject =>
  projection ? project(access.show(document, projection), projection) : access.show(document)

/** The text of a document without expansion. */
export const printOne = (document: StoredDocument, reading: ListRequest): string =>
  reading.query.projection ? JSON.stringify(select(document, reading)) : reading.access.write(document)

/** Prints documents. With `isOnce`, their texts are not cached. */
export function createPrinter(
  call: Call,
  reading: ListRequest,
  { isOnce }: { readonly isOnce: boolean },
): PrintDocuments {
  const { expand } = reading.query
  if (expand.length > 0) {
    const isDeep = expand.some(({ onward }) => onward.length > 0)
    const print = (isDeep ? createLevelPrinter : createExpandingPrinter)(call, expand)
    return (documents) => print(selectAll(documents, reading))
  }
  const pace = createPace(() => call.deadline.signal)
  return async function* (documents) {
    let text = ''
    for (const [i, document] of documents.entries()) {
      const own = isOnce ? JSON.stringify(select(document, reading)) : printOne(document, reading)
      const pause = pace(stepsToWrite(own.length))
      if (pause) await pause
      if (text !== '' && text.length + own.length > bounds.writtenCharacters) {
        yield text
        text = ''
      }
      text += i === 0 ? own : `,${own}`
    }
    if (text !== '') yield text
  }
}

function* selectAll(documents: readonly StoredDocument[], reading: ListRequest): Generator<JsonObject> {
  for (const document of documents) yield select(document, reading)
}

/**
 * The JSON array of some documents, if it is short; otherwise `undefined`. The page is cached if its documents are
 * immutable.
 */
export function printShort(
  call: Call,
  documents: readonly StoredDocument[],
  reading: ListRequest,
): MaybePromise<string | Bytes | KeptPage | undefined> {
  const { pages } = call.service
  const { query, access } = reading
  if (query.expand.length > 0) {
    const selected = selectAll(documents, reading)
    return expandPage(call, { query, documents, selected })
  }
  const [first] = documents
  if (first === undefined) return '[]'
  const join = () => runWithin(call, (slice) => joinTexts(documents, reading, slice))
  if (query.projection !== null || !Object.isFrozen(first)) return join()
  const known = pages.find(query, documents)
  if (known) return known
  return whenReady(
    runWithin(call, (slice) => joinKept(documents, access, slice)),
    (json) => {
      if (json === LONG) return undefined
      if (!json) return join()
      const page = { documents: [...documents], json }
      pages.keep(query, page)
      return page
    },
  )
}

/** The documents that are printed at once, which is cheaper than one by one. */
const TOGETHER = 32

/** The approximate bytes of large documents that are copied and written in one step. */
const BYTES_A_STEP = 24

const encoder = new TextEncoder()

/**
 * The text of a few documents; the bytes of more documents, because joining a long text costs as much as writing it.
 */
function* joinTexts(
  documents: readonly StoredDocument[],
  reading: ListRequest,
  slice: Slice,
): Sliced<string | Bytes | undefined> {
  const parts: Bytes[] = []
  let length = 1
  for (let from = 0; from < documents.length; ) {
    if (slice.left <= 0) yield
    const { shown, bytes } = showTogether(documents, from, reading)
    from += shown.length
    const text = JSON.stringify(shown)
    slice.left -= bytes < bounds.printedBytes ? stepsToWrite(text.length) : bytes / BYTES_A_STEP
    if (shown.length === documents.length) return text.length > bounds.shortCharacters ? undefined : text
    const part = encoder.encode(text).subarray(1, -1)
    length += 1 + part.length
    parts.push(part)
    if (length <= bounds.shortCharacters) continue
    // The caller writes all of them again.
    if (slice.left <= 0) yield
    return undefined
  }
  return joinArray(parts, length)
}

/** The next documents to write at once, as they are shown, with an upper bound of their bytes. */
function showTogether(documents: readonly StoredDocument[], from: number, reading: ListRequest) {
  const shown: JsonObject[] = []
  let bytes = 0
  for (const document of documents.slice(from, from + TOGETHER)) {
    const one = select(document, reading)
    bytes += boundBytes(one)
    shown.push(one)
    if (bytes >= bounds.printedBytes) break
  }
  return { shown, bytes }
}

const LONG = Symbol('longer than a short array')

/** The same for cached texts, which are only copied; `undefined` if one of them cannot be cached. */
function* joinKept(
  documents: readonly StoredDocument[],
  { keep }: ReadAccess,
  slice: Slice,
): Sliced<Bytes | typeof LONG | undefined> {
  const parts: Bytes[] = []
  let length = 1
  for (const document of documents) {
    if (slice.left <= 0) yield
    const text = keep(document, slice)
    if (!text) return undefined
    length += 1 + text.bytes.length
    parts.push(text.bytes)
    if (length <= bounds.shortCharacters) continue
    // The caller writes all of them again.
    if (slice.left <= 0) yield
    return LONG
  }
  return joinArray(parts, length)
}
