import { bounds } from '../../bounds.js'
import { isId, or } from '../../filter/filter.js'
import { isObject } from '../../json/own-properties.js'
import { isUuid } from '../../json/uuid.js'
import type { ReadAccess } from '../../permissions/read-gate.js'
import { whenReady } from '../../promises.js'
import type { Expansion } from '../../query/compile-expand.js'
import type { LinkedQuery } from '../../query/query-reader.js'
import type { Call } from '../../request/call.js'
import { createPace } from '../../request/pace.js'
import type { Reader } from '../../request/store.js'
import { stepsToWrite } from '../../slices.js'
import type { StoredDocument } from '../../storage.js'
import type { JsonObject, MaybePromise } from '../../types.js'
import { textOf } from '../read/kept-text.js'

/** An iterator whose next values can be read before they are taken. */
interface LookAhead<T> {
  /** Removes and returns the next value; `undefined` at the end. */
  take(): T | undefined
  /** Iterates over the next values without removing them. They are buffered. */
  ahead(): Iterable<T>
}

/** Creates a look-ahead of an iterator. */
export function createLookAhead<T>(source: Iterator<T>): LookAhead<T> {
  let seen: T[] = []
  let taken = 0
  const see = (): boolean => {
    const { done, value } = source.next()
    if (!done) seen.push(value)
    return !done
  }
  return {
    take() {
      // Drops taken values only occasionally, because this copies the buffer.
      if (taken > seen.length / 2) {
        seen = seen.slice(taken)
        taken = 0
      }
      if (taken === seen.length && !see()) return undefined
      taken += 1
      return seen[taken - 1]
    },
    *ahead() {
      for (let i = taken; i < seen.length || see(); i++) yield seen[i] as T
    },
  }
}

/** The maximum number of ids in one query. */
const MAX_IDS = 1000

/** Caches the JSON texts of documents of one collection. Each is written once, as long as the cache has room. */
interface ExpandedTexts {
  /** Returns the number of ids that are worth reading with one query. */
  window(): number
  /** Whether the cache contains this document, or knows that the caller may not read it. */
  isKnown(id: string): boolean
  /** Returns the text of a known document; `undefined` if the caller may not read it. */
  get(id: string): string | undefined
  /** Reads the document of the first id, and as many of the others as the cache has room for. */
  find(ids: readonly string[]): Promise<void>
}

function createExpandedTexts(reader: Reader, access: ReadAccess): ExpandedTexts {
  /** The texts by id, the oldest first; `undefined` if the document does not exist or the caller may not read it. */
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
  /** Reads documents and caches their texts, in order, until they fill one batch. */
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
      // If the storage did not return all documents, the first may be missing, so it is read alone.
      if (first !== undefined && !texts.has(first)) await ask([first])
    },
  }
}

const weigh = (id: string, text = ''): number => id.length + text.length

/**
 * The properties of a document that are expanded, by name: the texts for a reference, or the expanded properties
 * inside an object.
 */
type Expansions<T> = Map<string, Expansions<T> | ReferenceTexts<T>>

/** The texts of the documents that one property refers to. */
interface ReferenceTexts<T> {
  readonly texts: T
  /** Whether the property is declared as an array of references. */
  readonly isList: boolean
}

/** The number of references that may still be expanded. */
interface ExpansionBudget {
  left: number
}

/** A reference that is replaced by its document, if the caller may read it and the budget allows it. */
interface Slot<T> {
  readonly texts: T
  readonly id: string
  readonly room: ExpansionBudget
}

/** JSON text, or a reference that is still to be replaced. */
type TextOrSlot<T> = string | Slot<T>

/**
 * Creates a printer that replaces the ids of references with their documents, as the caller may read them (CONTRACT.md
 * §2).
 */
export function createExpandingPrinter(
  call: Call,
  expand: readonly Expansion[],
): (documents: Iterable<JsonObject>) => AsyncGenerator<string, void, undefined> {
  const pace = createPace(() => call.deadline.signal)
  const limit = call.service.plan.limits.expanded
  return async function* (documents) {
    const expansions: Expansions<ExpandedTexts> = new Map()
    for (const { path, target, isList } of expand) {
      const learning = call.learnToRead({ name: target })
      if (learning) await learning
      const access = call.access({ name: target })
      if (!access) continue
      const texts = createExpandedTexts(call.store.read(access), access)
      place(expansions, path.split('.'), { texts, isList })
    }
    const parts = createLookAhead(writeAll(documents, expansions, limit))
    let text = ''
    for (let part = parts.take(); part !== undefined; part = parts.take()) {
      if (typeof part === 'string') text += part
      else {
        const { texts, id, room } = part
        if (room.left > 0 && !texts.isKnown(id))
          await texts.find(findIds(part, parts.ahead(), texts.window()))
        text += fill(part, texts)
      }
      if (text.length < bounds.writtenCharacters) continue
      await pace(stepsToWrite(text.length))
      yield text
      text = ''
    }
    if (text !== '') yield text
  }
}

/** Returns the text of the referenced document, or its `_id` if the caller may not read it or the budget is used up. */
function fill({ id, room }: Slot<unknown>, texts: Pick<ExpandedTexts, 'get'>): string {
  const expanded = room.left > 0 ? texts.get(id) : undefined
  if (expanded !== undefined) room.left -= 1
  return expanded ?? JSON.stringify(id)
}

/** Registers the texts of an expansion at its path. */
function place<T>(
  expansions: Expansions<T>,
  [name = '', ...rest]: readonly string[],
  texts: ReferenceTexts<T>,
): void {
  if (rest.length === 0) {
    expansions.set(name, texts)
    return
  }
  const known = expansions.get(name)
  const inside: Expansions<T> = known instanceof Map ? known : new Map()
  expansions.set(name, inside)
  place(inside, rest, texts)
}

/** Writes documents as JSON. Each reference to expand is a separate slot between the texts. */
function* writeAll<T>(
  documents: Iterable<JsonObject>,
  expansions: Expansions<T>,
  limit: number,
): Generator<TextOrSlot<T>, void, undefined> {
  let separator = ''
  for (const document of documents) {
    yield separator
    yield* writeObject(document, expansions, limit)
    separator = ','
  }
}

function* writeObject<T>(
  value: JsonObject,
  expansions: Expansions<T>,
  limit: number,
): Generator<TextOrSlot<T>, void, undefined> {
  let text = '{'
  let separator = ''
  for (const [name, inner] of Object.entries(value)) {
    const expansion = expansions.get(name)
    text += `${separator}${JSON.stringify(name)}:`
    separator = ','
    if (expansion instanceof Map && isObject(inner)) {
      yield text
      yield* writeObject(inner, expansion, limit)
      text = ''
    } else if (expansion && !(expansion instanceof Map) && expansion.isList === Array.isArray(inner)) {
      yield text
      yield* writeReferences(inner, expansion.texts, limit)
      text = ''
    } else text += JSON.stringify(inner)
  }
  yield `${text}}`
}

/** Writes one reference, or an array of them. */
function* writeReferences<T>(
  value: unknown,
  texts: T,
  limit: number,
): Generator<TextOrSlot<T>, void, undefined> {
  const writeOne = (one: unknown, room: ExpansionBudget): TextOrSlot<T> =>
    typeof one === 'string' && isUuid(one) ? { texts, id: one, room } : JSON.stringify(one)
  if (!Array.isArray(value)) {
    yield writeOne(value, { left: 1 })
    return
  }
  const room = { left: limit }
  let separator = '['
  for (const element of value) {
    yield separator
    yield writeOne(element, room)
    separator = ','
  }
  yield separator === '[' ? '[]' : ']'
}

/** Returns the ids to read with the next query, at most `count`, in the order in which they are needed. */
function findIds(
  first: Slot<ExpandedTexts>,
  ahead: Iterable<TextOrSlot<ExpandedTexts>>,
  count: number,
): readonly string[] {
  const { texts } = first
  const ids = new Set([first.id])
  const wanted = new Map([[first.room, 1]])
  let characters = 0
  for (const part of ahead) {
    characters += typeof part === 'string' ? part.length : part.id.length
    if (ids.size >= count || characters > bounds.searchedCharacters) break
    if (typeof part === 'string' || part.texts !== texts || texts.isKnown(part.id)) continue
    const already = wanted.get(part.room) ?? 0
    if (already >= part.room.left) continue
    wanted.set(part.room, already + 1)
    ids.add(part.id)
  }
  return [...ids]
}

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
