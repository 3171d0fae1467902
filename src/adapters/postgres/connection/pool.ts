/** The parts of a client of `pg` that this adapter uses. */
export interface PostgresClient {
  query(query: {
    readonly text: string
    readonly values?: unknown[]
    readonly name?: string
  }): Promise<unknown>
  on(event: 'error', listener: (error: Error) => void): unknown
  removeListener(event: 'error', listener: (error: Error) => void): unknown
  /** With `true`, the client is not used again. */
  release(destroy?: boolean): void
}

/** The parts of a `Pool` of `pg` that this adapter uses. */
export interface PostgresPool {
  connect(): Promise<PostgresClient>
  readonly waitingCount: number
  /** `max`: the most connections. */
  readonly options?: { readonly max?: number | undefined }
}

/** A pool, and whether it belongs to the adapter. */
export interface PoolSource {
  readonly pool: PostgresPool
  /** Whether clients may keep prepared statements. */
  readonly isOwn: boolean
  end(): Promise<void>
}

/** Uses a host's pool unchanged and never ends it. */
export const borrowPool = (pool: PostgresPool): PoolSource => ({ pool, isOwn: false, async end() {} })

/** Milliseconds to wait for a connection. */
const CONNECT_MILLISECONDS = 5000

/** Creates the adapter's own pool. Rejects with what to install where `pg` is missing. */
export async function createPool(connectionString: string): Promise<PoolSource> {
  const { Pool } = await importDriver()
  const pool = new Pool({
    connectionString,
    connectionTimeoutMillis: CONNECT_MILLISECONDS,
    keepAlive: true,
    allowExitOnIdle: true,
    application_name: 'collection-service',
  })
  // A lost idle connection is replaced when one is needed; without a listener it would end the process.
  pool.on('error', () => {})
  return { pool, isOwn: true, end: () => pool.end() }
}

async function importDriver(): Promise<Pick<typeof import('pg'), 'Pool'>> {
  try {
    // Some bundlers and runtimes do not find the named exports of a CommonJS package.
    return (await import('pg')).default
  } catch (cause) {
    throw new Error('PostgreSQL needs the package pg: npm install pg', { cause })
  }
}
