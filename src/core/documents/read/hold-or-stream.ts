import { bounds } from '../../bounds.js'
import { type Bytes, joinArray } from '../../json/bytes.js'
import type { ReadAccess } from '../../permissions/read-access.js'
import { whenReady } from '../../promises.js'
import { project } from '../../query/compile-query.js'
import type { LinkedQuery } from '../../query/query-reader.js'
import { boundBytes } from '../../request/byte-budget.js'
import type { Call } from '../../request/call.js'
import type { Deadline } from '../../request/deadline.js'
import type { KeptPage } from '../../request/kept-pages.js'
import { createPace } from '../../request/pace.js'
import { runWithin, type Slice, type Sliced, stepsToWrite } from '../../slices.js'
import type { StoredDocument } from '../../storage.js'
import type { JsonObject, MaybePromise } from '../../types.js'
import { createExpandingPrinter, expandPage } from '../expand/expand-documents.js'
import { createLevelPrinter } from '../expand/expand-levels.js'
import { createTextStream, endOfPiece, type Text } from './text-stream.js'

/** The number of documents that are read first. A list with at least this many documents is always streamed. */
export const START = 1500

/** The read access and the query of a request. */
export interface ListRequest {
  readonly access: ReadAccess
  readonly query: LinkedQuery
}

/** Prints the JSON texts of documents, separated by commas, in pieces. */
type PrintDocuments = (documents: readonly StoredDocument[]) => AsyncGenerator<string, void, undefined>

/** Returns the requested properties of a document, before anything is expanded. */
const select = (document: StoredDocument, { access, query: { projection } }: ListRequest): JsonObject =>
  projection ? project(access.show(document, projection), projection) : access.show(document)

/** Returns the JSON text of a document without expansion. */
export const printOne = (document: StoredDocument, reading: ListRequest): string =>
  reading.query.projection ? JSON.stringify(select(document, reading)) : reading.access.write(document)

/** Creates a function that prints documents. With `isOnce`, their texts are not cached. */
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
 * Returns the JSON array of some documents, if it is short; otherwise `undefined`. The page is cached if its documents
 * are immutable.
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

/** The number of documents that are serialized together, which is cheaper than one by one. */
const TOGETHER = 32

/** The approximate bytes of large documents that are copied and written in one step. */
const BYTES_A_STEP = 24

const encoder = new TextEncoder()

/**
 * Returns the JSON array of documents, as a string for a few documents, and as bytes for more, because joining a long
 * text costs as much as writing it. Returns `undefined` if the array is too long.
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
    // The calling function now serializes all documents again. If the slice is used up, this work pauses before that.
    if (slice.left <= 0) yield
    return undefined
  }
  return joinArray(parts, length)
}

/** Returns the next documents to serialize together, in the form that is shown, and an upper bound of their bytes. */
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

/**
 * Returns the JSON array of documents whose texts are cached, which only copies bytes. Returns `LONG` if the array is
 * too long, and `undefined` if a text cannot be cached.
 */
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
    // The calling function now serializes all documents again. If the slice is used up, this work pauses before that.
    if (slice.left <= 0) yield
    return LONG
  }
  return joinArray(parts, length)
}

/** A piece of a text, and the number of documents that end in it. */
export interface Piece {
  readonly text: string
  readonly documents: number
}

/**
 * Whether a text is streamed: if it has too many visible characters or documents. The size of hidden parts, which
 * limits how many documents are read together, does not count, so the choice does not reveal that size.
 */
const isLong = (characters: number, documents: number): boolean =>
  characters > bounds.shortCharacters || documents >= START

/**
 * Returns a short text as a whole, and a longer text as a stream. Work before the stream begins counts towards the
 * request's deadline.
 */
export async function holdOrStream(
  call: Call,
  begin: (current: Call) => AsyncGenerator<Piece, void, undefined>,
): Promise<Text> {
  const { deadline } = call
  const stream = createTextStream()
  // This deadline ends the work when the client disconnects, both before the stream begins and afterwards.
  const current: Deadline = {
    signal: stream.signal,
    caller: deadline.caller,
    onOver(listener) {
      if (stream.signal.aborted) listener()
      stream.signal.addEventListener('abort', listener, { once: true })
      return () => stream.signal.removeEventListener('abort', listener)
    },
    enter: (wait) => (stream.hasBegun() ? stream.signal.throwIfAborted() : deadline.enter(wait)),
  }
  const pieces = begin(call.within(current))
  const stopListening = deadline.onOver(() => stream.cancel())
  try {
    let held = ''
    let documents = 0
    for (;;) {
      const { done, value } = await pieces.next()
      if (done) return held
      held += value.text
      documents += value.documents
      if (isLong(held.length, documents)) return stream.begin(joinPieces(held, pieces), () => pieces.return())
    }
  } catch (thrown) {
    await pieces.return()
    throw thrown
  } finally {
    stopListening()
  }
}

/**
 * Cuts a text into new pieces of equal length. The original lengths would reveal the size of hidden parts, which limits
 * how many documents are read together.
 */
async function* joinPieces(
  held: string,
  pieces: AsyncGenerator<Piece, void, undefined>,
): AsyncGenerator<string, void, undefined> {
  let rest = held
  const cut = function* (): Generator<string, void, undefined> {
    while (rest.length > bounds.sentCharacters) {
      const end = endOfPiece(rest, 0)
      yield rest.slice(0, end)
      rest = rest.slice(end)
    }
  }
  for await (const { text } of pieces) {
    yield* cut()
    rest += text
  }
  yield* cut()
  yield rest
}

/** Prints the JSON array of all documents of some batches, in pieces. No batch is empty. */
export async function* printArray(
  batches: AsyncIterable<readonly StoredDocument[]>,
  print: PrintDocuments,
): AsyncGenerator<Piece, void, undefined> {
  let before = '['
  for await (const batch of batches) {
    for await (const text of print(batch)) {
      yield { text: before + text, documents: 0 }
      before = ''
    }
    yield { text: '', documents: batch.length }
    before = ','
  }
  yield { text: before === '[' ? '[]' : ']', documents: 0 }
}

/** Prints the text of one document, in pieces. */
export async function* printAlone(
  document: StoredDocument,
  print: PrintDocuments,
): AsyncGenerator<Piece, void, undefined> {
  for await (const text of print([document])) yield { text, documents: 0 }
}
