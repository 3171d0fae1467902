import { isId, or } from '../../filter/filter.js'
import { compilePath, isObject } from '../../json/own-properties.js'
import type { Expansion } from '../../query/compile-expand.js'
import { isUuid } from '../../schema/names.js'
import { stepsToWrite } from '../../slices.js'
import type { JsonObject } from '../../types.js'
import type { Call } from '../call.js'
import { createPace, type Pace } from '../pace.js'
import { BATCH_BYTES } from '../store.js'
import { PIECE } from './text-stream.js'

/** How many expansions there is still room for under one array of a document. */
interface Room {
  left: number
}

/** A reference that is expanded, and how a document is read there. */
interface Branch extends Pick<Expansion, 'path' | 'target'> {
  readonly read: (document: JsonObject) => unknown
  readonly onward: readonly Branch[]
}

const compileBranches = (expansions: readonly Expansion[]): readonly Branch[] =>
  expansions.map(({ path, target, onward }) => ({
    ...{ path, target },
    read: compilePath(path),
    onward: compileBranches(onward),
  }))

/** A document that is written: one of the answer, or one that stands in place of its `_id`. */
interface Place {
  readonly id: string
  readonly value: JsonObject
  /** The document as JSON, where nothing is expanded in it. */
  readonly text?: string
  /** Where it can be read again, if `value` has only what is expanded in it. */
  readonly from?: string
  readonly branches: readonly Branch[]
  readonly room: Room | undefined
  /** What stands in place of the ids, in their order; a hole where the `_id` stays. */
  readonly inside: Map<string, readonly (Place | undefined)[]>
}

/** The most characters of documents that are held whole for one batch; others are read again when written. */
const MAX_HELD = 4 * 1024 * 1024

/** The most ids in one query. */
const MAX_IDS = 1000

/** The steps of an expansion, and of each `_id` in it. */
const STEPS_AN_EXPANSION = 20
const STEPS_AN_ID = 6

/**
 * Creates a printer that goes on from the documents in place of references to those to which they refer, level
 * by level: one query for each level and collection (CONTRACT.md §2, "Expand"). What stands in a document is held
 * while that is written, for a short name may put any number of documents there.
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
    const growing: Growing = {
      library: createLibrary(call, branches, pace),
      limit: call.service.plan.limits.expanded,
      pace,
    }
    const rootOf = (value: JsonObject): Place => placeOf({ ...LEAF, id: '', value }, branches, undefined)
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
        if (text.length < PIECE) continue
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

/** What all documents have in which nothing is expanded: they can stand at any number of places. */
const LEAF = { branches: [], room: undefined, inside: new Map() } as const

const placeOf = ({ text, ...leaf }: Place, branches: readonly Branch[], room: Room | undefined): Place => ({
  ...leaf,
  branches,
  room,
  inside: new Map(),
})

/** What places grow from. */
interface Growing {
  readonly library: Library
  /** The most expansions under one array of a document. */
  readonly limit: number
  readonly pace: Pace
}

/** Expands a document over some levels; returns the places in which more is to be expanded. */
async function grow(
  root: Place,
  levels: number,
  { library, limit, pace }: Growing,
): Promise<readonly Place[]> {
  let level: readonly Place[] = [root]
  for (let left = levels; left > 0 && level.length > 0; left--) {
    const next: Place[] = []
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

/** What stands in place of the ids at one place of a document, as far as there is room. */
function expandOne(
  { value, room: around }: Place,
  { read, target, onward }: Branch,
  library: Library,
  limit: number,
): readonly (Place | undefined)[] {
  const named = read(value)
  const room = around ?? (Array.isArray(named) ? { left: limit } : undefined)
  return idsAt(named).map((id) => {
    const leaf = room && room.left <= 0 ? undefined : library.find(target, id)
    if (!leaf) return undefined
    if (room) room.left -= 1
    return onward.length === 0 ? leaf : placeOf(leaf, onward, room)
  })
}

const idsAt = (named: unknown): readonly unknown[] => (Array.isArray(named) ? named : [named])

/** The names of what is expanded in the documents of each collection. */
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

/** The documents that a batch needs. */
interface Library {
  /** Notes the documents that some places name. */
  note(places: readonly Place[]): Promise<void>
  /** Finds those that were noted. */
  learn(): Promise<void>
  find(target: string, id: unknown): Place | undefined
}

function createLibrary(call: Call, branches: readonly Branch[], pace: Pace): Library {
  const needed = collectNeeded(branches)
  /** `null`: the document does not exist, or the caller may not read it. */
  const known = new Map<string, Map<unknown, Place | null>>()
  const asked = new Map<string, Set<string>>()
  let held = 0

  const keep = (target: string, value: JsonObject, text: string): Place => {
    const id = String(value._id)
    held += text.length
    if (held <= MAX_HELD) return { ...LEAF, id, value, text }
    held -= text.length
    const part = Object.fromEntries(Object.entries(value).filter(([name]) => needed.get(target)?.has(name)))
    return { ...LEAF, id, value: part, from: target }
  }
  const ask = async (target: string, ids: readonly string[]): Promise<void> => {
    const learning = call.learnToRead({ name: target })
    if (learning) await learning
    const access = call.access({ name: target })
    const found = known.get(target) ?? new Map<unknown, Place | null>()
    known.set(target, found)
    for (const id of ids) found.set(id, null)
    if (!access) return
    const reader = call.store.read(access)
    for (let left = ids; left.length > 0; ) {
      const filter = or(left.slice(0, MAX_IDS).map(isId))
      const listed = await reader.list({ filter, bytes: BATCH_BYTES })
      left = [...(listed.rest ?? []), ...left.slice(MAX_IDS)]
      for (const document of listed) {
        const text = access.write(document)
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

/** Text, or a document that is read again first. */
type Part = string | Place

function* writeObject(value: JsonObject, at: string, place: Place): Generator<Part, void, undefined> {
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
  inside: readonly (Place | undefined)[],
): Generator<Part, void, undefined> {
  const isList = Array.isArray(value)
  if (isList) yield '['
  for (const [i, id] of idsAt(value).entries()) {
    if (i > 0) yield ','
    const place = inside[i]
    // A document that was read again may name others by now.
    if (place?.id !== id || !place) yield JSON.stringify(id)
    else if (place.from !== undefined) yield place
    else if (place.text !== undefined) yield place.text
    else yield* writeObject(place.value, '', place)
  }
  if (isList) yield ']'
}

/** The text of a document that was not held whole; its `_id` where it is gone by now. */
async function writeAnew(call: Call, { from = '', ...place }: Place): Promise<string> {
  const access = call.access({ name: from })
  const document = access && (await call.store.read(access).find(place.id))
  if (!access || !document) return JSON.stringify(place.id)
  let text = ''
  for (const part of writeObject(access.show(document), '', place))
    text += typeof part === 'string' ? part : await writeAnew(call, part)
  return text
}
