import type pg from 'pg'
import { afterAll, afterEach } from 'vitest'
import { createPostgresAdapter } from '../../src/adapters/postgres/postgres-adapter.js'
import type { StorageAdapter } from '../../src/index.js'
import { newPool, newSchema, usePostgres } from './postgres.js'

/** Schemas that no case uses any longer, by the server and what was opened in them. */
const unused = new Map<string, string[]>()

/** What belongs to the tables, and stays: which there are, and the right to build indexes. */
const OF_TABLES = ['_structures', '_structures_lease']

/**
 * Makes a schema what it was when its tables were created. A transaction that a closed connection has left holds its
 * tables until it has ended.
 */
async function empty(pool: pg.Pool, schema: string): Promise<void> {
  const { rows } = await pool.query<{ name: string; hasRows: boolean }>(
    `SELECT relname AS name, pg_relation_size(oid) > 0 AS "hasRows" FROM pg_class
WHERE relnamespace = to_regnamespace($1) AND relkind = 'r' AND relname <> ALL ($2)`,
    [schema, OF_TABLES],
  )
  const tableOf = (name: string): string => `"${schema}"."${name}"`
  const all = rows.map(({ name }) => tableOf(name)).join(', ')
  const filled = rows.filter(({ name, hasRows }) => hasRows && name !== '_log_head')
  const head = rows.some(({ name }) => name === '_log_head')
    ? [`UPDATE ${tableOf('_log_head')} SET log = left(gen_random_uuid()::text, 8), last = 0, dropped = 0`]
    : []
  const statements =
    filled.length > 0
      ? [`TRUNCATE ${filled.map(({ name }) => tableOf(name)).join(', ')} RESTART IDENTITY`, ...head]
      : head
  await pool.query(['BEGIN', `LOCK TABLE ${all}`, ...statements, 'COMMIT'].join('; '))
}

/** A schema that an adapter has opened. */
interface Opened {
  readonly schema: string
  /** What was opened in it first; `undefined` where something else was opened in it too. */
  plans: string | undefined
  isClosed: boolean
}

/**
 * Creates adapters over PostgreSQL, each over an empty schema of its own: where an earlier case has opened the same, in that of
 * the earlier case, which is emptied first. Creating tables and indexes costs three times as much as all else that a case does
 * with PostgreSQL.
 */
export function useEmptiedPostgres(): () => StorageAdapter {
  const postgres = usePostgres()
  const used = new Set<Opened>()
  let pool: pg.Pool | undefined
  // Runs after the hooks of a file, which close what is open.
  afterEach(() => {
    for (const opened of used) {
      if (!opened.isClosed) continue
      used.delete(opened)
      const { plans, schema } = opened
      if (plans !== undefined) unused.set(plans, [...(unused.get(plans) ?? []), schema])
    }
  })
  afterAll(async () => {
    await pool?.end()
    pool = undefined
  })

  /** An empty schema in which these plans, and no others, may be open already. */
  const take = async (plans: string): Promise<string | undefined> => {
    const schema = unused.get(plans)?.pop()
    if (schema === undefined) return undefined
    pool ??= newPool({ connectionString: postgres.url, max: 1 })
    await empty(pool, schema)
    return schema
  }

  return () => {
    const fresh = newSchema()
    let adapter = createPostgresAdapter({ connectionString: postgres.url, schema: fresh })
    let opening: Promise<Opened> | undefined

    const openFirst = async (plans: string): Promise<Opened> => {
      const schema = await take(plans)
      if (schema !== undefined) adapter = createPostgresAdapter({ connectionString: postgres.url, schema })
      return { plans, schema: schema ?? fresh, isClosed: false }
    }
    const open: StorageAdapter['open'] = async (asked) => {
      const plans = JSON.stringify([postgres.url, asked])
      opening ??= openFirst(plans)
      const opened = await opening
      if (opened.isClosed && !used.has(opened)) throw new Error('the case of this adapter is over')
      opened.isClosed = false
      if (opened.plans !== plans) opened.plans = undefined
      used.add(opened)
      await adapter.open(asked)
    }
    const close = async (): Promise<void> => {
      await adapter.close()
      const opened = await opening
      if (opened) opened.isClosed = true
    }
    // The members of an adapter do not depend on its schema.
    const members = Object.keys(adapter) as (keyof StorageAdapter)[]
    const calls = members.map((name) => {
      const call = (...args: unknown[]): unknown =>
        (adapter[name] as (...args: unknown[]) => unknown)(...args)
      return [name, typeof adapter[name] === 'function' ? call : adapter[name]] as const
    })
    return { ...(Object.fromEntries(calls) as unknown as StorageAdapter), open, close }
  }
}
