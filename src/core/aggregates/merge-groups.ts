import { whenReady } from '../promises.js'
import { forEachSliced, type Sliced } from '../slices.js'
import type { Aggregated, GroupPart, Key, Measure } from '../storage.js'
import { type Group, Groups } from './groups.js'
import { weekOf } from './intervals.js'

/** A query whose partial groups are merged. A part with `isWeek` has days, of which seven are one group. */
interface MergeQuery {
  readonly by: readonly (GroupPart & { readonly isWeek: boolean })[]
  readonly measures: readonly Measure[]
}

/** The days of a week. */
const DAYS = 7

/** Returns the number of distinct keys that a storage may need for `limit` groups. */
export const keysFor = ({ by }: Pick<MergeQuery, 'by'>, limit: number): number =>
  by.reduce((keys, { isWeek }) => (isWeek ? keys * DAYS : keys), limit)

/** Merges the partial groups of a storage. Without `by` there is exactly one group. */
export const mergeGroups: Sliced<[query: MergeQuery, aggregated: Aggregated], readonly Group[]> = (
  { by, measures },
  { groups: partials },
  slices,
) => {
  const groups = new Groups(by.length, measures)
  if (by.length === 0) groups.find([])
  const key: Key[] = []
  const merging = forEachSliced(slices, partials, (partial) => {
    slices.left -= STEPS * (1 + by.length + measures.length)
    for (let i = 0; i < by.length; i++) {
      const value = partial.key[i] ?? null
      key[i] = by[i]?.isWeek && typeof value === 'string' ? weekOf(value) : value
    }
    const group = groups.find(key)
    group.count += partial.count
    for (let i = 0; i < measures.length; i++) {
      const sum = partial.sums[i]
      if (sum) group.sums[i]?.addDecimal(sum.decimal, sum.values)
      groups.take(group, i, { min: partial.min[i] ?? undefined, max: partial.max[i] ?? undefined }, slices)
    }
  })
  return whenReady(merging, () => groups.all)
}

/** The steps that a key, or a measure, of a partial group costs. */
const STEPS = 10
