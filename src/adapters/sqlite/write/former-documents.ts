import { matches } from '../../../filter/matches.js'
import type { StoredDocument, WriteStep } from '../../../storage.js'
import { pinnedIds } from '../../sql/pinned-ids.js'
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

/** The most documents that are read for a transaction, and the most bytes of one. */
const MAX_READ = 100
const MAX_SIZE = 2 ** 16

const EMPTY: readonly Change[] = []

/** The document of a text; `null` where there is none, `undefined` where it is none of JSON, as that of a large one. */
function parse(text: unknown): StoredDocument | null | undefined {
  if (text === undefined) return null
  try {
    return JSON.parse(String(text)) as StoredDocument
  } catch {
    return undefined
  }
}

/** Creates the former documents of a connection. */
export function createFormerDocuments(connection: Connection): FormerDocuments {
  /** By collection and `_id`, as the steps so far have left them. */
  const known = new Map<string, StoredDocument | null>()
  const keyOf = (collection: string, id: string): string => `${collection} ${id}`

  const readOne = (collection: string, id: string): void => {
    const key = keyOf(collection, id)
    if (known.has(key) || known.size >= MAX_READ) return
    const text = `SELECT iif(octet_length(document) <= ${MAX_SIZE}, document, '') FROM ${sqliteDialect.table(collection)} WHERE _id = ?`
    const document = parse(connection.first(text, [id]))
    if (document !== undefined) known.set(key, document)
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
    const ids = pinnedIds(step.remove)
    if (!ids) return [undefined]
    return [...new Set(ids)].flatMap((id) => {
      const before = known.get(keyOf(step.in, id))
      return before === null || (before && !matches(step.remove, before)) ? [] : [replace(step.in, id, null)]
    })
  }
  return {
    read(steps) {
      for (const step of steps) {
        const ids = 'replace' in step ? [step.replace._id] : 'remove' in step ? pinnedIds(step.remove) : []
        for (const id of ids?.slice(0, MAX_READ) ?? []) readOne(step.in, id)
      }
    },
    changesOf(step) {
      const changes = changesOf(step)
      return changes.every((change) => change !== undefined) ? changes : undefined
    },
    forgetAll: () => known.clear(),
  }
}
