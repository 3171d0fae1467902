import { connect, type Socket } from 'node:net'
import type { PostgresClient } from './pool.js'

/** Milliseconds before the first attempt to cancel a statement, and between two. Most end by themselves before it. */
const CANCEL_PAUSE = 100

/** Milliseconds after which a connection is dropped if its statement could not be cancelled. */
const GRACE = 1000

/** A connection whose statement is cancelled. */
interface CancelTarget {
  readonly client: PostgresClient
  readonly address: Address
}

/**
 * Cancels what a client reads until it has ended, unless it soon does so by itself: again and again, because a cancellation that arrives before its statement has
 * no effect. Returns whether all has ended in time: a late cancellation could hit the next user of the
 * connection. Nothing that may be committing is ever cancelled: where it waits for a standby, it would become visible
 * without being there.
 */
export async function cancelRead(
  { client, address }: CancelTarget,
  reading: Promise<unknown>,
): Promise<boolean> {
  let isOver = false
  const over = (): void => {
    isOver = true
  }
  const ended = reading.then(over, over)
  let stop: () => void = over
  const stopped = new Promise<void>((resolve) => {
    stop = resolve
  })
  const cancelAll = async (): Promise<true> => {
    for (;;) {
      await Promise.race([ended, new Promise((resolve) => later(resolve, CANCEL_PAUSE))])
      if (isOver) return true
      await cancel(client, address, stopped)
    }
  }
  const hasEnded = await withinGrace(cancelAll())
  over()
  stop()
  return hasEnded === true
}

/** The parts of a client of `pg` that say where it is connected. A host's may lack them. */
interface Connected {
  readonly host?: string
  readonly port?: number
  readonly connection?: {
    readonly stream?: { readonly remoteAddress?: string; readonly remotePort?: number }
  }
}

/** What a client is connected to; of a socket in the file system, the host is its folder. */
export interface Address {
  readonly host: string | undefined
  readonly port: number | undefined
}

/**
 * Finds what a client is connected to. Each is asked before it is used: a socket that has told its address is another kind
 * of object for engines, which would throw away what they have compiled for those in use.
 */
export function addressOf(client: PostgresClient): Address {
  const { host, port, connection }: Connected = client as PostgresClient & Connected
  if (host?.startsWith('/')) return { host, port }
  const { remoteAddress, remotePort } = connection?.stream ?? {}
  return { host: remoteAddress ?? host, port: remotePort ?? port }
}

/** What names the process of a client on its server. */
interface Keyed {
  readonly processID: number
  readonly secretKey: number
}

/** Whether the statements of a client can be cancelled. */
export function canCancel(client: PostgresClient): client is PostgresClient & Keyed {
  const { processID, secretKey }: Partial<Keyed> = client as PostgresClient & Partial<Keyed>
  return typeof processID === 'number' && typeof secretKey === 'number'
}

/** A number that no version of the protocol has (PostgreSQL, "Message Formats", CancelRequest). */
const CANCEL_REQUEST = 80877102

/**
 * Cancels the statement of a client as its protocol does, with a message of its own to the same server: behind a pooler,
 * only the pooler knows which of the server's processes it is. It is never encrypted, as libpq does it. Resolves when the
 * other side has done it, and closed the connection, or when it is `stopped`.
 */
async function cancel(
  client: PostgresClient,
  { host, port = 0 }: Address,
  stopped: Promise<void>,
): Promise<void> {
  if (!canCancel(client)) return
  const { processID, secretKey } = client
  const message = Buffer.alloc(16)
  for (const [i, value] of [16, CANCEL_REQUEST, processID, secretKey].entries())
    message.writeInt32BE(value | 0, 4 * i)
  let socket: Socket | undefined
  const closed = new Promise<void>((resolve) => {
    socket = host?.startsWith('/') ? connect(`${host}/.s.PGSQL.${port}`) : connect(port, host)
    socket.on('error', () => {})
    socket.on('close', () => resolve())
    // A connection that the other side closes must be read to its end.
    socket.resume()
    socket.write(message)
  })
  await Promise.race([closed, stopped])
  socket?.destroy()
}

/** The value of a promise, or `undefined` when it takes longer than a second. */
export async function withinGrace<T>(promise: Promise<T>): Promise<T | undefined> {
  let timer: ReturnType<typeof setTimeout> | undefined
  const late = new Promise<undefined>((resolve) => {
    timer = later(() => resolve(undefined), GRACE)
  })
  return Promise.race([promise, late]).finally(() => clear(timer))
}

// Read at start: a fake clock of a test must not stop what others wait for.
const [later, clear] = [setTimeout, clearTimeout]
