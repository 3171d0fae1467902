import { connect, type Socket } from 'node:net'
import type { PostgresClient } from './pool.js'

/** Milliseconds between two attempts to cancel a statement. */
const CANCEL_PAUSE = 50

/** Milliseconds after which a connection is dropped if its statement could not be cancelled. */
const GRACE = 1000

/**
 * Cancels what a client reads until it has ended, because a cancellation that arrives before its statement has
 * no effect. Returns whether all has ended in time: a late cancellation could hit the next user of the
 * connection. Nothing that may be committing is ever cancelled: where it waits for a standby, it would become visible
 * without being there.
 */
export async function cancelRead(client: PostgresClient, reading: Promise<unknown>): Promise<boolean> {
  let isOver = false
  const over = (): void => {
    isOver = true
  }
  const ended = reading.then(over, over)
  const cancelAll = async (): Promise<true> => {
    while (!isOver) {
      await cancel(client)
      await Promise.race([ended, new Promise((resolve) => setTimeout(resolve, CANCEL_PAUSE))])
    }
    return true
  }
  const hasEnded = await withinGrace(cancelAll())
  over()
  return hasEnded === true
}

/** The parts of a client of `pg` that say where it is connected, and as whom. A host's may lack them. */
interface Connected {
  readonly processID?: number | null
  readonly secretKey?: number | null
  readonly host?: string
  readonly port?: number
  readonly connection?: {
    readonly stream?: { readonly remoteAddress?: string; readonly remotePort?: number }
  }
}

/** A number that no version of the protocol has (PostgreSQL, "Message Formats", CancelRequest). */
const CANCEL_REQUEST = 80877102

/**
 * Cancels the statement of a client as its protocol does, with a message of its own to the same server: behind a pooler,
 * only the pooler knows which of the server's processes it is. It is never encrypted, as libpq does it. Resolves when the
 * other side has done it, and closed the connection.
 */
async function cancel(client: PostgresClient): Promise<void> {
  const { processID, secretKey, host, port, connection }: Connected = client as PostgresClient & Connected
  if (typeof processID !== 'number' || typeof secretKey !== 'number') return
  const { remoteAddress, remotePort } = connection?.stream ?? {}
  const message = Buffer.alloc(16)
  for (const [i, value] of [16, CANCEL_REQUEST, processID, secretKey].entries())
    message.writeInt32BE(value | 0, 4 * i)
  let socket: Socket | undefined
  const closed = new Promise<void>((resolve) => {
    socket = host?.startsWith('/')
      ? connect(`${host}/.s.PGSQL.${port}`)
      : connect(remotePort ?? port ?? 0, remoteAddress ?? host)
    socket.on('error', () => {})
    socket.on('close', () => resolve())
    // A connection that the other side closes must be read to its end.
    socket.resume()
    socket.write(message)
  })
  await withinGrace(closed)
  socket?.destroy()
}

/** The value of a promise, or `undefined` when it takes longer than a second. */
export async function withinGrace<T>(promise: Promise<T>): Promise<T | undefined> {
  let timer: ReturnType<typeof setTimeout> | undefined
  const late = new Promise<undefined>((resolve) => {
    timer = setTimeout(() => resolve(undefined), GRACE)
  })
  return Promise.race([promise, late]).finally(() => clearTimeout(timer))
}
