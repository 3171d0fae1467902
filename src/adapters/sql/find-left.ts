import type { FieldRef } from '../../core/filter/filter.js'
import type { LeftIndex } from '../../core/storage.js'
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

/** Finds the unique indexes that are recorded, but not wanted (`StorageAdapter.leftUnique`). */
export function findLeft(wanted: readonly Structure[], recorded: readonly Recorded[]): readonly LeftIndex[] {
  const names = new Set(wanted.flatMap(({ name }) => [name, nameWhileBuilt(name)]))
  // A wanted index over the same fields in another order or with another type is as strict.
  const asked = new Set(wanted.map(({ collection, unique }) => keyOf(collection, unique ?? [])))
  const collections = new Set(wanted.filter((one) => !isIndex(one)).map(({ collection }) => collection))
  return recorded.flatMap(({ name, collection, bound }) => {
    const fields = JSON.parse(bound) as readonly FieldRef[] | null
    if (!fields || names.has(name) || !collections.has(collection) || asked.has(keyOf(collection, fields)))
      return []
    const paths = fields.map(({ path }) => path)
    const mend = `run collection-service migrate --drop-unique ${[collection, ...paths].join(' ')} --yes`
    return [{ collection, fields: paths, mend }]
  })
}

/** Finds the unique indexes over exactly these fields, in any order (`StorageAdapter.dropUnique`). */
export function findUnique(
  recorded: readonly Recorded[],
  collection: string,
  paths: readonly string[],
): readonly Recorded[] {
  const wanted = keyOf(
    collection,
    paths.map((path) => ({ path })),
  )
  return recorded.filter((one) => {
    const fields = JSON.parse(one.bound) as readonly FieldRef[] | null
    return fields !== null && keyOf(one.collection, fields) === wanted
  })
}

const keyOf = (collection: string, fields: readonly Pick<FieldRef, 'path'>[]): string =>
  JSON.stringify([collection, ...fields.map(({ path }) => path).sort()])
