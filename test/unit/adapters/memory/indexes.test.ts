import { describe, expect, test } from 'vitest'
import { createSortedList } from '../../../../src/adapters/memory/sorted-list.js'
import { compare, type Ordered } from '../../../../src/filter/compare.js'
import type { FieldRef, Filter, Scalar } from '../../../../src/filter/filter.js'
import { matches } from '../../../../src/filter/matches.js'
import { createMemoryAdapter, type SortKey, type StoredDocument } from '../../../../src/index.js'
import fc from '../../../support/fast-check.js'

describe('a sorted list', () => {
  test('holds what a sorted array holds, through thousands of insertions and removals', () => {
    const numbers = fc.array(fc.integer({ min: 0, max: 4000 }), { minLength: 2500, maxLength: 3500 })
    fc.assert(
      fc.property(numbers, fc.integer({ min: 0, max: 4000 }), fc.boolean(), (written, bound, isBackwards) => {
        const list = createSortedList<number>((a, b) => a - b)
        const present = new Set<number>()
        for (const number of written) {
          if (present.delete(number)) list.remove(number)
          else {
            present.add(number)
            list.insert(number)
          }
        }
        const array = [...present].sort((a, b) => a - b)
        expect(list.length).toBe(array.length)
        expect([...list.slice(0, list.length, false)]).toEqual(array)
        const rank = list.findRank((number) => number < bound)
        expect(rank).toBe(array.filter((number) => number < bound).length)
        const part = array.slice(rank, rank + 700)
        const taken = [...list.slice(rank, rank + part.length, isBackwards)]
        expect(isBackwards ? taken.reverse() : taken).toEqual(part)
      }),
      { numRuns: 20 },
    )
  })

  test('lets nothing be removed that is not there', () => {
    const list = createSortedList<number>((a, b) => a - b)
    list.remove(1)
    list.insert(2)
    list.remove(1)
    list.remove(3)
    expect([...list.slice(0, list.length, false)]).toEqual([2])
  })
})

const field = (path: string, type: FieldRef['type']): FieldRef => ({ path, type, each: false })
const group = field('group', 'integer')
const n = field('n', 'number')
const name = field('name', 'string')
const id = field('_id', 'string')
const PLAN = {
  name: 'things',
  indexes: [
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
const filter: fc.Arbitrary<Filter> = fc.oneof(
  leaf,
  fc.array(leaf, { maxLength: 4 }).map((filters): Filter => ({ kind: 'and', filters })),
  fc.tuple(leaf, leaf).map((filters): Filter => ({ kind: 'or', filters })),
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
        const live = first ? [{ ...first, group: 3, n: 7, _version: 2 }, ...rest] : rest
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
