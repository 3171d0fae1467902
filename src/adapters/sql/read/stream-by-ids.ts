import { compileJudge, type Judge } from '../../../core/filter/matches.js'
import { runSliced, type Slice, type Sliced } from '../../../core/slices.js'
import type { Listed, ListQuery, StoredDocument } from '../../../core/storage.js'

/** The number of documents in one batch. */
const BATCH = 500

/** The ids that a list has found, in the order of the list. */
export interface ListedIds {
  readonly ids: readonly string[]
  /** If false, some documents may not match, and `skip` and `limit` are still to be applied to those that match. */
  readonly isExact: boolean
}

/**
 * Streams a list in batches. It keeps only the ids in memory, and locks nothing between batches. Documents that no
 * longer match when their batch is read are omitted. `fetch` returns the documents with the given ids, in any order. If
 * these are too large in total, it returns the documents with the first ids, and the other ids as `rest`, in order.
 */
export async function* streamByIds(
  { ids, isExact }: ListedIds,
  { filter, skip, limit, signal }: ListQuery,
  fetch: (ids: readonly string[]) => Promise<Listed>,
): AsyncGenerator<readonly StoredDocument[], void, undefined> {
  const judge = compileJudge(filter)
  const end = isExact || limit === null ? Number.POSITIVE_INFINITY : skip + limit
  let passed = isExact ? skip : 0
  let next = 0
  let rest: readonly string[] = []
  while ((next < ids.length || rest.length > 0) && passed < end) {
    signal?.throwIfAborted()
    const fresh = ids.slice(next, next + BATCH - rest.length)
    next += fresh.length
    const some = [...rest, ...fresh]
    const fetched = await fetch(some)
    rest = fetched.rest ?? []
    const byId = new Map(fetched.map((document) => [document._id, document]))
    const inOrder = some.flatMap((id) => byId.get(id) ?? [])
    const found = await runSliced(
      (slice) => keepMatching(inOrder, judge, slice),
      () => signal,
    )
    const batch = found.slice(Math.max(0, skip - passed), Math.max(0, end - passed))
    passed += found.length
    if (batch.length > 0) yield batch
  }
}

function* keepMatching(
  documents: readonly StoredDocument[],
  judge: Judge,
  slice: Slice,
): Sliced<readonly StoredDocument[]> {
  const kept: StoredDocument[] = []
  for (const document of documents) {
    let answer = judge(document, slice)
    while (answer === undefined) {
      yield
      answer = judge(document, slice)
    }
    if (answer) kept.push(document)
    if (slice.left <= 0) yield
  }
  return kept
}
