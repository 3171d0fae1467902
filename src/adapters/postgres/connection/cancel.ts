import { connect } from 'node:net'
import type { PostgresClient } from './pool.js'
import { GRACE, pause, within } from './timers.js'

/**
 * Milliseconds before the first attempt to cancel a statement, and between attempts. Most statements end before the
 * first attempt.
 */
const CANCEL_PAUSE = 100

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
  const stopping = new AbortController()
  const cancelAll = async (): Promise<true> => {
    for (;;) {
      await Promise.race([ended, pause(CANCEL_PAUSE)])
      if (isOver) return true
      await cancel(client, address, stopping.signal)
    }
  }
  // If the read did not end in time, the connection is dropped.
  const hasEnded = await within(GRACE, cancelAll())
  over()
  stopping.abort()
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
 * encrypted. Resolves when the connection of the request is closed: by the other side, or because `stopped` aborts.
 */
async function cancel(
  client: PostgresClient,
  { host, port = 0 }: Address,
  stopped: AbortSignal,
): Promise<void> {
  if (!canCancel(client)) return
  const { processID, secretKey } = client
  const message = Buffer.alloc(16)
  for (const [i, value] of [16, CANCEL_REQUEST, processID, secretKey].entries())
    message.writeInt32BE(value | 0, 4 * i)
  const socket = host?.startsWith('/') ? connect(`${host}/.s.PGSQL.${port}`) : connect(port, host)
  const stop = (): unknown => socket.destroy()
  stopped.addEventListener('abort', stop)
  socket.on('error', () => {})
  // A socket closes only after its data has been read.
  socket.resume()
  socket.write(message)
  await new Promise((resolve) => socket.on('close', resolve))
  stopped.removeEventListener('abort', stop)
}
