import { describe, expect, test } from 'vitest'
import { createDatabase, createRows } from '../../../../src/adapters/memory/rows.js'
import { SortedList } from '../../../../src/adapters/memory/sorted-list.js'
import { compare, type Ordered } from '../../../../src/core/filter/compare.js'
import type { FieldRef, Filter, Scalar } from '../../../../src/core/filter/filter.js'
import { matches } from '../../../../src/core/filter/matches.js'
import { createMemoryAdapter, type SortKey, type StoredDocument } from '../../../../src/index.js'
import fc from '../../../support/fast-check.js'

type Element = readonly [key: Ordered, id: string]

const createList = () => new SortedList<Element>([([key]) => key], ([, id]) => id)
const elementsOf = (list: SortedList<Element>): readonly Element[] => list.toArray()
const compareRows = (a: readonly Ordered[], b: readonly Ordered[]): number =>
  a.map((one, i) => compare(one, b[i])).find((order) => order !== 0) ?? 0
const compareElements = (a: Element, b: Element): number => compare(a[0], b[0]) || compare(a[1], b[1])

const keys: fc.Arbitrary<Ordered> = fc.oneof(
  { weight: 8, arbitrary: fc.integer({ min: 0, max: 50 }) },
  fc.constantFrom<Ordered>(undefined, true, false, 2.5, -1, 'a', 'b'),
)
const nameOf = (key: Ordered, number: number): string => `${typeof key} ${key} ${number}`
const texts: fc.Arbitrary<Ordered> = fc.constantFrom<Ordered>('', 'a', 'é', 'z', '\uffff', '😀', '😁')

describe('a sorted list', () => {
  test.each([
    ['values of all kinds', keys],
    ['texts, some of which UTF-16 orders otherwise', texts],
  ])(
    'holds what a sorted array holds, through thousands of insertions, removals and exchanges: %s',
    (_, arbitrary) => {
      const moves = fc.option(arbitrary, { nil: 'stays' as const, freq: 2 })
      const written = fc.array(
        fc.tuple(arbitrary, fc.integer({ min: 0, max: 400 }), fc.option(moves, { nil: 'goes' as const })),
        {
          minLength: 2500,
          maxLength: 3500,
        },
      )
      fc.assert(
        fc.property(
          written,
          arbitrary,
          fc.boolean(),
          fc.boolean(),
          (changes, bound, isBehind, isBackwards) => {
            const list = createList()
            const present = new Map<string, Element>()
            for (const [key, number, next] of changes) {
              const name = nameOf(key, number)
              const known = present.get(name)
              const moved = next === 'stays' ? key : next
              const place = nameOf(moved, number)
              if (!known) {
                const element: Element = [key, String(number)]
                present.set(name, element)
                list.insert(element)
                continue
              }
              present.delete(name)
              if (next === 'goes' || present.has(place)) list.remove(known)
              else {
                const element: Element = [moved, String(number)]
                present.set(place, element)
                list.exchange(known, element)
              }
            }
            const array = [...present.values()].sort(compareElements)
            expect(list.length).toBe(array.length)
            expect(elementsOf(list)).toEqual(array)
            expect(elementsOf(list).every((element, i) => element === array[i])).toBe(true)
            const isBefore = ([key]: Element): boolean => compare(key, bound) < (isBehind ? 1 : 0)
            const rank = list.rank([bound], isBehind)
            expect(rank).toBe(array.filter(isBefore).length)
            const part = array.slice(rank, rank + 700)
            const taken: Element[] = []
            const range = { first: rank, end: rank + part.length, isBackwards }
            const next = list.read(range)
            for (let element = next(); element; element = next()) taken.push(element)
            expect(isBackwards ? taken.reverse() : taken).toEqual(part)
          },
        ),
        { numRuns: 20 },
      )
    },
  )

  test('reads each value once of what fills it, and takes what comes together later to its places', () => {
    let reads = 0
    const list = new SortedList<Element>([], ([, id]) => {
      reads += 1
      return id
    })
    const elements = Array.from({ length: 24_000 }, (_, i): Element => {
      const id = String((i * 7919) % 24_000).padStart(5, '0')
      return [undefined, id]
    })
    for (const element of elements.slice(0, 20_000)) list.insert(element)
    list.tidy()
    expect(reads).toBe(20_000)
    for (const element of elements.slice(20_000)) list.insert(element)
    list.tidy()
    const before = reads
    expect(elementsOf(list)).toEqual(elements.sort(compareElements))
    expect(reads).toBe(before)
  })

  test('that is added to rows is in order before anybody asks', () => {
    let reads = 0
    const rows = createRows(createDatabase(), 'things')
    for (let i = 0; i < 2000; i++)
      rows.insert({
        _id: String(i),
        _version: 1,
        get n() {
          reads += 1
          return -i
        },
      } as unknown as StoredDocument)
    rows.addSorted([{ path: 'n', type: 'integer', each: false }])
    expect(reads).toBe(2000)
    expect(rows.sorted.at(-1)?.documents.rank([-500], false)).toBe(1499)
    expect(reads).toBe(2000)
  })

  test('of which there are many are put in order one by one', () => {
    const reads = { n: 0, m: 0 }
    const rows = createRows(createDatabase(), 'things')
    for (const path of ['n', 'm']) rows.addSorted([{ path, type: 'integer', each: false }])
    const count = (name: 'n' | 'm', value: number): number => {
      reads[name] += 1
      return value
    }
    for (let i = 0; i < 2000; i++)
      rows.insert({
        _id: String(i),
        _version: 1,
        get n() {
          return count('n', -i)
        },
        get m() {
          return count('m', i)
        },
      } as unknown as StoredDocument)
    expect(reads).toEqual({ n: 0, m: 0 })
    const after = Array.from({ length: 3 }, () => {
      rows.tidy()
      return { ...reads }
    })
    // First that of the ids, which reads none.
    expect(after).toEqual([
      { n: 0, m: 0 },
      { n: 2000, m: 0 },
      { n: 2000, m: 2000 },
    ])
  })

  test('holds an element once for each of its values, through insertions, removals and exchanges', () => {
    interface Spread {
      readonly id: string
      readonly n: number
      readonly values: ReadonlySet<Ordered>
    }
    const values = fc.array(fc.oneof(fc.integer({ min: 0, max: 9 }), texts), { maxLength: 6 })
    const written = fc.array(
      fc.tuple(fc.integer({ min: 0, max: 60 }), fc.integer({ min: 0, max: 2 }), fc.option(values)),
      { minLength: 600, maxLength: 900 },
    )
    const place = fc.constantFrom(0, 1)
    fc.assert(
      fc.property(written, place, values, fc.boolean(), (changes, column, bounds, isBehind) => {
        const readers = [({ n }: Spread) => n, ({ n }: Spread) => n]
        const list = new SortedList<Spread>(readers, ({ id }) => id, {
          column,
          valuesOf: (element) => element.values,
        })
        const present = new Map<string, Spread>()
        for (const [number, n, next] of changes) {
          const [id, known] = [String(number), present.get(String(number))]
          const element = { id, n, values: new Set(next) }
          if (known && next === null) list.remove(known)
          else if (known) list.exchange(known, element)
          else list.insert(element)
          if (known && next === null) present.delete(id)
          else present.set(id, element)
        }
        const keysOf = (element: Spread, value: Ordered): readonly Ordered[] =>
          column === 0 ? [value, element.n, element.id] : [element.n, value, element.id]
        const rows = [...present.values()]
          .flatMap((element) =>
            [...element.values].map((value) => ({ element, keys: keysOf(element, value) })),
          )
          .sort((a, b) => compareRows(a.keys, b.keys))
        expect(list.length).toBe(rows.length)
        expect(list.toArray()).toEqual(rows.map(({ element }) => element))
        const bound = bounds.slice(0, 2)
        const isBefore = ({ keys }: (typeof rows)[number]): boolean =>
          compareRows(keys.slice(0, bound.length), bound) < (isBehind ? 1 : 0)
        expect(list.rank(bound, isBehind)).toBe(rows.filter(isBefore).length)
      }),
      { numRuns: 30 },
    )
  })

  test('lets nothing be removed that is not there', () => {
    const list = createList()
    list.remove([1, 'x'])
    list.insert([2, 'x'])
    list.remove([1, 'x'])
    list.remove([3, 'x'])
    expect(elementsOf(list)).toEqual([[2, 'x']])
  })

  test('reads a range as far as it is asked to', () => {
    const list = createList()
    for (let i = 0; i < 3000; i++) list.insert([i, 'x'])
    const next = list.read({ first: 10, end: 2990, isBackwards: true })
    expect([next(), next(), next()].map((element) => element?.[0])).toEqual([2989, 2988, 2987])
  })
})

const field = (path: string, type: FieldRef['type']): FieldRef => ({ path, type, each: false })
const group = field('group', 'integer')
const n = field('n', 'number')
const name = field('name', 'string')
const id = field('_id', 'string')
const tags: FieldRef = { path: 'tags', type: 'string', each: true }
const links: FieldRef = { path: 'links', type: 'string', each: true, inside: 'to' }
const PLAN = {
  name: 'things',
  indexes: [
    { fields: [tags], unique: false },
    { fields: [links], unique: false },
    { fields: [tags, n], unique: false },
    { fields: [group, tags, name], unique: false },
    { fields: [links, group], unique: false },
    { fields: [n], unique: false },
    { fields: [group, n], unique: false },
    { fields: [group, name], unique: false },
    { fields: [field('code', 'string')], unique: true },
  ],
}

const document = fc.record(
  {
    group: fc.oneof(fc.integer({ min: 0, max: 5 }), fc.constantFrom<unknown>('odd', 2.5, null)),
    n: fc.oneof(fc.integer({ min: 0, max: 50 }), fc.constantFrom<unknown>('odd', true)),
    name: fc.constantFrom<unknown>('', 'a', 'B', '\uffff', '😀', 5),
    tags: fc.oneof(fc.array(fc.constantFrom<unknown>('a', 'b', 5, null)), fc.constant('a')),
    links: fc.array(fc.oneof(fc.record({ to: fc.constantFrom<unknown>('a', 'b', 5) }), fc.constant('a'))),
  },
  { requiredKeys: [] },
)

const number = fc.integer({ min: -1, max: 51 })
const leaf: fc.Arbitrary<Filter> = fc.oneof(
  fc
    .tuple(fc.constantFrom('eq', 'lt', 'lte', 'gt', 'gte'), fc.constantFrom(group, n), number)
    .map(([kind, ref, value]): Filter => ({ kind, field: ref, value })),
  fc
    .tuple(fc.constantFrom('eq', 'lt', 'gte'), fc.constantFrom<Scalar>('a', 'B', '\uffff', '😀', ''))
    .map(([kind, value]): Filter => ({ kind, field: name, value })),
  fc.constantFrom(group, n, name).map((ref): Filter => ({ kind: 'present', field: ref })),
  fc.constantFrom(group, n).map((ref): Filter => ({ kind: 'not', filter: { kind: 'present', field: ref } })),
)
const equals = (ref: FieldRef, value: fc.Arbitrary<Scalar>): fc.Arbitrary<Filter> =>
  value.map((wanted): Filter => ({ kind: 'eq', field: ref, value: wanted }))
/** Several values of one field, some of them twice, or none. */
const oneOf: fc.Arbitrary<Filter> = fc
  .oneof(
    fc.array(equals(group, fc.integer({ min: 0, max: 5 })), { maxLength: 5 }),
    fc.array(equals(n, number), { maxLength: 5 }),
    fc.array(equals(tags, fc.constantFrom<Scalar>('a', 'b', 'c', 5)), { maxLength: 3 }),
    fc.array(equals(links, fc.constantFrom<Scalar>('a', 'b', 'c')), { maxLength: 3 }),
  )
  .map((filters): Filter => ({ kind: 'or', filters }))
const element = fc.oneof(
  equals(tags, fc.constantFrom<Scalar>('a', 'b', 'c', 5)),
  equals(links, fc.constantFrom<Scalar>('a', 'b')),
)
const condition = fc.oneof({ weight: 3, arbitrary: leaf }, oneOf, element)
const all = fc.array(condition, { maxLength: 4 }).map((filters): Filter => ({ kind: 'and', filters }))
const any = fc
  .array(fc.oneof(leaf, all), { minLength: 2, maxLength: 4 })
  .map((filters): Filter => ({ kind: 'or', filters }))
const filter: fc.Arbitrary<Filter> = fc.oneof(
  condition,
  all,
  any,
  fc.tuple(any, condition).map((filters): Filter => ({ kind: 'and', filters })),
)
const sort: fc.Arbitrary<readonly SortKey[]> = fc
  .tuple(
    fc.uniqueArray(fc.constantFrom(group, n, name), { maxLength: 3 }),
    fc.array(fc.boolean(), { minLength: 4, maxLength: 4 }),
    fc.boolean(),
  )
  .map(([fields, directions, isUniform]) =>
    [...fields, id].map((ref, i) => ({ field: ref, descending: directions[isUniform ? 0 : i] ?? false })),
  )

const typed = (stored: StoredDocument, { path, type }: FieldRef): Ordered => {
  const value = stored[path]
  const holds = type === 'integer' ? Number.isInteger(value) : typeof value === type
  return holds ? (value as Ordered) : undefined
}

test('whatever index answers, the answer is that of a scan', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(document, { minLength: 1, maxLength: 60 }),
      fc.array(fc.tuple(filter, sort, fc.nat(5), fc.option(fc.nat(20))), { minLength: 12, maxLength: 12 }),
      fc.infiniteStream(fc.nat(1_000_000)),
      async (documents, queries, shuffle) => {
        const adapter = createMemoryAdapter()
        await adapter.open([PLAN])
        const stored = documents.map((fields, i): StoredDocument => {
          const next = shuffle.next().value ?? 0
          return { ...fields, _id: `${String(next).padStart(7, '0')}-${i}`, _version: 1, code: `c${i}` }
        })
        await adapter.write(
          stored.map((insert) => ({ in: 'things', insert })),
          {},
        )
        // What was changed and removed is found where it is now.
        const [first, second, ...rest] = stored
        const changed = { group: 3, n: 7, tags: ['b', 'c', 'b'], _version: 2 }
        const live = first ? [{ ...first, ...changed }, ...rest] : rest
        if (first) await adapter.write([{ in: 'things', replace: live[0] as StoredDocument, version: 1 }], {})
        if (second) {
          const removed = { in: 'things', remove: { kind: 'eq', field: id, value: second._id } as const }
          await adapter.write([removed], {})
        }
        for (const [condition, keys, skip, limit] of queries) {
          const expected = live
            .filter((candidate) => matches(condition, candidate))
            .sort((a, b) => {
              for (const { field: ref, descending } of keys) {
                const order = compare(typed(a, ref), typed(b, ref))
                if (order !== 0) return descending ? -order : order
              }
              return 0
            })
          const page = await adapter.list('things', { filter: condition, sort: keys, skip, limit })
          expect(page.map(({ _id }) => _id)).toEqual(
            expected.slice(skip, limit === null ? undefined : skip + limit).map(({ _id }) => _id),
          )
          expect(await adapter.count('things', condition, {})).toBe(expected.length)
        }
      },
    ),
    { numRuns: 300 },
  )
})
