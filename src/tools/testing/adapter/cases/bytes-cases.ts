import type { ListQuery, StorageAdapter } from '../../../../core/storage.js'
import type { AdapterCase } from '../adapter-case.js'
import { check, checkSame } from '../check/check.js'
import { by, documentOf, eq, fieldOf, ID, idsOf, insertAll, planOf, queryOf } from '../check/documents.js'
import { parsePattern } from '../check/parse-pattern.js'
import { adapterCase } from '../check/with-adapter.js'

const N = fieldOf('n', 'integer')
const M = fieldOf('m', 'integer')
const S = fieldOf('s', 'string')

/** Documents of very different sizes, in no order. One of them is larger than most byte limits. */
const documents = Array.from({ length: 60 }, (_, i) =>
  documentOf(`id${String((i * 37) % 60).padStart(3, '0')}`, {
    n: (i * 13) % 60,
    m: (i * 7) % 11,
    s: i === 30 ? 'ä'.repeat(20_000) : 'x'.repeat((i * 211) % 1500),
  }),
)

const QUERIES: readonly ListQuery[] = [
  queryOf(),
  queryOf({ sort: [by(ID, true)], limit: 21 }),
  queryOf({ sort: [by(N), by(ID)], skip: 3 }),
  queryOf({ sort: [by(N, true), by(ID, true)], limit: 40, filter: { kind: 'gt', field: M, value: 2 } }),
  queryOf({ sort: [by(M), by(ID)], skip: 5, limit: 30 }),
  queryOf({
    sort: [by(M, true), by(ID)],
    filter: { kind: 'match', field: S, pattern: parsePattern('^(x|ä)*$', { ignoreCase: false }) },
  }),
  queryOf({ filter: eq(N, 13) }),
  queryOf({ filter: eq(N, -1) }),
]

const BOUNDS = [1, 100, 1500, 10_000, 50_000, 1_000_000]

const sizeOf = (values: readonly unknown[]): number =>
  values.reduce<number>((sum, value) => sum + new TextEncoder().encode(JSON.stringify(value)).length, 0)

const bytesCase = (name: string, run: (adapter: StorageAdapter) => Promise<void>): AdapterCase =>
  adapterCase(`bytes: ${name}`, [planOf('sized', [false, N])], async (adapter) => {
    await insertAll(adapter, 'sized', documents)
    await run(adapter)
  })

/** Cases for lists with a byte limit. */
export const bytesCases: readonly AdapterCase[] = [
  bytesCase(
    'the documents of a bounded list, then the rest, are the whole list in its order',
    async (adapter) => {
      for (const [i, query] of QUERIES.entries()) {
        const whole = await adapter.list('sized', query)
        check(whole.rest === undefined, `query ${i} has a rest, although it has no byte limit`)
        for (const bytes of BOUNDS) {
          const listed = await adapter.list('sized', { ...query, bytes })
          const what = `query ${i} with a limit of ${bytes} bytes`
          checkSame([...listed], whole.slice(0, listed.length), `${what}: documents`)
          checkSame([...idsOf(listed), ...(listed.rest ?? [])], idsOf(whole), `${what}: all ids`)
        }
      }
    },
  ),
  bytesCase('where there is a rest, the documents have no more bytes, or are one', async (adapter) => {
    for (const [i, query] of QUERIES.entries()) {
      for (const bytes of BOUNDS) {
        const listed = await adapter.list('sized', { ...query, bytes })
        if (!listed.rest) continue
        check(listed.rest.length > 0, `query ${i} has an empty rest`)
        check(
          listed.length === 1 || sizeOf(listed) <= bytes,
          `query ${i} returned ${listed.length} documents with ${sizeOf(listed)} bytes, but its limit is ${bytes} bytes`,
        )
      }
    }
  }),
]
