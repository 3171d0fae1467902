import { bounds } from '../../../bounds.js'
import type { Filter } from '../../../filter/filter.js'
import { compileJudge } from '../../../filter/matches.js'
import type { Slice, Sliced } from '../../../slices.js'
import type { StoredDocument } from '../../../storage.js'
import { parseDocument } from '../../sql/read/judge-texts.js'
import type { Connection } from '../connection/connection.js'
import { byId, LOOK_UP } from './read-list.js'

/** The number of documents of one batch. */
export const BATCH = 500

/** A batch of a stream. */
export interface Batch {
  readonly documents: readonly StoredDocument[]
  /** The number of ids that were looked up. */
  readonly passed: number
}

/** The rest of a list. */
export interface ListRest {
  readonly collection: string
  readonly filter: Filter
  readonly ids: readonly string[]
}

/**
 * Reads the next documents of the rest of a list that still exist and match. `connect` returns the connection for
 * each slice.
 */
export function* readBatch(
  connect: () => Connection,
  { collection, filter, ids }: ListRest,
  slice: Slice,
): Sliced<Batch> {
  const judge = compileJudge(filter)
  const documents: StoredDocument[] = []
  let bytes = 0
  for (const [i, id] of ids.entries()) {
    if (documents.length === BATCH) return { documents, passed: i }
    if (slice.left <= 0) yield
    slice.left -= LOOK_UP
    const text = connect().first(byId(collection), [id])
    if (typeof text !== 'string') continue
    bytes += Buffer.byteLength(text)
    if (documents.length > 0 && bytes > bounds.batchBytes) return { documents, passed: i }
    const document = parseDocument(text, slice)
    let verdict = judge(document, slice)
    while (verdict === undefined) {
      yield
      verdict = judge(document, slice)
    }
    if (verdict) documents.push(document)
    else bytes -= Buffer.byteLength(text)
  }
  return { documents, passed: ids.length }
}
