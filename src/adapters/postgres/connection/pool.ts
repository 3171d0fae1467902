/** The parts of a client of `pg` that this adapter uses. */
export interface PostgresClient {
  query(query: {
    readonly text: string
    readonly values?: unknown[]
    readonly name?: string
  }): Promise<unknown>
  on(event: 'error', listener: (error: Error) => void): unknown
  removeListener(event: 'error', listener: (error: Error) => void): unknown
  /** Returns the client to its pool or, with `true`, destroys it. */
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
  /** Called when work has waited long: checks in the background whether the host still accepts writes. */
  doubt(): void
  /**
   * Called when a connection is lost: new connections are opened only after a host has confirmed that it accepts
   * writes.
   */
  distrust(client: PostgresClient): void
  /** Called when a server has answered that it accepts no writes: no connection of this client's pool is used again. */
  discard(client: PostgresClient): void
}

/** A pool, and whether it belongs to the adapter. */
export interface PoolSource {
  readonly pool: PostgresPool
  /** Whether the adapter has created the pool. Only then may its clients keep prepared statements. */
  readonly isOwn: boolean
  /** The hosts of the adapter's own pool. Absent for a pool of the host application. */
  readonly hosts?: Hosts
  end(): Promise<void>
}

/** Uses a pool of the host application, which it neither changes nor ends. */
export const borrowPool = (pool: PostgresPool): PoolSource => ({ pool, isOwn: false, async end() {} })
