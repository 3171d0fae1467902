import type { Collection } from '../../config/plan.js'
import { everything } from '../../filter/filter.js'
import { toPointerPart } from '../../json/pointer.js'
import type { Store } from '../../request/store.js'
import { listIds } from '../describe.js'
import { describeNames } from './describe-names.js'
import { findValues } from './find-values.js'
import { type Dropped, pathKey, type RecordedName, type RecordedNames } from './schema-record.js'

/**
 * Finds what earlier configurations declared and this one does not, although documents have it: collections, and fields
 * of collections with `additionalProperties`. Fields of other collections are found by the comparison of stored documents.
 */
export async function findDropped(
  store: Store,
  collections: ReadonlyMap<string, Collection>,
  known: RecordedNames,
): Promise<readonly Dropped[]> {
  const all = [...collections.values()]
  const added = all.filter(({ storedName }) => !known.has(storedName)).map(({ name }) => name)
  const dropped: Dropped[] = []
  for (const stored of known.keys()) {
    const collection = all.find(({ storedName }) => storedName === stored)
    if (collection?.additionalProperties)
      dropped.push(...(await findDroppedFields(store, collection, known.get(stored) ?? new Map())))
    if (collection) continue
    const count = await store.own(stored).count(everything)
    if (count === 0) continue
    const message = `the storage has ${count} documents of ${JSON.stringify(stored)}, which no collection stores${suggestName(added, stored)}`
    dropped.push({ pointer: '/collections', message })
  }
  return dropped
}

async function findDroppedFields(
  store: Store,
  collection: Collection,
  known: ReadonlyMap<string, RecordedName>,
): Promise<readonly Dropped[]> {
  const declared = describeNames(collection).filter(({ path }) => path.length === 1)
  const keys = new Set(declared.map(({ path }) => pathKey(path)))
  const dropped: Dropped[] = []
  for (const [key, { type }] of known) {
    if (keys.has(key) || key.includes('.') || collection.erase.includes(key)) continue
    const found = await findValues(store, collection.storedName, [key])
    if (found.count === 0) continue
    const added = declared
      .filter((one) => !known.has(pathKey(one.path)) && one.type === type)
      .map(({ pointer }) => pointer.slice('/schema/'.length))
    const message = `${JSON.stringify(key)} is no longer in the schema, so no response shows it${suggestName(added, key)}; in ${found.count} stored documents: ${listIds(found)}`
    dropped.push({ pointer: `/collections${toPointerPart(collection.name)}/schema`, message })
  }
  return dropped
}

/** Asks whether the only new name is that of what was dropped. */
const suggestName = (added: readonly string[], stored: string): string =>
  added.length === 1
    ? ` (renamed to ${JSON.stringify(added[0])}? then it needs "stored": ${JSON.stringify(stored)})`
    : ''
