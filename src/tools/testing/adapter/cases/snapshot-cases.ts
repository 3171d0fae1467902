import { everything } from '../../../../core/filter/filter.js'
import type { Snapshot, StorageAdapter, StoredDocument } from '../../../../core/storage.js'
import type { AdapterCase } from '../adapter-case.js'
import { check, checkSame } from '../check/check.js'
import { documentOf, idsOf, insertAll, planOf } from '../check/documents.js'
import { pairCase } from '../check/with-adapter.js'

/** More documents than a page is likely to have, in another order than that of `_id`. */
const MANY = Array.from({ length: 1201 }, (_, i) =>
  documentOf(`id${String((i * 7) % 1201).padStart(5, '0')}`, { n: i, text: `text ${i}` }),
)

/** More bytes than a page is likely to have. */
const LARGE = Array.from({ length: 6 }, (_, i) => documentOf(`large${i}`, { text: 'x'.repeat(1_500_000) }))

const sorted = (documents: readonly StoredDocument[]): readonly StoredDocument[] =>
  [...documents].sort((a, b) => (a._id < b._id ? -1 : 1))

async function readAll(snapshot: Snapshot, collection: string): Promise<readonly StoredDocument[]> {
  const all: StoredDocument[] = []
  for (;;) {
    const page = await snapshot.next(collection, all.at(-1)?._id ?? '')
    if (page.length === 0) return all
    all.push(...page)
    check(all.length <= MANY.length, `a snapshot returned more documents of ${collection} than there are`)
  }
}

/** Creates a case for snapshots. `snapshot` is optional, so adapters without it pass. */
const snapshotCase = (
  name: string,
  run: (
    take: () => Promise<Snapshot>,
    adapters: { readonly first: StorageAdapter; readonly second: StorageAdapter },
  ) => Promise<void>,
): AdapterCase =>
  pairCase(`snapshot: ${name}`, [planOf('many'), planOf('others')], async (first, second) => {
    if (!first.snapshot) return
    await insertAll(first, 'many', MANY)
    await insertAll(first, 'others', LARGE)
    await run(first.snapshot.bind(first), { first, second })
  })

/** Cases for all documents as of one moment. */
export const snapshotCases: readonly AdapterCase[] = [
  snapshotCase('has every document, in the order of _id', async (take) => {
    const snapshot = await take()
    try {
      checkSame(await readAll(snapshot, 'many'), sorted(MANY), 'a collection of many documents')
      checkSame(await readAll(snapshot, 'others'), sorted(LARGE), 'a collection of large documents')
      checkSame(idsOf(await snapshot.next('many', 'id01199')), ['id01200'], 'after a document')
      checkSame(idsOf(await snapshot.next('many', 'id01199x')), ['id01200'], 'after an _id without document')
      checkSame(await snapshot.next('missing', ''), [], 'a collection that the storage lacks')
      checkSame(await readAll(snapshot, 'many'), sorted(MANY), 'the same after a missing collection')
      const names = await snapshot.collections()
      for (const name of ['many', 'others']) check(names.includes(name), `collections() lacks ${name}`)
    } finally {
      await snapshot.close()
    }
  }),
  snapshotCase('sees no later write, of no adapter', async (take, { first, second }) => {
    const snapshot = await take()
    try {
      const [one] = await snapshot.next('many', '')
      const changed = documentOf(one?._id ?? '', { n: -1 })
      await second.write([{ in: 'many', replace: { ...changed, _version: 2 }, version: 1 }], {})
      await first.write([{ in: 'others', remove: everything }], {})
      await insertAll(second, 'many', [documentOf('z', {})])
      checkSame(
        await readAll(snapshot, 'many'),
        sorted(MANY),
        'documents that were changed and created later',
      )
      checkSame(await readAll(snapshot, 'others'), sorted(LARGE), 'documents that were removed later')
      const later = await take()
      try {
        checkSame(idsOf(await later.next('many', 'id01200')), ['z'], 'a later snapshot sees a later document')
        checkSame(await later.next('others', ''), [], 'a later snapshot sees no removed document')
      } finally {
        await later.close()
      }
    } finally {
      await snapshot.close()
    }
  }),
  snapshotCase('may be closed at any time', async (take, { first }) => {
    // The loop runs more often than an adapter has connections, so that leaked connections are noticed.
    for (let i = 0; i < 30; i++) {
      const snapshot = await take()
      if (i % 2 === 0) await snapshot.next('many', '')
      await snapshot.close()
    }
    await insertAll(first, 'many', [documentOf('after', {})])
  }),
]
