import { and } from '../../../core/filter/filter.js'
import { compileJudge } from '../../../core/filter/matches.js'
import type { Slice } from '../../../core/slices.js'
import type { StoredDocument } from '../../../core/storage.js'
import { parseDocument } from '../../sql/read/judge-texts.js'
import type { Seat } from '../connection/snapshot.js'
import type { CollectionPath, ReadPath } from './read-path.js'
import { divide, findCandidates } from './read-statements.js'

/** A matching document, and its text. */
export interface MatchingDocument {
  readonly document: StoredDocument
  readonly text: string
}

/** Matching documents, one after another. */
export interface Matches {
  /** The next match; or a number of counted matches when the slice is used up; `undefined` at the end. */
  next(slice: Slice): MatchingDocument | number | undefined
  close(): void
}

/** Finds the documents on a path that match; conditions that no statement checks are checked here. */
export function findMatches(
  seat: Seat,
  way: CollectionPath,
  options: { readonly isCounting: boolean },
): Matches {
  const { path } = way
  const ranges = path.ranges ?? [path]
  const isAsked = ranges.every(({ rest }) => divide(rest).judged.length === 0)
  // Counting without documents counts each row once, so its documents must be distinct.
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

/** Recognizes a document that came before: in an order it came just before, otherwise at any time. */
function createIsNew({ order }: ReadPath): (document: StoredDocument) => boolean {
  const known = new Set<string>()
  return ({ _id }) => {
    if (known.has(_id)) return false
    if (order.length > 0) known.clear()
    known.add(_id)
    return true
  }
}
