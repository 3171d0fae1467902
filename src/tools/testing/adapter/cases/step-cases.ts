import { everything, type Filter } from '../../../../core/filter/filter.js'
import type { CollectionPlan, StorageAdapter } from '../../../../core/storage.js'
import type { JsonObject } from '../../../../core/types.js'
import type { AdapterCase } from '../adapter-case.js'
import { checkWrite, done, rejected, removing, stepsIn } from '../check/check-write.js'
import { checkStored, documentOf, eq, fieldOf, ID, insertAll, planOf } from '../check/documents.js'
import { adapterCase } from '../check/with-adapter.js'

const inThings = stepsIn('things')
const inOthers = stepsIn('others')

const N = fieldOf('n', 'number')
const KEY = fieldOf('key', 'string')
const PLANS: readonly CollectionPlan[] = [planOf('things', [true, KEY]), planOf('others')]

const one = documentOf('1', { n: 1, key: 'one' })
const two = documentOf('2', { n: 2, key: 'two' })
const three = documentOf('3', { n: 2, key: 'three' })
const ALL = [one, two, three]

const next = (document: JsonObject, _id: string, _version: number, changes: JsonObject) => ({
  ...document,
  ...changes,
  _id,
  _version,
})

/** Creates a case that writes to `things`, which already has three documents. */
const stepCase = (name: string, run: (adapter: StorageAdapter) => Promise<void>): AdapterCase =>
  adapterCase(`write: ${name}`, PLANS, async (adapter) => {
    await insertAll(adapter, 'things', ALL)
    await run(adapter)
  })

const isTwo: Filter = eq(N, 2)
const absent: Filter = eq(N, 99)

/** Cases for each kind of step alone, with all reasons to reject it. */
export const stepCases: readonly AdapterCase[] = [
  stepCase('no steps at all', (adapter) => checkWrite(adapter, [], done)),

  stepCase('an _id that is taken is refused', async (adapter) => {
    const again = documentOf('1', { n: 9 })
    const taken = rejected(0, 'unique', '_id')
    await checkWrite(adapter, [inThings.insert(again)], taken)
    // An identical document is rejected too. The same `_id` in another collection is allowed.
    await checkWrite(adapter, [inThings.insert(one)], taken)
    await checkWrite(adapter, [inOthers.insert(one)], done)
    await checkStored(adapter, 'things', ALL, 'after refused inserts')
    await checkStored(adapter, 'others', [one], 'after an insert elsewhere')
  }),

  stepCase('a replace takes the whole document at its version', async (adapter) => {
    const changed = { _id: '1', _version: 2, other: [true] }
    await checkWrite(adapter, [inThings.replace(changed, 1)], done)
    await checkStored(adapter, 'things', [changed, two, three], 'after a replace')
    const stale = rejected(0, 'changed')
    const again = next(changed, '1', 2, { lost: true })
    for (const version of [1, 0, 3]) {
      await checkWrite(adapter, [inThings.replace(again, version)], stale)
    }
    await checkStored(adapter, 'things', [changed, two, three], 'after replaces of other versions')
    await checkWrite(adapter, [inThings.replace(next(again, '1', 3, {}), 2)], done)
  }),

  stepCase('a replace of what is gone is refused', async (adapter) => {
    const stale = rejected(0, 'changed')
    await checkWrite(adapter, [inThings.replace(documentOf('4'), 1)], stale)
    await checkWrite(adapter, [inOthers.replace(one, 1)], stale)
    await checkWrite(adapter, [inThings.remove(eq(ID, '1'))], removing(1))
    await checkWrite(adapter, [inThings.replace(one, 1)], stale)
    await checkStored(adapter, 'things', [two, three], 'after refused replaces')
    await checkStored(adapter, 'others', [], 'after refused replaces')
  }),

  stepCase('a remove takes all that match, and says how many', async (adapter) => {
    await checkWrite(adapter, [inThings.remove(absent)], done)
    await checkWrite(adapter, [inThings.remove(isTwo)], removing(2))
    await checkStored(adapter, 'things', [one], 'after a remove')
    await checkWrite(adapter, [inThings.remove(everything)], removing(1))
    await checkStored(adapter, 'things', [], 'after a remove of everything')
  }),

  stepCase('a remove by a pattern takes what matches and nothing else', async (adapter) => {
    const pattern = { kind: 'sequence', parts: [{ kind: 'start' }, { kind: 'text', text: 't' }] } as const
    const remove: Filter = { kind: 'match', field: KEY, pattern }
    await checkWrite(adapter, [inThings.remove(remove, 1)], rejected(0, 'changed'))
    await checkWrite(adapter, [inThings.remove(remove)], removing(2))
    await checkStored(adapter, 'things', [one], 'after a remove by a pattern')
  }),

  stepCase('a remove that expects another number is refused', async (adapter) => {
    for (const [remove, expect] of [
      [isTwo, 1],
      [isTwo, 3],
      [isTwo, 0],
      [absent, 1],
      [everything, 2],
    ] as const) {
      await checkWrite(adapter, [inThings.remove(remove, expect)], rejected(0, 'changed'))
    }
    await checkStored(adapter, 'things', ALL, 'after refused removes')
    await checkWrite(adapter, [inThings.remove(absent, 0)], done)
    await checkWrite(adapter, [inThings.remove(isTwo, 2)], removing(2))
    await checkStored(adapter, 'things', [one], 'after an expected remove')
  }),

  stepCase('require asks for an _id', async (adapter) => {
    await checkWrite(adapter, [inThings.require('1')], done)
    const missing = rejected(0, 'missing')
    for (const id of ['4', '', '1 ', "' OR 1=1"]) {
      await checkWrite(adapter, [inThings.require(id)], missing)
    }
    await checkWrite(adapter, [inOthers.require('1')], missing)
  }),

  stepCase('refuse asks that nothing match', async (adapter) => {
    await checkWrite(adapter, [inThings.refuse(absent)], done)
    await checkWrite(adapter, [inOthers.refuse(everything)], done)
    const found = rejected(0, 'found')
    for (const refuse of [isTwo, eq(N, 1), everything])
      await checkWrite(adapter, [inThings.refuse(refuse)], found)
    const text: Filter = { kind: 'match', field: KEY, pattern: { kind: 'text', text: 'hre' } }
    await checkWrite(adapter, [inThings.refuse(text)], found)
    await checkStored(adapter, 'things', ALL, 'after refusals')
  }),

  stepCase('removes are counted over all steps', (adapter) =>
    checkWrite(
      adapter,
      [
        inThings.remove(eq(N, 1)),
        inOthers.insert(one),
        inThings.remove(everything, 2),
        inOthers.remove(everything),
      ],
      removing(4),
    ),
  ),
]
