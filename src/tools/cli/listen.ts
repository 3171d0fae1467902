import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import { setImmediate, setTimeout } from 'node:timers/promises'
import type { NodeHandler } from '../../mounts/node.js'
import { isRejection, type Rejected } from './log-rejected.js'
import { printConnection } from './read-address.js'

/** The error for an address on which the command cannot listen. Its message says why, and what to do. */
export class ListenError extends Error {}

export interface ListenAddress {
  readonly port: number
  readonly host: string
}

/** A server that listens for requests. */
export interface Listening {
  /** The URL of the server on this machine. */
  readonly origin: string
  /** The address on which the server listens. If the host is a name, it is the first address that the name resolves to. */
  readonly address: string
  /**
   * Continues to serve for `drain` seconds, each answer with `Connection: close`. Then it accepts no new requests, waits
   * for the running ones, for at most `patience` seconds, and calls `close`, which ends endless streams. It closes all
   * connections at most 5 seconds later.
   */
  stop(close: () => Promise<void>, waits: StopWaits): Promise<void>
}

/** How long a server waits when it stops, in seconds. */
export interface StopWaits {
  readonly drain: number
  readonly patience: number
}

/** Answers requests and logs each of them. */
export interface Answering {
  readonly answer: NodeHandler
  /** Called when a request arrives; the returned function is called when its response has ended. */
  readonly onRequest: (request: IncomingMessage, response: ServerResponse) => () => void
  /** Called when Node has rejected what is not a valid request. */
  readonly onRejected: (rejected: Rejected) => void
}

/**
 * The milliseconds after which an idle connection is closed. This is longer than the 60 seconds of usual proxies, so that
 * the proxy closes first: a request that it sends on a connection while the server closes it would fail.
 */
const KEEP_ALIVE = 75_000

/** Listens on an address, and answers requests. Rejects with `ListenError`. */
export async function listen(
  place: ListenAddress,
  { answer, onRequest, onRejected }: Answering,
): Promise<Listening> {
  const running: Running = { open: new Set(), unused: new Set() }
  let isStopping = false
  const server = createServer({ keepAliveTimeout: KEEP_ALIVE }, (request, response) => {
    running.unused.delete(request.socket)
    running.open.add(response)
    if (isStopping) response.setHeader('connection', 'close')
    const end = onRequest(request, response)
    response.on('close', () => {
      running.open.delete(response)
      end()
    })
    void answer(request, response)
  })
  server.on('connection', (socket) => {
    running.unused.add(socket)
    socket.once('close', () => running.unused.delete(socket))
    // Node no longer knows the address when it has closed the connection.
    const { remoteAddress: connection } = socket
    // With a listener of `clientError`, Node would not answer.
    socket.on('error', (error: NodeJS.ErrnoException) => {
      if (isRejection(error)) onRejected({ code: error.code ?? '', connection: printConnection(connection) })
    })
  })
  await new Promise<void>((resolve, reject) => {
    server.once('error', (cause) => reject(explainListening(place, cause)))
    server.listen(place.port, place.host, resolve)
  })
  const { address, port } = server.address() as AddressInfo
  return {
    origin: `http://${nameHost(place.host)}:${port}`,
    address,
    async stop(close, { drain, patience }) {
      isStopping = true
      await setTimeout(drain * 1000)
      await endRequests(server, running, patience * 1000)
      // `close` waits for a long list as long as its client reads.
      const closing = close()
      await waitWhile(() => running.open.size > 0, LAST_BYTES)
      // A client may hold a connection open: by a part of a request, or because it does not read.
      server.closeAllConnections()
      await closing
    },
  }
}

/** The connections that a server finishes before it stops. */
interface Running {
  readonly open: Set<ServerResponse>
  /** The connections on which no request has arrived yet. */
  readonly unused: Set<Socket>
}

/** Hosts that mean all addresses of this machine. */
export const EVERYWHERE: readonly string[] = ['0.0.0.0', '::']

function nameHost(host: string): string {
  if (EVERYWHERE.includes(host)) return 'localhost'
  return host.includes(':') ? `[${host}]` : host
}

function explainListening({ port, host }: ListenAddress, cause: NodeJS.ErrnoException): ListenError {
  const noHost = `There is no host ${host}. --host must be an address of this machine; 0.0.0.0 means all of them.`
  const reasons: { readonly [code: string]: string } = {
    EADDRINUSE: `Port ${port} is already in use by another process. Stop that process, or choose another port with --port; --port 0 chooses a free one.`,
    EACCES: `Port ${port} needs special privileges. Choose a port from 1024 on with --port.`,
    EADDRNOTAVAIL: `This machine has no address ${host}. --host 0.0.0.0 listens on all its addresses.`,
    ENOTFOUND: noHost,
    EAI_AGAIN: noHost,
  }
  const reason = reasons[cause.code ?? ''] ?? `Cannot listen on ${host}, port ${port}: ${cause.message}`
  return new ListenError(reason, { cause })
}

/** The milliseconds between two checks of whether all answers, except endless streams, are complete. */
const PAUSE = 50

/** The milliseconds for the last bytes of answers: of streams that have ended, and of long lists. */
const LAST_BYTES = 5000

/** The milliseconds for which a connection without a request is kept: its request may be on its way. */
const REQUEST_WAIT = 1000

/** Accepts no new connections, and waits until all answers are complete except endless streams. */
async function endRequests(server: Server, { open, unused }: Running, patience: number): Promise<void> {
  // Without this header, a client that keeps its connection open would keep the process alive.
  for (const response of open) if (!response.headersSent) response.setHeader('connection', 'close')
  // Immediates run right after the server has accepted what waited, so that no connection waits when it closes.
  await setImmediate()
  server.close()
  await waitWhile(() => unused.size > 0, REQUEST_WAIT)
  await waitWhile(() => [...open].some((response) => !isEndless(response)), patience)
  for (const socket of unused) socket.destroy()
}

/** Waits until a condition ends, for at most this many milliseconds. */
async function waitWhile(isSo: () => boolean, most: number): Promise<void> {
  const end = performance.now() + most
  while (isSo() && performance.now() < end) await setTimeout(PAUSE)
}

/**
 * Whether a response is a stream of changes, judged by the path of its request, which may be percent-encoded. A
 * rejected request for a stream ends by itself.
 */
function isEndless({ req }: ServerResponse): boolean {
  const [path = ''] = (req.url ?? '').split('?')
  const last = path.split('/').findLast((part) => part !== '')
  return (
    last?.replace(/%([\da-f]{2})/gi, (_, byte) => String.fromCharCode(Number.parseInt(byte, 16))) ===
    'changes'
  )
}
