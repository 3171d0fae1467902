import type { Collection } from '../config/plan.js'
import { HASHES } from '../fields/names.js'
import { isObject, pickWhere, readOwn } from '../json/own-properties.js'
import type { StoredDocument } from '../storage.js'
import { createNaming } from '../stored/names/renamed-storage.js'
import type { FixedDocument } from './fix.js'

/** Removes the values, and the hashes, under the stored names that a configuration erases (CONTRACT.md §1, "Erase"). */
export function eraseNames(collection: Collection, document: StoredDocument): FixedDocument {
  const naming = createNaming(collection)
  const stored = naming.write(document)
  const hashes = readOwn(stored, HASHES)
  const found = collection.erase.filter(
    (name) => Object.hasOwn(stored, name) || (isObject(hashes) && Object.hasOwn(hashes, name)),
  )
  if (found.length === 0) return { document, fields: new Set() }
  const isKept = (name: string): boolean => !found.includes(name)
  const left = pickWhere(stored, isKept)
  const erased = isObject(hashes) ? { ...left, [HASHES]: pickWhere(hashes, isKept) } : left
  return { document: naming.read(erased as StoredDocument), fields: new Set(found) }
}
