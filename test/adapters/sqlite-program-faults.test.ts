import { describe, expect, test } from 'vitest'
import { createD1Adapter } from '../../src/adapters/sqlite/programs/d1.js'
import { createDurableObjectAdapter } from '../../src/adapters/sqlite/programs/durable-object.js'
import { everything, type Filter } from '../../src/core/filter/filter.js'
import type { StorageAdapter, WriteStep } from '../../src/index.js'
import { useFile } from '../support/opened-files.js'
import { createD1Database, createObjectStorage } from '../support/program-databases.js'
import { PROGRAM_LAWS } from '../support/program-laws.js'
import { createTestService } from '../support/service.js'

// CONTRACT.md §7, "Storage"

const { path, keep } = useFile()

const S = { path: 's', type: 'string', each: false } as const
const ALL = { filter: everything, sort: [], skip: 0, limit: null }
const ONE: WriteStep = { in: 'things', insert: { _id: '1', _version: 1, s: 'one' } }
const BEGINS_WITH_T: Filter = {
  kind: 'match',
  field: S,
  pattern: { kind: 'sequence', parts: [{ kind: 'start' }, { kind: 'text', text: 't' }] },
}

/** Opens an adapter of a D1 database whose batches pass through `during`. */
async function openD1(
  during: (send: () => Promise<never>, texts: readonly string[]) => Promise<unknown>,
): Promise<StorageAdapter> {
  const database = keep(createD1Database(path()))
  const adapter = createD1Adapter({
    prepare: (text) => database.prepare(text),
    batch: (statements) => {
      const texts = (statements as readonly (readonly [text: string])[]).map(([text]) => text)
      return during(() => database.batch(statements) as Promise<never>, texts) as Promise<never>
    },
  })
  await createD1Adapter(database).open([{ name: 'things', indexes: [] }])
  return adapter
}

const isWrite = (texts: readonly string[]): boolean => texts.some((text) => !text.startsWith('SELECT'))

describe('D1', () => {
  test('if the connection is lost, the outcome of a write is unknown, and a read is unavailable', async () => {
    const adapter = await openD1(async (send) => {
      await send()
      throw new TypeError('fetch failed')
    })
    await expect(adapter.write([ONE], {})).rejects.toMatchObject({ code: 'outcome_unknown' })
    await expect(adapter.list('things', ALL)).rejects.toMatchObject({ code: 'storage_unavailable' })
  })

  test.each(['SQLITE_BUSY', 'SQLITE_FULL'])('after %s nothing is written', async (name) => {
    const adapter = await openD1(async () => {
      throw new Error(`D1_ERROR: rejected: ${name}`)
    })
    await expect(adapter.write([ONE], {})).rejects.toMatchObject({ code: 'storage_unavailable' })
    await expect(adapter.count('things', everything, {})).rejects.toMatchObject({
      code: 'storage_unavailable',
    })
  })

  test.each(PROGRAM_LAWS)('%s', async (_, check) => {
    await check({ create: createD1Adapter, database: keep(createD1Database(path())) })
  })

  test('a write that others always overtake is rejected, and has no effect', async () => {
    const other = createD1Adapter(keep(createD1Database(path())))
    let version = 1
    const adapter = await openD1(async (send, texts) => {
      if (isWrite(texts)) {
        const replace = { _id: '1', _version: version + 1, s: 'one' }
        await other.write([{ in: 'things', replace, version }], {})
        version += 1
      }
      return send()
    })
    await other.write([ONE], {})
    const steps: readonly WriteStep[] = [
      { in: 'things', insert: { _id: '2', _version: 1, s: 'more' } },
      { in: 'things', remove: BEGINS_WITH_T },
    ]
    await expect(adapter.write(steps, {})).rejects.toMatchObject({ code: 'storage_unavailable' })
    expect(await other.count('things', everything, {})).toBe(1)
  })

  test('two adapters that open an empty database at the same time both succeed', async () => {
    const fields = [S]
    const plans = [{ name: 'things', indexes: [{ fields, unique: true }], log: { omit: [], keep: 1000 } }]
    const adapters = [1, 2, 3].map(() => createD1Adapter(keep(createD1Database(path()))))
    await Promise.all(adapters.map((adapter) => adapter.open(plans)))
    for (const adapter of adapters) await adapter.open(plans)
    expect(await adapters[0]?.write([ONE], {})).toEqual({ ok: true, removed: 0 })
    expect(await adapters[1]?.leftUnique?.(plans)).toEqual([])
  })
})

describe('a Durable Object', () => {
  test('if only the commit fails, the outcome of a write is unknown', async () => {
    const storage = keep(createObjectStorage(path()))
    await createDurableObjectAdapter(storage).open([{ name: 'things', indexes: [] }])
    const adapter = createDurableObjectAdapter({
      sql: storage.sql,
      transactionSync(work) {
        work()
        throw new Error('the object was reset')
      },
    })
    await expect(adapter.write([ONE], {})).rejects.toMatchObject({ code: 'outcome_unknown' })
  })

  test('an error of a statement is not hidden', async () => {
    const adapter = createDurableObjectAdapter(keep(createObjectStorage(path())))
    await expect(adapter.write([ONE], {})).rejects.toThrow('no such table')
    expect(() => adapter.list('things', ALL)).toThrow('no such table')
  })

  test('an index on elements of an array is not created, and its reads are right', async () => {
    const storage = keep(createObjectStorage(path()))
    const adapter = createDurableObjectAdapter(storage)
    const tags = { path: 'tags', type: 'string', each: true } as const
    await adapter.open([{ name: 'things', indexes: [{ fields: [tags], unique: false }] }])
    await adapter.write([{ in: 'things', insert: { _id: '1', _version: 1, tags: ['a', 'b'] } }], {})
    expect(await adapter.count('things', { kind: 'eq', field: tags, value: 'b' }, {})).toBe(1)
    const tables = storage.sql.exec("SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY name")
    expect(tables.toArray()).toEqual([{ name: '_structures' }, { name: 'c_things' }])
  })

  test('an aggregate of a pattern lets others have their turns while it groups long arrays', async () => {
    const adapter = createDurableObjectAdapter(keep(createObjectStorage(path())))
    await adapter.open([{ name: 'things', indexes: [] }])
    const values = Array.from({ length: 300 }, (_, i) => i)
    const inserts = Array.from({ length: 500 }, (_, i) => ({ _id: `${i}`, _version: 1, s: 'two', values }))
    await adapter.write(
      inserts.map((insert) => ({ in: 'things', insert })),
      {},
    )
    const field = { path: 'values', type: 'integer', each: true } as const
    const query = { filter: BEGINS_WITH_T, by: [{ field, shown: everything, cut: 'value' as const }] }
    let isOver = false
    const aggregating = Promise.resolve(
      adapter.aggregate?.('things', { ...query, measures: [], limit: 1000, characters: 1000 }),
    ).finally(() => {
      isOver = true
    })
    let turns = 0
    for (; !isOver; turns++) await new Promise((resolve) => setImmediate(resolve))
    expect((await aggregating)?.groups.length).toBe(values.length)
    // 300 elements of 500 documents take at least seven steps each.
    expect(turns).toBeGreaterThan(4)
  })

  test('an aggregate of long names and many conditions is answered in spite of the limits of a statement', async () => {
    const adapter = createDurableObjectAdapter(keep(createObjectStorage(path())))
    await adapter.open([{ name: 'things', indexes: [] }])
    const names = Array.from({ length: 10 }, (_, i) => `${'n'.repeat(6000)}${i}`)
    const insert = {
      _id: '1',
      _version: 1,
      s: 'two',
      ...Object.fromEntries(names.map((name, i) => [name, i])),
    }
    await adapter.write([{ in: 'things', insert }], {})
    const filters = Array.from({ length: 400 }, (_, i): Filter => ({ kind: 'gt', field: S, value: `t${i}` }))
    const aggregated = await adapter.aggregate?.('things', {
      filter: { kind: 'or', filters },
      by: [],
      measures: names.map((path) => ({
        field: { path, type: 'integer', each: false },
        shown: everything,
        takes: ['max'],
      })),
      limit: 10,
      characters: 1000,
    })
    expect(aggregated?.groups).toMatchObject([{ count: 1, max: names.map((_, i) => i) }])
  })

  test('there is no snapshot', () => {
    expect(createDurableObjectAdapter(keep(createObjectStorage(path()))).snapshot).toBeUndefined()
    expect(createD1Adapter(keep(createD1Database(path()))).snapshot).toBeUndefined()
  })

  test('a table of another application is not used', async () => {
    const storage = keep(createObjectStorage(path()))
    storage.sql.exec('CREATE TABLE "c_things" (other TEXT)').toArray()
    const opening = createDurableObjectAdapter(storage).open([{ name: 'things', indexes: [] }])
    await expect(opening).rejects.toMatchObject({ code: 'unusable_storage' })
  })
})

describe('the size of documents', () => {
  const config = (limits: object = {}) => ({
    collections: { notes: { schema: { text: { type: 'string' } }, permissions: { '*': true } } },
    limits,
  })
  const create = (limits?: object) =>
    createTestService(config(limits), { adapter: createD1Adapter(keep(createD1Database(path()))) })

  test('limits.documentBytes has a lower default', async () => {
    const { send } = create()
    const post = (length: number) => send('POST /notes', { body: { text: 'x'.repeat(length) } })
    expect((await post(949_000)).status).toBe(201)
    const { status, body } = await post(950_001)
    expect([status, body.code]).toEqual([413, 'document_too_large'])
  })

  test('a higher one is a ConfigError', () => {
    const creating = () => create({ documentBytes: 950_001 })
    expect(creating).toThrow('/limits/documentBytes')
    expect(creating).toThrow('must be at most 950000 with this storage')
    expect(() => create({ documentBytes: 950_000 })).not.toThrow()
  })

  test('what the engine cannot hold is rejected, and nothing is written', async () => {
    const adapter = createD1Adapter(keep(createD1Database(path())))
    await adapter.open([{ name: 'things', indexes: [] }])
    const large: WriteStep = { in: 'things', insert: { _id: '2', _version: 1, s: 'x'.repeat(2_000_000) } }
    await expect(adapter.write([ONE, large], {})).rejects.toMatchObject({ code: 'document_too_large' })
    expect(await adapter.count('things', everything, {})).toBe(0)
  })
})
