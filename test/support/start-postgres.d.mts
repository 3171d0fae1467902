/** A real PostgreSQL of one's own. */
export interface TestPostgres {
  /** Where its data lie. */
  readonly folder: string
  readonly url: string
  /** Stops the server; its data stay. */
  stop(): Promise<void>
  start(): Promise<void>
  /** Ends the server without a chance to finish anything. */
  kill(): void
  /** Stops the server and removes its data. */
  destroy(): Promise<void>
}

export interface PostgresSettings {
  /** The folder of a server that is stopped: the new one has a copy of it, and is its standby. */
  readonly copyOf?: string
  readonly settings?: { readonly [name: string]: string }
}

export function startPostgres(settings?: PostgresSettings): Promise<TestPostgres>
