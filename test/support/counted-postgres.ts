import type pg from 'pg'
import { createPostgresAdapter } from '../../src/adapters/postgres/postgres-adapter.js'
import type { CountedStorage } from './counted-memory.js'
import { newPool, newSchema } from './postgres.js'
import { wrapPool } from './watched-pool.js'

/** A step of a plan, as EXPLAIN tells of it. */
interface Step {
  readonly 'Node Type': string
  readonly 'Actual Rows': number
  readonly 'Actual Loops': number
  readonly 'Rows Removed by Filter'?: number
  readonly 'Rows Removed by Index Recheck'?: number
  readonly 'Relation Name'?: string
  readonly Plans?: readonly Step[]
}

/** The rows of tables that a step and those below it look at: those that it passes on, and those that it drops. */
function countRows(step: Step): number {
  const below = (step.Plans ?? []).reduce((total, one) => total + countRows(one), 0)
  if (step['Relation Name'] === undefined) return below
  const dropped = (step['Rows Removed by Filter'] ?? 0) + (step['Rows Removed by Index Recheck'] ?? 0)
  return below + (step['Actual Rows'] + dropped) * step['Actual Loops']
}

const isRead = (text: string): boolean => /^(?:SELECT|WITH|DECLARE)/.test(text) && text.includes(' FROM ')

/** An adapter of PostgreSQL that counts the rows of tables that its statements look at; what is read meanwhile is read twice. */
export function createCountedPostgres(connectionString: string): CountedStorage {
  const schema = newSchema()
  const pool = newPool({ connectionString, max: 2 })
  let rows: number | undefined
  const explain = async (client: pg.PoolClient, text: string, values: unknown[]): Promise<number> => {
    const analyzed = `EXPLAIN (ANALYZE, FORMAT JSON, COSTS OFF, TIMING OFF) ${text}`
    const [row] = (await client.query({ text: analyzed, values, rowMode: 'array' })).rows
    const [[{ Plan: plan }]] = row as [[{ Plan: Step }]]
    return countRows(plan)
  }
  const counted = wrapPool(pool, async (client, query) => {
    const { text, values = [] } = query
    if (rows !== undefined && isRead(text)) rows += await explain(client, text, values)
    return client.query(query)
  })
  const adapter = createPostgresAdapter({ pool: counted, schema })
  return {
    adapter,
    async countRows(work) {
      if (rows === undefined) await pool.query('ANALYZE')
      rows = 0
      await work()
      return rows
    },
    async end() {
      await pool.query(`DROP SCHEMA ${schema} CASCADE`)
      await pool.end()
    },
  }
}
