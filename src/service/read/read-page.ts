import { and, type Filter, isId } from '../../filter/filter.js'
import type { StoredDocument } from '../../storage.js'
import type { Reader } from '../store.js'
import { type Beginning, readByIds, readFirst, type Walk } from './read-batches.js'

/** A page of a walk. Of large documents only the first are there, of the others their ids. */
export interface PageOfWalk extends Beginning {
  /** How many documents it has. */
  readonly size: number
  /** Where the walk goes on behind the page: the last document of the page. */
  readonly last: StoredDocument | undefined
}

export async function readPage(reader: Reader, walk: Walk, limit: number): Promise<PageOfWalk> {
  // One more shows whether there is a next page.
  const found = await readFirst(reader, walk, limit + 1)
  const documents = found.documents.slice(0, limit)
  const rest = found.rest.slice(0, limit - documents.length)
  const size = documents.length + rest.length
  const hasNext = found.documents.length + found.rest.length > limit
  const last = hasNext ? ((await findLast(reader, walk.filter, rest)) ?? documents.at(-1)) : undefined
  return { documents, rest, size, last }
}

/** The last document of some ids that is still there, and still matches. */
async function findLast(
  reader: Reader,
  filter: Filter,
  ids: readonly string[],
): Promise<StoredDocument | undefined> {
  for (const id of [...ids].reverse()) {
    const document = await reader.first(and([filter, isId(id)]))
    if (document) return document
  }
  return undefined
}

/** The documents of a page, in batches. */
export async function* readPageBatches(
  reader: Reader,
  walk: Walk,
  { documents, rest }: Beginning,
): AsyncGenerator<readonly StoredDocument[], void, undefined> {
  if (documents.length > 0) yield documents
  yield* readByIds(reader, walk, rest)
}
