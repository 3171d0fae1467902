/** The parts of a client of `pg` that this adapter uses. */
export interface PostgresClient {
  query(query: {
    readonly text: string
    readonly values?: unknown[]
    readonly name?: string
  }): Promise<unknown>
  on(event: 'error', listener: (error: Error) => void): unknown
  removeListener(event: 'error', listener: (error: Error) => void): unknown
  /** With `true`, the client is destroyed. */
  release(destroy?: boolean): void
}

/** The parts of a `Pool` of `pg` that this adapter uses. */
export interface PostgresPool {
  connect(): Promise<PostgresClient>
  readonly waitingCount: number
  /** `max`: the most connections. */
  readonly options?: { readonly max?: number | undefined }
}

/** The hosts to which a pool connects. */
export interface Hosts {
  /** Whether a connection leads to the same host as new ones. */
  isCurrent(client: PostgresClient): boolean
  /** Work waits for long: checks in the background whether the host still takes writes. */
  doubt(): void
  /** A connection is lost: new ones are opened after a host has confirmed that it takes writes. */
  distrust(client: PostgresClient): void
  /** A server that takes no writes has answered: no connection of its pool is used again. */
  discard(client: PostgresClient): void
}

/** A pool, and whether it belongs to the adapter. */
export interface PoolSource {
  readonly pool: PostgresPool
  /** Whether clients may keep prepared statements. */
  readonly isOwn: boolean
  /** Only of the adapter's own pool. */
  readonly hosts?: Hosts
  end(): Promise<void>
}

/** Uses a host's pool unchanged and never ends it. */
export const borrowPool = (pool: PostgresPool): PoolSource => ({ pool, isOwn: false, async end() {} })
