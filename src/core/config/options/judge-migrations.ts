import type { ConfigFault } from '../../errors.js'
import { suggest } from '../../fields/schema/names.js'
import { isObject } from '../../json/own-properties.js'
import type { JsonObject } from '../../types.js'

/** Returns the faults of the option `migrations`. Each must be in the list of the configuration. */
export const judgeCode = (given: JsonObject, listed: readonly string[]): readonly ConfigFault[] =>
  Object.entries(given).flatMap(([name, migration]): readonly ConfigFault[] => {
    const path = `options.migrations.${name}`
    if (migration === undefined) return []
    if (listed.includes(name)) return judgeMigration(path, migration)
    return [{ path, message: `is not in "migrations" of the configuration${suggest(name, listed)}` }]
  })

const FORM = 'must be { collections }, an object with a function for each stored collection'

function judgeMigration(path: string, migration: unknown): readonly ConfigFault[] {
  if (!isObject(migration)) return [{ path, message: FORM }]
  const others = Object.keys(migration).filter((name) => name !== 'collections')
  const { collections } = migration
  if (!isObject(collections) || Object.keys(collections).length === 0) return [{ path, message: FORM }]
  return [
    ...others.map((name) => ({ path: `${path}.${name}`, message: 'is unknown; allowed: collections' })),
    ...Object.entries(collections).flatMap(([name, migrate]) =>
      typeof migrate === 'function'
        ? []
        : [{ path: `${path}.collections.${name}`, message: 'must be a function that takes a document' }],
    ),
  ]
}
