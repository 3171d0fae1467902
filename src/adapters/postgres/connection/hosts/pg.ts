import type pg from 'pg'

/** The parts of `pg` that create connections. */
export type Pg = Pick<typeof pg, 'Pool' | 'Client'>

/** A pool of `pg`, and its connections. */
export type PgPool = pg.Pool
export type PooledClient = pg.PoolClient
export type AnyClient = pg.ClientBase

/** Imports `pg`. Rejects with installation advice if it is missing. */
export async function importPg(): Promise<Pg> {
  try {
    // Some bundlers and runtimes do not find the named exports of a CommonJS package.
    return (await import('pg')).default
  } catch (cause) {
    throw new Error(
      'the PostgreSQL adapter needs the package pg, which cannot be imported; install it with npm install pg',
      { cause },
    )
  }
}
