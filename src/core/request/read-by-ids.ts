import { bounds } from '../bounds.js'
import { and, type Filter, isId, or } from '../filter/filter.js'
import type { StoredDocument } from '../storage.js'
import type { Reader, StoreQuery } from './store.js'

/** The maximum number of documents per read. If documents are large, a read requests fewer. */
export const READ_AT_ONCE = 500

/**
 * Reads documents by their ids, in batches and in the given order. Only documents that still exist and still match are
 * returned. A document whose sort position has changed keeps the position of its id.
 */
export async function* readByIds(
  reader: Reader,
  { filter, sort = [] }: Pick<StoreQuery, 'sort'> & { readonly filter: Filter },
  ids: readonly string[],
): AsyncGenerator<readonly StoredDocument[], void, undefined> {
  let left = ids
  let size = 1
  while (left.length > 0) {
    const some = or(left.slice(0, size).map(isId))
    const listed = await reader.list({ filter: and([filter, some]), sort, bytes: bounds.readBytes })
    left = [...(listed.rest ?? []), ...left.slice(size)]
    size = listed.rest ? Math.max(1, listed.length) : Math.min(READ_AT_ONCE, 2 * size)
    if (listed.length > 0) yield listed
  }
}
