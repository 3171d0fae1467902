import type pg from 'pg'
import type { PostgresPool } from '../../src/adapters/postgres/connection/pool.js'

/** A write that has done everything but to commit. */
export interface Paused {
  /** The server's process that serves it. */
  readonly process: number
  /** Lets it go on. */
  release(): void
}

/** A pool of which one transaction at a time can be stopped before its end. */
export function pausePool(pool: pg.Pool): { readonly pool: PostgresPool; pauseNext(): Promise<Paused> } {
  let wanted: ((paused: Paused) => void) | undefined
  const passes = async (text: string, process: number): Promise<void> => {
    if (!wanted || !/\bCOMMIT\b/.test(text)) return
    const tell = wanted
    wanted = undefined
    await new Promise<void>((release) => tell({ process, release }))
  }
  return {
    pool: {
      get waitingCount() {
        return pool.waitingCount
      },
      options: pool.options,
      async connect() {
        const client = await pool.connect()
        const { processID = 0 } = client as pg.PoolClient & { readonly processID?: number }
        return {
          async query(query) {
            await passes(query.text, processID)
            return client.query(query)
          },
          on: (event, listener) => client.on(event, listener),
          removeListener: (event, listener) => client.removeListener(event, listener),
          release: (destroy) => client.release(destroy),
        }
      },
    },
    pauseNext: () =>
      new Promise((resolve) => {
        wanted = resolve
      }),
  }
}
