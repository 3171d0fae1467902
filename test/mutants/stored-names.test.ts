import { expect, test } from 'vitest'
import type * as TellChange from '../../src/core/consumers/tell-change.js'
import type * as Names from '../../src/core/fields/names.js'
import type * as SchemaNames from '../../src/core/fields/schema/names.js'
import type * as ShowChange from '../../src/core/hooks/show-change.js'
import type { StorageAdapter } from '../../src/core/storage.js'
import type * as FieldNames from '../../src/core/stored/names/field-names.js'
import type * as RenamedStorage from '../../src/core/stored/names/renamed-storage.js'
import { createMemoryAdapter } from '../../src/index.js'
import { CLAIMING_WRITES } from '../support/claiming-writes.js'
import { PLAIN } from '../support/laws.js'
import type { TestService } from '../support/service.js'
import { checkSameReads, checkSameWrites } from '../support/storage-laws.js'
import { buildElsewhere } from '../support/stored-elsewhere.js'
import { STORED_NAME_LAWS } from '../support/stored-name-laws.js'
import { choose } from './choose.js'
import { createMutant, fails, type Mutant } from './create-mutant.js'

/** Names that are not converted, or not back, or that show what nobody may see. */

const NAMES = '../../src/core/stored/names/field-names.js'
const STORAGE = '../../src/core/stored/names/renamed-storage.js'

const breakNames =
  (break_: (real: typeof FieldNames) => Partial<typeof FieldNames>) =>
  async (original: () => Promise<unknown>) => {
    const real = (await original()) as typeof FieldNames
    return { ...real, ...break_(real) }
  }

/** Some calls of the storage go past the conversion. */
const breakStorage =
  (break_: (adapter: StorageAdapter) => Partial<StorageAdapter>) =>
  async (original: () => Promise<unknown>) => {
    const real = (await original()) as typeof RenamedStorage
    const renameStorage: typeof real.renameStorage = (adapter, collections) => {
      const renamed = real.renameStorage(adapter, collections)
      return renamed === adapter ? adapter : { ...renamed, ...break_(adapter) }
    }
    return { ...real, renameStorage }
  }

const mutants: readonly Mutant[] = [
  ['filters and indexes have declared names', NAMES, breakNames(() => ({ storedRef: (_, ref) => ref }))],
  ['documents are read as they are stored', NAMES, breakNames(() => ({ toDeclared: (_, stored) => stored }))],
  [
    'properties of objects keep their names',
    NAMES,
    breakNames((real) => ({
      compileNames(fields) {
        const names = real.compileNames(fields)
        if (!names) return null
        const plain = (all: typeof names.byName) =>
          new Map(Array.from(all, ([name, one]) => [name, { ...one, inside: null }]))
        return { ...names, byName: plain(names.byName), byStored: plain(names.byStored) }
      },
    })),
  ],
  [
    'a secret is looked up by its declared name',
    NAMES,
    breakNames((real) => ({
      compileNames: (fields) => real.compileNames(fields.filter(({ type }) => type !== 'hash')),
    })),
  ],
  [
    'a stored property with the name of a field is lost',
    NAMES,
    breakNames((real) => ({
      toDeclared: (names, stored) =>
        Object.fromEntries(
          Object.entries(real.toDeclared(names, stored)).filter(([name]) => !name.startsWith('_:')),
        ),
    })),
  ],
  [
    'a stored property with the name of a field is shown',
    NAMES,
    breakNames((real) => ({
      toDeclared: (names, stored) =>
        Object.fromEntries(
          Object.entries(real.toDeclared(names, stored)).map(([name, value]) => [
            name.replace('_:', 'old_'),
            value,
          ]),
        ),
    })),
  ],
  ['errors have stored names', NAMES, breakNames(() => ({ declaredPath: (_, path) => path }))],
  ['changes have stored names', STORAGE, breakStorage(({ changes }) => (changes ? { changes } : {}))],
  [
    'counts go past the conversion',
    STORAGE,
    breakStorage(({ count }) => ({ count: (...given) => count(...given) })),
  ],
  ['the first documents are stored by each service', STORAGE, breakOrigin],
  [
    'a free property may have the stored name of a field',
    '../../src/core/fields/schema/names.js',
    async (original) => {
      const real = (await original()) as typeof SchemaNames
      const isFreeName: typeof real.isFreeName = (free, name) =>
        real.isFreeName({ ...free, reserved: new Set() }, name)
      return { ...real, isFreeName }
    },
  ],
  [
    'a hook sees hidden properties inside objects',
    '../../src/core/hooks/show-change.js',
    async (original) => {
      const real = (await original()) as typeof ShowChange
      const showChange: typeof real.showChange = (write) => ({
        ...real.showChange(write),
        before: write.before as never,
      })
      return { ...real, showChange }
    },
  ],
  [
    'the id of a change depends on the declared name of its collection',
    '../../src/core/consumers/tell-change.js',
    async (original) => {
      const real = (await original()) as typeof TellChange
      const nameChange: typeof real.nameChange = (_, change) => real.nameChange(change.in, change)
      const isNamed: typeof real.isNamed = (_, change, name) => real.isNamed(change.in, change, name)
      return { ...real, nameChange, isNamed }
    },
  ],
  [
    'two fields may have one stored name',
    '../../src/core/fields/names.js',
    async (original) => ({ ...((await original()) as typeof Names), checkStoredNames: () => undefined }),
  ],
]

async function breakOrigin(original: () => Promise<unknown>): Promise<object> {
  const real = (await original()) as typeof RenamedStorage
  return { ...real, originOf: (adapter: StorageAdapter) => adapter }
}

test.each(choose(mutants))('%s: noticed', async (...mutant) => {
  const create = await createMutant(mutant)
  const opened: TestService[] = []
  const both = [{ createAdapter: createMemoryAdapter }, buildElsewhere(createMemoryAdapter, create)]
  const laws = [
    ...STORED_NAME_LAWS.map(([, check]) => async () => {
      const adapter = createMemoryAdapter()
      await check({ connect: () => adapter, create, opened })
    }),
    () => checkSameReads(5, PLAIN, both),
    () => checkSameWrites(5, CLAIMING_WRITES, both),
  ]
  let isNoticed = false
  for (const check of laws) isNoticed ||= await fails(check())
  await Promise.all(opened.map(({ handler }) => handler.close()))
  expect(isNoticed).toBe(true)
})
