import type pg from 'pg'
import type { PostgresPool } from '../../src/adapters/postgres/connection/pool.js'

/** A write that has done everything but to commit. */
export interface Paused {
  /** The server's process that serves it. */
  readonly process: number
  /** Lets it go on. */
  release(): void
}

/** A pool of which one write at a time can be stopped before its end: none of what is done behind writes. */
export function pausePool(pool: pg.Pool): { readonly pool: PostgresPool; pauseNext(): Promise<Paused> } {
  let wanted: ((paused: Paused) => void) | undefined
  const passes = async (text: string, process: number, isWrite: boolean): Promise<void> => {
    if (!wanted || !isWrite || !/\bCOMMIT\b/.test(text)) return
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
        let isWrite = false
        return {
          async query(query) {
            if (/^BEGIN\b/.test(query.text)) isWrite = /\block_timeout\b/.test(query.text)
            await passes(query.text, processID, isWrite)
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

/** A pool of which one connection can be held back, before it is asked for. */
export function holdPool(pool: pg.Pool): {
  readonly pool: PostgresPool
  /** How many connections were asked for. */
  count(): number
  /** Holds back the one after so many more. Resolves with what lets it go on. */
  hold(after: number): Promise<() => void>
} {
  let count = 0
  let at = Number.POSITIVE_INFINITY
  let tell: (release: () => void) => void = () => {}
  return {
    pool: {
      get waitingCount() {
        return pool.waitingCount
      },
      options: pool.options,
      async connect() {
        count += 1
        if (count === at) await new Promise<void>(tell)
        return pool.connect()
      },
    },
    count: () => count,
    hold(after) {
      at = count + after + 1
      return new Promise((resolve) => {
        tell = resolve
      })
    },
  }
}
