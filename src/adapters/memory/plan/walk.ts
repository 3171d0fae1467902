import type { Judge } from '../../../filter/matches.js'
import type { Slice, Sliced } from '../../../slices.js'
import type { StoredDocument } from '../../../storage.js'
import type { Candidates } from './candidates.js'

/**
 * Gives the matches to `take`, in the order of the candidates, until it has enough. At the first pause the
 * remaining documents are copied, so that an answer shows one moment.
 */
export function* walk(
  candidates: Candidates,
  judge: Judge,
  slice: Slice,
  take: (document: StoredDocument) => boolean,
): Sliced<void> {
  let place = 0
  let isPaused = false
  candidates.walk(0, (document) => {
    slice.left -= 1
    const verdict = judge(document, slice)
    if (verdict !== undefined) place += 1
    if (verdict && !take(document)) return false
    isPaused = verdict === undefined || slice.left <= 0
    return !isPaused
  })
  if (isPaused) yield* walkCopy(candidates.copyFrom(place), judge, slice, take)
}

function* walkCopy(
  documents: Iterator<StoredDocument>,
  judge: Judge,
  slice: Slice,
  take: (document: StoredDocument) => boolean,
): Sliced<void> {
  yield
  for (let next = documents.next(); !next.done; next = documents.next()) {
    const document = next.value
    slice.left -= 1
    let verdict = judge(document, slice)
    while (verdict === undefined) {
      yield
      verdict = judge(document, slice)
    }
    if (verdict && !take(document)) return
    if (slice.left <= 0) yield
  }
}
