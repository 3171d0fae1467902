import type { Collection } from '../../config/plan.js'
import { ServiceError } from '../../errors.js'
import type { StoredDocument } from '../../storage.js'
import type { JsonObject } from '../../types.js'
import type { Call } from '../call.js'
import type { Ignoring } from './rules/choose-rule.js'

/** A document just written, as its writer may read it: `_id` always, the rest as far as a grant shows it. */
export interface Written extends Ignoring {
  readonly _id: string
  /** The document as JSON. */
  readonly text: string
}

/** A document about to be written. */
export interface Writing extends Ignoring {
  readonly collection: Collection
  readonly document: StoredDocument
  /** What the body and the rule's `set` gave. */
  readonly given: JsonObject
  /** What the writer could read of it before, as JSON. */
  readonly before?: () => string
  /** Where it lies in the body, if it is not the body. */
  readonly at?: string
}

/** The answer to a write that is about to be made. Throws `document_too_large` where it leaves too much behind (CONTRACT.md §2). */
export function prepareWritten(
  call: Call,
  { collection, document, given, ignored, before, at }: Writing,
): Written {
  const { _id } = document
  const access = call.access(collection)
  const isReadable = access?.isReadable(document) ?? false
  const text = access && isReadable ? access.write(document) : JSON.stringify({ _id })
  const isHash = (name: string): boolean => collection.hashes.some((hash) => hash.name === name)
  const unread = Object.entries(given).filter(
    ([name]) => !isReadable || isHash(name) || !access?.isShown(document, name),
  )
  checkDocumentSize(call, { text, unread: Object.fromEntries(unread), before, at })
  return { _id, text, ignored }
}

/** What counts of a document's size. */
interface Sized {
  /** The document as its writer may read it. */
  readonly text: string
  /** What the writer gave and may not read. */
  readonly unread: JsonObject
  readonly before?: Writing['before'] | undefined
  readonly at?: string | undefined
}

/**
 * Throws `document_too_large` for a document that as its writer may read it, with what the writer gave and may not
 * read, has more than `limits.documentBytes` as JSON, and more than before. What else is stored does not count: it would
 * be told by its size.
 */
export function checkDocumentSize({ service }: Call, { text, unread, before, at }: Sized): void {
  const limit = service.plan.limits.documentBytes
  const more = Object.keys(unread).length > 0 ? `,${JSON.stringify(unread).slice(1)}` : ''
  const whole = more === '' ? text : text.slice(0, -1) + more
  // A character has three bytes at most: small documents need no counting.
  if (whole.length * 3 <= limit) return
  const size = countBytes(whole)
  if (size <= limit || (before && size <= countBytes(before()))) return
  const message = `has more than ${limit} bytes as JSON`
  throw new ServiceError('document_too_large', `The document ${message}.`, {
    errors: at === undefined ? [] : [{ path: at, code: 'document_too_large', message }],
  })
}

/** CONTRACT.md §6: what one write stores, in bytes. */
const MAX_STORED = 16 * 1024 * 1024

/** Throws `document_too_large` where the documents of one write, hidden parts included, are too much together. */
export function checkStoredSize(documents: readonly StoredDocument[]): void {
  if (sum(documents.map(boundBytes)) <= MAX_STORED) return
  if (sum(documents.map((document) => countBytes(JSON.stringify(document)))) <= MAX_STORED) return
  throw new ServiceError('document_too_large', 'What is to be stored at once has more than 16 MiB.')
}

const sum = (numbers: readonly number[]): number => numbers.reduce((total, one) => total + one, 0)

const encoder = new TextEncoder()

const countBytes = (text: string): number => encoder.encode(text).length

/** As many bytes as the JSON of a value can have at most, found without writing it. */
function boundBytes(value: unknown): number {
  if (typeof value === 'string') return value.length * MAX_ESCAPED + 2
  if (typeof value !== 'object' || value === null) return MAX_NUMBER
  let bytes = 2
  if (Array.isArray(value)) {
    for (const element of value) bytes += boundBytes(element) + 1
    return bytes
  }
  for (const [name, property] of Object.entries(value)) {
    bytes += name.length * MAX_ESCAPED + 4 + boundBytes(property)
  }
  return bytes
}

/** `\u001f`, and no character outside takes more. */
const MAX_ESCAPED = 6
/** `-1.2345678901234567e-100`, with room to spare. */
const MAX_NUMBER = 32
