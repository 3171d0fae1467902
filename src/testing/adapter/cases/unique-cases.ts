import type { FieldRef } from '../../../filter/filter.js'
import type { CollectionPlan, StorageAdapter, WriteResult } from '../../../storage.js'
import type { JsonObject } from '../../../types.js'
import type { AdapterCase } from '../adapter-case.js'
import { checkWrite } from '../check/check-write.js'
import { documentOf, eq, fieldOf, ID, planOf } from '../check/documents.js'
import { withAdapter } from '../check/with-adapter.js'

const S = fieldOf('s', 'string')
const N = fieldOf('n', 'number')
const B = fieldOf('b', 'boolean')

/** The result of a write whose values are taken. */
export const taken = (...fields: readonly FieldRef[]): WriteResult => ({
  ok: false,
  step: 0,
  reason: 'unique',
  fields: fields.map(({ path }) => path),
})

/** The result of a write whose values are free. */
export const stored: WriteResult = { ok: true, removed: 0 }

/** A case about unique indexes. */
export const uniqueCase = (
  name: string,
  plans: readonly CollectionPlan[],
  run: (adapter: StorageAdapter) => Promise<void>,
): AdapterCase => ({ name: `unique: ${name}`, run: (storage) => withAdapter(storage, plans, run) })

/** The values that unique indexes bind, and when they are free again. */
export const uniqueCases: readonly AdapterCase[] = [
  uniqueCase('the _id comes before every index', [planOf('things', [true, S])], async (adapter) => {
    await checkWrite(adapter, [{ in: 'things', insert: documentOf('1', { s: 'a' }) }], stored)
    await checkWrite(adapter, [{ in: 'things', insert: documentOf('1', { s: 'a' }) }], taken(ID))
  }),

  uniqueCase(
    'a replace is bound like an insert',
    [planOf('things', [true, S], [true, N, B])],
    async (adapter) => {
      const one = { _id: '1', s: 'a', n: 1, b: true }
      const two = { _id: '2', s: 'b', n: 2, b: true }
      for (const document of [one, two]) {
        await checkWrite(adapter, [{ in: 'things', insert: { ...document, _version: 1 } }], stored)
      }
      const replace = (changes: JsonObject, version: number, expected: WriteResult): Promise<void> =>
        checkWrite(
          adapter,
          [{ in: 'things', replace: { ...two, ...changes, _id: '2', _version: version + 1 }, version }],
          expected,
        )
      await replace({ s: 'a' }, 1, taken(S))
      await replace({ n: 1 }, 1, taken(N, B))
      await replace({ s: 'a', n: 1 }, 1, taken(S))
      // The version is checked first.
      await replace({ s: 'a' }, 7, { ok: false, step: 0, reason: 'changed' })
      await replace({ note: 'its own values stay its own' }, 1, stored)
      await replace({ s: 'c' }, 2, stored)
      await checkWrite(adapter, [{ in: 'things', insert: documentOf('3', { s: 'b' }) }], stored)
      await replace({ s: 'b' }, 3, taken(S))
      await replace({ s: null, n: null }, 3, stored)
      await checkWrite(
        adapter,
        [{ in: 'things', insert: documentOf('4', { s: 'c', n: 2, b: true }) }],
        stored,
      )
    },
  ),

  uniqueCase(
    'what is taken is judged behind the steps before',
    [planOf('things', [true, S], [true, N])],
    async (adapter) => {
      const one = { in: 'things', insert: documentOf('1', { s: 'a', n: 1 }) }
      const two = { in: 'things', insert: documentOf('2', { s: 'b', n: 2 }) }
      await checkWrite(adapter, [one, two], stored)
      const third = { in: 'things', insert: documentOf('3', { s: 'a', n: 2 }) }
      const free = { in: 'things', replace: { ...one.insert, s: 'c', _version: 2 }, version: 1 }
      const remove = { in: 'things', remove: eq(ID, '1') }
      const again = { in: 'things', insert: documentOf('1', { s: 'a', n: 2 }) }
      const take = { in: 'things', insert: documentOf('4', { s: 'd', n: 4 }) }
      const both = { in: 'things', insert: documentOf('5', { s: 'd', n: 2 }) }
      const refused = (field: FieldRef): WriteResult => ({
        ok: false,
        step: 1,
        reason: 'unique',
        fields: [field.path],
      })
      await checkWrite(adapter, [third], taken(S))
      await checkWrite(adapter, [free, third], refused(N))
      await checkWrite(adapter, [remove, again], refused(N))
      await checkWrite(adapter, [take, both], refused(S))
    },
  ),

  uniqueCase(
    'a removed document sets its values free',
    [planOf('things', [true, S], [true, N])],
    async (adapter) => {
      for (const id of ['1', '2', '3']) {
        await checkWrite(adapter, [{ in: 'things', insert: documentOf(id, { s: 'a', n: 1 }) }], stored)
        await checkWrite(adapter, [{ in: 'things', remove: eq(S, 'a') }], { ok: true, removed: 1 })
      }
    },
  ),

  uniqueCase(
    'collections do not bind each other',
    [planOf('a', [true, fieldOf('b_c', 'string')]), planOf('a_b', [true, fieldOf('c', 'string')])],
    async (adapter) => {
      const insert = documentOf('1', { b_c: 'x', c: 'x' })
      for (const name of ['a', 'a_b']) await checkWrite(adapter, [{ in: name, insert }], stored)
      const other = documentOf('2', { b_c: 'x' })
      await checkWrite(adapter, [{ in: 'a', insert: other }], taken(fieldOf('b_c', 'string')))
      await checkWrite(adapter, [{ in: 'a_b', insert: other }], stored)
    },
  ),
]
