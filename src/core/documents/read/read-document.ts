import type { KeptText } from '../../permissions/kept-texts.js'
import { whenReady } from '../../promises.js'
import type { Call, Unclaimed } from '../../request/call.js'
import { findShown, type Wanted } from '../../request/find-shown.js'
import { unexpected } from '../../request/refusals.js'
import type { StoredDocument } from '../../storage.js'
import type { Document, MaybePromise } from '../../types.js'
import { type ListRequest, printExpandedOne, printOne } from './print-documents.js'
import type { Text } from './text-stream.js'

/**
 * The JSON texts of a document. `whole` contains everything that the caller may read, `asked` only the requested
 * properties; `undefined` if the request does not select properties.
 */
export interface DocumentTexts {
  readonly whole: KeptText | string
  readonly asked: string | undefined
}

/** Reads one document; `undefined` if it does not exist or the caller may not read it. */
export const readDocument = (
  call: Call,
  reading: ListRequest,
  id: string,
): MaybePromise<DocumentTexts | undefined> =>
  whenReady(call.store.read(reading.access).find(id), (document) => document && print(document, reading))

const print = (document: StoredDocument, reading: ListRequest): DocumentTexts => ({
  whole: reading.access.keep(document) ?? reading.access.write(document),
  asked: reading.query.projection ? printOne(document, reading) : undefined,
})

/** Reads one document like `readDocument`, but without the caller's claims if the rules without claims suffice. */
export const readUnclaimed = (
  call: Call,
  { query, ...unclaimed }: Unclaimed & Pick<ListRequest, 'query'>,
  place: Wanted,
): MaybePromise<DocumentTexts | undefined> =>
  whenReady(
    findShown(call, unclaimed, place),
    (shown) => shown && print(shown.document, { access: shown.access, query }),
  )

/**
 * Reads one document, with its references replaced by their documents. Throws `precondition_failed` if `isExpected` is
 * false for the document.
 */
export const readExpanded = (
  call: Call,
  reading: ListRequest,
  id: string,
  isExpected: (shown: Document) => boolean,
): MaybePromise<Text | undefined> =>
  whenReady(call.store.read(reading.access).find(id), (document) => {
    if (!document) return undefined
    if (!isExpected(reading.access.show(document))) throw unexpected()
    return printExpandedOne(call, document, reading)
  })
