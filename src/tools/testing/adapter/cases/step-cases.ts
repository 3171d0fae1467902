import { everything, type Filter } from '../../../../core/filter/filter.js'
import type { CollectionPlan, StorageAdapter } from '../../../../core/storage.js'
import type { JsonObject } from '../../../../core/types.js'
import type { AdapterCase } from '../adapter-case.js'
import { checkWrite } from '../check/check-write.js'
import { checkStored, documentOf, eq, fieldOf, ID, insertAll, planOf } from '../check/documents.js'
import { withAdapter } from '../check/with-adapter.js'

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
const stepCase = (name: string, run: (adapter: StorageAdapter) => Promise<void>): AdapterCase => ({
  name: `write: ${name}`,
  run: (storage) =>
    withAdapter(storage, PLANS, async (adapter) => {
      await insertAll(adapter, 'things', ALL)
      await run(adapter)
    }),
})

const isTwo: Filter = eq(N, 2)
const absent: Filter = eq(N, 99)

/** Cases for each kind of step alone, with all reasons to reject it. */
export const stepCases: readonly AdapterCase[] = [
  stepCase('no steps at all', (adapter) => checkWrite(adapter, [], { ok: true, removed: 0 })),

  stepCase('an _id that is taken is refused', async (adapter) => {
    const again = documentOf('1', { n: 9 })
    const taken = { ok: false, step: 0, reason: 'unique', fields: ['_id'] } as const
    await checkWrite(adapter, [{ in: 'things', insert: again }], taken)
    // An identical document is rejected too. The same `_id` in another collection is allowed.
    await checkWrite(adapter, [{ in: 'things', insert: one }], taken)
    await checkWrite(adapter, [{ in: 'others', insert: one }], { ok: true, removed: 0 })
    await checkStored(adapter, 'things', ALL, 'after refused inserts')
    await checkStored(adapter, 'others', [one], 'after an insert elsewhere')
  }),

  stepCase('a replace takes the whole document at its version', async (adapter) => {
    const changed = { _id: '1', _version: 2, other: [true] }
    await checkWrite(adapter, [{ in: 'things', replace: changed, version: 1 }], { ok: true, removed: 0 })
    await checkStored(adapter, 'things', [changed, two, three], 'after a replace')
    const stale = { ok: false, step: 0, reason: 'changed' } as const
    const again = next(changed, '1', 2, { lost: true })
    for (const version of [1, 0, 3]) {
      await checkWrite(adapter, [{ in: 'things', replace: again, version }], stale)
    }
    await checkStored(adapter, 'things', [changed, two, three], 'after replaces of other versions')
    await checkWrite(adapter, [{ in: 'things', replace: next(again, '1', 3, {}), version: 2 }], {
      ok: true,
      removed: 0,
    })
  }),

  stepCase('a replace of what is gone is refused', async (adapter) => {
    const stale = { ok: false, step: 0, reason: 'changed' } as const
    await checkWrite(adapter, [{ in: 'things', replace: documentOf('4'), version: 1 }], stale)
    await checkWrite(adapter, [{ in: 'others', replace: one, version: 1 }], stale)
    await checkWrite(adapter, [{ in: 'things', remove: eq(ID, '1') }], { ok: true, removed: 1 })
    await checkWrite(adapter, [{ in: 'things', replace: one, version: 1 }], stale)
    await checkStored(adapter, 'things', [two, three], 'after refused replaces')
    await checkStored(adapter, 'others', [], 'after refused replaces')
  }),

  stepCase('a remove takes all that match, and says how many', async (adapter) => {
    await checkWrite(adapter, [{ in: 'things', remove: absent }], { ok: true, removed: 0 })
    await checkWrite(adapter, [{ in: 'things', remove: isTwo }], { ok: true, removed: 2 })
    await checkStored(adapter, 'things', [one], 'after a remove')
    await checkWrite(adapter, [{ in: 'things', remove: everything }], { ok: true, removed: 1 })
    await checkStored(adapter, 'things', [], 'after a remove of everything')
  }),

  stepCase('a remove by a pattern takes what matches and nothing else', async (adapter) => {
    const pattern = { kind: 'sequence', parts: [{ kind: 'start' }, { kind: 'text', text: 't' }] } as const
    const remove: Filter = { kind: 'match', field: KEY, pattern }
    await checkWrite(adapter, [{ in: 'things', remove, expect: 1 }], {
      ok: false,
      step: 0,
      reason: 'changed',
    })
    await checkWrite(adapter, [{ in: 'things', remove }], { ok: true, removed: 2 })
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
      await checkWrite(adapter, [{ in: 'things', remove, expect }], { ok: false, step: 0, reason: 'changed' })
    }
    await checkStored(adapter, 'things', ALL, 'after refused removes')
    await checkWrite(adapter, [{ in: 'things', remove: absent, expect: 0 }], { ok: true, removed: 0 })
    await checkWrite(adapter, [{ in: 'things', remove: isTwo, expect: 2 }], { ok: true, removed: 2 })
    await checkStored(adapter, 'things', [one], 'after an expected remove')
  }),

  stepCase('require asks for an _id', async (adapter) => {
    await checkWrite(adapter, [{ in: 'things', require: '1' }], { ok: true, removed: 0 })
    const missing = { ok: false, step: 0, reason: 'missing' } as const
    for (const id of ['4', '', '1 ', "' OR 1=1"]) {
      await checkWrite(adapter, [{ in: 'things', require: id }], missing)
    }
    await checkWrite(adapter, [{ in: 'others', require: '1' }], missing)
  }),

  stepCase('refuse asks that nothing match', async (adapter) => {
    await checkWrite(adapter, [{ in: 'things', refuse: absent }], { ok: true, removed: 0 })
    await checkWrite(adapter, [{ in: 'others', refuse: everything }], { ok: true, removed: 0 })
    const found = { ok: false, step: 0, reason: 'found' } as const
    for (const refuse of [isTwo, eq(N, 1), everything])
      await checkWrite(adapter, [{ in: 'things', refuse }], found)
    const text: Filter = { kind: 'match', field: KEY, pattern: { kind: 'text', text: 'hre' } }
    await checkWrite(adapter, [{ in: 'things', refuse: text }], found)
    await checkStored(adapter, 'things', ALL, 'after refusals')
  }),

  stepCase('removes are counted over all steps', (adapter) =>
    checkWrite(
      adapter,
      [
        { in: 'things', remove: eq(N, 1) },
        { in: 'others', insert: one },
        { in: 'things', remove: everything, expect: 2 },
        { in: 'others', remove: everything },
      ],
      { ok: true, removed: 4 },
    ),
  ),
]
