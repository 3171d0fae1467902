import { bounds } from '../../bounds.js'
import type { Collection } from '../../config/plan.js'
import { ServiceError } from '../../errors.js'
import { pickOwn } from '../../json/own-properties.js'
import type { ReadAccess } from '../../permissions/read-gate.js'
import { countBytes } from '../../schema/json-schema.js'
import type { StoredDocument } from '../../storage.js'
import type { JsonObject } from '../../types.js'
import { resume } from '../authorize.js'
import { boundBytes, createByteBudget } from '../byte-budget.js'
import { type Call, createCall } from '../call.js'
import { isRefusal } from '../refusals.js'
import type { Ignoring } from './rules/choose-rule.js'

/**
 * A written document, as its writer may read it: with `_id`, and with the other properties that a grant
 * shows.
 */
export interface WrittenDocument extends Ignoring {
  readonly _id: string
  /** The document as JSON. */
  readonly text: string
}

/** A document before its write. */
export interface Writing extends Ignoring {
  readonly collection: Collection
  readonly document: StoredDocument
  /** The values from the body and the rule's `set`. */
  readonly given: JsonObject
  /** The document as its writer could read it before, as JSON. */
  readonly before?: () => string
  /** Its place in the body, where it is only a part of the body. */
  readonly at?: string
}

/**
 * Prepares the answer to a write. Throws `document_too_large` where the document would be too large
 * (CONTRACT.md §2).
 */
export function prepareWritten(
  call: Call,
  { collection, document, given, ignored, before, at }: Writing,
): WrittenDocument {
  const { _id } = document
  const access = accessOf(call, collection)
  const isReadable = access?.isReadable(document) ?? false
  const text = writeText(access, document)
  // With all that was given it is small enough: as nearly every document, whatever of it is read.
  if (boundBytes(text) + boundBytes(given) <= call.service.plan.limits.documentBytes)
    return { _id, text, ignored }
  const isHash = (name: string): boolean => collection.hashes.some((hash) => hash.name === name)
  const unread = Object.keys(given).filter(
    (name) => !isReadable || isHash(name) || !access?.isShown(document, name),
  )
  checkDocumentSize(call, { text, unread: pickOwn(given, unread), before, at })
  return { _id, text, ignored }
}

/** The access of who learns of a size: the writer, or who has asked for what the service writes in its own right. */
const accessOf = (call: Call, collection: Collection): ReadAccess | null =>
  (call.reportTo ?? call).access(collection)

/** The text of a document that is written, as it was, for who learns of its size. */
export const writeBefore =
  (call: Call, collection: Collection, stored: StoredDocument): (() => string) =>
  () =>
    writeText(accessOf(call, collection), stored)

/** The parts that count for a document's size. */
interface Sized {
  /** The document as its writer may read it. */
  readonly text: string
  /** The values that the writer gave but may not read. */
  readonly unread: JsonObject
  readonly before?: Writing['before'] | undefined
  readonly at?: string | undefined
}

/**
 * Throws `document_too_large` where a document has more than `limits.documentBytes` as JSON, and more than
 * before. Only what its writer may read or has given counts: otherwise the size would reveal the rest.
 */
export function checkDocumentSize({ service }: Call, { text, unread, before, at }: Sized): void {
  const limit = service.plan.limits.documentBytes
  const more = Object.keys(unread).length > 0 ? `,${JSON.stringify(unread).slice(1)}` : ''
  const whole = more === '' ? text : text.slice(0, -1) + more
  // A character has at most three bytes: small documents need no counting.
  if (whole.length * 3 <= limit) return
  const size = countBytes(whole)
  if (size <= limit || (before && size <= countBytes(before()))) return
  const message = `has more than ${limit} bytes as JSON`
  throw new ServiceError('document_too_large', `The document ${message}.`, {
    errors: at === undefined ? [] : [{ path: at, code: 'document_too_large', message }],
  })
}

/** The text of a document for its writer, who may not be allowed to read it. */
const writeText = (access: ReadAccess | null, document: StoredDocument): string =>
  access?.isReadable(document) ? access.write(document) : JSON.stringify({ _id: document._id })

/**
 * A document behind what hooks have added to its write. Throws where that has removed it: then there is nothing to
 * answer.
 */
export async function findAgain({ store }: Call, { name }: Collection, id: string): Promise<StoredDocument> {
  const document = await store.own(name).find(id)
  if (!document) throw new Error(`options.hooks.${name}.before failed: also removes what is written`)
  return document
}

/** The call of who calls by now: of nobody where the account or its session is gone. */
async function resumeOrLeave(call: Call): Promise<Call> {
  try {
    return await resume(call)
  } catch (thrown) {
    if (!isRefusal(thrown)) throw thrown
    const { service, deadline, store, binding } = call
    return createCall(service, { deadline, store, caller: null, session: undefined, now: binding.now })
  }
}

/** Tells of documents anew, as their writer may read them behind what hooks have added. */
export async function tellAgain(
  call: Call,
  collection: Collection,
  all: readonly WrittenDocument[],
): Promise<readonly WrittenDocument[]> {
  const own = (await resumeOrLeave(call)).renew()
  await own.learnToRead(collection)
  const access = own.access(collection)
  const told: WrittenDocument[] = []
  for (const { _id, ignored } of all)
    told.push({ _id, ignored, text: writeText(access, await findAgain(own, collection, _id)) })
  return told
}

/** The same of one. */
export const tellOneAgain = async (
  call: Call,
  written: WrittenDocument,
  collection: Collection,
): Promise<WrittenDocument> => (await tellAgain(call, collection, [written]))[0] ?? written

/**
 * Throws `document_too_large` where the documents of one write, with hidden parts, are too large together.
 */
export function checkStoredSize(documents: readonly StoredDocument[]): void {
  if (boundBytes(documents) <= bounds.writtenBytes) return
  const budget = createByteBudget(
    bounds.writtenBytes,
    'The documents of one write have more than 16 MiB together.',
  )
  for (const document of documents) budget.take(document)
}
