import type { Socket } from 'node:net'
import pg from 'pg'
import type { Pg } from '../../src/adapters/postgres/connection/hosts.js'

/** Tells a callback, or where there is none by its result, when it is over. */
type Connect = (callback?: (...given: never[]) => void) => Promise<unknown> | undefined

/** A client that has not begun to connect. */
export interface Held {
  /** Lets it go on. */
  release(): void
}

/** `pg`, and what it has made so far. */
export interface PausingPg extends Pg {
  /** All clients, in the order in which they were made. */
  readonly clients: readonly pg.Client[]
  /** The clients whose sockets are open. */
  open(): readonly pg.Client[]
  /** Resolves with the clients that are held back, when there are so many. */
  held(count: number): Promise<readonly Held[]>
  /** Holds all back from now on, after so many more. */
  hold(after?: number): void
}

/** `pg` as it is, of which clients can be stopped before they connect. */
export function pausePg(): PausingPg {
  const clients: pg.Client[] = []
  let held: Held[] = []
  let left = Number.POSITIVE_INFINITY
  let tell: () => void = () => {}

  class Client extends pg.Client {
    constructor(config?: string | pg.ClientConfig) {
      super(config)
      clients.push(this)
      const begin = super.connect.bind(this) as Connect
      const connect: Connect = (callback) => {
        left -= 1
        if (left >= 0) return begin(callback)
        const paused = new Promise<void>((release) => held.push({ release }))
        tell()
        const going = paused.then(() => begin(callback))
        return callback ? undefined : going
      }
      Object.assign(this, { connect })
    }
  }
  class Pool extends pg.Pool {
    constructor(config?: pg.PoolConfig) {
      super({ ...config, Client } as pg.PoolConfig)
    }
  }
  const isOpen = (client: pg.Client): boolean => {
    const { stream } = (client as unknown as { readonly connection: { readonly stream: Socket } }).connection
    return stream.connecting || !stream.pending
  }
  return {
    Pool: Pool as unknown as Pg['Pool'],
    Client,
    clients,
    open: () => clients.filter(isOpen),
    async held(count) {
      while (held.length < count)
        await new Promise<void>((resolve) => {
          tell = resolve
        })
      const those = held
      held = []
      return those
    },
    hold(after = 0) {
      left = after
    },
  }
}
