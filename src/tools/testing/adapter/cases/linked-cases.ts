import { and, type Filter, isId } from '../../../../core/filter/filter.js'
import type {
  CollectionPlan,
  Linked,
  StorageAdapter,
  StoredDocument,
  WriteStep,
} from '../../../../core/storage.js'
import type { AdapterCase } from '../adapter-case.js'
import { documentOf, eq, fieldOf, planOf } from '../check/documents.js'
import { pairCase } from '../check/with-adapter.js'

const OWNER = fieldOf('owner', 'string')
const STATE = fieldOf('state', 'string')
const LINK = '8a6e0804-2bd0-4672-b79d-d97027f9071a'
const PEOPLE = ['0', '1'].map((end) => `00000000-0000-7000-8000-00000000000${end}`)

const PLANS: readonly CollectionPlan[] = [
  planOf('tickets'),
  planOf('people'),
  { ...planOf('things'), indexes: [{ fields: [OWNER], unique: false }] },
]

const insert = (name: string, id: string, fields: object = {}): WriteStep => ({
  in: name,
  insert: documentOf(id, { ...fields }),
})

const WRITES: readonly WriteStep[] = [
  ...PEOPLE.map((id, i) => insert('people', id, { n: i })),
  insert('tickets', 'a', { owner: PEOPLE[0] }),
  insert('tickets', 'b', { owner: PEOPLE[1] }),
  insert('tickets', 'gone', { owner: '00000000-0000-7000-8000-000000000009' }),
  insert('tickets', 'none'),
  insert('tickets', 'a number', { owner: 5 }),
  ...[0, 1, 2, 3].map((i) =>
    insert('things', `t${i}`, { owner: PEOPLE[i % 2], state: i < 2 ? 'open' : LINK }),
  ),
  insert('things', 'linked', { owner: LINK }),
  insert('things', 'large', { owner: PEOPLE[1], text: 'x'.repeat(100_000) }),
]

const ofOwner = eq(OWNER, LINK)
const FILTERS: readonly (readonly [name: string, filter: Filter])[] = [
  ['people', isId(LINK)],
  ['things', ofOwner],
  ['things', and([ofOwner, eq(STATE, 'open')])],
  ['things', eq(STATE, 'open')],
]

const put = (filter: Filter, id: string): Filter =>
  JSON.parse(JSON.stringify(filter).replaceAll(LINK, id)) as Filter

const idsOf = (documents: readonly StoredDocument[]): string =>
  documents
    .map(({ _id }) => _id)
    .sort()
    .join()

async function compare(adapter: StorageAdapter, id: string): Promise<void> {
  const linked: Linked = {
    in: 'tickets',
    id,
    field: 'owner',
    link: LINK,
    lists: FILTERS.map(([name, filter]) => ({ in: name, filter, limit: 3 })),
  }
  const { document, lists = [] } = (await adapter.readLinked?.(linked, {})) ?? {}
  const ask = (name: string, filter: Filter, limit: number) =>
    adapter.list(name, { filter, sort: [], skip: 0, limit })
  const [expected] = await ask('tickets', isId(id), 1)
  if (JSON.stringify(document) !== JSON.stringify(expected))
    throw new Error(
      `readLinked returned ${JSON.stringify(document)} for ${id}, expected ${JSON.stringify(expected)}`,
    )
  const owner = expected?.owner
  for (const [i, [name, filter]] of FILTERS.entries()) {
    const found = lists[i]
    if (!found) continue
    const there = typeof owner === 'string' ? await ask(name, put(filter, owner), 3) : []
    const isOwn = JSON.stringify(filter).includes(LINK)
    if (isOwn && idsOf(found) !== idsOf(there))
      throw new Error(`readLinked returned the ${name} ${idsOf(found)} for ${id}, expected ${idsOf(there)}`)
  }
}

/** Cases for `readLinked`: it must return the same as separate reads. Adapters without `readLinked` pass. */
export const linkedCases: readonly AdapterCase[] = [
  pairCase(
    'linked: a document and what follows from it are as if one was read after another',
    PLANS,
    async (first, second) => {
      if (!first.readLinked) return
      await first.write(WRITES, {})
      const ids = ['a', 'b', 'gone', 'none', 'a number', 'nothing']
      for (const id of ids) await compare(first, id)
      await Promise.all([...ids, ...ids].map((id) => compare(first, id)))
      await second.write([{ in: 'things', remove: eq(OWNER, String(PEOPLE[0])) }], {})
      await Promise.all(ids.map((id) => compare(first, id)))
    },
  ),
]
