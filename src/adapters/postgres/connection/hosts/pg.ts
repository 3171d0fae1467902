import type pg from 'pg'

/** The parts of `pg` that make connections. */
export type Pg = Pick<typeof pg, 'Pool' | 'Client'>

/** A pool of `pg`, and its connections. */
export type PgPool = pg.Pool
export type PooledClient = pg.PoolClient
export type AnyClient = pg.ClientBase

/** Rejects with what to install where `pg` is missing. */
export async function importPg(): Promise<Pg> {
  try {
    // Some bundlers and runtimes do not find the named exports of a CommonJS package.
    return (await import('pg')).default
  } catch (cause) {
    throw new Error('PostgreSQL needs the package pg: npm install pg', { cause })
  }
}
