import { isId, or } from '../../filter/filter.js'
import { freezeDeep } from '../../json/freeze-deep.js'
import { whenReady } from '../../promises.js'
import type { Expansion } from '../../query/compile-expand.js'
import type { LinkedQuery } from '../../query/query-reader.js'
import type { Listed, StoredDocument } from '../../storage.js'
import type { JsonObject, MaybePromise } from '../../types.js'
import type { Call } from '../call.js'
import { isSame, type KeptPage, type Looked } from '../kept-pages.js'
import { BATCH_BYTES } from '../store.js'
import { type Expansions, fill, type Part, place, writeAll } from './expand-documents.js'
import { textOf } from './kept-text.js'
import { PIECE } from './text-stream.js'

/** The most documents of a short page, and the most that it names at one place: with more, one is seldom like the last. */
const MAX_DOCUMENTS = 100

/** A page whose references will be replaced. */
interface Expanding {
  readonly query: LinkedQuery
  readonly documents: readonly StoredDocument[]
  /** The documents as they were asked for. */
  readonly selected: Iterable<JsonObject>
}

/** The documents that a page names at one place, and their texts. */
interface Shelf {
  readonly target: string
  readonly ids: Set<string>
  readonly texts: Map<string, string>
}

/**
 * A page with the documents that its references name in their place, if it is short and goes over one level;
 * otherwise `undefined`. The page is kept, and given again where the same accesses find the same documents.
 */
export function expandPage(call: Call, page: Expanding): MaybePromise<KeptPage | undefined> {
  const { query, documents } = page
  const { expand } = query
  if (documents.length > MAX_DOCUMENTS || !areFrozen(documents)) return undefined
  if (expand.some(({ onward }) => onward.length > 0)) return undefined
  return whenReady(learnAll(call, expand), () => {
    if (expand.some(({ target }) => keyOf(call, target) === undefined)) return undefined
    const known = call.service.pages.find(query, documents)
    return whenReady(known?.looked && isUnchanged(call, known.looked), (isKnown) =>
      isKnown ? known : write(call, page),
    )
  })
}

const areFrozen = (documents: readonly StoredDocument[]): boolean =>
  documents.every((document) => Object.isFrozen(document))

/** Reads the claims that accesses depend on. */
function learnAll(call: Call, expand: readonly Expansion[]): Promise<unknown> | undefined {
  const learning = expand.flatMap(({ target }) => call.learnToRead({ name: target }) ?? [])
  return learning.length > 0 ? Promise.all(learning) : undefined
}

/** Stands for what the caller may read of a collection; `undefined` where that depends on the time. */
function keyOf(call: Call, target: string): number | null | undefined {
  const access = call.access({ name: target })
  return access ? access.key : null
}

/** Whether the same accesses still find the same. */
function isUnchanged(call: Call, [first, ...others]: readonly Looked[]): MaybePromise<boolean> {
  if (!first) return true
  if (keyOf(call, first.target) !== first.key) return false
  return whenReady(look(call, first), (found) =>
    !found.rest?.length && isSame(first.found, found) ? isUnchanged(call, others) : false,
  )
}

/** The documents with some ids that may be read; of large ones, the first. */
function look(call: Call, { target, filter }: Pick<Looked, 'target' | 'filter'>): MaybePromise<Listed> {
  const access = call.access({ name: target })
  return access ? call.store.read(access).list({ filter, sort: UNSORTED, bytes: BATCH_BYTES }) : UNSORTED
}

const UNSORTED: readonly never[] = Object.freeze([])

/** Writes a page, and keeps it if it cannot change. */
function write(call: Call, { query, documents, selected }: Expanding): MaybePromise<KeptPage | undefined> {
  const shelves: Shelf[] = []
  const expansions: Expansions<Shelf> = new Map()
  for (const { path, target, isList } of query.expand) {
    const shelf: Shelf = { target, ids: new Set(), texts: new Map() }
    shelves.push(shelf)
    place(expansions, path.split('.'), { texts: shelf, isList })
  }
  const parts: Part<Shelf>[] = []
  let length = 0
  for (const part of writeAll(selected, expansions, call.service.plan.limits.expanded)) {
    parts.push(part)
    length += typeof part === 'string' ? part.length : part.id.length
    if (typeof part !== 'string') part.texts.ids.add(part.id)
    if (length > PIECE || (typeof part !== 'string' && part.texts.ids.size > MAX_DOCUMENTS)) return undefined
  }
  return whenReady(lookUp(call, shelves), (looked) => {
    const text = looked && join(parts)
    if (!looked || text === undefined) return undefined
    const page = { documents: [...documents], looked, json: encoder.encode(text) }
    if (looked.every(({ found }) => areFrozen(found))) call.service.pages.keep(query, page)
    return page
  })
}

/** Finds the documents of all shelves, and writes their texts; `undefined` where these are too long together. */
function lookUp(
  call: Call,
  [shelf, ...others]: readonly Shelf[],
  before: readonly Looked[] = [],
  room: number = PIECE,
): MaybePromise<readonly Looked[] | undefined> {
  if (!shelf) return before
  const { target, ids, texts } = shelf
  if (ids.size === 0) return lookUp(call, others, before, room)
  const filter = freezeDeep(or(Array.from(ids, isId)))
  return whenReady(look(call, { target, filter }), (found) => {
    if (found.rest?.length) return undefined
    const access = call.access({ name: target })
    let left = room
    for (const document of found) {
      const text = access ? textOf(access, document) : ''
      left -= text.length
      if (left < 0) return undefined
      texts.set(document._id, text)
    }
    const looked = { target, filter, size: ids.size, key: access?.key ?? null, found: [...found] }
    return lookUp(call, others, [...before, looked], left)
  })
}

/** Puts the texts into their places; `undefined` where that is too long. */
function join(parts: readonly Part<Shelf>[]): string | undefined {
  let text = '['
  for (const part of parts) {
    text += typeof part === 'string' ? part : fill(part, part.texts.texts)
    if (text.length > PIECE) return undefined
  }
  return `${text}]`
}

const encoder = new TextEncoder()
