/** A real PostgreSQL of one's own. */
export interface TestPostgres {
  readonly url: string
  /** Stops the server; its data stay. */
  stop(): Promise<void>
  start(): Promise<void>
  /** Stops the server and removes its data. */
  destroy(): Promise<void>
}

export function startPostgres(): Promise<TestPostgres>
