import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import Database from 'better-sqlite3'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { createSqliteAdapter } from '../../src/adapters/sqlite/sqlite-adapter.js'
import { and, everything, type FieldRef, type Filter, isId, not, or } from '../../src/filter/filter.js'
import { createMemoryAdapter } from '../../src/index.js'
import { freezeDeep } from '../../src/json/freeze-deep.js'
import type { StorageAdapter, StoredDocument, WriteStep } from '../../src/storage.js'
import { createRandom } from '../../src/testing/adapter/fuzz/random.js'
import {
  contains,
  documentOf,
  documentsTo,
  idOf,
  insert,
  N,
  ref,
  remove,
  replace,
} from '../support/things.js'

/** What was counted is counted again only where it may be another number. */

const plans = [
  { name: 'things', indexes: [{ fields: [N], unique: false }] },
  { name: 'others', indexes: [] },
]
const atLeast = (value: number): Filter => ({ kind: 'gte', field: N, value })

let folder = ''
let file = ''
let adapter: StorageAdapter

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'collection-service-counts-'))
  file = join(folder, 'data.db')
  adapter = createSqliteAdapter({ file })
  await adapter.open(plans)
  await adapter.write(documentsTo(10).map(insert), {})
})

afterEach(async () => {
  await adapter.close()
  await rm(folder, { recursive: true, force: true })
})

/** Filters that come again are frozen. */
const count = async (filter: Filter, of = adapter) => of.count('things', freezeDeep(filter), {})

const { prototype } = new Database(':memory:').prepare('SELECT 1').constructor

/** The number of matches, and whether the documents were read for it. */
async function look(filter: Filter, of = adapter): Promise<readonly [total: number, isRead: boolean]> {
  const read = (['get', 'all', 'iterate'] as const).map((name) => {
    const own = prototype[name]
    return vi.spyOn(prototype, name).mockImplementation(function (this: Database.Statement, ...values) {
      if (this.source.includes('c_things')) reads += 1
      return own.apply(this, values)
    })
  })
  let reads = 0
  const total = await count(filter, of)
  for (const spy of read) spy.mockRestore()
  return [total, reads > 0]
}

const FILTERS: readonly (readonly [what: string, filter: Filter, total: number])[] = [
  ['everything', everything, 10],
  ['the range of an index', atLeast(5), 5],
  ['one value', { kind: 'eq', field: N, value: 5 }, 1],
  ['what no index answers', not({ kind: 'present', field: ref('text', 'string') }), 0],
  ['a pattern', contains('[5-9]'), 5],
  ['some of these', and([atLeast(2), or([contains('3'), contains('7')])]), 2],
]

/** The number of matches, as somebody else counts them. */
async function countAnew(filter: Filter): Promise<number> {
  const other = createSqliteAdapter({ file })
  await other.open(plans)
  const total = await count(filter, other)
  await other.close()
  return total
}

const hasVersion = (version: number): Filter => ({
  kind: 'eq',
  field: ref('_version', 'integer'),
  value: version,
})

describe.each(FILTERS)('the count of %s', (_, filter, total) => {
  test.each<[what: string, writes: readonly (readonly WriteStep[])[]]>([
    ['were created', [[documentOf(20, 5), documentOf(21, 0), documentOf(22, 7)].map(insert)]],
    ['were changed', [[replace(documentOf(5, 0, 2)), replace(documentOf(0, 77, 2))]]],
    ['were changed twice in one step', [[replace(documentOf(5, 0, 2)), replace(documentOf(5, 7, 3))]]],
    ['were changed twice together', [[replace(documentOf(5, 0, 2))], [replace(documentOf(5, 7, 3))]]],
    [
      'were removed',
      [[remove(isId(idOf(5))), remove(or([isId(idOf(2)), isId(idOf(7))]))], [remove(isId('none'))]],
    ],
    ['were removed as they are', [[remove(and([isId(idOf(5)), hasVersion(1)]))]]],
    ['would have been removed as they were', [[remove(and([isId(idOf(5)), hasVersion(2)]))]]],
    [
      'were created, changed and removed',
      [[insert(documentOf(20, 5)), replace(documentOf(20, 7, 2))], [remove(isId(idOf(20)))]],
    ],
    ['came back', [[remove(isId(idOf(5))), insert(documentOf(5, 7))], [replace(documentOf(5, 0, 2))]]],
  ])('follows documents that %s', async (_, writes) => {
    expect(await look(filter)).toEqual([total, true])
    expect(await look(filter)).toEqual([total, false])
    const results = await Promise.all(writes.map((steps) => adapter.write(steps, {})))
    expect(results.every(({ ok }) => ok)).toBe(true)
    expect(await look(filter)).toEqual([await countAnew(filter), false])
  })

  test.each<[what: string, step: WriteStep]>([
    ['documents were removed that nobody named', remove(atLeast(3))],
    ['a large document was changed', replace({ ...documentOf(8, 8, 3), text: '' })],
  ])('is made again once %s', async (_, step) => {
    await adapter.write([replace({ ...documentOf(8, 8, 2), text: `text 8 ${'a'.repeat(70_000)}` })], {})
    await look(filter)
    expect(await adapter.write([step], {})).toMatchObject({ ok: true })
    expect(await look(filter)).toEqual([await countAnew(filter), true])
  })

  test('is made again once somebody else has written', async () => {
    await look(filter)
    const other = new Database(file)
    other.prepare('INSERT INTO c_things VALUES (?, ?)').run('x', JSON.stringify(documentOf(5, 5)))
    const [now, isRead] = await look(filter)
    expect(isRead).toBe(true)
    other.prepare('DELETE FROM c_things').run()
    expect(await look(filter)).toEqual([0, true])
    expect(now).toBeGreaterThanOrEqual(total)
    other.close()
  })

  test('is as it was after writes that did not happen, and elsewhere', async () => {
    await look(filter)
    expect(await adapter.write([insert(documentOf(5, 5))], {})).toMatchObject({ ok: false })
    expect(await adapter.write([replace(documentOf(5, 0, 9))], {})).toMatchObject({ ok: false })
    const failing = [replace(documentOf(5, 0, 2)), { in: 'things', require: 'nobody' }]
    expect(await adapter.write(failing, {})).toMatchObject({ ok: false })
    await adapter.write([{ in: 'others', insert: documentOf(20, 5) }], {})
    await adapter.write([{ in: 'others', remove: everything }], {})
    expect(await look(filter)).toEqual([total, false])
  })
})

describe('a count that takes long', () => {
  const filter = and([atLeast(-1), not(contains('z'))])

  beforeEach(async () => {
    const many = Array.from({ length: 20_000 }, (_, i) => insert({ _id: `many-${i}`, _version: 1, n: 100 }))
    for (let i = 0; i < many.length; i += 2000) await adapter.write(many.slice(i, i + 2000), {})
  })

  test('is not kept where it may lack what was written meanwhile', async () => {
    const counting = count(filter)
    await adapter.write([insert(documentOf(20, 5))], {})
    expect([20_010, 20_011]).toContain(await counting)
    expect(await count(filter)).toBe(20_011)
  })

  test('is not kept where it may lack what somebody else has written, though that was seen by another', async () => {
    const counting = count(filter)
    const other = new Database(file)
    other.prepare('INSERT INTO c_things VALUES (?, ?)').run('x', JSON.stringify(documentOf(5, 5)))
    other.close()
    expect(await count(atLeast(-2))).toBe(20_011)
    expect([20_010, 20_011]).toContain(await counting)
    expect(await count(filter)).toBe(20_011)
  })
})

test('while a write is under way, a count lacks it, and has it afterwards', async () => {
  const filter = atLeast(5)
  const many = Array.from({ length: 5000 }, (_, i) => insert({ _id: `new-${i}`, _version: 1, n: 100 }))
  let isOver = false
  const writing = Promise.resolve(adapter.write([replace(documentOf(7, 1, 2)), ...many], {})).then(
    (result) => {
      isOver = true
      return result
    },
  )
  let looked = 0
  for (;;) {
    const total = await count(filter)
    if (isOver) break
    expect(total).toBe(5)
    looked += 1
    await new Promise((resolve) => setImmediate(resolve))
  }
  expect(looked).toBeGreaterThan(2)
  expect(await writing).toMatchObject({ ok: true })
  expect(await count(filter)).toBe(5004)
})

test('where a commit fails, all is counted again', async () => {
  const filter = atLeast(5)
  await look(filter)
  const own = Database.prototype.exec
  const spy = vi.spyOn(Database.prototype, 'exec').mockImplementation(function (
    this: Database.Database,
    sql,
  ) {
    const done = own.call(this, sql)
    if (sql === 'COMMIT') throw new Error('disk I/O error')
    return done
  })
  await expect(adapter.write([insert(documentOf(20, 5))], {})).rejects.toMatchObject({
    code: 'outcome_unknown',
  })
  spy.mockRestore()
  expect(await look(filter)).toEqual([6, true])
})

test('a count that takes long to follow is made again', async () => {
  const filter = contains('(e.*){20}[5-9]')
  await look(filter)
  await adapter.write([insert(documentOf(20, 5))], {})
  expect(await look(filter)).toEqual([0, false])
  const long = Array.from({ length: 100 }, (_, i) => ({ ...documentOf(30 + i, 0), text: 'te '.repeat(1000) }))
  await adapter.write(long.map(insert), {})
  expect(await look(filter)).toEqual([0, true])
})

test('what is not asked for again costs creates no more than a few comparisons', async () => {
  await look(atLeast(5))
  for (let i = 0; i < 17; i++) await adapter.write([insert(documentOf(20 + i, 0))], {})
  expect(await look(atLeast(5))).toEqual([5, true])
})

test('a count holds no document with which it was compared, however long that took', async () => {
  setFlagsFromString('--expose-gc')
  const collect = runInNewContext('gc') as () => void
  const each: FieldRef = { path: 'tags', type: 'string', each: true }
  await look(contains('z'))
  await look({ kind: 'eq', field: each, value: 'z' })
  const tags = Array.from({ length: 1500 }, (_, i) => `tag ${i}`)
  const create = async (): Promise<WeakRef<object>> => {
    const document = { ...documentOf(20, 5), tags, text: 'y'.repeat(20_000) }
    await adapter.write([insert(document)], {})
    return new WeakRef(document)
  }
  const held = await create()
  expect(await look(contains('z'))).toEqual([0, false])
  expect(await look({ kind: 'eq', field: each, value: 'z' })).toEqual([0, false])
  await new Promise((resolve) => setImmediate(resolve))
  collect()
  expect(held.deref()).toBeUndefined()
})

describe('what takes long to follow is counted again', () => {
  const large = (i: number, version: number): StoredDocument => ({
    ...documentOf(i, 5, version),
    parts: Array.from({ length: 20_000 }, () => ({})),
  })

  beforeEach(async () => {
    await adapter.write(
      Array.from({ length: 110 }, (_, i) => insert(i < 50 ? large(100 + i, 1) : documentOf(100 + i, 5))),
      {},
    )
    await look(atLeast(5))
  })

  test.each<[what: string, steps: readonly WriteStep[], total: number]>([
    [
      'changes of many large documents',
      Array.from({ length: 50 }, (_, i) => replace(large(100 + i, 2))),
      115,
    ],
    ['a removal of many', [remove(or(Array.from({ length: 110 }, (_, i) => isId(idOf(100 + i)))))], 5],
  ])('%s', async (_, steps, total) => {
    expect(await adapter.write(steps, {})).toMatchObject({ ok: true })
    expect(await look(atLeast(5))).toEqual([total, true])
  })

  test('not a change of one', async () => {
    await adapter.write([replace(large(100, 2)), replace(documentOf(9, 0, 2))], {})
    expect(await look(atLeast(5))).toEqual([114, false])
  })
})

test('large filters are not kept, and no more than some hundred counts', async () => {
  const many = or(Array.from({ length: 17 }, (_, i) => ({ kind: 'eq', field: N, value: i })))
  expect(await look(many)).toEqual([10, true])
  expect(await look(many)).toEqual([10, true])
  await look(atLeast(-1))
  for (let i = 0; i < 600; i++) await count(atLeast(i / 100))
  expect(await look(atLeast(5.99))).toEqual([4, false])
  expect(await look(atLeast(-1))).toEqual([10, true])
})

test('what is counted by a filter that does not come again is not kept', async () => {
  const filter = atLeast(5)
  for (let i = 0; i < 2; i++) {
    const written = vi.spyOn(JSON, 'stringify')
    expect(await adapter.count('things', filter, {})).toBe(5)
    expect(written).not.toHaveBeenCalled()
    written.mockRestore()
  }
  expect(await look(filter)).toEqual([5, true])
})

test('two writers of one file never count what is past', async () => {
  const other = createSqliteAdapter({ file })
  await other.open(plans)
  const model = createMemoryAdapter()
  await model.open(plans)
  await model.write(documentsTo(10).map(insert), {})
  const random = createRandom(11)
  const versions = new Map<number, number>()
  for (let round = 0; round < 400; round++) {
    const writer = random.pick([adapter, adapter, adapter, other])
    const i = random.integer(0, 30)
    const version = (versions.get(i) ?? 1) + 1
    const steps = random.pick<readonly WriteStep[]>([
      [insert(documentOf(i, random.integer(0, 9), version))],
      [insert(documentOf(100 + round, random.integer(0, 9)))],
      [insert(documentOf(100 + round, 3)), insert(documentOf(i, 4, version))],
      [{ in: 'things', replace: documentOf(i, random.integer(0, 9), version), version: version - 1 }],
      [remove(isId(idOf(i)))],
    ])
    const result = await writer.write(steps, {})
    expect(await model.write(steps, {})).toEqual(result)
    if (result.ok && steps.some((step) => !('remove' in step))) versions.set(i, version)
    const filter = random.pick<Filter>([everything, atLeast(random.integer(0, 9)), contains('[2-5]')])
    const expected = await count(filter, model)
    for (const reader of [adapter, other]) expect(await count(filter, reader)).toBe(expected)
  }
  await other.close()
})
