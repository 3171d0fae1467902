import { type AskOptions, ask } from './service.js'

/** A document that was read, with its entity tag. */
export interface LoadedDocument {
  readonly document: { readonly _id: string; readonly [field: string]: unknown }
  readonly etag: string
}

/** Reads a document. Throws `ClientError`. */
export async function readDocument(name: string, id: string, way: AskOptions = {}): Promise<LoadedDocument> {
  const { signal } = way
  const { value, headers } = await ask(
    (client) => client.collection(name).get(id, signal ? { signal } : {}),
    way,
  )
  return { document: value as LoadedDocument['document'], etag: headers.get('etag') ?? '' }
}
