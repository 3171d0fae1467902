import { bounds } from '../../bounds.js'
import { isId, or } from '../../filter/filter.js'
import { compilePath, isObject, pickOwn } from '../../json/own-properties.js'
import { isUuid } from '../../json/uuid.js'
import type { ReadAccess } from '../../permissions/read-gate.js'
import { whenReady } from '../../promises.js'
import type { Expansion } from '../../query/compile-expand.js'
import type { Call } from '../../request/call.js'
import { addSteps, forEachSliced, type Slices, stepsToWrite } from '../../slices.js'
import type { Listed, StoredDocument } from '../../storage.js'
import type { JsonObject, MaybePromise } from '../../types.js'
import type { WriteText } from '../read/hold-or-stream.js'

/** The maximum number of ids in one query. */
const MAX_IDS = 1000

/** The steps of an expansion, and of each `_id` in it. */
const STEPS_AN_EXPANSION = 20
const STEPS_AN_ID = 6

/** A document that replaces references to it. */
interface HeldDocument {
  readonly document: StoredDocument
  readonly access: ReadAccess
  readonly text: string
}

const decoder = new TextDecoder()

/** Reads a readable document as JSON text. Uses its cached bytes if the document is immutable. */
function hold(access: ReadAccess, document: StoredDocument): HeldDocument {
  const kept = access.keep(document)
  return { document, access, text: kept ? decoder.decode(kept.bytes) : access.write(document) }
}

/** The documents of one collection to which references point. Only as many as there is room for are held. */
class Shelf {
  /** The properties in which references are expanded further. */
  readonly needed = new Set(['_id'])
  /** The ids of the documents that `learn` reads. */
  readonly wanted = new Set<string>()
  /** The needed properties of the documents that `learn` has read, by id; `null` for unreadable documents. */
  readonly parts = new Map<string, JsonObject | null>()
  /** The number of ids that are worth reading with one query. */
  window = MAX_IDS
  readonly #held = new Map<string, HeldDocument>()
  #characters = 0
  readonly #call: Call
  readonly #target: string

  constructor(call: Call, target: string) {
    this.#call = call
    this.#target = target
  }

  get(id: string): HeldDocument | undefined {
    return this.#held.get(id)
  }

  /** Whether a document is held, or is known to be unreadable. */
  isKnown(id: string): boolean {
    return this.#held.has(id) || this.parts.get(id) === null
  }

  /** Reads all wanted documents for their needed properties. Holds the first ones too. */
  learn(slices: Slices): MaybePromise<void> {
    const ids = [...this.wanted]
    this.wanted.clear()
    const left: (readonly string[])[] = []
    for (let from = 0; from < ids.length; from += MAX_IDS) left.push(ids.slice(from, from + MAX_IDS))
    // The documents that were too large to be read with others are appended.
    return forEachSliced(slices, left, (some) =>
      this.#read(some, (listed, access) => {
        if (listed.rest?.length) left.push(listed.rest)
        for (const document of listed) {
          const held = hold(access, document)
          this.parts.set(document._id, pickOwn(access.show(document), [...this.needed]))
          spend(slices, stepsToWrite(held.text.length))
          if (this.#characters + held.text.length <= bounds.expandedCharacters) this.#hold(held)
        }
      }),
    )
  }

  /** Reads the document of the first id, and as many of the others as there is room for. */
  find(ids: readonly string[]): MaybePromise<void> {
    const reading = this.#read(ids, (listed, access) => {
      const documents = new Map(listed.map((document) => [document._id, document]))
      let written = 0
      let left = bounds.readBytes
      for (const id of ids) {
        const document = documents.get(id)
        if (!document || left <= 0) continue
        const held = hold(access, document)
        left -= held.text.length
        written += 1
        this.#hold(held)
      }
      const isWhole = written === documents.size && !listed.rest?.length
      this.window = isWhole ? Math.min(MAX_IDS, 2 * this.window) : Math.max(1, 2 * written)
    })
    const [first = ''] = ids
    // If the storage did not return all documents, the first may be missing, so it is read alone.
    return whenReady(reading, () => (ids.length > 1 && !this.isKnown(first) ? this.find([first]) : undefined))
  }

  #hide(ids: readonly string[]): void {
    for (const id of ids) this.parts.set(id, null)
  }

  /** Reads documents. Those that are not found are unreadable. */
  #read(ids: readonly string[], take: (listed: Listed, access: ReadAccess) => void): MaybePromise<void> {
    const collection = { name: this.#target }
    return whenReady(this.#call.learnToRead(collection), () => {
      const access = this.#call.access(collection)
      if (!access) return this.#hide(ids)
      const query = { filter: or(ids.map(isId)), bytes: bounds.readBytes }
      return whenReady(this.#call.store.read(access).list(query), (listed) => {
        const found = new Set([...listed.map(({ _id }) => _id), ...(listed.rest ?? [])])
        this.#hide(ids.filter((id) => !found.has(id)))
        take(listed, access)
      })
    })
  }

  /** Holds a document. Drops the oldest ones if there is no room. */
  #hold(held: HeldDocument): void {
    const { _id: id } = held.document
    this.#held.set(id, held)
    this.#characters += held.text.length
    for (const [oldest, { text }] of this.#held) {
      if (this.#characters <= bounds.expandedCharacters || oldest === id) break
      this.#characters -= text.length
      this.#held.delete(oldest)
    }
  }
}

/** A reference to expand, and the references to expand in the documents that it names. */
interface Branch extends Pick<Expansion, 'path' | 'isList'> {
  readonly read: (document: JsonObject) => unknown
  readonly shelf: Shelf
  readonly onward: readonly Branch[]
}

const compileBranches = (
  expansions: readonly Expansion[],
  shelfOf: (expansion: Expansion) => Shelf,
): readonly Branch[] =>
  expansions.map((expansion) => {
    const { path, isList, onward } = expansion
    const shelf = shelfOf(expansion)
    for (const { path } of onward) shelf.needed.add(path.split('.')[0] ?? '')
    return { path, isList, read: compilePath(path), shelf, onward: compileBranches(onward, shelfOf) }
  })

const countLevels = (expansions: readonly Expansion[]): number =>
  expansions.length === 0 ? 0 : 1 + Math.max(...expansions.map(({ onward }) => countLevels(onward)))

/** The number of references that may still be expanded within one array of a document. */
interface Budget {
  left: number
}

/** A document in which references are expanded: a document of the response, or one that replaces a reference. */
interface Place {
  /** The document, or at least the properties in which references are expanded. */
  readonly value: JsonObject
  readonly branches: readonly Branch[]
  /** The budget of the array that contains the document. */
  readonly around: Budget | undefined
  /** For each path, the references to expand in the order of their ids; `undefined` for an id that stays. */
  readonly inside: Map<string, readonly (Slot | undefined)[]>
}

/** A reference to replace by its document. */
interface Slot {
  readonly id: string
  readonly shelf: Shelf
  /** The budget that the replacement counts towards; `undefined` if it was counted before the document was read. */
  readonly budget: Budget | undefined
  /** The document in which references are expanded further, if there are any. */
  readonly place: Place | undefined
}

const placeOf = (value: JsonObject, branches: readonly Branch[], around?: Budget): Place => ({
  value,
  branches,
  around,
  inside: new Map(),
})

const idsAt = (named: unknown): readonly unknown[] => (Array.isArray(named) ? named : [named])

/** Counts steps, also those after a pause. */
function spend(slices: Slices, steps: number): void {
  slices.left -= steps
  addSteps(steps)
}

/** Text, or a reference to replace. */
type Part = string | Slot

/** The levels of references that are read before documents are printed. */
interface Levels {
  readonly documents: readonly JsonObject[]
  readonly branches: readonly Branch[]
  readonly shelves: ReadonlyMap<string, Shelf>
  readonly growth: Growth
  readonly levels: number
}

/** Reads the documents of all levels from `level` on. */
function learnLevels(reading: Levels, level: number): MaybePromise<void> {
  const { documents, branches, shelves, growth, levels } = reading
  const { slices } = growth
  if (level === levels) return undefined
  const noteRoot = (value: JsonObject): MaybePromise<void> =>
    whenReady(growLevels(growth, [placeOf(value, branches)], level), (places) =>
      forEachSliced(slices, places, (place) => note(place, slices)),
    )
  const learn = (): MaybePromise<void> =>
    forEachSliced(slices, shelves.values(), (shelf) => shelf.learn(slices))
  const learned = whenReady(forEachSliced(slices, documents, noteRoot), learn)
  return whenReady(learned, () => learnLevels(reading, level + 1))
}

/**
 * Prints documents, separated by commas, and replaces the ids of references with their documents, as the caller may
 * read them (CONTRACT.md §2, "Expand").
 *
 * References on one level are replaced while the text is written: each query reads the documents of the next
 * references. If references are expanded in expanded documents, all levels are read first, with one query per level and
 * collection, because the levels are counted one after another.
 */
export function printExpanded(
  call: Call,
  expand: readonly Expansion[],
  documents: readonly JsonObject[],
  { write, slices }: { readonly write: WriteText; readonly slices: Slices },
): MaybePromise<void> {
  const levels = countLevels(expand)
  const isDeep = levels > 1
  const shelves = new Map<string, Shelf>()
  const branches = compileBranches(expand, ({ path, target }) => {
    const name = isDeep ? target : path
    const shelf = shelves.get(name) ?? new Shelf(call, target)
    shelves.set(name, shelf)
    return shelf
  })
  const growth = { slices, limit: call.service.plan.limits.expanded, isDeep }
  const learning = isDeep ? learnLevels({ documents, branches, shelves, growth, levels }, 0) : undefined
  const printing = new Printing(slices, write)
  const all: Part[] = []
  const printRoots = (): MaybePromise<void> =>
    forEachSliced(slices, documents, (value, i) => {
      const root = placeOf(value, branches)
      return whenReady(growLevels(growth, [root], levels), () => {
        // On one level, references of several documents are read together. On several, only those of one are held.
        const parts = isDeep ? [] : all
        addText(parts, i === 0 ? '' : ',')
        addObject(parts, value, '', root)
        return isDeep ? printing.print(parts) : undefined
      })
    })
  const printed = whenReady(learning, printRoots)
  return whenReady(
    whenReady(printed, () => printing.print(all)),
    () => printing.send(),
  )
}

/** Notes the ids of the references in a document. */
function note({ value, branches, around }: Place, slices: Slices): void {
  if (around && around.left <= 0) return
  for (const { read, isList, shelf } of branches) {
    const named = read(value)
    if (Array.isArray(named) !== isList) continue
    const ids = idsAt(named)
    for (const id of ids)
      if (typeof id === 'string' && !shelf.parts.has(id) && isUuid(id)) shelf.wanted.add(id)
    spend(slices, STEPS_AN_EXPANSION + ids.length * STEPS_AN_ID)
  }
}

/** The context in which the references of documents are found. */
interface Growth {
  readonly slices: Slices
  /** The maximum number of references that are expanded within one array of a document. */
  readonly limit: number
  readonly isDeep: boolean
}

/** Finds the references of some levels. Returns the documents of the last level that contain references to expand. */
function growLevels(
  growth: Growth,
  places: readonly Place[],
  levels: number,
): MaybePromise<readonly Place[]> {
  if (levels === 0 || places.length === 0) return places
  const next: Place[] = []
  const growing = forEachSliced(growth.slices, places, (place) => {
    for (const branch of place.branches) {
      const slots = findSlots(growth, place, branch)
      place.inside.set(branch.path, slots)
      for (const slot of slots) if (slot?.place) next.push(slot.place)
      spend(growth.slices, STEPS_AN_EXPANSION + slots.length * STEPS_AN_ID)
    }
  })
  return whenReady(growing, () => growLevels(growth, next, levels - 1))
}

/** Returns the references to expand at one path; `undefined` for an id that stays. */
function findSlots(
  { limit, isDeep }: Growth,
  { value, around }: Place,
  { read, isList, shelf, onward }: Branch,
): readonly (Slot | undefined)[] {
  const named = read(value)
  if (Array.isArray(named) !== isList) return []
  const budget = around ?? { left: isList ? limit : 1 }
  return idsAt(named).map((id) => {
    if (typeof id !== 'string') return undefined
    if (!isDeep) return isUuid(id) ? { id, shelf, budget, place: undefined } : undefined
    const known = shelf.parts.get(id)
    if (!known || budget.left <= 0) return undefined
    budget.left -= 1
    const inside = around || isList ? budget : undefined
    const place = onward.length > 0 ? placeOf(known, onward, inside) : undefined
    return { id, shelf, budget: undefined, place }
  })
}

function addText(parts: Part[], text: string): void {
  const last = parts.length - 1
  const before = parts[last]
  if (typeof before === 'string') parts[last] = before + text
  else parts.push(text)
}

/** Adds the JSON of an object. `at` is its path in the document of `place`, with a dot at the end. */
function addObject(parts: Part[], value: JsonObject, at: string, place: Place): void {
  let text = '{'
  let separator = ''
  for (const [name, inner] of Object.entries(value)) {
    const path = at + name
    text += `${separator}${JSON.stringify(name)}:`
    separator = ','
    const slots = place.inside.get(path)
    const isAround =
      !slots && isObject(inner) && place.branches.some((one) => one.path.startsWith(`${path}.`))
    if (!slots && !isAround) {
      text += JSON.stringify(inner)
      continue
    }
    addText(parts, text)
    text = ''
    if (slots) addReferences(parts, inner, slots)
    else addObject(parts, inner as JsonObject, `${path}.`, place)
  }
  addText(parts, `${text}}`)
}

/** Adds a reference, or an array of references. */
function addReferences(parts: Part[], value: unknown, slots: readonly (Slot | undefined)[]): void {
  const isList = Array.isArray(value)
  if (isList) addText(parts, '[')
  for (const [i, id] of idsAt(value).entries()) {
    if (i > 0) addText(parts, ',')
    const slot = slots[i]
    // If the document was read again, it may now have other references than those that were expanded.
    if (slot && slot.id === id) parts.push(slot)
    else addText(parts, JSON.stringify(id))
  }
  if (isList) addText(parts, ']')
}

/** Prints texts, and the documents of references between them. */
class Printing {
  readonly #slices: Slices
  readonly #write: WriteText
  #text = ''

  constructor(slices: Slices, write: WriteText) {
    this.#slices = slices
    this.#write = write
  }

  print(parts: readonly Part[]): MaybePromise<void> {
    return forEachSliced(this.#slices, parts, (part, i) => {
      if (typeof part === 'string') return this.#add(part)
      const { shelf, id, budget } = part
      if (budget && budget.left <= 0) return this.#fill(part, undefined)
      const reading = shelf.isKnown(id) ? undefined : shelf.find(findIds(part, parts, i + 1))
      return whenReady(reading, () => this.#fill(part, shelf.get(id)))
    })
  }

  /** Prints the referenced document, or its `_id` if it is not expanded. */
  #fill({ id, budget, place }: Slot, held: HeldDocument | undefined): MaybePromise<void> {
    if (!held) return this.#add(JSON.stringify(id))
    if (budget) budget.left -= 1
    if (!place) return this.#add(held.text)
    const parts: Part[] = []
    addObject(parts, held.access.show(held.document), '', place)
    return this.print(parts)
  }

  #add(text: string): MaybePromise<void> {
    this.#text += text
    return this.#text.length < bounds.writtenCharacters ? undefined : this.send()
  }

  send(): MaybePromise<void> {
    const text = this.#text
    this.#text = ''
    spend(this.#slices, stepsToWrite(text.length))
    return text === '' ? undefined : this.#write(text)
  }
}

/** Returns the ids to read with the next query, in the order in which they are needed. */
function findIds({ id, shelf, budget }: Slot, parts: readonly Part[], from: number): readonly string[] {
  const ids = new Set([id])
  const wanted = new Map([[budget, 1]])
  for (let i = from; i < parts.length && ids.size < shelf.window; i++) {
    const part = parts[i]
    if (typeof part !== 'object' || part.shelf !== shelf || shelf.isKnown(part.id)) continue
    const already = wanted.get(part.budget) ?? 0
    if (part.budget && already >= part.budget.left) continue
    wanted.set(part.budget, already + 1)
    ids.add(part.id)
  }
  return [...ids]
}
