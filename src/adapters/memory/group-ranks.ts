import { compileField } from '../../core/filter/compare.js'
import { isEverything, isOn } from '../../core/filter/filter.js'
import type { Aggregated, AggregateQuery, PartialGroup } from '../../core/storage.js'
import type { Rows } from './rows.js'

/** The maximum number of groups that are counted by ranks, because each needs a search, and nothing pauses. */
const MOST = 1000

/**
 * Counts the groups of all documents by the values of a field that an index begins with: the documents of a group are
 * adjacent, so the ranks of its ends suffice. Returns `undefined` for any other query, and for many groups.
 */
export function groupByRanks(
  { sorted }: Pick<Rows, 'sorted'>,
  { filter, by, measures, limit }: AggregateQuery,
): Aggregated | undefined {
  const [part] = by
  if (!part || by.length > 1 || measures.length > 0 || part.cut !== 'value' || part.field.each)
    return undefined
  if (!isEverything(filter) || !isEverything(part.shown)) return undefined
  const index = sorted.find(
    ({ fields: [first, ...others] }) => first && isOn(first, part.field) && !others.some(({ each }) => each),
  )
  if (!index) return undefined
  const read = compileField(part.field)
  const { documents } = index
  const groups: PartialGroup[] = []
  for (let place = 0; place < documents.length; ) {
    const document = documents.read({ first: place, end: place + 1, isBackwards: false })()
    if (!document || groups.length === MOST) return undefined
    const value = read(document)
    const end = documents.rank([value], true)
    // A minus before zero is dropped.
    groups.push({ key: [value === 0 ? 0 : (value ?? null)], count: end - place, sums: [], min: [], max: [] })
    if (groups.length > limit) return { groups, isCut: true }
    place = end
  }
  return { groups, isCut: false }
}
