import { bounds } from '../../bounds.js'
import { isId, or } from '../../filter/filter.js'
import type { ReadAccess } from '../../permissions/read-gate.js'
import type { Reader } from '../store.js'
import { textOf } from './kept-text.js'

/** The most ids in one query. */
const MAX_IDS = 1000

/** The texts of documents of one collection; each is written once, while the cache has room. */
export interface ExpandedTexts {
  /** The number of ids that are worth reading at once. */
  window(): number
  /** Whether it is known if the caller may read a document with this id. */
  isKnown(id: string): boolean
  /** The text of a known document that the caller may read. */
  get(id: string): string | undefined
  /** Reads the first of some ids, and as many of the others as there is room for. */
  find(ids: readonly string[]): Promise<void>
}

/** Creates the cache of one collection's texts. */
export function createExpandedTexts(reader: Reader, access: ReadAccess): ExpandedTexts {
  /** `undefined`: the document does not exist, or the caller may not read it. The oldest entry is first. */
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
      if (characters <= bounds.expandedCharacters || oldest === id) break
      forget(oldest)
    }
  }
  /** Reads documents and writes their texts, in order, until they fill one batch. */
  const ask = async (ids: readonly string[]): Promise<void> => {
    const listed = await reader.list({ filter: or(ids.map(isId)), bytes: bounds.readBytes })
    const unread = new Set(listed.rest)
    const documents = new Map(listed.map((document) => [document._id, document]))
    let written = 0
    let left = bounds.readBytes
    for (const id of ids) {
      const document = documents.get(id)
      if (!document && !unread.has(id)) keep(id, undefined)
      if (!document || left <= 0) continue
      const text = textOf(access, document)
      left -= text.length
      written += 1
      keep(id, text)
    }
    const isWhole = written === documents.size && unread.size === 0
    window = isWhole ? Math.min(MAX_IDS, 2 * window) : Math.max(1, 2 * written)
  }
  return {
    window: () => window,
    isKnown: (id) => texts.has(id),
    get: (id) => texts.get(id),
    async find(ids) {
      await ask(ids)
      const [first] = ids
      // If the storage did not return all, the first one may be missing.
      if (first !== undefined && !texts.has(first)) await ask([first])
    },
  }
}

const weigh = (id: string, text = ''): number => id.length + text.length
