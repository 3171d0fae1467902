import type { KeptText } from '../../permissions/kept-texts.js'
import { whenReady } from '../../promises.js'
import { endless } from '../../slices.js'
import type { StoredDocument } from '../../storage.js'
import type { Document, MaybePromise } from '../../types.js'
import type { Call, Unclaimed } from '../call.js'
import { findShown, type Wanted } from '../find-shown.js'
import { unexpected } from '../refusals.js'
import { holdOrStream, printAlone } from './hold-or-stream.js'
import { createPrinter, type ListRequest, printOne } from './print-documents.js'
import type { Text } from './text-stream.js'

/** The JSON texts of a document: whole, as the caller may read it, and as it was asked for. */
export interface DocumentTexts {
  readonly whole: KeptText | string
  readonly asked: string | undefined
}

/** Reads one document; `undefined` where it does not exist or the caller may not read it. */
export const readDocument = (
  call: Call,
  reading: ListRequest,
  id: string,
): MaybePromise<DocumentTexts | undefined> => {
  return whenReady(
    call.store.read(reading.access).find(id),
    (document) => document && print(document, reading),
  )
}

const print = (document: StoredDocument, reading: ListRequest): DocumentTexts => ({
  whole: reading.access.keep(document, endless()) ?? reading.access.write(document),
  asked: reading.query.projection ? printOne(document, reading) : undefined,
})

/** The same where rules without claims may decide. */
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
 * The same with the documents that its references name in place of their ids. Throws `precondition_failed`
 * where the document is not as `isExpected` says.
 */
export async function readExpanded(
  call: Call,
  reading: ListRequest,
  id: string,
  isExpected: (shown: Document) => boolean,
): Promise<Text | undefined> {
  const { access } = reading
  const document = await call.store.read(access).find(id)
  if (!document) return undefined
  if (!isExpected(access.show(document))) throw unexpected()
  return holdOrStream(call, (current) =>
    printAlone(document, createPrinter(current, reading, { isOnce: true })),
  )
}
