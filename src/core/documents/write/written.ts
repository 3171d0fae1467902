import { bounds } from '../../bounds.js'
import type { Collection } from '../../config/plan.js'
import { ServiceError } from '../../errors.js'
import { countBytes } from '../../json/bytes.js'
import { pickOwn } from '../../json/own-properties.js'
import type { ReadAccess } from '../../permissions/read-gate.js'
import { resume } from '../../request/authorize.js'
import { boundBytes, createByteBudget } from '../../request/byte-budget.js'
import { Call } from '../../request/call.js'
import { isRefusal } from '../../request/refusals.js'
import type { StoredDocument } from '../../storage.js'
import type { JsonObject } from '../../types.js'
import type { Draft } from './draft.js'

/** The names of the properties that the rule dropped from a body. */
export interface Ignoring {
  readonly ignored: readonly string[]
}

/** A written document, as its writer may read it: `_id`, and the other properties that a rule shows. */
export interface WrittenDocument extends Ignoring {
  readonly _id: string
  /** The document as JSON. */
  readonly text: string
}

/** Prepares the response to a write. Throws `document_too_large` if the document is too large (CONTRACT.md §2). */
export function prepareWritten(
  { call, collection, given, ignored, before, at }: Draft,
  document: StoredDocument,
): WrittenDocument {
  const { _id } = document
  // The size may only depend on what the writer may read, or the caller on whose behalf the service writes.
  const access = (call.reportTo ?? call).access(collection)
  const text = writeText(access, document)
  // Shortcut: nearly every document is small enough even with all given values.
  if (boundBytes(text) + boundBytes(given) <= call.service.plan.limits.documentBytes)
    return { _id, text, ignored }
  const isReadable = access?.isReadable(document) ?? false
  const isHash = (name: string): boolean => collection.hashes.some((hash) => hash.name === name)
  const unread = Object.keys(given).filter(
    (name) => !isReadable || isHash(name) || !access?.isShown(document, name),
  )
  const readBefore = before && (() => writeText(access, before.stored))
  checkDocumentSize(call, { text, unread: pickOwn(given, unread), before: readBefore, at })
  return { _id, text, ignored }
}

/** The parts that count towards the size of a document. */
interface Sized {
  /** The document as its writer may read it. */
  readonly text: string
  /** The values that the writer gave but may not read. */
  readonly unread: JsonObject
  /** Returns the JSON of the document before the write, as its writer may read it. */
  readonly before?: (() => string) | undefined
  readonly at?: string | undefined
}

/**
 * Throws `document_too_large` if a document exceeds `limits.documentBytes` as JSON, and is larger than before. Only
 * values that its writer may read or has given count, because otherwise the size would reveal other values.
 */
export function checkDocumentSize({ service }: Call, { text, unread, before, at }: Sized): void {
  const limit = service.plan.limits.documentBytes
  const more = Object.keys(unread).length > 0 ? `,${JSON.stringify(unread).slice(1)}` : ''
  const whole = more === '' ? text : text.slice(0, -1) + more
  // A character has at most three bytes, so small documents need no counting.
  if (whole.length * 3 <= limit) return
  const size = countBytes(whole)
  if (size <= limit || (before && size <= countBytes(before()))) return
  const message = `has more than ${limit} bytes as JSON`
  throw new ServiceError('document_too_large', `The document ${message}.`, {
    errors: at === undefined ? [] : [{ path: at, code: 'document_too_large', message }],
  })
}

/** Writes a document as JSON for its writer: only its `_id` if the writer may not read the document. */
const writeText = (access: ReadAccess | null, document: StoredDocument): string =>
  access?.isReadable(document) ? access.write(document) : JSON.stringify({ _id: document._id })

/**
 * Reads a document after the operations that hooks have added to its write. Throws if these operations have deleted
 * it, because then there is nothing to return.
 */
export async function findAgain({ store }: Call, { name }: Collection, id: string): Promise<StoredDocument> {
  const document = await store.own(name).find(id)
  if (!document)
    throw new Error(
      `options.hooks.${name}.before failed: its "also" removes the document that is being written`,
    )
  return document
}

/** Returns the call with the current caller: anonymous if the account or its session has been deleted. */
async function resumeOrLeave(call: Call): Promise<Call> {
  try {
    return await resume(call)
  } catch (thrown) {
    if (!isRefusal(thrown)) throw thrown
    const { service, deadline, store, binding } = call
    return new Call(service, { deadline, store, caller: null, session: undefined, now: binding.now })
  }
}

/** Writes the texts of documents again, as their writer may read them after the operations that hooks have added. */
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

/** Writes the text of one document again, like `tellAgain`. */
export const tellOneAgain = async (
  call: Call,
  written: WrittenDocument,
  collection: Collection,
): Promise<WrittenDocument> => (await tellAgain(call, collection, [written]))[0] ?? written

/** Throws `document_too_large` if the documents of one write, with hidden parts, are too large in total. */
export function checkStoredSize(documents: readonly StoredDocument[]): void {
  if (boundBytes(documents) <= bounds.writtenBytes) return
  const budget = createByteBudget(bounds.writtenBytes, 'The documents of one write exceed 16 MiB in total.')
  for (const document of documents) budget.take(document)
}
