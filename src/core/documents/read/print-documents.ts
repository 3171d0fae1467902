import { bounds } from '../../bounds.js'
import type { Bytes } from '../../json/bytes.js'
import type { ReadAccess } from '../../permissions/read-access.js'
import { whenReady } from '../../promises.js'
import { project } from '../../query/compile-query.js'
import type { LinkedQuery } from '../../query/query-reader.js'
import { boundBytes } from '../../request/byte-budget.js'
import type { Call } from '../../request/call.js'
import type { KeptPage } from '../../request/kept-pages.js'
import { forEachSliced, inSlices, type Slices, stepsToWrite } from '../../slices.js'
import type { StoredDocument } from '../../storage.js'
import type { JsonObject, MaybePromise } from '../../types.js'
import { printExpanded } from '../expand/expand-documents.js'
import { holdOrStream, START, type WriteText } from './hold-or-stream.js'
import type { Text } from './text-stream.js'

/** The read access and the query of a request. */
export interface ListRequest {
  readonly access: ReadAccess
  readonly query: LinkedQuery
}

/** Returns the requested properties of a document, before anything is expanded. */
const select = (document: StoredDocument, { access, query: { projection } }: ListRequest): JsonObject =>
  projection ? project(access.show(document, projection), projection) : access.show(document)

/** Returns the JSON text of a document without expansion. */
export const printOne = (document: StoredDocument, reading: ListRequest): string =>
  JSON.stringify(select(document, reading))

/** Returns the text of one document whose references are expanded. */
export const printExpandedOne = (call: Call, document: StoredDocument, reading: ListRequest) =>
  holdOrStream(call, (current, write, slices) => print(current, [document], reading, { write, slices }))

/** Takes some documents, at least one. */
export type VisitBatch = (batch: readonly StoredDocument[]) => MaybePromise<void>

/** Reads further documents, batch by batch. */
export type ReadOn = (current: Call, visit: VisitBatch) => MaybePromise<void>

/** The text of a list, and the cached page with this text, if there is one. */
export interface Printed {
  readonly json: Text
  readonly kept?: KeptPage | undefined
}

/** Prints the JSON array of some documents. `readOn` reads further documents that belong to the array. */
export function printArray(
  call: Call,
  reading: ListRequest,
  documents: readonly StoredDocument[],
  readOn: ReadOn | undefined,
): MaybePromise<Printed> {
  const keeping = readOn || documents.length >= START ? undefined : keepPage(call, documents, reading)
  return whenReady(keeping, (kept) => {
    if (kept) return { json: kept.json, kept }
    const all = printAll(call, reading, (current, visit) =>
      whenReady(documents.length > 0 ? visit(documents) : undefined, () => readOn?.(current, visit)),
    )
    return whenReady(all, (json) => ({ json }))
  })
}

/** Prints the JSON array of all documents that `read` visits. */
const printAll = (call: Call, reading: ListRequest, read: ReadOn): MaybePromise<Text> =>
  holdOrStream(call, (current, write, slices) => {
    let before = '['
    const printBatch: VisitBatch = (batch) => {
      const output = {
        slices,
        write(text: string) {
          const whole = before + text
          before = ''
          return write(whole)
        },
      }
      return whenReady(print(current, batch, reading, output), () => {
        before = ','
        return write('', batch.length)
      })
    }
    return whenReady(read(current, printBatch), () => write(before === '[' ? '[]' : ']'))
  })

/** The text that is printed, and the slices in which it is printed. */
interface Output {
  readonly write: WriteText
  readonly slices: Slices
}

/** Prints documents, separated by commas. */
function print(
  call: Call,
  documents: readonly StoredDocument[],
  reading: ListRequest,
  output: Output,
): MaybePromise<void> {
  const { expand } = reading.query
  if (expand.length === 0) return printPlain(documents, reading, output)
  const selected = documents.map((document) => select(document, reading))
  return printExpanded(call, expand, selected, output)
}

/** The number of documents that are serialized together, which is cheaper than one by one. */
const TOGETHER = 32

/** The approximate bytes of large documents that are copied and written in one step. */
const BYTES_A_STEP = 24

/** Prints documents as they are, some of them together. */
function printPlain(
  documents: readonly StoredDocument[],
  reading: ListRequest,
  { write, slices }: Output,
): MaybePromise<void> {
  let shown: JsonObject[] = []
  let bytes = 0
  let separator = ''
  return forEachSliced(slices, documents, (document, i) => {
    const one = select(document, reading)
    bytes += boundBytes(one)
    shown.push(one)
    const isLast = i === documents.length - 1
    if (!isLast && shown.length < TOGETHER && bytes < bounds.printedBytes) return undefined
    const text = JSON.stringify(shown).slice(1, -1)
    slices.left -= bytes < bounds.printedBytes ? stepsToWrite(text.length) : bytes / BYTES_A_STEP
    const separated = separator + text
    shown = []
    bytes = 0
    separator = ','
    return write(separated)
  })
}

/**
 * Returns the page of these documents, which is cached if they are immutable: joining cached texts only copies bytes.
 * Returns `undefined` if the page cannot be cached or is too long to be held.
 */
function keepPage(
  { service: { pages }, deadline }: Call,
  documents: readonly StoredDocument[],
  { query, access }: ListRequest,
): MaybePromise<KeptPage | undefined> {
  const [first] = documents
  if (query.expand.length > 0 || query.projection || !first || !Object.isFrozen(first)) return undefined
  const known = pages.find(query, documents)
  if (known) return known
  const parts: Bytes[] = []
  let length = 1
  const joining = inSlices(
    (slices) =>
      forEachSliced(slices, documents, (document) => {
        const text = length <= bounds.shortCharacters ? access.keep(document, slices) : undefined
        if (text) parts.push(text.bytes)
        length += text ? 1 + text.bytes.length : Number.POSITIVE_INFINITY
      }),
    () => deadline.signal,
  )
  return whenReady(joining, () => {
    if (length > bounds.shortCharacters) return undefined
    const page = { documents: [...documents], json: joinArray(parts, length) }
    pages.keep(query, page)
    return page
  })
}

const { Buffer: maker } = globalThis as {
  readonly Buffer?: { allocUnsafe(length: number): Bytes }
}

const [COMMA, OPEN, CLOSE] = [0x2c, 0x5b, 0x5d]

/** Joins JSON values, given as bytes, to a JSON array. `length` is the number of bytes of the whole array. */
function joinArray(values: readonly Bytes[], length: number): Bytes {
  // On Node.js, the memory is not zeroed first, because every byte is written anyway.
  const array = maker ? maker.allocUnsafe(length) : new Uint8Array(length)
  let end = 0
  for (const value of values) {
    array[end] = end === 0 ? OPEN : COMMA
    array.set(value, end + 1)
    end += 1 + value.length
  }
  array[end] = CLOSE
  return array
}
