import { compileDocumentOrder } from '../../src/core/filter/compare.js'
import { and, type FieldRef, type Filter, ID, not, or, type Scalar } from '../../src/core/filter/filter.js'
import { compileFilter } from '../../src/core/filter/matches.js'
import { parsePattern } from '../../src/core/filter/pattern/parse-pattern.js'
import { simplify } from '../../src/core/filter/simplify.js'
import { endless } from '../../src/core/slices.js'
import type { ListQuery, StorageAdapter, StoredDocument } from '../../src/index.js'
import fc from './fast-check.js'

/**
 * Reads that several ranges of indexes answer: lists of values, alternatives, bounds, in orders that an index gives behind
 * them or does not, of enough documents that a planner prefers ranges. A storage must answer as a plain array would.
 */

const each = (path: string, inside?: string): FieldRef => ({
  path,
  type: 'string',
  each: true,
  ...(inside === undefined ? {} : { inside }),
})
const field = (path: string, type: FieldRef['type'] = 'string'): FieldRef => ({ path, type, each: false })
const [team, state, n, at, note, code, serial] = [
  field('team'),
  field('state'),
  field('n', 'integer'),
  field('at', 'timestamp'),
  field('note'),
  field('code'),
  field('serial', 'integer'),
]

const [tags, links] = [each('tags'), each('links', 'to')]
const nested = field('place.at')

/** The plan of the collection. */
export const RANGED = {
  name: 'things',
  indexes: [
    ...[
      ...[[team, n], [state, n], [team, state, n], [n], [at], [state], [team, at]],
      ...[[tags, n], [team, tags], [links], [n, links, at], [nested]],
    ].map((fields) => ({ fields, unique: false })),
    ...[[code], [team, serial]].map((fields) => ({ fields, unique: true })),
  ],
}

const SIZE = 1500
const TEAMS = ['a', 'b', 'ba', 'c', 'd', 'e']
const TAGS = ['a', 'b', 'B', 'c', 'd', 'é', 'none of them']
const STATES = ['draft', 'open', 'public']
const timeOf = (i: number): string => new Date(Date.UTC(2026, 0, 1) + i * 60_000).toISOString()

/** Some fields are missing, and of every value there are several documents: then `_id` decides. */
const documents: readonly StoredDocument[] = Array.from({ length: SIZE }, (_, i) => ({
  _id: `id-${String((i * 7919) % SIZE).padStart(4, '0')}`,
  _version: 1,
  ...(i % 11 === 0 ? {} : { team: TEAMS[(i * i) % TEAMS.length] ?? 'a' }),
  ...(i % 13 === 0 ? {} : { state: STATES[i % 17 === 0 ? 2 : i % 2] ?? 'draft' }),
  ...(i % 7 === 0 ? {} : { n: (i * 31) % 60 }),
  at: timeOf((i * 104_729) % 500),
  note: `note ${i % 5}`,
  ...(i % 5 < 2 ? {} : { code: `c${(i * 7) % SIZE}` }),
  ...(i % 3 === 0 ? {} : { serial: i }),
  ...(i % 4 === 0
    ? {}
    : { tags: [TAGS[i % 5] ?? '', TAGS[(i * i) % 7] ?? '', TAGS[i % 5] ?? ''].slice(i % 3) }),
  links: [{ to: TEAMS[i % 6] ?? '' }, { to: TEAMS[(i * 5) % 4] ?? '' }].slice(i % 2),
  place: { at: TEAMS[(i * 3) % 5] ?? '' },
}))

const eq = (ref: FieldRef, value: Scalar): Filter => ({ kind: 'eq', field: ref, value })
const someOf = (ref: FieldRef, values: readonly Scalar[]): fc.Arbitrary<Filter> =>
  fc
    .uniqueArray(fc.constantFrom(...values), { minLength: 1 })
    .map((some) => or(some.map((value) => eq(ref, value))))
const bound = (ref: FieldRef, value: fc.Arbitrary<Scalar>): fc.Arbitrary<Filter> =>
  fc.record({ kind: fc.constantFrom('lt', 'lte', 'gt', 'gte'), field: fc.constant(ref), value })

const number = fc.nat(60)
const leaf: fc.Arbitrary<Filter> = fc.oneof(
  { weight: 4, arbitrary: someOf(team, [...TEAMS, 'none']) },
  { weight: 3, arbitrary: someOf(state, STATES) },
  { weight: 2, arbitrary: someOf(tags, [...TAGS, 'none']) },
  { weight: 1, arbitrary: someOf(links, TEAMS) },
  { weight: 1, arbitrary: someOf(nested, TEAMS) },
  { weight: 1, arbitrary: bound(tags, fc.constantFrom('b', 'none')) },
  { weight: 2, arbitrary: bound(n, number) },
  { weight: 1, arbitrary: someOf(n, [1, 2, 3, 31, 59]) },
  { weight: 1, arbitrary: bound(at, fc.nat(500).map(timeOf)) },
  { weight: 1, arbitrary: someOf(note, ['note 0', 'note 3']) },
  { weight: 1, arbitrary: someOf(code, ['c7', 'c14', 'c21', 'c700', 'none']) },
  { weight: 1, arbitrary: bound(code, fc.constantFrom('c2', 'c700')) },
  { weight: 1, arbitrary: someOf(serial, [1, 2, 4, 700]) },
  { weight: 1, arbitrary: bound(ID, fc.constantFrom('id-0007', 'id-0700', 'id-1400')) },
  {
    weight: 1,
    arbitrary: fc.constantFrom(
      not(eq(team, 'a')),
      not(eq(note, 'note 1')),
      { kind: 'present', field: n } as Filter,
      not(eq(tags, 'a')),
      { kind: 'present', field: tags } as Filter,
      ...[team, code, serial, tags].map((one) => not({ kind: 'present', field: one })),
      { kind: 'match', field: team, pattern: parsePattern('^b', { ignoreCase: false }) } as Filter,
    ),
  },
)
/** What has a unique value, or lacks it, behind an `_id`. */
const behind = fc.tuple(
  fc.oneof(someOf(code, ['c7', 'c14', 'c21', 'c700']), fc.constant(not({ kind: 'present', field: code }))),
  bound(ID, fc.constantFrom('id-0007', 'id-0700', 'id-1400')),
)
const alternative = fc.oneof(leaf, fc.tuple(leaf, leaf).map(and))
const filter = fc
  .array(
    fc.oneof(
      { weight: 4, arbitrary: leaf },
      { weight: 1, arbitrary: behind.map(and) },
      { weight: 4, arbitrary: fc.array(alternative, { minLength: 2, maxLength: 3 }).map(or) },
    ),
    { minLength: 1, maxLength: 3 },
  )
  .map(and)

const key = (ref: FieldRef, descending: boolean) => ({ field: ref, descending })
const sort = fc
  .tuple(
    fc.constantFrom(
      [],
      [n],
      [n],
      [team, n],
      [state, n],
      [team, state, n],
      [n, team],
      [at],
      [at],
      [team],
      [n, at],
      [code],
      [serial],
      [team, serial],
    ),
    fc.boolean(),
    fc.boolean(),
  )
  .map(([fields, descending, isLast]) =>
    fields.length === 0 && isLast ? [] : [...fields, ID].map((one) => key(one, descending)),
  )

const query: fc.Arbitrary<ListQuery> = fc.record({
  // What a service asks is simplified; what others ask may not be.
  filter: fc.oneof({ weight: 4, arbitrary: filter.map(simplify) }, { weight: 1, arbitrary: filter }),
  sort,
  skip: fc.oneof({ weight: 3, arbitrary: fc.constant(0) }, { weight: 1, arbitrary: fc.nat(40) }),
  limit: fc.oneof(fc.constantFrom(1, 5, 21, 101), fc.constant(null)),
})

/** The answer of a plain array: the ids, in order where one is asked for. */
function answer({ filter, sort, skip, limit }: ListQuery): {
  readonly ids: readonly string[]
  readonly total: number
} {
  const found = documents.filter(compileFilter(filter))
  const compare = compileDocumentOrder(sort)
  const slice = endless()
  const ordered = sort.length > 0 ? found.toSorted((a, b) => compare(a, b, slice)) : found
  const ids = ordered.map(({ _id }) => _id)
  return {
    ids: sort.length > 0 ? ids.slice(skip, limit === null ? undefined : skip + limit) : ids,
    total: ids.length,
  }
}

/** Asks a storage so many reads, and throws at the first answer that is not that of a plain array. */
export async function checkRanges(adapter: StorageAdapter, runs: number): Promise<void> {
  await adapter.open([RANGED])
  for (let i = 0; i < SIZE; i += 500) {
    const steps = documents.slice(i, i + 500).map((insert) => ({ in: 'things', insert }))
    const { ok } = await adapter.write(steps, {})
    if (!ok) throw new Error('the documents were not stored')
  }
  await fc.assert(
    fc.asyncProperty(query, async (asked) => {
      const expected = answer(asked)
      const total = await adapter.count('things', asked.filter, {})
      if (total !== expected.total) throw new Error(`the count is ${total}, not ${expected.total}`)
      const listed = await adapter.list('things', asked)
      const ids = listed.map(({ _id }) => _id)
      if (asked.sort.length > 0) {
        if (ids.join() !== expected.ids.join())
          throw new Error(`listed ${ids.join()}\nnot ${expected.ids.join()}`)
        return
      }
      // Without an order any page of the matches is right.
      const { skip, limit } = asked
      const size = Math.max(0, Math.min(expected.total - skip, limit ?? expected.total))
      const isPart = new Set(ids).size === ids.length && ids.every((id) => expected.ids.includes(id))
      if (ids.length !== size || !isPart) throw new Error(`listed ${ids.join()} of ${expected.ids.join()}`)
    }),
    { numRuns: runs, endOnFailure: true },
  )
}
