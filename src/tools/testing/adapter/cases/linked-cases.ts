import { and, type Filter, isId, not, nothing, or } from '../../../../core/filter/filter.js'
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

/** The filters of lists that are read together: a claim with several values among them. */
const TOGETHER: readonly (readonly [name: string, filter: Filter])[] = [
  ['things', or(PEOPLE.map((id) => eq(OWNER, id)))],
  ['people', or(PEOPLE.map(isId))],
  ['things', not(eq(STATE, 'open'))],
  ['tickets', nothing],
  ['things', eq(OWNER, String(PEOPLE[0]))],
]

async function compareTogether(adapter: StorageAdapter, limit: number): Promise<void> {
  const asked = TOGETHER.map(([name, filter]) => ({ in: name, filter, limit }))
  const lists = (await adapter.listTogether?.(asked, {})) ?? []
  for (const [i, { in: name, filter }] of asked.entries()) {
    const found = lists[i]
    if (!found) continue
    const all = await adapter.list(name, { filter, sort: [], skip: 0, limit: null })
    const isRight =
      all.length <= limit ? idsOf(found) === idsOf(all) : found.length === limit && isPart(found, all)
    if (!isRight)
      throw new Error(`listTogether returned the ${name} ${idsOf(found)}, expected ${limit} of ${idsOf(all)}`)
  }
}

const isPart = (some: readonly StoredDocument[], all: readonly StoredDocument[]): boolean =>
  some.every((one) => all.some((other) => JSON.stringify(one) === JSON.stringify(other)))

/** Reads two lists while another process moves a document from one to the other: it is always in one of them. */
async function compareMoment(first: StorageAdapter, second: StorageAdapter): Promise<void> {
  const lists = PEOPLE.map((id) => ({ in: 'things', filter: eq(OWNER, id), limit: 10 }))
  await second.write([insert('things', 'moved', { owner: PEOPLE[0] })], {})
  for (let version = 1; version <= 20; version++) {
    const moved = { ...documentOf('moved', { owner: PEOPLE[version % 2] }), _version: version + 1 }
    const [found = []] = await Promise.all([
      first.listTogether?.(lists, {}),
      second.write([{ in: 'things', replace: moved, version }], {}),
    ])
    const places = found.filter((list) => list?.some(({ _id }) => _id === moved._id))
    if (!found.includes(undefined) && places.length !== 1)
      throw new Error(`listTogether returned a document in ${places.length} lists, expected 1: it was moved`)
  }
}

/**
 * Cases for `readLinked` and `listTogether`: they must return the same as separate reads. Adapters without these methods
 * pass.
 */
export const linkedCases: readonly AdapterCase[] = [
  pairCase(
    'together: lists are as if one was read after another, at one moment',
    PLANS,
    async (first, second) => {
      if (!first.listTogether) return
      await first.write(WRITES, {})
      for (const limit of [100, 2]) await compareTogether(first, limit)
      await compareMoment(first, second)
    },
  ),
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
