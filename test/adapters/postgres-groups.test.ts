import type pg from 'pg'
import { afterAll, expect, test } from 'vitest'
import { createPostgresAdapter } from '../../src/adapters/postgres/postgres-adapter.js'
import { ExactSum } from '../../src/core/aggregates/exact-sum.js'
import { everything } from '../../src/core/filter/filter.js'
import { newPool, newSchema, usePostgres } from '../support/postgres.js'

// CONTRACT.md §2, "Aggregates": numbers that others wrote into the storage

const postgres = usePostgres()
const pools: pg.Pool[] = []
afterAll(() => Promise.all(pools.map((pool) => pool.end())))

/** Numbers as a program may write them, none of which JSON would show like this. */
const WRITTEN = [
  '1.10',
  '0.1000000000000000055511151231257827',
  '0.30000000000000004',
  '12345678901234567890',
  '1e22',
  '-0.0',
  '123456789.1234567890123',
  // Not whole, but the nearest double is.
  '9007199254740993.5',
  '2.000',
]

test('are rounded to doubles before they are summed, whatever the settings of the session are', async () => {
  const schema = newSchema()
  const pool = newPool({
    connectionString: postgres.url,
    options: '-c extra_float_digits=-10 -c timezone=Asia/Kolkata',
  })
  pools.push(pool)
  const adapter = createPostgresAdapter({ pool, schema })
  await adapter.open([{ name: 'numbers', indexes: [] }])
  for (const [i, number] of WRITTEN.entries())
    await pool.query(`INSERT INTO "${schema}".c_numbers (_id, document) VALUES ($1, $2::jsonb)`, [
      String(i),
      `{"_id":"${i}","_version":1,"n":${number},"at":"2026-01-01T23:30:00.000Z"}`,
    ])
  const at = { path: 'at', type: 'timestamp', each: false } as const
  for (const type of ['number', 'integer'] as const) {
    const field = { path: 'n', type, each: false } as const
    const aggregated = await adapter.aggregate?.('numbers', {
      filter: everything,
      by: [{ field: at, shown: everything, cut: 'day' }],
      measures: [{ field, shown: everything, takes: ['sum', 'min', 'max'] }],
      limit: 10,
      characters: 1000,
    })
    const [group] = aggregated?.groups ?? []
    expect(group?.key).toEqual(['2026-01-01T00:00:00.000Z'])
    const [expected, actual] = [new ExactSum(), new ExactSum()]
    const doubles = WRITTEN.map(Number).filter((number) => type === 'number' || Number.isInteger(number))
    for (const number of doubles) expected.add(number)
    actual.addDecimal(group?.sums[0]?.decimal ?? '', group?.sums[0]?.values ?? 0)
    expect([actual.sum(), actual.average()]).toEqual([expected.sum(), expected.average()])
    // Beside greater numbers, a rounded sum would hide small differences.
    expected.add(-1e22)
    expected.add(-Number('12345678901234567890'))
    actual.addDecimal('-1e22', 1)
    actual.addDecimal(String(-Number('12345678901234567890')), 1)
    expect(actual.sum()).toBe(expected.sum())
    expect([group?.min[0], group?.max[0]]).toEqual([0, 1e22])
  }
  await adapter.close()
})

test('too many groups are found in some documents, and few documents are grouped once', async () => {
  const schema = newSchema()
  const pool = newPool({ connectionString: postgres.url })
  pools.push(pool)
  const declared: string[] = []
  pool.on('connect', (client) => {
    const { query } = client
    client.query = ((...args: Parameters<typeof query>) => {
      const [asked] = args as unknown as readonly [string | { readonly text: string }]
      const text = typeof asked === 'string' ? asked : asked.text
      if (text.startsWith('DECLARE')) declared.push(text)
      return query.apply(client, args)
    }) as typeof query
  })
  const adapter = createPostgresAdapter({ pool, schema })
  await adapter.open([{ name: 'numbers', indexes: [] }])
  await pool.query(
    `INSERT INTO "${schema}".c_numbers (_id, document)
      SELECT n::text, jsonb_build_object('_id', n::text, '_version', 1, 'n', n, 'few', n % 3) FROM generate_series(1, 1000) AS n`,
  )
  const statementsOf = async (path: string, limit: number) => {
    declared.length = 0
    const field = { path, type: 'number', each: false } as const
    const by = [{ field, shown: everything, cut: 'value' }] as const
    const query = { filter: everything, by, measures: [], limit, characters: 1000 }
    const { groups = [], isCut } = (await adapter.aggregate?.('numbers', query)) ?? {}
    return [groups.reduce((total, { count }) => total + count, 0), isCut, declared.length]
  }
  // 22 of the 1,000 documents are enough.
  expect(await statementsOf('n', 10)).toEqual([11, true, 1])
  expect(await statementsOf('few', 10)).toEqual([1000, false, 2])
  expect(await statementsOf('few', 1000)).toEqual([1000, false, 1])
  await adapter.close()
})
