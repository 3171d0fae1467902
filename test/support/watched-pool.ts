import type pg from 'pg'
import type { PostgresPool } from '../../src/adapters/postgres/connection/pool.js'

/** A statement that was sent, and what came back. */
export interface Sent {
  readonly text: string
  readonly values: readonly unknown[]
  /** Characters of all that its rows held. */
  size: number
}

/** A query of the adapter. */
type Query = Parameters<Awaited<ReturnType<PostgresPool['connect']>>['query']>[0]

/** A pool whose queries are sent by `send`. */
export const wrapPool = (
  pool: pg.Pool,
  send: (client: pg.PoolClient, query: Query) => Promise<pg.QueryArrayResult>,
): PostgresPool => ({
  get waitingCount() {
    return pool.waitingCount
  },
  options: pool.options,
  async connect() {
    const client = await pool.connect()
    return {
      query: (query) => send(client, query),
      on: (event, listener) => client.on(event, listener),
      removeListener: (event, listener) => client.removeListener(event, listener),
      release: (destroy) => client.release(destroy),
    }
  },
})

/** A pool that writes down what is asked of it. */
export function watchPool(pool: pg.Pool): { readonly pool: PostgresPool; readonly sent: Sent[] } {
  const sent: Sent[] = []
  const watched = wrapPool(pool, async (client, { text, values = [] }) => {
    const one: Sent = { text, values, size: 0 }
    sent.push(one)
    const result = await client.query({ text, values })
    const rows = Array.isArray(result) ? [] : result.rows
    one.size = rows.flatMap(Object.values).reduce((sum, value) => sum + String(value ?? '').length, 0)
    return result
  })
  return { pool: watched, sent }
}
