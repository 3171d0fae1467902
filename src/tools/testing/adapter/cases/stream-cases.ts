import type { ListQuery, StorageAdapter, StoredDocument } from '../../../../core/storage.js'
import type { AdapterCase } from '../adapter-case.js'
import { check, checkSame } from '../check/check.js'
import { by, checkStored, documentOf, fieldOf, ID, insertAll, planOf, queryOf } from '../check/documents.js'
import { parsePattern } from '../check/parse-pattern.js'
import { adapterCase } from '../check/with-adapter.js'

const N = fieldOf('n', 'integer')
const S = fieldOf('s', 'string')

/** More documents than a batch is likely to have. */
const documents = Array.from({ length: 2300 }, (_, i) =>
  documentOf(`id${String(i).padStart(5, '0')}`, { n: (i * 7919) % 1000, s: `text ${i % 13}` }),
)

const QUERIES: readonly ListQuery[] = [
  queryOf({ sort: [by(N), by(ID)] }),
  queryOf({ sort: [by(N, true), by(S), by(ID)], skip: 700, limit: 1201 }),
  queryOf({ sort: [by(S), by(ID, true)], filter: { kind: 'lt', field: N, value: 500 } }),
  queryOf({
    sort: [by(N, true), by(ID, true)],
    filter: { kind: 'match', field: S, pattern: parsePattern('1[0-9]?$', { ignoreCase: false }) },
    skip: 3,
    limit: 40,
  }),
  queryOf({ sort: [by(N), by(ID)], filter: { kind: 'gt', field: N, value: 5000 } }),
  queryOf({ sort: [by(N), by(ID)], skip: 5000 }),
]

/** Creates a case for the stream of an adapter. `stream` is optional, so adapters without it pass. */
const streamCase = (
  name: string,
  run: (adapter: StorageAdapter, stream: NonNullable<StorageAdapter['stream']>) => Promise<void>,
): AdapterCase =>
  adapterCase(`stream: ${name}`, [planOf('many')], async (adapter) => {
    if (!adapter.stream) return
    await insertAll(adapter, 'many', documents)
    await run(adapter, adapter.stream.bind(adapter))
    await checkStored(adapter, 'many', documents, 'after streaming')
  })

async function collect(
  batches: AsyncIterable<readonly StoredDocument[]>,
): Promise<readonly StoredDocument[]> {
  const all: StoredDocument[] = []
  for await (const batch of batches) all.push(...batch)
  return all
}

/** Cases for lists that are returned in batches. */
export const streamCases: readonly AdapterCase[] = [
  streamCase('gives what a list does, in its order', async (adapter, stream) => {
    for (const [i, query] of QUERIES.entries())
      checkSame(await collect(stream('many', query)), await adapter.list('many', query), `query ${i}`)
  }),
  streamCase('may be left at any time', async (_, stream) => {
    const [query] = QUERIES
    if (!query) return
    // The loop runs more often than an adapter has connections, so that leaked connections are noticed.
    for (let i = 0; i < 30; i++) {
      for await (const batch of stream('many', query)) {
        check(batch.length > 0, 'the stream returned an empty batch')
        break
      }
    }
  }),
  streamCase('ends when it is aborted', async (_, stream) => {
    const controller = new AbortController()
    const [query] = QUERIES
    if (!query) return
    let seen = 0
    try {
      for await (const batch of stream('many', { ...query, signal: controller.signal })) {
        seen += batch.length
        controller.abort()
      }
    } catch {
      // An error is allowed here.
    }
    check(seen < documents.length, 'the stream returned all documents, although its signal was aborted')
  }),
]
