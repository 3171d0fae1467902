import type { StorageAdapter, WriteResult, WriteStep } from '../../../storage.js'
import type { AdapterCase } from '../adapter-case.js'
import { checkWrite } from '../check/check-write.js'
import { checkStored, documentOf, eq, fieldOf, ID, insertAll, planOf } from '../check/documents.js'
import { withAdapter } from '../check/with-adapter.js'

const S = fieldOf('s', 'string')
const VERSION = fieldOf('_version', 'integer')

const a = documentOf('a', { s: 'a' })
const b = documentOf('b', { s: 'b' })
const c = documentOf('c', { s: 'c' })

const requireCase = (name: string, run: (adapter: StorageAdapter) => Promise<void>): AdapterCase => ({
  name: `require: ${name}`,
  run: (storage) =>
    withAdapter(storage, [planOf('things'), planOf('others')], async (adapter) => {
      await insertAll(adapter, 'things', [a, b])
      await run(adapter)
    }),
})

const require = (id: string, version: number): WriteStep => ({ in: 'things', require: id, version })

const done: WriteResult = { ok: true, removed: 0 }
const changed: WriteResult = { ok: false, step: 0, reason: 'changed' }
const missing: WriteResult = { ok: false, step: 0, reason: 'missing' }

/** What is required in a version. */
export const requireCases: readonly AdapterCase[] = [
  requireCase('a version is asked for, and nothing else of the document', async (adapter) => {
    await checkWrite(adapter, [require('a', 1)], done)
    for (const version of [0, 2, 2 ** 52]) await checkWrite(adapter, [require('a', version)], changed)
    await checkWrite(adapter, [require('d', 1)], missing)
    await checkWrite(adapter, [{ in: 'others', require: 'a', version: 1 }], missing)
    await checkWrite(adapter, [{ in: 'things', replace: { _id: 'a', _version: 2 }, version: 1 }], done)
    await checkWrite(adapter, [require('a', 1)], changed)
    await checkWrite(adapter, [require('a', 2)], done)
    await checkWrite(adapter, [{ in: 'things', remove: eq(ID, 'a') }], { ok: true, removed: 1 })
    await checkWrite(adapter, [require('a', 2)], missing)
  }),

  requireCase('versions are told apart up to 2^53', async (adapter) => {
    for (const version of [2 ** 31, 2 ** 32 + 1, 2 ** 52 - 1, 2 ** 53 - 2]) {
      const document = { ...documentOf('e'), _version: version }
      await insertAll(adapter, 'things', [document])
      for (const other of [version - 1, version + 1]) {
        await checkWrite(adapter, [require('e', other)], changed)
        await checkWrite(adapter, [{ in: 'things', replace: document, version: other }], changed)
      }
      const next = { ...document, _version: version + 1 }
      await checkWrite(adapter, [require('e', version), { in: 'things', replace: next, version }], done)
      await checkStored(adapter, 'things', [a, b, next], `after a replace of version ${version}`)
      await checkWrite(adapter, [{ in: 'things', remove: eq(VERSION, version + 1) }], {
        ok: true,
        removed: 1,
      })
    }
  }),

  requireCase('a version is required as the steps before leave it', async (adapter) => {
    const replace: WriteStep = { in: 'things', replace: { ...a, _version: 2 }, version: 1 }
    const insert: WriteStep = { in: 'things', insert: { ...c, _version: 7 } }
    const again: WriteStep = { in: 'things', insert: { ...a, _version: 5 } }
    const removals = [eq(ID, 'a'), eq(S, 'a')].map((remove): WriteStep => ({ in: 'things', remove }))
    const refused: readonly (readonly [reason: 'changed' | 'missing', step: number, WriteStep[]])[] = [
      ['changed', 1, [replace, require('a', 1)]],
      ['changed', 0, [require('a', 2), replace]],
      ['changed', 1, [insert, require('c', 1)]],
      ['missing', 0, [require('c', 7), insert]],
      ...removals.flatMap((remove): typeof refused => [
        ['missing', 1, [remove, require('a', 1)]],
        ['missing', 2, [replace, remove, require('a', 2)]],
        ['changed', 1, [remove, require('b', 2)]],
        ['changed', 2, [remove, again, require('a', 1)]],
      ]),
    ]
    for (const [reason, step, steps] of refused) await checkWrite(adapter, steps, { ok: false, step, reason })
    const taken: WriteStep = { in: 'things', insert: documentOf('b') }
    for (const remove of removals) {
      const steps = [
        ...[require('a', 1), replace, require('a', 2), require('b', 1), insert, require('c', 7), remove],
        ...[require('b', 1), require('c', 7), again, require('a', 5)],
      ]
      const step = steps.length
      await checkWrite(adapter, [...steps, taken], { ok: false, step, reason: 'unique', fields: ['_id'] })
      await checkStored(adapter, 'things', [a, b], 'after refused requirements')
      await checkWrite(adapter, steps, { ok: true, removed: 1 })
      await checkStored(
        adapter,
        'things',
        [{ ...a, _version: 5 }, b, { ...c, _version: 7 }],
        'after the write',
      )
      const back: readonly WriteStep[] = [
        { in: 'things', remove: eq(ID, 'c') },
        { in: 'things', replace: a, version: 5 },
      ]
      await checkWrite(adapter, back, { ok: true, removed: 1 })
    }
  }),
]
