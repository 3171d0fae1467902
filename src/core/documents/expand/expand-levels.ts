import { bounds } from '../../bounds.js'
import { isId, or } from '../../filter/filter.js'
import { compilePath, isObject } from '../../json/own-properties.js'
import { isUuid } from '../../json/uuid.js'
import type { Expansion } from '../../query/compile-expand.js'
import type { Call } from '../../request/call.js'
import { createPace, type Pace } from '../../request/pace.js'
import { stepsToWrite } from '../../slices.js'
import type { JsonObject } from '../../types.js'
import { textOf } from '../read/kept-text.js'

/** The number of references that may still be expanded within one array of a document. */
interface ArrayBudget {
  left: number
}

/**
 * A reference to expand. `read` returns its value in a document, or `undefined` if the document has an array where a
 * single value is declared, or the reverse. `onward` contains the references to expand in the referenced documents.
 */
interface Branch extends Pick<Expansion, 'path' | 'target'> {
  readonly read: (document: JsonObject) => unknown
  readonly onward: readonly Branch[]
}

const compileBranches = (expansions: readonly Expansion[]): readonly Branch[] =>
  expansions.map(({ path, target, isList, onward }) => {
    const read = compilePath(path)
    return {
      path,
      target,
      read: (document) => {
        const value = read(document)
        return Array.isArray(value) === isList ? value : undefined
      },
      onward: compileBranches(onward),
    }
  })

/** A document to write: a document of the response, or a document that replaces a reference to it. */
interface ExpandedReference {
  readonly id: string
  readonly value: JsonObject
  /** The document as JSON, if nothing is expanded in it. */
  readonly text?: string
  /** The collection from which to read the document again, if `value` has only the properties that are expanded. */
  readonly from?: string
  readonly branches: readonly Branch[]
  readonly room: ArrayBudget | undefined
  /**
   * For each path, the documents that replace the ids, in the order of the ids. `undefined` for an id that is not
   * replaced.
   */
  readonly inside: Map<string, readonly (ExpandedReference | undefined)[]>
}

/** The other properties of a document in which nothing is expanded. They are the same at any position. */
const LEAF = { branches: [], room: undefined, inside: new Map() } as const

/** The steps of an expansion, and of each `_id` in it. */
const STEPS_AN_EXPANSION = 20
const STEPS_AN_ID = 6

const idsAt = (named: unknown): readonly unknown[] => (Array.isArray(named) ? named : [named])

/** The maximum number of ids in one query. */
const MAX_IDS = 1000

/** Returns, for each collection, the names of the properties that are expanded in its documents. */
function collectNeeded(
  branches: readonly Branch[],
  into = new Map<string, Set<string>>(),
): ReadonlyMap<string, ReadonlySet<string>> {
  for (const { target, onward } of branches) {
    const names = into.get(target) ?? new Set(['_id'])
    into.set(target, names)
    for (const { path } of onward) names.add(path.split('.')[0] ?? '')
    collectNeeded(onward, into)
  }
  return into
}

/** The documents that the references of a batch point to. */
interface Library {
  /** Notes the ids of the references in some documents. */
  note(places: readonly ExpandedReference[]): Promise<void>
  /** Reads the documents with the noted ids. */
  learn(): Promise<void>
  find(target: string, id: unknown): ExpandedReference | undefined
}

function createLibrary(call: Call, branches: readonly Branch[], pace: Pace): Library {
  const needed = collectNeeded(branches)
  /** `null`: the document does not exist, or the caller may not read it. */
  const known = new Map<string, Map<unknown, ExpandedReference | null>>()
  const asked = new Map<string, Set<string>>()
  let held = 0

  const keep = (target: string, value: JsonObject, text: string): ExpandedReference => {
    const id = String(value._id)
    held += text.length
    if (held <= bounds.heldCharacters) return { ...LEAF, id, value, text }
    held -= text.length
    const part = Object.fromEntries(Object.entries(value).filter(([name]) => needed.get(target)?.has(name)))
    return { ...LEAF, id, value: part, from: target }
  }
  const ask = async (target: string, ids: readonly string[]): Promise<void> => {
    const learning = call.learnToRead({ name: target })
    if (learning) await learning
    const access = call.access({ name: target })
    const found = known.get(target) ?? new Map<unknown, ExpandedReference | null>()
    known.set(target, found)
    for (const id of ids) found.set(id, null)
    if (!access) return
    const reader = call.store.read(access)
    for (let left = ids; left.length > 0; ) {
      const filter = or(left.slice(0, MAX_IDS).map(isId))
      const listed = await reader.list({ filter, bytes: bounds.readBytes })
      left = [...(listed.rest ?? []), ...left.slice(MAX_IDS)]
      for (const document of listed) {
        const text = textOf(access, document)
        found.set(document._id, keep(target, access.show(document), text))
        const pause = pace(stepsToWrite(text.length))
        if (pause) await pause
      }
    }
  }
  return {
    async note(places) {
      for (const { value, branches, room } of places)
        for (const { read, target } of branches) {
          if (room && room.left <= 0) continue
          const [ids, found] = [asked.get(target) ?? new Set<string>(), known.get(target)]
          asked.set(target, ids)
          const named = idsAt(read(value))
          for (const id of named) if (typeof id === 'string' && !found?.has(id) && isUuid(id)) ids.add(id)
          const pause = pace(STEPS_AN_EXPANSION + named.length * STEPS_AN_ID)
          if (pause) await pause
        }
    },
    async learn() {
      for (const [target, ids] of asked) if (ids.size > 0) await ask(target, [...ids])
      asked.clear()
    },
    find: (target, id) => known.get(target)?.get(id) ?? undefined,
  }
}

/**
 * Creates a printer that also expands references in expanded documents. It reads level by level, with one query per
 * level and collection (CONTRACT.md §2, "Expand"). Only the expansions of the document that is being written are in
 * memory, because a short path may expand to any number of documents.
 */
export function createLevelPrinter(
  call: Call,
  expansions: readonly Expansion[],
): (documents: Iterable<JsonObject>) => AsyncGenerator<string, void, undefined> {
  const pace = createPace(() => call.deadline.signal)
  const branches = compileBranches(expansions)
  const levels = countLevels(branches)
  return async function* (documents) {
    const roots = Array.from(documents)
    const growing: LevelContext = {
      library: createLibrary(call, branches, pace),
      limit: call.service.plan.limits.expanded,
      pace,
    }
    const rootOf = (value: JsonObject): ExpandedReference =>
      placeOf({ ...LEAF, id: '', value }, branches, undefined)
    for (let level = 0; level < levels; level++) {
      for (const value of roots) await growing.library.note(await grow(rootOf(value), level, growing))
      await growing.library.learn()
    }
    let text = ''
    let separator = ''
    for (const value of roots) {
      const root = rootOf(value)
      await grow(root, levels, growing)
      text += separator
      separator = ','
      for (const part of writeObject(value, '', root)) {
        text += typeof part === 'string' ? part : await writeAnew(call, part)
        if (text.length < bounds.writtenCharacters) continue
        await pace(stepsToWrite(text.length))
        yield text
        text = ''
      }
    }
    if (text !== '') yield text
  }
}

const countLevels = (branches: readonly Branch[]): number =>
  branches.length === 0 ? 0 : 1 + Math.max(...branches.map(({ onward }) => countLevels(onward)))

const placeOf = (
  { text, ...leaf }: ExpandedReference,
  branches: readonly Branch[],
  room: ArrayBudget | undefined,
): ExpandedReference => ({
  ...leaf,
  branches,
  room,
  inside: new Map(),
})

/** The context in which levels are expanded. */
interface LevelContext {
  readonly library: Library
  /** The maximum number of references that are expanded within one array of a document. */
  readonly limit: number
  readonly pace: Pace
}

/** Expands some levels of a document. Returns the documents of the last level that contain references to expand. */
async function grow(
  root: ExpandedReference,
  levels: number,
  { library, limit, pace }: LevelContext,
): Promise<readonly ExpandedReference[]> {
  let level: readonly ExpandedReference[] = [root]
  for (let left = levels; left > 0 && level.length > 0; left--) {
    const next: ExpandedReference[] = []
    for (const place of level)
      for (const branch of place.branches) {
        const found = expandOne(place, branch, library, limit)
        place.inside.set(branch.path, found)
        for (const one of found) if (one && one.branches.length > 0) next.push(one)
        const pause = pace(STEPS_AN_EXPANSION + found.length * STEPS_AN_ID)
        if (pause) await pause
      }
    level = next
  }
  return level
}

/**
 * Returns the documents that replace the ids at one path, within the budget; `undefined` for an id that is not
 * replaced.
 */
function expandOne(
  { value, room: around }: ExpandedReference,
  { read, target, onward }: Branch,
  library: Library,
  limit: number,
): readonly (ExpandedReference | undefined)[] {
  const named = read(value)
  const room = around ?? (Array.isArray(named) ? { left: limit } : undefined)
  return idsAt(named).map((id) => {
    const leaf = room && room.left <= 0 ? undefined : library.find(target, id)
    if (!leaf) return undefined
    if (room) room.left -= 1
    return onward.length === 0 ? leaf : placeOf(leaf, onward, room)
  })
}

/** Text, or a document that must be read again first. */
type TextOrReference = string | ExpandedReference

function* writeObject(
  value: JsonObject,
  at: string,
  place: ExpandedReference,
): Generator<TextOrReference, void, undefined> {
  let text = '{'
  let separator = ''
  for (const [name, inner] of Object.entries(value)) {
    const path = at + name
    text += `${separator}${JSON.stringify(name)}:`
    separator = ','
    const inside = place.inside.get(path)
    if (inside) {
      yield text
      text = ''
      yield* writeReferences(inner, inside)
    } else if (isObject(inner) && place.branches.some((one) => one.path.startsWith(`${path}.`))) {
      yield text
      text = ''
      yield* writeObject(inner, `${path}.`, place)
    } else text += JSON.stringify(inner)
  }
  yield `${text}}`
}

function* writeReferences(
  value: unknown,
  inside: readonly (ExpandedReference | undefined)[],
): Generator<TextOrReference, void, undefined> {
  const isList = Array.isArray(value)
  if (isList) yield '['
  for (const [i, id] of idsAt(value).entries()) {
    if (i > 0) yield ','
    const place = inside[i]
    // If the document was read again, it may now have other references than those that were expanded.
    if (place?.id !== id || !place) yield JSON.stringify(id)
    else if (place.from !== undefined) yield place
    else if (place.text !== undefined) yield place.text
    else yield* writeObject(place.value, '', place)
  }
  if (isList) yield ']'
}

/** Reads a document again that was not held whole. Returns its text, or its `_id` if it is no longer found. */
async function writeAnew(call: Call, { from = '', ...place }: ExpandedReference): Promise<string> {
  const access = call.access({ name: from })
  const document = access && (await call.store.read(access).find(place.id))
  if (!access || !document) return JSON.stringify(place.id)
  let text = ''
  for (const part of writeObject(access.show(document), '', place))
    text += typeof part === 'string' ? part : await writeAnew(call, part)
  return text
}
