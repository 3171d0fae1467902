import { compare, compileField, holdsType, type Ordered } from '../../../../core/filter/compare.js'
import { compileFilter } from '../../../../core/filter/matches.js'
import { compilePath } from '../../../../core/json/own-properties.js'
import type {
  Aggregated,
  AggregateQuery,
  GroupPart,
  Key,
  Measure,
  PartialGroup,
  StoredDocument,
} from '../../../../core/storage.js'
import { isSame } from './check.js'
import type { Mismatch } from './plain-array.js'

/** The decimal places of all sums in this file. A double has at most 1,074. */
const PLACES = 1100

/** Returns a decimal as a whole number of units of 10^−`PLACES`. */
function unitsOf(decimal: string): bigint {
  const [number = '', exponent = '0'] = decimal.toLowerCase().split('e')
  const [whole = '', part = ''] = number.split('.')
  const places = PLACES - part.length + Number(exponent)
  if (!/^-?\d+$/.test(whole + part) || places < 0) throw new Error(`${decimal} is no sum of doubles`)
  return BigInt(whole + part) * 10n ** BigInt(places)
}

/** A group as it is compared: its key, and its members as text. */
type PlainGroup = ReadonlyMap<string, string>

/** Members of a group that are summed, and members of which one is chosen. */
interface OpenGroup {
  count: number
  readonly sums: ({ units: bigint; values: number } | null)[]
  readonly min: Ordered[]
  readonly max: Ordered[]
}

const openGroup = (measures: readonly Measure[]): OpenGroup => ({
  count: 0,
  sums: measures.map(({ takes }) => (takes.includes('sum') ? { units: 0n, values: 0 } : null)),
  min: measures.map(() => undefined),
  max: measures.map(() => undefined),
})

function takeExtremes(group: OpenGroup, i: number, { takes }: Measure, values: readonly Ordered[]): void {
  for (const value of values) {
    if (value === undefined) continue
    if (takes.includes('min') && (group.min[i] === undefined || compare(value, group.min[i]) < 0))
      group.min[i] = value
    if (takes.includes('max') && compare(value, group.max[i]) > 0) group.max[i] = value
  }
}

/** Writes groups as text. Sums are written in the same units, so equal sums have equal text. */
const writeGroups = (groups: ReadonlyMap<string, OpenGroup>): PlainGroup =>
  new Map(
    [...groups].map(([key, { count, sums, min, max }]) => {
      const written = sums.map((sum) => sum && [String(sum.units), sum.values])
      const extremes = [min, max].map((all) => all.map((value) => value ?? null))
      return [key, JSON.stringify([count, written, ...extremes])]
    }),
  )

/** Returns the keys that a document has in one part. */
function keysOf(document: StoredDocument, { field, shown, cut }: GroupPart): readonly Key[] {
  if (!compileFilter(shown)(document)) return [null]
  if (field.each) {
    const elements = compilePath(field.path)(document)
    if (!Array.isArray(elements)) return [null]
    return [...new Set(elements.filter(holdsType(field.type)))] as Key[]
  }
  const value = compileField(field)(document)
  if (value === undefined) return [null]
  if (cut === 'value') return [value === 0 ? 0 : value]
  if (typeof cut === 'object') return [cut.filter((edge) => compare(edge, value) <= 0).at(-1) ?? null]
  const [year = '', month = '', day = '', hour = ''] = String(value).split(/[-T:]/)
  const begin = { year: [year], month: [year, month], day: [year, month, day], hour: [year, month, day] }
  const date = [...begin[cut], '01', '01'].slice(0, 3).join('-')
  return [`${date}T${cut === 'hour' ? hour : '00'}:00:00.000Z`]
}

const combine = (lists: readonly (readonly Key[])[]): readonly (readonly Key[])[] =>
  lists.reduce<readonly (readonly Key[])[]>(
    (keys, list) => keys.flatMap((key) => list.map((value) => [...key, value])),
    [[]],
  )

/** Returns the right groups of a query: those of a plain array. */
function groupPlainly(documents: readonly StoredDocument[], query: AggregateQuery): PlainGroup {
  const { filter, by, measures } = query
  const groups = new Map<string, OpenGroup>()
  for (const document of documents.filter(compileFilter(filter))) {
    for (const key of combine(by.map((part) => keysOf(document, part)))) {
      const name = JSON.stringify(key)
      const group = groups.get(name) ?? openGroup(measures)
      groups.set(name, group)
      group.count += 1
      for (const [i, measure] of measures.entries()) {
        const value = compileFilter(measure.shown)(document)
          ? compileField(measure.field)(document)
          : undefined
        if (value === undefined) continue
        takeExtremes(group, i, measure, [value])
        const sum = group.sums[i]
        if (!sum) continue
        sum.units += unitsOf(JSON.stringify(value))
        sum.values += 1
      }
    }
  }
  return writeGroups(groups)
}

/** Merges the partial groups of an answer. */
function mergePlainly(partials: readonly PartialGroup[], measures: readonly Measure[]): PlainGroup {
  const groups = new Map<string, OpenGroup>()
  for (const partial of partials) {
    const name = JSON.stringify(partial.key)
    const group = groups.get(name) ?? openGroup(measures)
    groups.set(name, group)
    group.count += partial.count
    for (const [i, measure] of measures.entries()) {
      takeExtremes(group, i, measure, [partial.min[i] ?? undefined, partial.max[i] ?? undefined])
      const [sum, more] = [group.sums[i], partial.sums[i]]
      if (!sum || !more) continue
      sum.units += unitsOf(more.decimal)
      sum.values += more.values
    }
  }
  return writeGroups(groups)
}

/** Returns how the groups of an answer differ from the right ones, or `undefined` if they are right. */
export function judgeGroups(
  documents: readonly StoredDocument[],
  query: AggregateQuery,
  { groups, isCut }: Aggregated,
): Mismatch | undefined {
  const expected = groupPlainly(documents, query)
  const actual = mergePlainly(groups, query.measures)
  // Without a key, the group of no documents may be missing.
  if (query.by.length === 0 && actual.size === 0 && expected.size === 0) return undefined
  if (isCut) {
    const isFine = actual.size > query.limit && [...actual.keys()].every((key) => expected.has(key))
    return isFine ? undefined : { what: 'groups that are cut', expected: expected.size, actual: actual.size }
  }
  const [right, given] = [expected, actual].map((all) =>
    [...all].filter(([key, group]) => query.by.length > 0 || key !== '[]' || !group.startsWith('[0,')),
  )
  const isRight = isSame(Object.fromEntries(right ?? []), Object.fromEntries(given ?? []))
  return isRight ? undefined : { what: 'groups', expected: right, actual: given }
}
