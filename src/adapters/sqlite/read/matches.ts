import { and } from '../../../filter/filter.js'
import { compileJudge } from '../../../filter/matches.js'
import type { Slice } from '../../../slices.js'
import type { StoredDocument } from '../../../storage.js'
import { parseDocument } from '../../sql/read/judge-texts.js'
import type { Connection } from '../connection/connection.js'
import { divide, findCandidates } from './candidates.js'
import type { Way } from './read-path.js'

/** A matching document, and its text. */
export interface Match {
  readonly document: StoredDocument
  readonly text: string
}

/** Matching documents, one after another. */
export interface Matches {
  /** The next one; or the number that were counted when the slice is used up; `undefined` at the end. */
  next(slice: Slice): Match | number | undefined
  close(): void
}

/** Finds the documents on a path that match; conditions that no statement checks are checked here. */
export function findMatches(
  connection: Connection,
  way: Way,
  options: { readonly isCounting: boolean },
): Matches {
  const division = divide(way.path.rest)
  const candidates = findCandidates(connection, way, division, options)
  const judge = division.judged.length > 0 ? compileJudge(and(division.judged)) : () => true
  let judged: Match | undefined
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
        if (verdict) return match
      }
      return 0
    },
    close: () => candidates.close(),
  }
}
