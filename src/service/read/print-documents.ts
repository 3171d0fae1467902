import type { KnownCaller } from '../../permissions/caller.js'
import type { ReadAccess } from '../../permissions/read-gate.js'
import type { Query } from '../../query/compile-query.js'
import { project } from '../../query/projection.js'
import type { StoredDocument } from '../../storage.js'
import type { JsonObject } from '../../types.js'
import type { RequestScope, ServiceContext } from '../context.js'
import { createPace, stepsToWrite } from '../pace.js'
import { createExpandingWriter } from './expand-documents.js'
import { PIECE } from './text-stream.js'

/** What of documents is asked for, and by whom. */
export interface Asked {
  readonly access: ReadAccess
  readonly caller: KnownCaller | null
  readonly query: Pick<Query, 'projection' | 'expand'>
}

/** The JSON texts of documents as they were asked for, separated by commas, in pieces. */
export type WriteDocuments = (documents: readonly StoredDocument[]) => AsyncGenerator<string, void, undefined>

/** A document as it was asked for, before anything is expanded. */
const select = (document: StoredDocument, { access, query: { projection } }: Asked): JsonObject =>
  projection ? project(access.show(document), projection) : access.show(document)

/** The text of a document in which nothing is expanded. */
export const writeOne = (document: StoredDocument, asked: Asked): string =>
  asked.query.projection ? JSON.stringify(select(document, asked)) : asked.access.write(document)

/** Writes documents. `isOnce`: their texts are not worth keeping. */
export function createWriter(
  context: ServiceContext,
  scope: RequestScope,
  asked: Asked,
  { isOnce }: { readonly isOnce: boolean },
): WriteDocuments {
  const { caller, query } = asked
  if (query.expand.length > 0) {
    const write = createExpandingWriter(context, scope, caller, query.expand)
    return (documents) => write(selectAll(documents, asked))
  }
  const pace = createPace(() => scope.signal)
  return async function* (documents) {
    let text = ''
    for (const [i, document] of documents.entries()) {
      const own = isOnce ? JSON.stringify(select(document, asked)) : writeOne(document, asked)
      if (text !== '' && text.length + own.length > PIECE) {
        await pace(stepsToWrite(text.length))
        yield text
        text = ''
      }
      text += i === 0 ? own : `,${own}`
    }
    await pace(stepsToWrite(text.length))
    if (text !== '') yield text
  }
}

function* selectAll(documents: readonly StoredDocument[], asked: Asked): Generator<JsonObject> {
  for (const document of documents) yield select(document, asked)
}

/** The array of some documents, where it is short; `undefined` where it is not, or would have to be asked for. */
export function writeShortArray(documents: readonly StoredDocument[], asked: Asked): string | undefined {
  if (asked.query.expand.length > 0) return undefined
  const texts: string[] = []
  let length = 0
  for (const document of documents) {
    const text = writeOne(document, asked)
    length += text.length
    if (length > PIECE) return undefined
    texts.push(text)
  }
  return `[${texts.join()}]`
}
