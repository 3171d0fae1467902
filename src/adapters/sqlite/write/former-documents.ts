import type { Filter } from '../../../filter/filter.js'
import { compileFilter } from '../../../filter/matches.js'
import type { Slice } from '../../../slices.js'
import type { StoredDocument, WriteStep } from '../../../storage.js'
import { pinnedIds } from '../../sql/pinned-ids.js'
import { parseDocument } from '../../sql/read/judge-texts.js'
import type { Connection } from '../connection/connection.js'
import { sqliteDialect } from '../sqlite-dialect.js'

/** What a step makes of a document; `null` where there is none. */
export interface Change {
  readonly before: StoredDocument | null
  readonly after: StoredDocument | null
}

/** The documents that a transaction changes, as they were before. */
export interface FormerDocuments {
  /** Reads those that steps are about to change, inside the transaction. */
  read(steps: readonly WriteStep[]): void
  /** What a step has changed, behind those before it; `undefined` where that is not known. */
  changesOf(step: WriteStep): readonly Change[] | undefined
  forgetAll(): void
}

/** The steps of reading the documents of a transaction: about 1 ms; of one, and the most bytes of one. */
const STEPS = 20_000
const STEPS_A_DOCUMENT = 50
const MAX_SIZE = 2 ** 16

/** The most documents that a removal may name. */
const MAX_NAMED = 100

const EMPTY: readonly Change[] = []

/** The `_id`s that a removal names, where these are few. */
function namedIds(filter: Filter): readonly string[] | undefined {
  const ids = pinnedIds(filter)
  return ids && ids.length <= MAX_NAMED ? ids : undefined
}

/** Creates the former documents of a connection. */
export function createFormerDocuments(connection: Connection): FormerDocuments {
  /** By collection and `_id`, as the steps so far have left them. */
  const known = new Map<string, StoredDocument | null>()
  const keyOf = (collection: string, id: string): string => `${collection} ${id}`
  let slice: Slice = { left: STEPS }

  const readOne = (collection: string, id: string): void => {
    const key = keyOf(collection, id)
    if (known.has(key) || slice.left <= 0) return
    slice.left -= STEPS_A_DOCUMENT
    const text = `SELECT iif(octet_length(document) <= ${MAX_SIZE}, document, '') FROM ${sqliteDialect.table(collection)} WHERE _id = ?`
    try {
      const document = connection.first(text, [id])
      if (document === undefined) known.set(key, null)
      else if (document !== '') known.set(key, parseDocument(String(document), slice))
    } catch {
      // What cannot be read is not known; a write of it meets the same error.
    }
  }
  const replace = (collection: string, id: string, after: StoredDocument | null): Change | undefined => {
    const before = known.get(keyOf(collection, id))
    known.set(keyOf(collection, id), after)
    return before === undefined ? undefined : { before, after }
  }
  const changesOf = (step: WriteStep): readonly (Change | undefined)[] => {
    if ('insert' in step) {
      replace(step.in, step.insert._id, step.insert)
      return [{ before: null, after: step.insert }]
    }
    if ('replace' in step) return [replace(step.in, step.replace._id, step.replace)]
    if (!('remove' in step)) return EMPTY
    const ids = namedIds(step.remove)
    if (!ids) return [undefined]
    const isMatch = compileFilter(step.remove)
    return [...new Set(ids)].flatMap((id) => {
      const before = known.get(keyOf(step.in, id))
      return before === null || (before && !isMatch(before)) ? [] : [replace(step.in, id, null)]
    })
  }
  return {
    read(steps) {
      for (const step of steps) {
        const ids = 'replace' in step ? [step.replace._id] : 'remove' in step ? namedIds(step.remove) : []
        for (const id of ids ?? []) readOne(step.in, id)
      }
    },
    changesOf(step) {
      const changes = changesOf(step)
      return changes.every((change) => change !== undefined) ? changes : undefined
    },
    forgetAll() {
      known.clear()
      slice = { left: STEPS }
    },
  }
}
