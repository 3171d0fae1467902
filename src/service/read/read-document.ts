import type { Call } from '../call.js'
import { holdOrStream, printAlone } from './hold-or-stream.js'
import { createPrinter, printOne, type Reading } from './print-documents.js'
import type { TextStream } from './text-stream.js'

/** The JSON texts of a document: whole, as the caller may read it, and as it was asked for. */
export interface Read {
  readonly whole: string
  readonly asked: string
}

/** Reads one document; `undefined` where it does not exist or the caller may not read it. */
export async function readDocument(call: Call, reading: Reading, id: string): Promise<Read | undefined> {
  const { access, query } = reading
  const document = await call.store.read(access).find(id)
  if (!document) return undefined
  const whole = access.write(document)
  return { whole, asked: query.projection ? printOne(document, reading) : whole }
}

/** The same with the documents that its references name in place of their ids. */
export async function readExpanded(
  call: Call,
  reading: Reading,
  id: string,
): Promise<string | TextStream | undefined> {
  const document = await call.store.read(reading.access).find(id)
  return (
    document &&
    holdOrStream(call, (current) => printAlone(document, createPrinter(current, reading, { isOnce: true })))
  )
}
