/** What this adapter uses of a client of `pg`. */
export interface PostgresClient {
  query(query: {
    readonly text: string
    readonly values?: unknown[]
    readonly name?: string
  }): Promise<unknown>
  on(event: 'error', listener: (error: Error) => void): unknown
  removeListener(event: 'error', listener: (error: Error) => void): unknown
  /** With `true` the client is not used again. */
  release(destroy?: boolean): void
}

/** What this adapter uses of a `Pool` of `pg`. */
export interface PostgresPool {
  connect(): Promise<PostgresClient>
  readonly waitingCount: number
  /** `max`: how many connections there are at most. */
  readonly options?: { readonly max?: number | undefined }
}

/** A pool, and what can be done with it where it is our own. */
export interface PoolSource {
  readonly pool: PostgresPool
  /** Clients may keep statements prepared. */
  readonly isOwn: boolean
  end(): Promise<void>
}

/** A host's pool is taken as it is and never ended. */
export const borrowPool = (pool: PostgresPool): PoolSource => ({ pool, isOwn: false, async end() {} })

/** Milliseconds to wait for a connection. */
const CONNECT_MILLISECONDS = 5000

/** Makes a pool of our own. Rejects with what to install where `pg` is missing. */
export async function createPool(connectionString: string): Promise<PoolSource> {
  const { Pool } = await importDriver()
  const pool = new Pool({
    connectionString,
    connectionTimeoutMillis: CONNECT_MILLISECONDS,
    keepAlive: true,
    allowExitOnIdle: true,
    application_name: 'collection-service',
  })
  // A lost idle connection is replaced when it is needed; without a listener it would end the process.
  pool.on('error', () => {})
  return { pool, isOwn: true, end: () => pool.end() }
}

async function importDriver(): Promise<Pick<typeof import('pg'), 'Pool'>> {
  try {
    // Not every bundler and runtime finds the names of a package in CommonJS.
    return (await import('pg')).default
  } catch (cause) {
    throw new Error('PostgreSQL needs the package pg: npm install pg', { cause })
  }
}
