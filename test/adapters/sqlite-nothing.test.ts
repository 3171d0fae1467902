import Database from 'better-sqlite3'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { createSqliteAdapter } from '../../src/adapters/sqlite/sqlite-adapter.js'
import { nothing } from '../../src/core/filter/filter.js'
import type { StorageAdapter } from '../../src/core/storage.js'
import { documentsTo, insert, N } from '../support/things.js'

// CONTRACT.md §6, "Speed"

let adapter: StorageAdapter

beforeEach(async () => {
  adapter = createSqliteAdapter({ file: ':memory:' })
  await adapter.open([{ name: 'things', indexes: [{ fields: [N], unique: false }] }])
  await adapter.write(documentsTo(10).map(insert), {})
})

afterEach(() => adapter.close())

const { prototype } = new Database(':memory:').prepare('SELECT 1').constructor

/** The statements on the documents that work needs. */
async function statementsOf(
  work: () => unknown,
): Promise<readonly [found: unknown, texts: readonly string[]]> {
  const texts: string[] = []
  const spies = (['get', 'all', 'iterate', 'run'] as const).map((name) => {
    const own = prototype[name]
    return vi.spyOn(prototype, name).mockImplementation(function (this: Database.Statement, ...values) {
      if (this.source.includes('c_things')) texts.push(this.source)
      return own.apply(this, values)
    })
  })
  try {
    return [await work(), texts]
  } finally {
    for (const spy of spies) spy.mockRestore()
  }
}

const query = { filter: nothing, sort: [], skip: 0, limit: 20 }

test.each<[what: string, work: () => unknown, result: unknown]>([
  ['a list', async () => adapter.list('things', query), []],
  ['a count', async () => adapter.count('things', nothing, {}), 0],
  [
    'a refusal, with a turn',
    () => adapter.write([{ in: 'things', refuse: nothing, turn: 'alone' }], {}),
    { ok: true, removed: 0 },
  ],
  ['a removal', () => adapter.write([{ in: 'things', remove: nothing }], {}), { ok: true, removed: 0 }],
  [
    'a removal of a number',
    () => adapter.write([{ in: 'things', remove: nothing, expect: 1 }], {}),
    { ok: false, step: 0, reason: 'changed' },
  ],
])('%s of what matches nothing runs no statement', async (_, work, result) => {
  expect(await statementsOf(work)).toEqual([result, []])
})

test('an adapter that is closed is unavailable also for what matches nothing', async () => {
  await adapter.close()
  await expect(async () => adapter.list('things', query)).rejects.toMatchObject({
    code: 'storage_unavailable',
  })
  await expect(async () => adapter.count('things', nothing, {})).rejects.toMatchObject({
    code: 'storage_unavailable',
  })
  adapter = createSqliteAdapter({ file: ':memory:' })
})
