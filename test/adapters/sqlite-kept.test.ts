import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import Database from 'better-sqlite3'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { Connection, openWriter } from '../../src/adapters/sqlite/connection/connection.js'
import { KeptDocuments } from '../../src/adapters/sqlite/read/kept-documents.js'
import { createSqliteAdapter } from '../../src/adapters/sqlite/sqlite-adapter.js'
import { START } from '../../src/core/documents/read/hold-or-stream.js'
import { and, everything, type Filter, ID, isId } from '../../src/core/filter/filter.js'
import type { ListQuery, StorageAdapter, WriteStep } from '../../src/core/storage.js'
import { createMemoryAdapter } from '../../src/index.js'
import { createRandom } from '../../src/tools/testing/adapter/fuzz/random.js'
import { useCaches } from '../support/caches.js'
import {
  contains,
  documentOf,
  documentsTo,
  idOf,
  insert,
  isFrozen,
  N,
  remove,
  replace,
} from '../support/things.js'
import { seedOf } from '../support/tier.js'

useCaches()

/** Documents that were read stay in memory, and are never other than those in the file. */

const plans = [{ name: 'things', indexes: [{ fields: [N], unique: false }] }]
const byNumber = [N, ID].map((field) => ({ field, descending: false }))
const queryOf = (parts: Partial<ListQuery>): ListQuery => ({
  filter: everything,
  sort: byNumber,
  skip: 0,
  limit: 20,
  ...parts,
})

let folder = ''
let file = ''
let adapter: StorageAdapter

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'collection-service-kept-'))
  file = join(folder, 'data.db')
  adapter = createSqliteAdapter({ file })
  await adapter.open(plans)
  await adapter.write(documentsTo(10).map(insert), {})
})

afterEach(async () => {
  await adapter.close()
  await rm(folder, { recursive: true, force: true })
})

const list = async (parts: Partial<ListQuery> = {}, of = adapter) => of.list('things', queryOf(parts))
const find = async (i: number) => (await list({ filter: isId(idOf(i)), sort: [] }))[0]

describe('what was read', () => {
  test('is not read again, and nobody can change it', async () => {
    const [first] = await list()
    expect((await list())[0]).toBe(first)
    expect(await find(0)).toBe(first)
    expect((await list({ filter: contains('text 0') }))[0]).toBe(first)
    expect(isFrozen(first)).toBe(true)
  })

  test('is not read again in as many documents as a list without a limit begins with', async () => {
    const more = Array.from({ length: START + 10 }, (_, i) => insert(documentOf(10 + i, 10 + i)))
    for (let i = 0; i < more.length; i += 500) await adapter.write(more.slice(i, i + 500), {})
    const found = await list({ limit: START, bytes: 2 ** 20 })
    expect(found).toHaveLength(START)
    const again = await list({ limit: START, bytes: 2 ** 20 })
    expect(again.every((one, i) => one === found[i])).toBe(true)
  })

  test('is another after it was replaced, gone after it was removed, back after it came back', async () => {
    await list()
    await adapter.write([replace(documentOf(3, 33, 2))], {})
    expect(await find(3)).toEqual(documentOf(3, 33, 2))
    expect((await list()).at(-1)).toEqual(documentOf(3, 33, 2))
    await adapter.write([remove(isId(idOf(3)))], {})
    expect(await find(3)).toBeUndefined()
    await adapter.write([insert(documentOf(3, 3))], {})
    expect(await find(3)).toEqual(documentOf(3, 3))
    await adapter.write([remove({ kind: 'lt', field: N, value: 5 })], {})
    expect(await find(3)).toBeUndefined()
    expect(await list()).toHaveLength(5)
  })

  test('is the same after a write that did not happen', async () => {
    await list()
    const failing = [replace(documentOf(3, 33, 2)), { in: 'things', require: 'nobody' }]
    expect(await adapter.write(failing, {})).toMatchObject({ reason: 'missing' })
    expect(await adapter.write([replace(documentOf(3, 33, 9))], {})).toMatchObject({ reason: 'changed' })
    expect(await find(3)).toEqual(documentOf(3, 3))
  })

  test('is another once somebody else has written it', async () => {
    await list()
    const other = new Database(file)
    other
      .prepare('UPDATE c_things SET document = ? WHERE _id = ?')
      .run(JSON.stringify(documentOf(0, 77, 2)), idOf(0))
    expect(await find(0)).toEqual(documentOf(0, 77, 2))
    expect((await list()).at(-1)).toEqual(documentOf(0, 77, 2))
    other.prepare('DELETE FROM c_things WHERE _id = ?').run(idOf(0))
    expect(await find(0)).toBeUndefined()
    expect(await list({ filter: contains('77') })).toEqual([])
    other.close()
  })

  test('is as it was while a write is under way, and other once that is over', async () => {
    await list()
    const many = Array.from({ length: 5000 }, (_, i) => insert({ _id: `new-${i}`, _version: 1 }))
    let isOver = false
    const writing = Promise.resolve(adapter.write([replace(documentOf(3, 33, 2)), ...many], {})).then(
      (result) => {
        isOver = true
        return result
      },
    )
    let looked = 0
    for (;;) {
      const found = await find(3)
      if (isOver) break
      expect(found).toEqual(documentOf(3, 3))
      looked += 1
      await new Promise((resolve) => setImmediate(resolve))
    }
    expect(looked).toBeGreaterThan(2)
    expect(await writing).toMatchObject({ ok: true })
    expect(await find(3)).toEqual(documentOf(3, 33, 2))
  })
})

test('two writers of one file never see what is past', async () => {
  const other = createSqliteAdapter({ file })
  await other.open(plans)
  const model = createMemoryAdapter()
  await model.open(plans)
  await model.write((await list()).map(insert), {})
  const random = createRandom(seedOf(7))
  const versions = new Map<number, number>()
  for (let round = 0; round < 300; round++) {
    const writer = random.pick([adapter, other])
    const i = random.integer(0, 14)
    const version = (versions.get(i) ?? 1) + 1
    const step = random.pick<WriteStep>([
      insert(documentOf(i, random.integer(0, 9), version)),
      { in: 'things', replace: documentOf(i, random.integer(0, 9), version), version: version - 1 },
      remove(isId(idOf(i))),
      remove(and([{ kind: 'eq', field: N, value: i }, contains('text')])),
    ])
    const result = await writer.write([step], {})
    expect(await model.write([step], {})).toEqual(result)
    if (result.ok && !('remove' in step)) versions.set(i, version)
    const filter = random.pick<Filter>([
      everything,
      isId(idOf(i)),
      contains(String(i)),
      { kind: 'gt', field: N, value: 4 },
    ])
    const parts = { filter, limit: random.pick([1, 5, 20]), skip: random.pick([0, 0, 2]) }
    const expected = await list(parts, model)
    for (const reader of [adapter, other]) expect(await list(parts, reader)).toEqual(expected)
  }
  await other.close()
})

test('what was not used for long is forgotten, and what is large at once', async () => {
  const connection = await openWriter(join(folder, 'empty.db'))
  const kept = new KeptDocuments(connection)
  const size = 2 ** 16
  const put = (i: number, bytes = size) =>
    void kept.put('things', { document: { _id: idOf(i), _version: 1 }, size: bytes, held: bytes })
  put(0)
  put(1, size + 1)
  put(2)
  expect(kept.find('things', [idOf(0)])).toHaveLength(1)
  expect(kept.find('things', [idOf(1)])).toBeUndefined()
  expect(kept.find('things', [idOf(0), idOf(1)])).toBeUndefined()
  expect(kept.find('others', [idOf(0)])).toBeUndefined()
  for (let i = 3; i < 2000; i++) {
    put(i)
    expect(kept.find('things', [idOf(0)])).toHaveLength(1)
  }
  expect(kept.find('things', [idOf(2)])).toBeUndefined()
  const held = Array.from({ length: 2000 }, (_, i) => kept.find('things', [idOf(i)])).filter(Boolean)
  expect(held.length * size).toBeLessThanOrEqual(64 * 2 ** 20 + size)
  connection.close()
})

describe('at once, without a promise', () => {
  test.each<[what: string, parts: Partial<ListQuery>]>([
    ['a pattern in the order of an index', { filter: contains('text [0-9]') }],
    ['what no index answers, of a document that is named', { filter: and([isId(idOf(1)), contains('1')]) }],
    ['a later page', { skip: 5 }],
  ])('comes %s', (_, parts) => {
    const found = adapter.list('things', queryOf(parts))
    expect(found).not.toBeInstanceOf(Promise)
    expect(found).not.toHaveLength(0)
  })
})

describe('a savepoint', () => {
  /** The savepoints of writes that share a transaction. */
  const savepointsOf = async (...writes: readonly (readonly WriteStep[])[]): Promise<number> => {
    const spy = vi.spyOn(Connection.prototype, 'execute')
    await Promise.all(writes.map((steps) => adapter.write(steps, {})))
    const texts = spy.mock.calls.map(([text]) => text)
    spy.mockRestore()
    expect(texts.filter((text) => text.startsWith('BEGIN'))).toHaveLength(1)
    return texts.filter((text) => text.startsWith('SAVEPOINT')).length
  }

  test.each<[what: string, steps: readonly WriteStep[], savepoints: number]>([
    ['a create', [insert(documentOf(20, 1))], 0],
    ['a create with a reference', [{ in: 'things', require: idOf(1) }, insert(documentOf(20, 1))], 0],
    ['an update', [replace(documentOf(1, 2, 2))], 0],
    ['a removal, which may be of too many', [{ ...remove(everything), expect: 1 } as WriteStep], 1],
    ['two creates', [insert(documentOf(20, 1)), insert(documentOf(21, 1))], 1],
    ['a create before what is refused', [insert(documentOf(20, 1)), { in: 'things', refuse: everything }], 1],
  ])('%s beside another write', async (_, steps, savepoints) => {
    expect(await savepointsOf(steps, [insert(documentOf(30, 1))])).toBe(savepoints)
  })

  test('is not needed for a write that is alone: it is rolled back as a whole', async () => {
    const steps = [insert(documentOf(20, 1)), insert(documentOf(1, 1))]
    expect(await savepointsOf(steps)).toBe(0)
    expect(await adapter.write(steps, {})).toMatchObject({ ok: false, step: 1, reason: 'unique' })
    expect(await adapter.count('things', isId(idOf(20)), {})).toBe(0)
    expect(await adapter.write([insert(documentOf(20, 2))], {})).toEqual({ ok: true, removed: 0 })
    expect(await find(20)).toEqual(documentOf(20, 2))
  })

  test('is not needed for what fails to leave nothing, among writes that share a transaction', async () => {
    const results = await Promise.all(
      [documentOf(20, 1), documentOf(20, 2), documentOf(21, 3)].map((document) =>
        adapter.write([insert(document)], {}),
      ),
    )
    expect(results.map(({ ok }) => ok)).toEqual([true, false, true])
    expect([await find(20), await find(21)]).toEqual([documentOf(20, 1), documentOf(21, 3)])
  })
})
