import type { FieldRef } from '../../core/filter/filter.js'
import { nameWhileBuilt } from './create-structures.js'
import { isIndex, type Structure } from './structures.js'

/** A row of the table of structures. */
export interface Recorded {
  readonly name: string
  readonly collection: string
  /** The JSON of the fields of a unique index; the JSON `null` for any other structure. */
  readonly bound: string
}

export const namesOf = (recorded: readonly Recorded[]): ReadonlySet<string> =>
  new Set(recorded.map(({ name }) => name))

/**
 * Warns of unique indexes that another configuration created, and that this configuration does not declare. Such an
 * index stays in force, so documents are rejected by a rule that this configuration does not have (CONTRACT.md §7,
 * "Storage").
 */
export function warnOfLeft(wanted: readonly Structure[], recorded: readonly Recorded[]): void {
  const names = new Set(wanted.flatMap(({ name }) => [name, nameWhileBuilt(name)]))
  // No warning is needed if this configuration declares the same fields as unique in another order or with another
  // type, because its own index is as strict.
  const asked = new Set(wanted.map(({ collection, unique }) => keyOf(collection, unique ?? [])))
  const collections = new Set(wanted.filter((one) => !isIndex(one)).map(({ collection }) => collection))
  for (const { name, collection, bound } of recorded) {
    const fields = JSON.parse(bound) as readonly FieldRef[] | null
    if (!fields || names.has(name) || !collections.has(collection) || asked.has(keyOf(collection, fields)))
      continue
    const paths = fields.map(({ path }) => path).join(' and ')
    process.emitWarning(
      `documents of ${collection} must still have different values in ${paths}, because another configuration declared this unique, and this configuration does not; to end this, drop the index ${name} and delete its row in _structures`,
      { code: 'COLLECTION_SERVICE_LEFT_UNIQUE' },
    )
  }
}

const keyOf = (collection: string, fields: readonly FieldRef[]): string =>
  JSON.stringify([collection, ...fields.map(({ path }) => path).sort()])
