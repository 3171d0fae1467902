import { and } from '../../../core/filter/filter.js'
import { compileJudge } from '../../../core/filter/matches.js'
import type { Slice } from '../../../core/slices.js'
import type { StoredDocument } from '../../../core/storage.js'
import { parseDocument } from '../../sql/read/judge-texts.js'
import type { Seat } from '../connection/snapshot.js'
import type { CollectionPath, ReadPath } from './read-path.js'
import { divide, findCandidates } from './read-statements.js'

/** A matching document, and its JSON text. */
export interface MatchingDocument {
  readonly document: StoredDocument
  readonly text: string
}

/** Returns matching documents one by one. */
export interface Matches {
  /**
   * Returns the next match. When the slice is used up, returns a number: how many matches were counted without reading
   * them, often 0. Returns `undefined` at the end.
   */
  next(slice: Slice): MatchingDocument | number | undefined
  close(): void
}

/** Finds the matching documents on a path. Conditions that the SQL statement cannot check are checked here. */
export function findMatches(
  seat: Seat,
  way: CollectionPath,
  options: { readonly isCounting: boolean },
): Matches {
  const { path } = way
  const ranges = path.ranges ?? [path]
  const isAsked = ranges.every(({ rest }) => divide(rest).judged.length === 0)
  // Counting without reading documents counts rows, so no document may have several rows.
  const isCounting = options.isCounting && isAsked && !path.isOverlapping
  const candidates = findCandidates(seat, way, { isCounting })
  const judge = isAsked ? () => true : compileJudge(and(path.ranges ? path.rest : divide(path.rest).judged))
  const isNew = path.isOverlapping ? createIsNew(path) : () => true
  let judged: MatchingDocument | undefined
  return {
    next(slice) {
      while (slice.left > 0) {
        if (!judged) {
          const text = candidates.next(slice)
          if (typeof text !== 'string') return text
          judged = { text, document: parseDocument(text, slice) }
        }
        const match = judged
        const verdict = judge(match.document, slice)
        if (verdict === undefined) return 0
        judged = undefined
        if (verdict && isNew(match.document)) return match
      }
      return 0
    },
    close: () => candidates.close(),
  }
}

/**
 * Returns a function that returns true for the first occurrence of each document. If the path is sorted, repetitions of
 * a document are adjacent, so only the last document is remembered.
 */
function createIsNew({ order }: ReadPath): (document: StoredDocument) => boolean {
  const known = new Set<string>()
  return ({ _id }) => {
    if (known.has(_id)) return false
    if (order.length > 0) known.clear()
    known.add(_id)
    return true
  }
}
