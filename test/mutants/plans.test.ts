import { describe, expect, test } from 'vitest'
import type * as MemoryAdapter from '../../src/adapters/memory/memory-adapter.js'
import type * as Candidates from '../../src/adapters/memory/plan/candidates.js'
import type * as SortedLists from '../../src/adapters/memory/sorted-list.js'
import type * as PostgresAdapter from '../../src/adapters/postgres/postgres-adapter.js'
import type * as MergeRanges from '../../src/adapters/postgres/read/merge-ranges.js'
import type * as ReadPaths from '../../src/adapters/sqlite/read/read-path.js'
import type * as SqliteAdapter from '../../src/adapters/sqlite/sqlite-adapter.js'
import type * as SqliteDialect from '../../src/adapters/sqlite/sqlite-dialect.js'
import { conditionsOf, type Filter } from '../../src/core/filter/filter.js'
import type * as IndexOrder from '../../src/core/filter/index-order.js'
import type { StorageAdapter } from '../../src/index.js'
import { adapterCases, runCase } from '../../src/tools/testing/index.js'
import { newSchema, usePostgres } from '../support/postgres.js'
import { checkRanges } from '../support/range-laws.js'
import { choose } from './choose.js'
import { fails, loadMutant, type Mutant } from './create-mutant.js'

/**
 * Plans of reads broken on purpose: ranges of indexes that are lost, come twice, or are read one after another where an order
 * is asked for. The law of ranges has to notice each of them.
 */

const CANDIDATES = '../../src/adapters/memory/plan/candidates.js'
const SORTED_LIST = '../../src/adapters/memory/sorted-list.js'
const INDEX_ORDER = '../../src/core/filter/index-order.js'
const MERGE_RANGES = '../../src/adapters/postgres/read/merge-ranges.js'
const READ_PATH = '../../src/adapters/sqlite/read/read-path.js'
const SQLITE_DIALECT = '../../src/adapters/sqlite/sqlite-dialect.js'

const breakCandidates =
  (break_: (real: typeof Candidates) => Partial<typeof Candidates>) =>
  async (original: () => Promise<unknown>) => {
    const real = (await original()) as typeof Candidates
    return { ...real, ...break_(real) }
  }

/** Of the text of a merged page, something is another. */
const breakPage = (break_: (text: string) => string) => async (original: () => Promise<unknown>) => {
  const real = (await original()) as typeof MergeRanges
  const mergeRanges: typeof real.mergeRanges = (...args) => {
    const page = real.mergeRanges(...args)
    return page && { ...page, text: break_(page.text) }
  }
  return { ...real, mergeRanges }
}

const loseAlternative = async (original: () => Promise<unknown>) => {
  const real = (await original()) as typeof IndexOrder
  const splitAlternatives: typeof real.splitAlternatives = (conditions) =>
    real.splitAlternatives(conditions).map((parts) => parts.slice(0, -1))
  return { ...real, splitAlternatives }
}

/** An index serves reads otherwise. */
const breakUse =
  (break_: (use: typeof IndexOrder.useIndex) => typeof IndexOrder.useIndex) =>
  async (original: () => Promise<unknown>) => {
    const real = (await original()) as typeof IndexOrder
    return { ...real, useIndex: break_(real.useIndex) }
  }

/** Of a sorted list, something is otherwise. */
const breakList =
  (break_: (list: SortedLists.SortedList<unknown>) => Partial<SortedLists.SortedList<unknown>>) =>
  async (original: () => Promise<unknown>) => {
    const real = (await original()) as typeof SortedLists
    class SortedList<T> extends real.SortedList<T> {
      constructor(...args: ConstructorParameters<typeof real.SortedList<T>>) {
        super(...args)
        const [, , spread] = args
        if (spread) Object.assign(this, break_(this as SortedLists.SortedList<unknown>))
      }
    }
    return { ...real, SortedList }
  }

/** Of a path that is chosen, something is another. */
const breakPath =
  (break_: (path: ReadPaths.ReadPath) => Partial<ReadPaths.ReadPath>) =>
  async (original: () => Promise<unknown>) => {
    const real = (await original()) as typeof ReadPaths
    const decide: typeof real.decide = (...args) => {
      const path = real.decide(...args)
      const { texts: _, ...broken } = { ...path, ...break_(path) }
      return broken
    }
    return { ...real, decide }
  }

const isOfId = (filter: Filter): boolean =>
  conditionsOf(filter).every((one) => 'field' in one && one.field.path === '_id')
const isOfOther = (filter: Filter): boolean => !isOfId(filter)

const mutants: { readonly [storage: string]: readonly Mutant[] } = {
  memory: [
    [
      'merged ranges are read one after another',
      CANDIDATES,
      breakCandidates((real) => ({ candidatesMerged: (parts) => real.candidatesInAll(parts) })),
    ],
    [
      'the last merged range is lost',
      CANDIDATES,
      breakCandidates((real) => ({
        candidatesMerged: (parts, sort) => real.candidatesMerged(parts.slice(0, -1), sort),
      })),
    ],
    [
      'the last of several ranges is lost',
      CANDIDATES,
      breakCandidates((real) => ({ candidatesInAll: (parts) => real.candidatesInAll(parts.slice(0, -1)) })),
    ],
    [
      'what has several elements comes several times',
      INDEX_ORDER,
      breakUse((useIndex) => (...args) => {
        const use = useIndex(...args)
        return use && { ...use, overlaps: false }
      }),
    ],
    [
      'an index over elements answers where none is named',
      INDEX_ORDER,
      breakUse((useIndex) => (columns, ...rest) => {
        const plain = columns.filter(({ each }) => !each)
        return useIndex(columns, ...rest) ?? useIndex(plain, ...rest)
      }),
    ],
  ],
  SQLite: [
    [
      'the last of several ranges is lost',
      READ_PATH,
      breakPath(({ ranges }) => (ranges ? { ranges: ranges.slice(0, -1) } : {})),
    ],
    [
      'what several alternatives have comes several times',
      READ_PATH,
      breakPath(({ isOverlapping }) => (isOverlapping ? { isOverlapping: false } : {})),
    ],
    [
      'what an alternative asks beside its range is not judged',
      READ_PATH,
      breakPath(({ ranges }) =>
        ranges ? { rest: [], ranges: ranges.map((range) => ({ ...range, rest: [] })) } : {},
      ),
    ],
    [
      'a unique index bounds the `_id` of documents that have its fields',
      READ_PATH,
      breakPath(({ binds, bounds, rest, ranges }) =>
        binds && !ranges ? { bounds: [...bounds, ...rest.filter(isOfId)], rest: rest.filter(isOfOther) } : {},
      ),
    ],
    [
      'a unique index has what lacks its fields in no order',
      SQLITE_DIALECT,
      async (original) => {
        const real = (await original()) as typeof SqliteDialect
        const idOfLacking = (): string => "''"
        return { ...real, idOfLacking, sqliteDialect: { ...real.sqliteDialect, idOfLacking } }
      },
    ],
  ],
  PostgreSQL: [
    ['the last of several alternatives is lost', INDEX_ORDER, loseAlternative],
    [
      'what several alternatives have comes several times',
      MERGE_RANGES,
      breakPage((text) =>
        text.replace(/^SELECT DISTINCT ON \(.*?\) merged\.\* FROM \(/, 'SELECT merged.* FROM ('),
      ),
    ],
    [
      'merged ranges come one after another',
      MERGE_RANGES,
      breakPage((text) => text.replace(/ ORDER BY (?!.* ORDER BY ).* LIMIT /, ' LIMIT ')),
    ],
  ],
}

const sound: { readonly [storage: string]: Mutant } = {
  memory: ['nothing is broken', CANDIDATES, breakCandidates(() => ({}))],
  SQLite: ['nothing is broken', READ_PATH, breakPath(() => ({}))],
  PostgreSQL: ['nothing is broken', MERGE_RANGES, breakPage((text) => text)],
}

const postgres = usePostgres()

/** Opens an adapter of a mutant, over a place of its own. */
const open: { readonly [storage: string]: (mutant: Mutant) => Promise<StorageAdapter> } = {
  memory: async (mutant) => {
    const { createMemoryAdapter } = await loadMutant<typeof MemoryAdapter>(
      mutant,
      () => import('../../src/adapters/memory/memory-adapter.js'),
    )
    return createMemoryAdapter()
  },
  SQLite: async (mutant) => {
    const { createSqliteAdapter } = await loadMutant<typeof SqliteAdapter>(
      mutant,
      () => import('../../src/adapters/sqlite/sqlite-adapter.js'),
    )
    return createSqliteAdapter({ file: ':memory:' })
  },
  PostgreSQL: async (mutant) => {
    const { createPostgresAdapter } = await loadMutant<typeof PostgresAdapter>(
      mutant,
      () => import('../../src/adapters/postgres/postgres-adapter.js'),
    )
    return createPostgresAdapter({ connectionString: postgres.url, schema: newSchema() })
  },
}

const RUNS = 300

const check = async (adapter: StorageAdapter): Promise<void> => {
  try {
    await checkRanges(adapter, RUNS)
  } finally {
    await adapter.close()
  }
}

describe.each(Object.entries(open))('in %s', (storage, openMutant) => {
  test('sound plans pass', async () => {
    const real = sound[storage]
    expect(real && (await fails(check(await openMutant(real))))).toBe(false)
  })

  test.each(choose(mutants[storage] ?? []).map((mutant) => [mutant[0], mutant] as const))(
    '%s: noticed',
    async (_, mutant) => expect(await fails(check(await openMutant(mutant)))).toBe(true),
  )
})

describe('elements that an index in memory has', () => {
  const runElements = async (mutant: Mutant): Promise<void> => {
    for (const one of adapterCases) {
      if (!one.name.startsWith('elements')) continue
      const adapter = await open.memory?.(mutant)
      if (adapter) await runCase(one, async () => ({ connect: () => adapter }))
    }
  }

  test.each<[what: string, isBroken: boolean, Mutant]>([
    ['sound', false, ['nothing is broken', SORTED_LIST, breakList(() => ({}))]],
    [
      'left where they were',
      true,
      [
        'an exchange inserts alone',
        SORTED_LIST,
        breakList((list) => ({ exchange: (_, after) => list.insert(after) })),
      ],
    ],
    ['left behind', true, ['nothing is removed', SORTED_LIST, breakList(() => ({ remove: () => {} }))]],
    [
      'lost',
      true,
      [
        'an exchange removes alone',
        SORTED_LIST,
        breakList((list) => ({ exchange: (before) => list.remove(before) })),
      ],
    ],
  ])('%s', async (_, isBroken, mutant) => expect(await fails(runElements(mutant))).toBe(isBroken))
})
