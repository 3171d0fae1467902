import pg from 'pg'
import { afterAll, beforeAll, vi } from 'vitest'
import { createPostgresAdapter } from '../../src/adapters/postgres/postgres-adapter.js'
import { backUpSchema } from '../support/backups.js'
import { newSchema, usePostgres } from '../support/postgres.js'
import { runKit } from '../support/run-kit.js'

vi.mock('../../src/tools/testing/adapter/check/edge-values.js', async (original) => {
  const { fewerOperands } = await import('../support/fewer-operands.js')
  return fewerOperands(await original(), 1)
})

const postgres = usePostgres()

let cleaner: pg.Client
beforeAll(async () => {
  cleaner = new pg.Client({ connectionString: postgres.url })
  await cleaner.connect()
})
afterAll(() => cleaner.end())

runKit(async () => {
  const schema = newSchema()
  return {
    connect: () => createPostgresAdapter({ connectionString: postgres.url, schema }),
    backUp: backUpSchema(postgres.url, schema),
    destroy: async () => void (await cleaner.query(`DROP SCHEMA IF EXISTS ${schema} CASCADE`)),
  }
})
