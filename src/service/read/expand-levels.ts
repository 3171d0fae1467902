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

/** A document that is written: one of the answer, or one that stands in place of its `_id`. */
interface Place {
  readonly id: string
  readonly value: JsonObject
  /** Where it can be read again, if `value` has only what is expanded in it. */
  readonly from?: string
  readonly expansions: readonly Expansion[]
  readonly room: Room | undefined
  /** What stands in place of the ids, in their order; a hole where the `_id` stays. */
  readonly inside: Map<string, readonly (Place | undefined)[]>
}

/** A document that is known to be readable; whole, or with what is expanded in it. */
type Known = Pick<Place, 'id' | 'value' | 'from'>

/** The most characters of documents that are held whole for one batch; others are read again when written. */
const MAX_HELD = 4 * 1024 * 1024

/** The most ids in one query. */
const MAX_IDS = 1000

/**
 * Creates a printer that goes on from the documents in place of references to those to which they refer, level
 * by level: one query for each level and collection (CONTRACT.md §2, "Expand").
 */
export function createLevelPrinter(
  call: Call,
  expansions: readonly Expansion[],
): (documents: Iterable<JsonObject>) => AsyncGenerator<string, void, undefined> {
  const pace = createPace(() => call.deadline.signal)
  return async function* (documents) {
    const roots = Array.from(documents, (value): Place => placeOf({ id: '', value }, expansions, undefined))
    await expandAll(call, roots, pace)
    let text = ''
    for (const part of writeAll(roots)) {
      text += typeof part === 'string' ? part : await writeAnew(call, part)
      if (text.length < PIECE) continue
      await pace(stepsToWrite(text.length))
      yield text
      text = ''
    }
    if (text !== '') yield text
  }
}

const placeOf = (known: Known, expansions: readonly Expansion[], room: Room | undefined): Place => ({
  ...{ ...known, expansions, room },
  inside: new Map(),
})

async function expandAll(call: Call, roots: readonly Place[], pace: Pace): Promise<void> {
  const library = createLibrary(call, roots[0]?.expansions ?? [], pace)
  const { expanded } = call.service.plan.limits
  for (let level = roots; level.length > 0; ) {
    await library.learn(level)
    const next: Place[] = []
    for (const place of level)
      for (const expansion of place.expansions) {
        const found = expandOne(place, expansion, { library, limit: expanded })
        place.inside.set(expansion.path, found)
        for (const one of found) if (one && one.expansions.length > 0) next.push(one)
        const pause = pace(1 + found.length / 4)
        if (pause) await pause
      }
    level = next
  }
}

/** What stands in place of the ids at one place of a document, as far as there is room. */
function expandOne(
  { value, room: around }: Place,
  { path, target, onward }: Expansion,
  { library, limit }: { readonly library: Library; readonly limit: number },
): readonly (Place | undefined)[] {
  const named = compilePath(path)(value)
  const room = around ?? (Array.isArray(named) ? { left: limit } : undefined)
  return idsAt(named).map((id) => {
    const known = room && room.left <= 0 ? undefined : library.find(target, id)
    if (!known) return undefined
    if (room) room.left -= 1
    return placeOf(known, onward, room)
  })
}

const idsAt = (named: unknown): readonly unknown[] => (Array.isArray(named) ? named : [named])

/** The names of what is expanded in the documents of each collection. */
function collectNeeded(
  expansions: readonly Expansion[],
  into = new Map<string, Set<string>>(),
): ReadonlyMap<string, ReadonlySet<string>> {
  for (const { target, onward } of expansions) {
    const names = into.get(target) ?? new Set(['_id'])
    into.set(target, names)
    for (const { path } of onward) names.add(path.split('.')[0] ?? '')
    collectNeeded(onward, into)
  }
  return into
}

/** The documents that a batch needs. */
interface Library {
  /** Finds the documents that some places name. */
  learn(places: readonly Place[]): Promise<void>
  find(target: string, id: unknown): Known | undefined
}

function createLibrary(call: Call, expansions: readonly Expansion[], pace: Pace): Library {
  const needed = collectNeeded(expansions)
  /** `null`: the document does not exist, or the caller may not read it. */
  const known = new Map<string, Map<unknown, Known | null>>()
  let held = 0

  const keep = (target: string, value: JsonObject, text: string): Known => {
    const id = String(value._id)
    held += text.length
    if (held <= MAX_HELD) return { id, value }
    held -= text.length
    const part = Object.fromEntries(Object.entries(value).filter(([name]) => needed.get(target)?.has(name)))
    return { id, value: part, from: target }
  }
  const ask = async (target: string, ids: readonly string[]): Promise<void> => {
    const learning = call.learnToRead({ name: target })
    if (learning) await learning
    const access = call.access({ name: target })
    const found = known.get(target) ?? new Map<unknown, Known | null>()
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
    async learn(places) {
      const asked = new Map<string, Set<string>>()
      for (const { value, expansions, room } of places)
        for (const { path, target } of expansions) {
          if (room && room.left <= 0) continue
          const ids = asked.get(target) ?? new Set()
          asked.set(target, ids)
          for (const id of idsAt(compilePath(path)(value)))
            if (typeof id === 'string' && isUuid(id) && !known.get(target)?.has(id)) ids.add(id)
        }
      for (const [target, ids] of asked) if (ids.size > 0) await ask(target, [...ids])
    },
    find: (target, id) => known.get(target)?.get(id) ?? undefined,
  }
}

/** Text, or a document that is read again first. */
type Part = string | Place

function* writeAll(places: readonly Place[]): Generator<Part, void, undefined> {
  let separator = ''
  for (const place of places) {
    yield separator
    yield* writeObject(place.value, '', place)
    separator = ','
  }
}

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
    } else if (isObject(inner) && place.expansions.some((one) => one.path.startsWith(`${path}.`))) {
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
