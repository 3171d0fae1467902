import type pg from 'pg'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createPostgresAdapter } from '../../src/adapters/postgres/postgres-adapter.js'
import { adapterCases, runCase } from '../../src/tools/testing/index.js'
import { newPool, newSchema, usePostgres } from '../support/postgres.js'

// A pool of the host gives rows as objects: columns of one name would replace each other.

const postgres = usePostgres()
let pool: pg.Pool

beforeAll(() => {
  pool = newPool({ connectionString: postgres.url })
})

afterAll(() => pool.end())

describe('several lists in one statement, on a pool of the host', () => {
  const cases = adapterCases.filter(({ name }) => /^(?:linked|together):/.test(name))

  test.each(cases.map((one) => [one.name, one] as const))('%s', async (_, one) => {
    const schema = newSchema()
    await runCase(one, async () => ({
      connect: () => createPostgresAdapter({ pool, schema }),
      destroy: async () => void (await pool.query(`DROP SCHEMA IF EXISTS ${schema} CASCADE`)),
    }))
  })

  test('there are such cases', () => expect(cases).not.toEqual([]))
})
