import { isId, or } from '../../filter/filter.js'
import type { ReadAccess } from '../../permissions/read-gate.js'
import { BATCH_BYTES, type Reader } from '../store.js'

/** Ids that are asked for at once. */
const MAX_IDS = 1000

/** Characters of texts that are kept, unless one alone is longer. */
const MAX_CHARACTERS = 2 * 1024 * 1024

/** The texts of documents of one collection, each made once, as long as there is room for it. */
export interface ExpandedTexts {
  /** How many ids it is worth asking for at once. */
  readonly window: number
  /** Whether it is known if there is such a document that the caller may read. */
  isKnown(id: string): boolean
  /** The text of a document that is known and that the caller may read. */
  get(id: string): string | undefined
  /** Has the first of some ids known, and as many of the others as there is room for. */
  find(ids: readonly string[]): Promise<void>
}

export function createExpandedTexts(reader: Reader, access: ReadAccess): ExpandedTexts {
  /** `undefined`: there is none, or none that may be read. Oldest first. */
  const texts = new Map<string, string | undefined>()
  let characters = 0
  let window = MAX_IDS

  const forget = (id: string): void => {
    characters -= weigh(id, texts.get(id))
    texts.delete(id)
  }
  const keep = (id: string, text: string | undefined): void => {
    texts.set(id, text)
    characters += weigh(id, text)
    for (const oldest of texts.keys()) {
      if (characters <= MAX_CHARACTERS || oldest === id) break
      forget(oldest)
    }
  }
  /** Asks for documents and writes them, in the order of need, until it is enough at once. */
  const ask = async (ids: readonly string[]): Promise<void> => {
    const listed = await reader.list({ filter: or(ids.map(isId)), bytes: BATCH_BYTES })
    const unread = new Set(listed.rest)
    const documents = new Map(listed.map((document) => [document._id, document]))
    let written = 0
    let left = BATCH_BYTES
    for (const id of ids) {
      const document = documents.get(id)
      if (!document && !unread.has(id)) keep(id, undefined)
      if (!document || left <= 0) continue
      const text = access.write(document)
      left -= text.length
      written += 1
      keep(id, text)
    }
    const isWhole = written === documents.size && unread.size === 0
    window = isWhole ? Math.min(MAX_IDS, 2 * window) : Math.max(1, 2 * written)
  }
  return {
    get window() {
      return window
    },
    isKnown: (id) => texts.has(id),
    get: (id) => texts.get(id),
    async find(ids) {
      await ask(ids)
      const [first] = ids
      // Where not all were handed out, it need not be among those that were.
      if (first !== undefined && !texts.has(first)) await ask([first])
    },
  }
}

const weigh = (id: string, text = ''): number => id.length + text.length
