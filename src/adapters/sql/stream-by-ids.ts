import { compileJudge, type Judge } from '../../filter/matches.js'
import { runSliced, type Slice, type Sliced } from '../../slices.js'
import type { Listed, ListQuery, StoredDocument } from '../../storage.js'

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
 * match when their turn comes are left out. `fetch` gives the documents of ids, in any order; where they are too large to
 * be held at once, those of the first ids only, with the other ids as `rest`, in order.
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
