import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import Database from 'better-sqlite3'
import pg from 'pg'
import { describe, expect, test } from 'vitest'
import { createPostgresAdapter } from '../../src/adapters/postgres/postgres-adapter.js'
import { createSqliteAdapter } from '../../src/adapters/sqlite/sqlite-adapter.js'
import type { CollectionPlan } from '../../src/core/storage.js'
import { createMemoryAdapter, type StorageAdapter } from '../../src/index.js'
import { createRandom } from '../../src/tools/testing/adapter/fuzz/random.js'
import { newSchema, usePostgres } from '../support/postgres.js'
import { seedOf } from '../support/tier.js'

// CONTRACT.md §9, "The log": its bytes, where nobody reads it

const postgres = usePostgres()

const BYTES = 1_000_000
const LARGE = 100_000
const HOUR = 3_600_000

const plans: readonly CollectionPlan[] = [
  { name: 'things', indexes: [], log: { omit: [], keep: HOUR, bytes: BYTES } },
]

/** A storage, and the bytes of the documents that its log has. */
interface Place {
  readonly connect: () => StorageAdapter
  readonly measure: () => Promise<number>
  /** What the storage itself has counted, where that is one number. */
  readonly counted?: () => number
}

const read = (file: string, sql: string): unknown => {
  const database = new Database(file, { readonly: true })
  const value = database.prepare(sql).pluck().get()
  database.close()
  return value
}

const SUM = `SELECT total(octet_length(coalesce(before, '')) + octet_length(coalesce(after, ''))) FROM _log`

const places: readonly (readonly [name: string, create: () => Place])[] = [
  [
    'memory',
    () => {
      const adapter = createMemoryAdapter()
      return {
        connect: () => adapter,
        async measure() {
          const page = await adapter.changes?.('no position', { limit: 1e6 })
          return (page?.changes ?? []).reduce(
            (sum, { before, after }) => sum + JSON.stringify([before, after]).length,
            0,
          )
        },
      }
    },
  ],
  [
    'SQLite',
    () => {
      const file = join(mkdtempSync(join(tmpdir(), 'collection-service-bytes-')), 'data.db')
      return {
        connect: () => createSqliteAdapter({ file }),
        measure: async () => Number(read(file, SUM)),
        counted: () => JSON.parse(String(read(file, 'SELECT size FROM _log_head')))[0],
      }
    },
  ],
  [
    'PostgreSQL',
    () => {
      const schema = newSchema()
      return {
        connect: () => createPostgresAdapter({ connectionString: postgres.url, schema }),
        async measure() {
          const client = new pg.Client({ connectionString: postgres.url })
          await client.connect()
          const { rows } = await client.query(
            `SELECT coalesce(sum(coalesce(pg_column_size(before), 0) + coalesce(pg_column_size(after), 0)), 0) AS sum FROM ${schema}._log`,
          )
          await client.end()
          return Number(rows[0]?.sum)
        },
      }
    },
  ],
]

const random = createRandom(seedOf(1))

const randomText = (): string =>
  Array.from({ length: LARGE / 10 }, () => random.next().toString(36).slice(2, 12).padEnd(10, 'x')).join('')

describe.each(places)('in %s', (_, create) => {
  test('two processes write much more than is kept: the log stays as large as it may be, also after a restart', async () => {
    const { connect, measure, counted } = create()
    const write = async (adapters: readonly StorageAdapter[], from: number, to: number): Promise<void> => {
      for (let i = from; i < to; i++) {
        const document = { _id: 'one', _version: i + 1, text: randomText() }
        const step =
          i === 0 ? { in: 'things', insert: document } : { in: 'things', replace: document, version: i }
        expect(await adapters[i % adapters.length]?.write([step], {})).toMatchObject({ ok: true })
      }
    }
    for (const [from, to] of [
      [0, 60],
      [60, 120],
    ] as const) {
      const adapters = [connect(), connect()]
      for (const adapter of adapters) await adapter.open(plans)
      await write(adapters, from, to)
      for (const adapter of adapters) await adapter.close()
      // A write has both documents; on PostgreSQL each process may have some that are not numbered.
      const bytes = await measure()
      expect(bytes).toBeLessThan(BYTES + 24 * 2 * LARGE)
      expect(bytes).toBeGreaterThan(BYTES / 2)
      if (counted) expect(counted()).toBe(bytes)
    }
  })

  test('many small changes go for a few large ones', async () => {
    const { connect, measure } = create()
    const adapter = connect()
    await adapter.open(plans)
    for (let i = 0; i < 40; i++) {
      const steps = Array.from({ length: 200 }, (_, k) => ({
        in: 'things',
        insert: { _id: `small ${i} ${k}`, _version: 1, text: 'x'.repeat(80) },
      }))
      await adapter.write(steps, {})
    }
    const steps = Array.from({ length: 10 }, (_, k) => ({
      in: 'things',
      insert: { _id: `large ${k}`, _version: 1, text: randomText() },
    }))
    for (const step of steps) await adapter.write([step], {})
    await adapter.changes?.((await adapter.changes(null, { limit: 1 }))?.position ?? '', { limit: 1 })
    await adapter.close()
    expect(await measure()).toBeLessThan(BYTES + 10 * LARGE)
  })
})
