import { bounds } from '../../bounds.js'
import { isObject } from '../../json/own-properties.js'
import type { Expansion } from '../../query/compile-expand.js'
import { stepsToWrite } from '../../slices.js'
import type { JsonObject } from '../../types.js'
import type { Call } from '../call.js'
import { createPace, type Pace } from '../pace.js'
import {
  type ArrayBudget,
  type Branch,
  compileBranches,
  createLibrary,
  type ExpandedReference,
  idsAt,
  LEAF,
  type Library,
  STEPS_AN_EXPANSION,
  STEPS_AN_ID,
} from './expand-library.js'

/**
 * Creates a printer that expands references in expanded documents, too, level by level: one query per level and
 * collection (CONTRACT.md §2, "Expand"). Only the expansions of the document being written are in memory, because a
 * short path may expand to any number of documents.
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

/** The context of expanding levels. */
interface LevelContext {
  readonly library: Library
  /** The most expansions under one array of a document. */
  readonly limit: number
  readonly pace: Pace
}

/** Expands a document over some levels; returns the documents with more to expand. */
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

/** The expanded documents of the ids at one path of a document, within the budget. */
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
    // A document that was read again may have other references now.
    if (place?.id !== id || !place) yield JSON.stringify(id)
    else if (place.from !== undefined) yield place
    else if (place.text !== undefined) yield place.text
    else yield* writeObject(place.value, '', place)
  }
  if (isList) yield ']'
}

/** The text of a document that was not kept entirely; its `_id` if it has been deleted. */
async function writeAnew(call: Call, { from = '', ...place }: ExpandedReference): Promise<string> {
  const access = call.access({ name: from })
  const document = access && (await call.store.read(access).find(place.id))
  if (!access || !document) return JSON.stringify(place.id)
  let text = ''
  for (const part of writeObject(access.show(document), '', place))
    text += typeof part === 'string' ? part : await writeAnew(call, part)
  return text
}
