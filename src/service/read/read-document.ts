import type { KeptText } from '../../permissions/kept-texts.js'
import { whenReady } from '../../promises.js'
import { endless } from '../../slices.js'
import type { Document, MaybePromise } from '../../types.js'
import type { Call } from '../call.js'
import { unexpected } from '../refusals.js'
import { holdOrStream, printAlone } from './hold-or-stream.js'
import { createPrinter, printOne, type Reading } from './print-documents.js'
import type { Text } from './text-stream.js'

/** The JSON texts of a document: whole, as the caller may read it, and as it was asked for. */
export interface Read {
  readonly whole: KeptText | string
  readonly asked: string | undefined
}

/** Reads one document; `undefined` where it does not exist or the caller may not read it. */
export const readDocument = (call: Call, reading: Reading, id: string): MaybePromise<Read | undefined> => {
  const { access, query } = reading
  return whenReady(
    call.store.read(access).find(id),
    (document) =>
      document && {
        whole: access.keep(document, endless()) ?? access.write(document),
        asked: query.projection ? printOne(document, reading) : undefined,
      },
  )
}

/**
 * The same with the documents that its references name in place of their ids. Throws `precondition_failed`
 * where the document is not as `isExpected` says.
 */
export async function readExpanded(
  call: Call,
  reading: Reading,
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
