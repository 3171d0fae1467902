import { expect } from 'vitest'
import type { createD1Adapter, D1Binding } from '../../src/adapters/sqlite/programs/d1.js'
import { bounds } from '../../src/core/bounds.js'
import { everything, type Filter, isId } from '../../src/core/filter/filter.js'
import type { AggregateQuery } from '../../src/core/storage.js'
import type { StorageAdapter, StoredDocument, WriteStep } from '../../src/index.js'
import { createD1Database } from './program-databases.js'

/** What reads and writes must do whose filters no statement can evaluate (CONTRACT.md §7, "Storage"). */

const S = { path: 's', type: 'string', each: false } as const

const beginsWith = (text: string): Filter => ({
  kind: 'match',
  field: S,
  pattern: { kind: 'sequence', parts: [{ kind: 'start' }, { kind: 'text', text }] },
})

const documentOf = (_id: string, s: string): StoredDocument => ({ _id, _version: 1, s })

const readAll = async (adapter: StorageAdapter): Promise<readonly unknown[]> =>
  [...(await adapter.list('things', { filter: everything, sort: [], skip: 0, limit: null }))]
    .map(({ s }) => s)
    .sort()

interface Opened {
  readonly create: typeof createD1Adapter
  readonly database: D1Binding
}

async function open({ create, database }: Opened): Promise<StorageAdapter> {
  const adapter = create(database)
  await adapter.open([{ name: 'things', indexes: [] }])
  return adapter
}

/** A pattern finds what the earlier steps of its write leave. */
async function checkEarlierSteps(opened: Opened): Promise<void> {
  const adapter = await open(opened)
  const insert = (_id: string, s: string) => ({ in: 'things', insert: documentOf(_id, s) })
  await adapter.write([insert('1', 'one'), insert('2', 'two')], {})
  const steps = [
    insert('3', 'three'),
    { in: 'things', replace: { ...documentOf('2', 'zwei'), _version: 2 }, version: 1 },
    { in: 'things', remove: beginsWith('t') },
  ]
  expect(await adapter.write(steps, {})).toEqual({ ok: true, removed: 1 })
  expect(await readAll(adapter)).toEqual(['one', 'zwei'])
  const refused = await adapter.write([insert('4', 'two'), { in: 'things', refuse: beginsWith('t') }], {})
  expect(refused).toEqual({ ok: false, step: 1, reason: 'found' })
}

/** Documents that change while a pattern is evaluated are evaluated again. */
async function checkOvertaken(opened: Opened): Promise<void> {
  const other = await open(opened)
  let left = 2
  const adapter = opened.create({
    prepare: (text) => opened.database.prepare(text),
    async batch(statements) {
      const texts = (statements as readonly (readonly [text: string])[]).map(([text]) => text)
      if (texts.some((text) => !text.startsWith('SELECT')) && left-- > 0)
        await other.write([{ in: 'things', insert: documentOf(`t${left}`, 'three') }], {})
      return opened.database.batch(statements)
    },
  })
  await other.write(
    [documentOf('1', 'one'), documentOf('2', 'two')].map((insert) => ({ in: 'things', insert })),
    {},
  )
  const removed = await adapter.write([{ in: 'things', remove: beginsWith('t') }], {})
  expect(removed).toEqual({ ok: true, removed: 3 })
  expect(await readAll(other)).toEqual(['one'])
}

/** The documents of a collection that a read cannot hold in memory: small ones, and then large ones. */
const MANY: readonly StoredDocument[] = Array.from({ length: 140 }, (_, i) => ({
  ...documentOf(`id-${String(i).padStart(4, '0')}`, `${i % 3 === 0 ? 'other' : 'two'} ${i}`),
  n: i,
  filler: 'x'.repeat(i < 100 ? 1000 : 400_000),
}))

const MATCHING = MANY.filter(({ s }) => String(s).startsWith('t')).length

/** The bytes of documents that are read together, with room for the ids of others. */
const MOST_BYTES = 1.1 * bounds.judgedBytes

/** Opens an adapter of many documents, whose reads pass through `before`, and count the bytes of each result. */
async function openMany({ create, database }: Opened, before = async (_read: number): Promise<void> => {}) {
  const other = await open({ create, database })
  const inserts = MANY.map((insert) => ({ in: 'things', insert }))
  await other.write([{ in: 'things', remove: everything }, ...inserts], {})
  const sizes: number[] = []
  const adapter = create({
    prepare: (text) => database.prepare(text),
    async batch(statements) {
      await before(sizes.length)
      const results = await database.batch(statements)
      sizes.push(Buffer.byteLength(JSON.stringify(results)))
      return results
    },
  })
  return { adapter, other, sizes }
}

const N = { path: 'n', type: 'integer', each: false } as const

/** The sum of `n` where it is below 130, over the documents that match. */
const sumOf = (filter: Filter): AggregateQuery => ({
  filter,
  by: [],
  measures: [{ field: N, shown: { kind: 'lt', field: N, value: 130 }, takes: ['sum', 'max'] }],
  limit: 10,
  characters: 1000,
})

const READS: readonly (readonly [name: string, read: (adapter: StorageAdapter) => unknown])[] = [
  [
    'list',
    async (adapter) => {
      const sort = [{ field: N, descending: true }]
      const query = { filter: beginsWith('t'), sort, skip: 0, limit: null, bytes: 2000 }
      const listed = await adapter.list('things', query)
      return [...listed.map(({ _id }) => _id), ...(listed.rest ?? [])]
    },
  ],
  ['count', (adapter) => adapter.count('things', beginsWith('t'), {})],
  ['aggregate', (adapter) => adapter.aggregate?.('things', sumOf(beginsWith('t')))],
]

/** A read of a pattern loads a few documents at a time. */
async function checkParts(opened: Opened): Promise<void> {
  const { adapter, sizes } = await openMany(opened)
  for (const [name, read] of READS) {
    sizes.splice(0)
    const result = await read(adapter)
    expect(sizes.length, name).toBeGreaterThan(3)
    expect(Math.max(...sizes), name).toBeLessThan(MOST_BYTES)
    if (name === 'count') expect(result).toBe(MATCHING)
  }
}

/** Small documents that come after large ones are read many at a time. */
async function checkGrowing(opened: Opened): Promise<void> {
  const { adapter, other, sizes } = await openMany(opened)
  const small = Array.from({ length: 500 }, (_, i) => ({
    in: 'things',
    insert: documentOf(`small-${i}`, `two ${i}`),
  }))
  await other.write(small, {})
  // The first part of this list has about ten documents, and the last 600 have together less than a part.
  const sort = [{ field: N, descending: true }]
  const query = { filter: beginsWith('t'), sort, skip: 0, limit: null, bytes: 2000 }
  const { length, rest = [] } = await adapter.list('things', query)
  expect(length + rest.length).toBe(MATCHING + small.length)
  expect(sizes.length).toBeLessThan(20)
  for (const filter of [beginsWith('t'), everything]) {
    sizes.splice(0)
    let streamed = 0
    for await (const batch of adapter.stream?.('things', { ...query, filter }) ?? []) streamed += batch.length
    expect(streamed).toBe(small.length + (filter === everything ? MANY.length : MATCHING))
    // 40 large documents are read about two at a time, and several sizes are tried.
    expect(sizes.length).toBeLessThan(120)
  }
  expect(Math.max(...sizes)).toBeLessThan(MOST_BYTES)
}

/** An aggregate whose filters statements evaluate loads only the values that it needs. */
async function checkValues(opened: Opened): Promise<void> {
  const { adapter, sizes } = await openMany(opened)
  const aggregated = await adapter.aggregate?.('things', sumOf({ kind: 'gte', field: N, value: 50 }))
  const [group] = aggregated?.groups ?? []
  expect(group).toMatchObject({ count: 90, sums: [{ values: 80 }], max: [129] })
  expect(Number(group?.sums[0]?.decimal)).toBe(((50 + 129) * 80) / 2)
  expect(sizes.length).toBe(1)
  expect(sizes[0]).toBeLessThan(5000)
}

/** A read that has found enough reads no further. */
async function checkEnough(opened: Opened): Promise<void> {
  const { adapter, sizes } = await openMany(opened)
  const query = { filter: beginsWith('t'), sort: [], skip: 0, limit: 3 }
  expect((await adapter.list('things', query)).length).toBe(3)
  expect(sizes.length).toBe(1)
}

/** A read in several parts is as of one moment, although documents change between two parts. */
async function checkMoment(opened: Opened): Promise<void> {
  // Any read has one of them in its first part, and the other in a later one.
  const ends = [MANY[1], MANY[137]] as StoredDocument[]
  const changed = ends.map((one) => ({ ...one, _version: 2, s: 'other', n: Number(one.n) + 1000 }))
  const removals = ends.map(({ _id }) => ({ in: 'things', remove: isId(_id) }))
  const changes: readonly (readonly WriteStep[])[] = [
    changed.map((replace) => ({ in: 'things', replace, version: 1 })),
    removals,
    [...removals, ...changed.map((insert) => ({ in: 'things', insert }))],
    ends.map((one) => ({ in: 'things', insert: { ...one, _id: `${one._id}-new` } })),
  ]
  for (const [name, read] of READS)
    for (const [i, steps] of changes.entries()) {
      let isChanged = false
      const { adapter, other } = await openMany(opened, async (reads) => {
        if (reads !== 1 || isChanged) return
        isChanged = true
        await other.write(steps, {})
      })
      const before = await read(other)
      const seen = await read(adapter)
      expect(isChanged).toBe(true)
      expect([before, await read(other)], `${name} ${i}`).toContainEqual(seen)
    }
}

export const PROGRAM_LAWS = [
  ['a pattern finds what the earlier steps of its write leave', checkEarlierSteps],
  ['documents that change while a pattern is evaluated are evaluated again', checkOvertaken],
  ['a read of a pattern loads a few documents at a time', checkParts],
  ['a read of a pattern loads many small documents after a few large ones', checkGrowing],
  ['an aggregate loads only the values that it needs', checkValues],
  ['a read of a pattern that has found enough reads no further', checkEnough],
  ['a read of a pattern in several parts is as of one moment', checkMoment],
] as const

/** Runs all laws on databases of one file each. */
export async function checkProgramLaws(create: typeof createD1Adapter, newFile: () => string): Promise<void> {
  for (const [, check] of PROGRAM_LAWS) {
    const database = createD1Database(newFile())
    await check({ create, database }).finally(() => database.close())
  }
}
