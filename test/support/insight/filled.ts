import type { AnyHooks } from '../../../src/core/hooks/types.js'
import { COLLECTIONS, FIELDS, type SmallCollection, type SmallConfig } from './universe.js'

const requiredIn = ({ schema }: SmallCollection) => FIELDS.filter((name) => schema[name].required)

/** Hooks that fill whatever some configurations require; these have the same schemas. */
export const fillAll = ({ collections }: SmallConfig): AnyHooks =>
  Object.fromEntries(
    COLLECTIONS.map((name) => [name, { fills: requiredIn(collections[name]), before: () => undefined }]),
  )

/** How many fields they fill. */
export const countFilled = ({ collections }: SmallConfig): number =>
  COLLECTIONS.flatMap((name) => requiredIn(collections[name])).length

/** The same configuration for the judge, who then knows what hooks fill. */
export function markFilled(config: SmallConfig): SmallConfig {
  const mark = (collection: SmallCollection): SmallCollection => {
    const filled = requiredIn(collection).map((name) => [
      name,
      { ...collection.schema[name], isFilled: true },
    ])
    return { ...collection, schema: { ...collection.schema, ...Object.fromEntries(filled) } }
  }
  const { things, notes } = config.collections
  return { collections: { things: mark(things), notes: mark(notes) } }
}
