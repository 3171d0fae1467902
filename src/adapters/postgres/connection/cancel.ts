import { connect, type Socket } from 'node:net'
import type { PostgresClient } from './pool.js'

/**
 * Milliseconds before the first attempt to cancel a statement, and between attempts. Most statements end before the
 * first attempt.
 */
const CANCEL_PAUSE = 100

/** Milliseconds after which a connection is dropped if its statement could not be cancelled. */
const GRACE = 1000

/** A connection with a statement to cancel. */
interface CancelTarget {
  readonly client: PostgresClient
  readonly address: Address
}

/**
 * Cancels the read of a client until `reading` has settled. It retries, because a cancellation that arrives before
 * its statement has no effect. Returns whether `reading` settled in time. If it did not, a late cancellation could
 * hit the next user of the connection. Writes must not be cancelled: a cancelled commit that waits for a standby
 * would become visible without being replicated.
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

/** The address of a connected client. For a Unix socket, `host` is the folder of the socket. */
export interface Address {
  readonly host: string | undefined
  readonly port: number | undefined
}

/** The fields that identify a client's process on the server. */
interface Keyed {
  readonly processID: number
  readonly secretKey: number
}

/** Whether the statements of a client can be cancelled. */
export function canCancel(client: PostgresClient): client is PostgresClient & Keyed {
  const { processID, secretKey }: Partial<Keyed> = client as PostgresClient & Partial<Keyed>
  return typeof processID === 'number' && typeof secretKey === 'number'
}

/**
 * The code of a CancelRequest. It differs from the numbers of all protocol versions (PostgreSQL, "Message Formats").
 */
const CANCEL_REQUEST = 80877102

/**
 * Cancels the statement of a client with a CancelRequest. The request goes to the address of the client: if that is a
 * pooler, only the pooler knows which server process runs the statement. Like the requests of libpq, it is not
 * encrypted. Resolves when the other side has closed the connection, or when `stopped` resolves.
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
    // A socket closes only after its data has been read.
    socket.resume()
    socket.write(message)
  })
  await Promise.race([closed, stopped])
  socket?.destroy()
}

/** Resolves to the value of a promise, or to `undefined` after a second. */
export async function withinGrace<T>(promise: Promise<T>): Promise<T | undefined> {
  let timer: ReturnType<typeof setTimeout> | undefined
  const late = new Promise<undefined>((resolve) => {
    timer = later(() => resolve(undefined), GRACE)
  })
  return Promise.race([promise, late]).finally(() => clear(timer))
}

// Captured when this module loads, so that the fake timers of a test do not stop it.
const [later, clear] = [setTimeout, clearTimeout]
