import type { FieldRef } from '../../filter/filter.js'
import { nameWhileBuilt } from './create-structures.js'
import { isIndex, type Structure } from './structures.js'

/** A structure as the table of structures has it. */
export interface Recorded {
  readonly name: string
  readonly collection: string
  /** The JSON of the fields of a unique index, or of `null`. */
  readonly bound: string
}

export const namesOf = (recorded: readonly Recorded[]): ReadonlySet<string> =>
  new Set(recorded.map(({ name }) => name))

/**
 * Warns of what another configuration has made unique, in the collections of this one, which does not ask for it: it stays
 * in force, so documents are refused for what this configuration does not say (CONTRACT.md §7, "Storage").
 */
export function warnOfLeft(wanted: readonly Structure[], recorded: readonly Recorded[]): void {
  const names = new Set(wanted.flatMap(({ name }) => [name, nameWhileBuilt(name)]))
  // The same fields in another order, or of another type, bind as much.
  const asked = new Set(wanted.map(({ collection, unique }) => keyOf(collection, unique ?? [])))
  const collections = new Set(wanted.filter((one) => !isIndex(one)).map(({ collection }) => collection))
  for (const { name, collection, bound } of recorded) {
    const fields = JSON.parse(bound) as readonly FieldRef[] | null
    if (!fields || names.has(name) || !collections.has(collection) || asked.has(keyOf(collection, fields)))
      continue
    const paths = fields.map(({ path }) => path).join(' and ')
    process.emitWarning(
      `documents of ${collection} must still differ in ${paths}, which another configuration asked for and this one does not; that ends when the index ${name} is dropped, with its line in _structures`,
      { code: 'COLLECTION_SERVICE_LEFT_UNIQUE' },
    )
  }
}

const keyOf = (collection: string, fields: readonly FieldRef[]): string =>
  JSON.stringify([collection, ...fields.map(({ path }) => path).sort()])
