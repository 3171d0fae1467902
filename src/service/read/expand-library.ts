import { bounds } from '../../bounds.js'
import { isId, or } from '../../filter/filter.js'
import { compilePath } from '../../json/own-properties.js'
import { isUuid } from '../../json/uuid.js'
import type { Expansion } from '../../query/compile-expand.js'
import { stepsToWrite } from '../../slices.js'
import type { JsonObject } from '../../types.js'
import type { Call } from '../call.js'
import type { Pace } from '../pace.js'
import { textOf } from './kept-text.js'

/** The number of further expansions allowed under one array of a document. */
export interface ArrayBudget {
  left: number
}

/** A reference that is expanded, and its reader: `undefined` if the document stores another type of value. */
export interface Branch extends Pick<Expansion, 'path' | 'target'> {
  readonly read: (document: JsonObject) => unknown
  readonly onward: readonly Branch[]
}

export const compileBranches = (expansions: readonly Expansion[]): readonly Branch[] =>
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

/** A document that is written: one of the response, or one that replaces its `_id`. */
export interface ExpandedReference {
  readonly id: string
  readonly value: JsonObject
  /** The document as JSON, if nothing is expanded in it. */
  readonly text?: string
  /** The collection to read it again from, if `value` has only the properties that are expanded. */
  readonly from?: string
  readonly branches: readonly Branch[]
  readonly room: ArrayBudget | undefined
  /** The documents that replace the ids, in their order; `undefined` where the `_id` stays. */
  readonly inside: Map<string, readonly (ExpandedReference | undefined)[]>
}

/** Properties shared by all documents without expansions: such a document can occur at any number of places. */
export const LEAF = { branches: [], room: undefined, inside: new Map() } as const

/** The steps of an expansion, and of each `_id` in it. */
export const STEPS_AN_EXPANSION = 20
export const STEPS_AN_ID = 6

export const idsAt = (named: unknown): readonly unknown[] => (Array.isArray(named) ? named : [named])

/** The most ids in one query. */
const MAX_IDS = 1000

/** The names of the expanded properties in the documents of each collection. */
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
export interface Library {
  /** Notes the documents that some places refer to. */
  note(places: readonly ExpandedReference[]): Promise<void>
  /** Reads the noted documents. */
  learn(): Promise<void>
  find(target: string, id: unknown): ExpandedReference | undefined
}

export function createLibrary(call: Call, branches: readonly Branch[], pace: Pace): Library {
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
