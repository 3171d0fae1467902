import { vi } from 'vitest'
import { createPool } from '../../src/adapters/postgres/connection/pool.js'
import { createPostgresAdapter } from '../../src/adapters/postgres/postgres-adapter.js'
import { newSchema, usePostgres } from '../support/postgres.js'
import { runKit } from '../support/run-kit.js'

vi.mock('../../src/testing/adapter/check/edge-values.js', async (original) => {
  const { fewerOperands } = await import('../support/fewer-operands.js')
  return fewerOperands(await original(), 1)
})

const postgres = usePostgres()

runKit(async () => {
  const { url } = postgres
  const schema = newSchema()
  return {
    connect: () => createPostgresAdapter({ connectionString: url, schema }),
    async destroy() {
      const { pool, end } = await createPool(url)
      const client = await pool.connect()
      await client.query({ text: `DROP SCHEMA IF EXISTS ${schema} CASCADE` })
      client.release()
      await end()
    },
  }
})
