import { expect, test } from 'vitest'
import type * as CompareRecord from '../../src/core/stored/record/compare-record.js'
import type * as DescribeNames from '../../src/core/stored/record/describe-names.js'
import type * as FindValues from '../../src/core/stored/record/find-values.js'
import type * as SchemaRecord from '../../src/core/stored/record/schema-record.js'
import { createMemoryAdapter } from '../../src/index.js'
import { SCHEMA_RECORD_LAWS } from '../support/schema-record-laws.js'
import type { TestService } from '../support/service.js'
import { choose } from './choose.js'
import { createMutant, fails, type Mutant } from './create-mutant.js'

/** Earlier configurations that are forgotten, or remembered where they do not matter. */

const COMPARE = '../../src/core/stored/record/compare-record.js'
const NAMES = '../../src/core/stored/record/describe-names.js'
const VALUES = '../../src/core/stored/record/find-values.js'
const RECORD = '../../src/core/stored/record/schema-record.js'

const change =
  <T>(break_: (real: T) => Partial<T>) =>
  async (original: () => Promise<unknown>) => {
    const real = (await original()) as T
    return { ...real, ...break_(real) }
  }

/** The names of a collection, of which some are not seen, or seen otherwise. */
const seeNames = (see: (names: readonly DescribeNames.StoredName[]) => readonly DescribeNames.StoredName[]) =>
  change<typeof DescribeNames>((real) => ({
    describeNames: (collection) => see(real.describeNames(collection)),
  }))

const mutants: readonly Mutant[] = [
  [
    'no start compares',
    COMPARE,
    change<typeof CompareRecord>(() => ({
      compareRecord: async () => ({ names: new Map(), dropped: [], erased: [], finished: [] }),
    })),
  ],
  [
    'names of earlier fields are free',
    COMPARE,
    change<typeof CompareRecord>(() => ({ reserveNames: () => {} })),
  ],
  [
    'names inside objects are not recorded',
    NAMES,
    seeNames((names) => names.filter(({ path }) => path.length === 1)),
  ],
  ['elements are not recorded', NAMES, seeNames((names) => names.filter(({ path }) => !path.includes('[]')))],
  ['secrets are not recorded', NAMES, seeNames((names) => names.filter(({ path }) => path[0] !== '_hashes'))],
  ['"stored" is not read', NAMES, seeNames((names) => names.map((name) => ({ ...name, isExplicit: false })))],
  [
    '"stored" is always read',
    NAMES,
    seeNames((names) => names.map((name) => ({ ...name, isExplicit: true }))),
  ],
  [
    'each type is any JSON',
    NAMES,
    seeNames((names) => names.map((name) => ({ ...name, type: 'json' as const }))),
  ],
  [
    'values of the declared type count too',
    VALUES,
    change<typeof FindValues>(({ findValues }) => ({
      findValues: (store, collection, path) => findValues(store, collection, path),
    })),
  ],
  [
    'no value is found',
    VALUES,
    change<typeof FindValues>(() => ({ findValues: async () => ({ count: 0, ids: [] }) })),
  ],
  [
    'a name is never old',
    RECORD,
    change<typeof SchemaRecord>(({ renewRecord }) => ({
      renewRecord: (store, renew) =>
        renewRecord(store, (record) => renew(record && { ...record, number: 0 })),
    })),
  ],
  [
    'a configuration never comes back',
    RECORD,
    change<typeof SchemaRecord>(({ renewRecord }) => ({
      renewRecord: (store, renew) =>
        renewRecord(store, (record) => renew(record && { ...record, previous: null })),
    })),
  ],
  [
    'nothing is dropped',
    '../../src/core/stored/record/find-dropped.js',
    async (original) => ({ ...((await original()) as object), findDropped: async () => [] }),
  ],
  [
    'the record is not written',
    RECORD,
    change<typeof SchemaRecord>(() => ({
      renewRecord: (_, renew) => renew(undefined),
    })),
  ],
]

test.each(choose(mutants))('%s: noticed', async (...mutant) => {
  const create = await createMutant(mutant)
  const opened: TestService[] = []
  let isNoticed = false
  for (const [, check] of SCHEMA_RECORD_LAWS) {
    const adapter = createMemoryAdapter()
    isNoticed ||= await fails(check({ connect: () => adapter, create, opened }))
  }
  await Promise.all(opened.map(({ handler }) => handler.close()))
  expect(isNoticed).toBe(true)
})
