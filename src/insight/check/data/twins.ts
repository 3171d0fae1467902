import { compileField } from '../../../filter/compare.js'
import type { IndexPlan, StoredDocument } from '../../../storage.js'

/** The documents that share their values of a unique index. */
export interface Twins {
  readonly fields: readonly string[]
  readonly count: number
  /** Their first `_id`s, at most five. */
  readonly ids: readonly string[]
  /** Whether there may be more: the finder stopped at its limit of shared values. */
  readonly isLeast: boolean
}

/** Finds twins in two passes over all documents, in the same order. */
export interface TwinFinder {
  /** Called in the first pass. */
  note(document: StoredDocument): void
  /** Whether there may be twins. */
  mayHave(): boolean
  /** Called in the second pass. */
  confirm(document: StoredDocument): void
  result(): Twins
}

/** The bits of a filter of seen values: with a hundred million values, false positives are still rare. */
const BITS = 2 ** 27
/** The limits of the characters of values, and of the values, that are held. */
const MAX_CHARACTERS = 16 * 1024 * 1024
const MAX_VALUES = 100_000

/** The most document ids that are reported. */
export const MAX_IDS = 5

/**
 * Creates the finder for a unique index. It keeps a few bits of each value, and holds only values that it has perhaps
 * seen twice.
 */
export function createTwinFinder({ fields }: IndexPlan): TwinFinder {
  const readers = fields.map(compileField)
  const keyOf = (document: StoredDocument): string | undefined => {
    const values = readers.map((read) => read(document))
    return values.includes(undefined) ? undefined : JSON.stringify(values)
  }
  let seen: Uint8Array | undefined
  let characters = 0
  let isLeast = false
  const suspects = new Map<string, { count: number; readonly ids: string[] }>()

  const hold = (key: string): void => {
    if (suspects.has(key)) return
    characters += key.length
    isLeast ||= characters > MAX_CHARACTERS || suspects.size >= MAX_VALUES
    if (!isLeast) suspects.set(key, { count: 0, ids: [] })
  }
  return {
    note(document) {
      const key = keyOf(document)
      if (key === undefined) return
      seen ??= new Uint8Array(BITS / 8)
      if (!mark(seen, key)) hold(key)
    },
    mayHave: () => suspects.size > 0,
    confirm(document) {
      const found = suspects.get(keyOf(document) ?? '')
      if (!found) return
      found.count += 1
      if (found.ids.length < MAX_IDS) found.ids.push(document._id)
    },
    result() {
      const shared = [...suspects.values()].filter(({ count }) => count > 1)
      return {
        fields: fields.map(({ path }) => path),
        count: shared.reduce((sum, { count }) => sum + count, 0),
        ids: firstOf(shared.map(({ ids }) => ids)),
        isLeast,
      }
    },
  }
}

/** Marks a value as seen; false if it perhaps was seen before. */
function mark(seen: Uint8Array, key: string): boolean {
  let isNew = false
  for (const seed of SEEDS) {
    const bit = digest(key, seed) % BITS
    const byte = seen[bit >>> 3] ?? 0
    isNew ||= (byte & (1 << (bit & 7))) === 0
    seen[bit >>> 3] = byte | (1 << (bit & 7))
  }
  return isNew
}

const SEEDS: readonly number[] = [0x811c9dc5, 0x9747b28c, 0x85ebca6b]

/** FNV-1a, with its bits mixed. */
function digest(text: string, seed: number): number {
  let hash = seed
  for (let i = 0; i < text.length; i++) hash = Math.imul(hash ^ text.charCodeAt(i), 0x01000193)
  hash = Math.imul(hash ^ (hash >>> 16), 0x7feb352d)
  return (hash ^ (hash >>> 15)) >>> 0
}

/** The first of all ids; each list is sorted. */
function firstOf(lists: readonly (readonly string[])[]): readonly string[] {
  let first: string[] = []
  for (const ids of lists) first = [...first, ...ids].sort().slice(0, MAX_IDS)
  return first
}
