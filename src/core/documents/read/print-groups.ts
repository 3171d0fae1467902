import type { Group } from '../../aggregates/groups.js'
import { type CompareItems, compileOrder, type Ordered } from '../../filter/compare.js'
import type { AggregateRequest, MeasureList } from '../../query/compile-aggregate.js'
import type { Summary } from '../../query/query-string.js'

/** Reads a summary of a measure from a group. */
const READERS: { readonly [summary in Summary]: (group: Group, place: number) => Ordered | null } = {
  sum: ({ sums }, place) => sums[place]?.sum() ?? null,
  avg: ({ sums }, place) => sums[place]?.average() ?? null,
  min: ({ min }, place) => min[place] ?? null,
  max: ({ max }, place) => max[place] ?? null,
}

/** Compiles the order of groups: groups that are equal in it are in the ascending order of their keys. */
export function compileGroupOrder({ by, order }: AggregateRequest): CompareItems<Group> {
  const readers = order.map(({ of }) => {
    if (of === 'count') return ({ count }: Group): Ordered => count
    if ('part' in of) return ({ key }: Group): Ordered => key[of.part] ?? undefined
    const read = READERS[of.summary]
    return (group: Group): Ordered => read(group, of.place) ?? undefined
  })
  const keys = by.map(
    (_, part) =>
      ({ key }: Group): Ordered =>
        key[part] ?? undefined,
  )
  return compileOrder([...order, ...by.map(() => ({ descending: false }))], [...readers, ...keys])
}

/** Compiles the JSON of groups: the members that a query asks for, in the order of the contract. */
export function compilePrinter({ by, lists }: AggregateRequest): (group: Group) => string {
  const printKey = printMembers(by.map(({ name }) => name))
  const printLists = lists.map(({ summary, names, places }: MeasureList) => {
    const print = printMembers(names)
    const read = READERS[summary]
    return (group: Group): string => `,"${summary}":${print(places.map((place) => read(group, place)))}`
  })
  return (group) =>
    `{"key":${printKey(group.key)},"count":${group.count}${printLists.map((print) => print(group)).join('')}}`
}

/** Returns a function that prints an object with some names and its values. */
function printMembers(names: readonly string[]): (values: readonly unknown[]) => string {
  const written = names.map((name) => `${JSON.stringify(name)}:`)
  return (values) => `{${written.map((name, i) => name + JSON.stringify(values[i])).join()}}`
}
