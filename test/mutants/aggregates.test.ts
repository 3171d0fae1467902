import { describe, expect, test } from 'vitest'
import { foldDocuments } from '../../src/core/aggregates/fold.js'
import { compileField } from '../../src/core/filter/compare.js'
import { everything } from '../../src/core/filter/filter.js'
import type * as CompileAggregate from '../../src/core/query/compile-aggregate.js'
import { endless } from '../../src/core/slices.js'
import type { Aggregated, AggregateQuery, PartialGroup } from '../../src/core/storage.js'
import { createMemoryAdapter, type StorageAdapter, type StoredDocument } from '../../src/index.js'
import { fuzzGroups } from '../../src/tools/testing/adapter/fuzz/fuzz-groups.js'
import { adapterCases, runCase } from '../../src/tools/testing/index.js'
import { checkAggregates } from '../support/aggregate-laws.js'
import { seedOf } from '../support/tier.js'
import { createMutant, fails, type Mutant } from './create-mutant.js'

/** Ways in which a storage has grouped otherwise than the contract says. */
interface Broken {
  /** Another query than the one that was asked. */
  readonly query?: (query: AggregateQuery) => AggregateQuery
  /** Other documents than those that are stored; a document may come several times. */
  readonly documents?: (document: StoredDocument, query: AggregateQuery) => readonly StoredDocument[]
  readonly groups?: (
    groups: readonly PartialGroup[],
    query: AggregateQuery,
    all: readonly StoredDocument[],
  ) => readonly PartialGroup[]
}

function breakAdapter({
  query: ask = (query) => query,
  documents = (one) => [one],
  groups = (all) => all,
}: Broken): StorageAdapter {
  const memory = createMemoryAdapter()
  return {
    ...memory,
    async aggregate(collection, query): Promise<Aggregated> {
      const all = await memory.list(collection, { filter: query.filter, sort: [], skip: 0, limit: null })
      const fold = foldDocuments(ask(query))
      const given = all.flatMap((document) => documents(document, query))
      given.every((document) => fold.add(document, endless()))
      const { groups: found, isCut } = fold.finish()
      return { groups: groups(found, query, given), isCut }
    },
  }
}

const mapSums = (groups: readonly PartialGroup[], map: (decimal: string, values: number) => string) =>
  groups.map((group) => ({
    ...group,
    sums: group.sums.map((sum) => sum && { ...sum, decimal: map(sum.decimal, sum.values) }),
  }))

/** Replaces the array of the key. */
const replaceArray = (
  document: StoredDocument,
  { by }: AggregateQuery,
  replace: (elements: readonly unknown[]) => readonly unknown[] | undefined,
): StoredDocument => {
  const path = by.find(({ field }) => field.each)?.field.path
  const elements = path === undefined ? undefined : document[path]
  return path !== undefined && Array.isArray(elements) ? { ...document, [path]: replace(elements) } : document
}

const TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/

const MUTANTS: readonly (readonly [what: string, broken: Broken])[] = [
  ['sums are doubles', { groups: (groups) => mapSums(groups, (decimal) => String(Number(decimal))) }],
  [
    'sums have 15 digits',
    { groups: (groups) => mapSums(groups, (decimal) => Number(decimal).toPrecision(15)) },
  ],
  [
    'an empty array counts as missing',
    {
      documents: (document, query) => [
        replaceArray(document, query, (elements) => (elements.length === 0 ? undefined : elements)),
      ],
    },
  ],
  [
    'an element that an array has twice counts twice',
    {
      documents: (document, query) => {
        const again: unknown[] = []
        replaceArray(document, query, (elements) => {
          again.push(...elements.filter((element, i) => elements.indexOf(element) !== i))
          return elements
        })
        return [document, ...again.map((element) => replaceArray(document, query, () => [element]))]
      },
    },
  ],
  [
    'intervals are those of a time zone',
    {
      documents: (document, { by }) => {
        const moved = by.flatMap(({ field, cut }) => {
          const value = document[field.path]
          if (typeof cut !== 'string' || cut === 'value' || typeof value !== 'string' || !TIME.test(value))
            return []
          const time = Date.parse(value) + 3_600_000
          return Number.isNaN(time) || time > 253402300799999
            ? []
            : [[field.path, new Date(time).toISOString()]]
        })
        return [{ ...document, ...Object.fromEntries(moved) }]
      },
    },
  ],
  [
    'strings are in the order of a language',
    {
      groups: (groups, { by, measures }, all) =>
        by.length > 0
          ? groups
          : groups.map((group) => ({
              ...group,
              max: measures.map(({ field, shown }, i) => {
                const values = all.map(compileField(field)).filter((value) => typeof value === 'string')
                if (shown !== everything || values.length === 0 || group.max[i] === null)
                  return group.max[i] ?? null
                return values.sort((a, b) => a.localeCompare(b)).at(-1) ?? null
              }),
            })),
    },
  ],
  [
    'a measure has values that are hidden',
    {
      query: (query) => ({
        ...query,
        measures: query.measures.map((one) => ({ ...one, shown: everything })),
      }),
    },
  ],
  [
    'a key is a value that is hidden',
    { query: (query) => ({ ...query, by: query.by.map((one) => ({ ...one, shown: everything })) }) },
  ],
  [
    'an average is of documents',
    {
      groups: (groups) =>
        groups.map((group) => ({
          ...group,
          sums: group.sums.map((sum) => sum && { ...sum, values: group.count }),
        })),
    },
  ],
  [
    'a value on an edge is below it',
    {
      query: (query) => ({
        ...query,
        by: query.by.map((part) =>
          typeof part.cut === 'object'
            ? {
                ...part,
                cut: part.cut.map((edge) => (typeof edge === 'number' ? edge + 1e-9 : `${edge}\u0001`)),
              }
            : part,
        ),
      }),
    },
  ],
  ['one group too few stops it', { query: (query) => ({ ...query, limit: query.limit - 1 }) }],
  ['a group is missing', { groups: (groups) => groups.slice(1) }],
]

const fuzz = (create: () => StorageAdapter): Promise<unknown> =>
  fuzzGroups(
    async () => {
      const adapter = create()
      return { connect: () => adapter }
    },
    { seed: seedOf(1), stores: 100, queries: 20 },
  )

/** The sources whose changes these mutants are about. */
const AREAS = ['../../src/core/aggregates/', '../../src/tools/testing/adapter/'] as const

describe(`the fuzzer of groups, of ${AREAS.join(' and ')}`, () => {
  test.each(MUTANTS)('%s: noticed within 2,000 queries', async (_, broken) => {
    expect(await fails(fuzz(() => breakAdapter(broken)))).toBe(true)
  })

  test('a storage that is right passes', async () => {
    await fuzz(() => breakAdapter({}))
  })
})

describe(`the cases of groups, of ${AREAS.join(' and ')}`, () => {
  const cases = adapterCases.filter(({ name }) => name.startsWith('groups: '))
  const runAll = async (broken: Broken): Promise<void> => {
    for (const one of cases) {
      const adapter = breakAdapter(broken)
      await runCase(one, async () => ({ connect: () => adapter }))
    }
  }

  test.each(MUTANTS)('%s: noticed', async (_, broken) => {
    expect(await fails(runAll(broken))).toBe(true)
  })

  test('a storage that is right passes', async () => {
    await runAll({})
    expect(cases).not.toEqual([])
  })
})

/** Ways in which aggregates tell of what is hidden. */
const LEAKS: readonly Mutant[] = (['measures', 'by'] as const).map((part) => [
  `hidden values count in ${part}`,
  '../../src/core/query/compile-aggregate.js',
  async (original) => {
    const real = (await original()) as typeof CompileAggregate
    return {
      ...real,
      compileAggregate: (...args: Parameters<typeof real.compileAggregate>) => {
        const asked = real.compileAggregate(...args)
        return { ...asked, [part]: asked[part].map((one) => ({ ...one, shown: everything })) }
      },
    }
  },
])

describe('pairs of stores, and sums of what lists show', () => {
  test.each(LEAKS)('%s: noticed', async (...mutant) => {
    const create = await createMutant(mutant)
    expect(await fails(checkAggregates(100, createMemoryAdapter, create))).toBe(true)
  })

  const names: readonly string[] = ['sums have 15 digits', 'a group is missing']

  test.each(MUTANTS.filter(([what]) => names.includes(what)))('%s: noticed', async (_, broken) => {
    expect(await fails(checkAggregates(100, () => breakAdapter(broken)))).toBe(true)
  })
})
