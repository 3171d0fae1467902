import { compileField, type Ordered } from '../filter/compare.js'
import type { FieldRef } from '../filter/filter.js'
import { removeVersion } from '../request/store.js'
import type { IndexPlan, StoredDocument, WriteStep } from '../storage.js'
import type { Written } from './pending-writes.js'

/** Reads the values of a unique index in a document; `undefined` if the index does not cover the document. */
type ReadKey = (document: StoredDocument) => Ordered

/** A unique index, compiled. */
export interface UniqueValues {
  readonly fields: readonly FieldRef[]
  readonly readKey: ReadKey
}

/** Compiles the unique indexes among `indexes`. */
export const compileUnique = (indexes: readonly IndexPlan[]): readonly UniqueValues[] =>
  indexes.flatMap(({ fields, unique }) => (unique ? [{ fields, readKey: compileKey(fields) }] : []))

function compileKey(fields: readonly FieldRef[]): ReadKey {
  const readers = fields.map(compileField)
  const [only] = readers
  if (only && readers.length === 1) return only
  return (document) => {
    const values = readers.map((read) => read(document))
    return values.includes(undefined) ? undefined : JSON.stringify(values)
  }
}

/** Returns the step that removes a document which pending writes have removed; `undefined` if it is not stored. */
export function stepToRemove(id: string, { first }: Written): WriteStep | undefined {
  if ('replace' in first) return removeVersion(first.in, { _id: id, _version: first.version })
  return 'remove' in first && first.expect === 1 ? first : undefined
}

/** Returns the step that stores a document as pending writes left it. `version`: what the step replaces. */
function stepToStore(document: StoredDocument, { first }: Written, version?: number): WriteStep {
  if ('replace' in first)
    return first.replace === document && version === undefined
      ? first
      : { in: first.in, replace: document, version: version ?? first.version }
  return 'insert' in first && first.insert === document ? first : { in: first.in, insert: document }
}

/** A document that exists after the pending writes. */
export type Standing = Written & { readonly document: StoredDocument }

/**
 * Returns the steps that store documents of one collection, in an order in which each unique value is free when a
 * document takes it. `findBefore` returns a document as it is stored. If documents exchange values in a circle, one of
 * them is first stored without any unique value. Its last state follows in the same write, so that the log has one
 * change.
 */
export function orderWrites(
  all: readonly Standing[],
  unique: readonly UniqueValues[],
  findBefore: (id: string) => StoredDocument | undefined,
): readonly WriteStep[] {
  const freeing = unique.map(({ readKey }) => findFreed(all, readKey, findBefore))
  if (freeing.every((holders) => holders.size === 0))
    return all.map((written) => stepToStore(written.document, written))
  const names = new Set(unique.flatMap(({ fields }) => fields.map(({ path }) => path.split('.')[0])))
  const steps: WriteStep[] = []
  const begun = new Set<Standing>()
  const ended = new Set<Standing>()
  const emptied = new Set<Standing>()
  const empty = (written: Standing): void => {
    emptied.add(written)
    const { document } = written
    const entries = Object.entries(document).filter(([name]) => !names.has(name))
    const bare = { ...Object.fromEntries(entries), _id: document._id, _version: document._version }
    steps.push(stepToStore(bare, written))
  }
  const store = (written: Standing): void => {
    if (begun.has(written)) return
    begun.add(written)
    const { document } = written
    for (const [i, holders] of freeing.entries()) {
      const key = unique[i]?.readKey(document)
      const holder = key === undefined ? undefined : holders.get(key)
      if (!holder || ended.has(holder) || emptied.has(holder)) continue
      if (begun.has(holder)) empty(holder)
      else store(holder)
    }
    ended.add(written)
    steps.push(stepToStore(document, written, emptied.has(written) ? document._version : undefined))
  }
  for (const written of all) store(written)
  return steps
}

/** Returns the documents that give up a value of an index, by this value. */
function findFreed(
  all: readonly Standing[],
  readKey: ReadKey,
  findBefore: (id: string) => StoredDocument | undefined,
): ReadonlyMap<Ordered, Standing> {
  const holders = new Map<Ordered, Standing>()
  for (const written of all) {
    const { document, first } = written
    const before = 'replace' in first ? findBefore(document._id) : undefined
    const key = before && readKey(before)
    if (key !== undefined && key !== readKey(document)) holders.set(key, written)
  }
  return holders
}
