import type { ServicePlan } from '../../config/plan.js'
import type { CollectionPlan } from '../../storage.js'
import { storedPlan } from '../names/renamed-storage.js'
import { type SchemaRecord, uniqueKey } from './schema-record.js'

/**
 * Returns plans without the unique indexes that the last configuration lacked, because documents may get equal values
 * while they are migrated: the start that follows creates these indexes.
 */
export const withoutNewIndexes = (
  plans: readonly CollectionPlan[],
  { collections }: Pick<ServicePlan, 'collections'>,
  record: SchemaRecord | undefined,
): readonly CollectionPlan[] =>
  plans.map((plan) => {
    const collection = collections.get(plan.name)
    if (!collection || !record) return plan
    const stored = storedPlan(collection).indexes
    const isKnown = (i: number): boolean => {
      const index = stored[i]
      return !index?.unique || record.uniques.includes(uniqueKey(collection, index))
    }
    return { ...plan, indexes: plan.indexes.filter((_, i) => isKnown(i)) }
  })
