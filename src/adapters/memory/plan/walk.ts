import { compileJudge, type Judge } from '../../../core/filter/matches.js'
import type { Slice, Sliced } from '../../../core/slices.js'
import type { StoredDocument } from '../../../core/storage.js'
import type { Cursor } from './candidates.js'
import type { Scan } from './plan-scan.js'

/** Takes a match; returns whether to continue. */
type TakeMatch = (document: StoredDocument) => boolean

/**
 * Passes the matches to `take`, in the order of the candidates, each once, until it has enough. At the first pause
 * the remaining documents are copied, so that a result shows one moment.
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

/** A document in several parts of indexes is the same object in all of them until the next write. */
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
