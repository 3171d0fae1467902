import { compileJudge, type Judge } from '../../../core/filter/matches.js'
import type { Slice, Sliced } from '../../../core/slices.js'
import type { StoredDocument } from '../../../core/storage.js'
import type { Cursor } from './candidates.js'
import type { Scan } from './plan-scan.js'

/** Receives a matching document and returns whether the walk continues. */
type TakeMatch = (document: StoredDocument) => boolean

/**
 * Passes each match once to `take`, in the order of the candidates, until `take` returns false. At the first pause the
 * remaining documents are copied, so that writes during the pause do not change the result.
 */
export function* walk({ candidates, rests, repeats }: Scan, slice: Slice, take: TakeMatch): Sliced<void> {
  const judges = rests.map(compileJudge)
  const takeOnce = repeats ? once(take) : take
  const { steps } = candidates
  let place = 0
  let isPaused = false
  candidates.walk(0, (document, way) => {
    slice.left -= steps
    const verdict = (judges[way] as Judge)(document, slice)
    if (verdict !== undefined) place += 1
    if (verdict && !takeOnce(document)) return false
    isPaused = verdict === undefined || slice.left <= 0
    return !isPaused
  })
  if (isPaused) yield* walkCopy(candidates.copyFrom(place), { judges, steps }, slice, takeOnce)
}

/**
 * Wraps `take` so that it receives each document once. Comparing by reference suffices, because until the next write
 * all indexes contain the same object for a document.
 */
function once(take: TakeMatch): TakeMatch {
  const taken = new Set<StoredDocument>()
  return (document) => {
    if (taken.has(document)) return true
    taken.add(document)
    return take(document)
  }
}

function* walkCopy(
  cursor: Cursor,
  { judges, steps }: { readonly judges: readonly Judge[]; readonly steps: number },
  slice: Slice,
  take: TakeMatch,
): Sliced<void> {
  yield
  for (let document = cursor.next(); document; document = cursor.next()) {
    const judge = judges[cursor.way] as Judge
    slice.left -= steps
    let verdict = judge(document, slice)
    while (verdict === undefined) {
      yield
      verdict = judge(document, slice)
    }
    if (verdict && !take(document)) return
    if (slice.left <= 0) yield
  }
}
