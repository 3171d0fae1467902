import { bounds } from '../../bounds.js'
import { isId, or } from '../../filter/filter.js'
import { whenReady } from '../../promises.js'
import type { Expansion } from '../../query/compile-expand.js'
import type { LinkedQuery } from '../../query/query-reader.js'
import type { Call } from '../../request/call.js'
import type { StoredDocument } from '../../storage.js'
import type { JsonObject, MaybePromise } from '../../types.js'
import { textOf } from '../read/kept-text.js'
import { type Expansions, fill, place, type TextOrSlot, writeAll } from './expand-documents.js'

/**
 * The maximum number of documents of a short page, and of references at one path. Larger pages are requested too seldom
 * to need this fast path.
 */
const MAX_DOCUMENTS = 100

/** A page whose references are to be replaced. */
interface Expanding {
  readonly query: LinkedQuery
  readonly documents: readonly StoredDocument[]
  /** The documents with the requested properties. */
  readonly selected: Iterable<JsonObject>
}

/** The documents that a page refers to at one path, and their texts. */
interface Shelf {
  readonly target: string
  readonly ids: Set<string>
  readonly texts: Map<string, string>
}

/**
 * Returns the text of a page whose references are replaced with documents, if the page is short and only one level is
 * expanded; otherwise `undefined`.
 */
export function expandPage(call: Call, page: Expanding): MaybePromise<string | undefined> {
  const { query, documents } = page
  const { expand } = query
  if (documents.length > MAX_DOCUMENTS || expand.some(({ onward }) => onward.length > 0)) return undefined
  return whenReady(learnAll(call, expand), () => write(call, page))
}

/** Reads the claims on which the access to referenced documents depends. */
function learnAll(call: Call, expand: readonly Expansion[]): Promise<unknown> | undefined {
  const learning = expand.flatMap(({ target }) => call.learnToRead({ name: target }) ?? [])
  return learning.length > 0 ? Promise.all(learning) : undefined
}

function write(call: Call, { query, selected }: Expanding): MaybePromise<string | undefined> {
  const shelves: Shelf[] = []
  const expansions: Expansions<Shelf> = new Map()
  for (const { path, target, isList } of query.expand) {
    const shelf: Shelf = { target, ids: new Set(), texts: new Map() }
    shelves.push(shelf)
    place(expansions, path.split('.'), { texts: shelf, isList })
  }
  const parts: TextOrSlot<Shelf>[] = []
  let length = 0
  for (const part of writeAll(selected, expansions, call.service.plan.limits.expanded)) {
    parts.push(part)
    length += typeof part === 'string' ? part.length : part.id.length
    if (typeof part !== 'string') part.texts.ids.add(part.id)
    if (
      length > bounds.writtenCharacters ||
      (typeof part !== 'string' && part.texts.ids.size > MAX_DOCUMENTS)
    )
      return undefined
  }
  return whenReady(lookUp(call, shelves), (isWhole) => (isWhole ? join(parts) : undefined))
}

/** Reads the documents of all shelves, and writes their texts. Returns false if the texts are too long in total. */
function lookUp(
  call: Call,
  [shelf, ...others]: readonly Shelf[],
  room: number = bounds.writtenCharacters,
): MaybePromise<boolean> {
  if (!shelf) return true
  const { target, ids, texts } = shelf
  const access = call.access({ name: target })
  if (ids.size === 0 || !access) return lookUp(call, others, room)
  const filter = or(Array.from(ids, isId))
  return whenReady(call.store.read(access).list({ filter, bytes: bounds.readBytes }), (found) => {
    if (found.rest?.length) return false
    let left = room
    for (const document of found) {
      const text = textOf(access, document)
      left -= text.length
      if (left < 0) return false
      texts.set(document._id, text)
    }
    return lookUp(call, others, left)
  })
}

/** Inserts the texts at their positions; `undefined` if the result is too long. */
function join(parts: readonly TextOrSlot<Shelf>[]): string | undefined {
  let text = '['
  for (const part of parts) {
    text += typeof part === 'string' ? part : fill(part, part.texts.texts)
    if (text.length > bounds.writtenCharacters) return undefined
  }
  return `${text}]`
}
