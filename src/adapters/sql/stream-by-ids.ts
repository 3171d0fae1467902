import { compileFilter } from '../../filter/matches.js'
import type { ListQuery, StoredDocument } from '../../storage.js'

/** Documents that are streamed at once. */
const BATCH = 500

/** The ids of a list, in its order. */
export interface ListedIds {
  readonly ids: readonly string[]
  /** False where there are more than match, and `skip` and `limit` are still to be applied. */
  readonly isExact: boolean
}

/**
 * A list in batches, of which only the ids are there at once; nothing is held between batches. Documents that no longer
 * match when their turn comes are left out.
 */
export async function* streamByIds(
  { ids, isExact }: ListedIds,
  { filter, skip, limit, signal }: ListQuery,
  fetch: (ids: readonly string[]) => Promise<readonly StoredDocument[]>,
): AsyncGenerator<readonly StoredDocument[], void, undefined> {
  const matches = compileFilter(filter)
  const end = isExact || limit === null ? Number.POSITIVE_INFINITY : skip + limit
  let passed = isExact ? skip : 0
  for (let i = 0; i < ids.length && passed < end; i += BATCH) {
    signal?.throwIfAborted()
    const some = ids.slice(i, i + BATCH)
    const byId = new Map((await fetch(some)).map((document) => [document._id, document]))
    const found = some.flatMap((id) => {
      const document = byId.get(id)
      return document && matches(document) ? [document] : []
    })
    const batch = found.slice(Math.max(0, skip - passed), Math.max(0, end - passed))
    passed += found.length
    if (batch.length > 0) yield batch
  }
}
