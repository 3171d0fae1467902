import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import type * as FindLeft from '../../src/adapters/sql/find-left.js'
import type * as StoredDocuments from '../../src/core/documents/write/stored-document.js'
import type { Store } from '../../src/core/request/store.js'
import type * as WarnOfStored from '../../src/core/start/warn-of-stored.js'
import type * as Misfits from '../../src/core/stored/misfits.js'
import { createRandom } from '../../src/tools/testing/adapter/fuzz/random.js'
import { checkStored, randomStored, reopened, type StoredBuild } from '../support/stored-laws.js'
import { choose } from './choose.js'
import { fails, loadMutant, type Mutant } from './create-mutant.js'

/** The comparison of stored documents with a configuration, broken on purpose. */

const WORLDS = 25
const SEED = 8

/** Plays random pairs on SQLite, which also has indexes of earlier configurations. */
async function play(load: () => Promise<StoredBuild & Pick<Sqlite, 'createSqliteAdapter'>>): Promise<void> {
  const { createSqliteAdapter, ...build } = await load()
  const folder = mkdtempSync(join(tmpdir(), 'collection-service-stored-'))
  const random = createRandom(SEED)
  for (let i = 0; i < WORLDS; i++) {
    const file = join(folder, `${i}.db`)
    await checkStored(
      build,
      randomStored(random),
      reopened(() => createSqliteAdapter({ file })),
    )
  }
}

type Sqlite = typeof import('../../src/adapters/sqlite/sqlite-adapter.js')

const load = async () => {
  const [{ createCollectionService: create }, { checkData: check }, { createSqliteAdapter }] =
    await Promise.all([
      import('../../src/core/create-service.js'),
      import('../../src/tools/insight/check/data/check-data.js'),
      import('../../src/adapters/sqlite/sqlite-adapter.js'),
    ])
  return { create, check, createSqliteAdapter }
}

type CreateMisfitCounter = typeof Misfits.createMisfitCounter
type Counted = Misfits.CountedMisfit

const MISFITS = '../../src/core/stored/misfits.js'

const brokenCounter = (
  what: string,
  breakCounter: (real: CreateMisfitCounter) => CreateMisfitCounter,
): Mutant => [
  what,
  MISFITS,
  async (original) => {
    const real = (await original()) as typeof Misfits
    return { ...real, createMisfitCounter: breakCounter(real.createMisfitCounter) }
  },
]

/** A counter that changes what it has counted. */
const brokenResult = (
  what: string,
  change: (one: Counted, nullable: ReadonlySet<string>) => readonly Counted[],
): Mutant =>
  brokenCounter(what, (createMisfitCounter) => (collection) => {
    const { note, result } = createMisfitCounter(collection)
    const fields = collection.fields.filter(({ definition }) => definition.nullable)
    const nullable = new Set(fields.map(({ path }) => path))
    return { note, result: () => result().flatMap((one) => change(one, nullable)) }
  })

/** A store whose lists have only their first document. */
const withFirstOnly = (store: Store): Store => ({
  ...store,
  own(name) {
    const reader = store.own(name)
    return { ...reader, list: (query) => reader.list({ ...query, limit: 1 }) }
  },
})

const mutants: readonly Mutant[] = [
  brokenResult('a missing required field fits', (one) => (one.error === 'required' ? [] : [one])),
  brokenResult('a nullable field fits with any value', (one, nullable) =>
    nullable.has(one.field) ? [] : [one],
  ),
  brokenResult('an undeclared name fits', (one) => (one.error === 'unknown_property' ? [] : [one])),
  brokenResult('an element of an array fits', (one) => (one.pointer.endsWith('/items') ? [] : [one])),
  brokenResult('a text in another form fits', (one) => (one.error === 'not_normalised' ? [] : [one])),
  brokenResult('a reference to nothing fits', (one) => (one.error === 'unknown_reference' ? [] : [one])),
  brokenResult('a property of an object fits', (one) => (one.field.includes('.') ? [] : [one])),
  brokenResult('a renamed field is not recognised', ({ renamed, ...one }) => [one]),
  brokenResult('one document is counted twice', (one) => [{ ...one, count: one.count + 1 }]),
  brokenCounter('a value is printed', (createMisfitCounter) => (collection) => {
    const { note, result } = createMisfitCounter(collection)
    let last: unknown
    return {
      note(document) {
        last = document
        return note(document)
      },
      result: () =>
        result().map((one) => ({ ...one, message: `${one.message}, unlike ${JSON.stringify(last)}` })),
    }
  }),
  [
    'hashes are not compared',
    '../../src/core/documents/write/stored-document.js',
    async (original) => ({
      ...((await original()) as typeof StoredDocuments),
      namesOfHashes: () => [],
    }),
  ],
  [
    'an index of another configuration is not reported',
    '../../src/adapters/sql/find-left.js',
    async (original) => ({ ...((await original()) as typeof FindLeft), findLeft: () => [] }),
  ],
  [
    'a start compares only the first document',
    '../../src/core/start/warn-of-stored.js',
    async (original) => {
      const { warnOfStored } = (await original()) as typeof WarnOfStored
      return {
        warnOfStored: ((service, adapter) => {
          const begin: typeof service.background.begin = (work) =>
            service.background.begin(({ store, ...scope }) =>
              work({
                ...scope,
                store: { ...store, within: (deadline) => withFirstOnly(store.within(deadline)) },
              }),
            )
          return warnOfStored({ ...service, background: { begin } }, adapter)
        }) satisfies typeof warnOfStored,
      }
    },
  ],
  [
    'a start compares nothing',
    '../../src/core/start/warn-of-stored.js',
    async () => ({ warnOfStored: () => () => {} }),
  ],
]

test('the library itself passes', () => play(load))

test.each(choose(mutants).map((one) => [one[0], one] as const))('%s: caught', async (_, mutant) => {
  expect(await fails(play(() => loadMutant(mutant, load)))).toBe(true)
})
