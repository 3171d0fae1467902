import { once } from 'node:events'
import {
  type Agent,
  createServer,
  request as httpRequest,
  type IncomingHttpHeaders,
  type RequestListener,
  type Server,
  type ServerOptions,
} from 'node:http'
import { type AddressInfo, connect, type Socket } from 'node:net'
import { createRequest, createResponse, type RequestOptions } from 'node-mocks-http'
import { afterAll } from 'vitest'
import type { Handler } from '../../../src/index.js'
import { toNodeHandler } from '../../../src/mounts/node.js'
import { type AnyConfig, createTestService, type TestService } from '../../support/service.js'

/** What the tests of the mount for Node have in common. */

export const config = {
  collections: {
    articles: {
      schema: {
        title: { type: 'string', required: true, maxLength: 900 },
        tags: { type: 'array', items: { type: 'string' } },
      },
      permissions: { '*': { read: true, create: true } },
    },
    users: {
      schema: {
        email: { type: 'string', unique: true, required: true, lowercase: true },
        password: { type: 'hash', required: true },
      },
    },
  },
  limits: { bodyBytes: 1000 },
} as const satisfies AnyConfig

export const seeded = (): TestService =>
  createTestService(config, { documents: { articles: [{ title: 'Hello' }] } })

type Listen = (listener: RequestListener, options?: ServerOptions) => Promise<number>

/** Listens on free ports until the tests of the file are over. */
export function useListen(): Listen {
  const servers: Server[] = []
  afterAll(() => {
    for (const server of servers.splice(0)) {
      server.close()
      server.closeAllConnections()
    }
  })
  return async (listener, options = {}) => {
    const server = createServer(options, listener)
    servers.push(server)
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    return (server.address() as AddressInfo).port
  }
}

export interface Answer {
  readonly status: number
  readonly headers: IncomingHttpHeaders
  readonly text: string
  // biome-ignore lint/suspicious/noExplicitAny: tests look into answers of every shape
  readonly body: any
}

export interface Call {
  readonly headers?: { readonly [name: string]: string | string[] }
  readonly body?: string | Buffer
  readonly agent?: Agent
}

/** Sends a request line such as `GET /articles` as it is, without a URL in between. */
export async function call(
  port: number,
  line: string,
  { headers = {}, body, agent }: Call = {},
): Promise<Answer> {
  const [method = 'GET', path = '/'] = line.split(' ')
  const request = httpRequest({ port, host: '127.0.0.1', method, path, headers, ...(agent ? { agent } : {}) })
  request.end(body)
  const [response] = await once(request, 'response')
  // A service that refuses a body hangs up on a client that goes on sending it.
  request.on('error', () => {})
  const text = Buffer.concat(await response.toArray()).toString()
  return {
    status: response.statusCode,
    headers: response.headers,
    text,
    body: text === '' || text.startsWith('<') ? undefined : JSON.parse(text),
  }
}

export const JSON_BODY = { 'content-type': 'application/json' }

export const post = (
  port: number,
  body: object | string,
  headers: Call['headers'] = JSON_BODY,
): Promise<Answer> =>
  call(port, 'POST /articles', { headers, body: typeof body === 'string' ? body : JSON.stringify(body) })

/** Opens a socket and writes to it as it is. */
export async function open(port: number, ...lines: string[]): Promise<Socket> {
  const socket = connect(port, '127.0.0.1')
  await once(socket, 'connect')
  socket.write(lines.join('\r\n'), 'latin1')
  return socket
}

/** Sends packets, each of which is read by itself. Tells what has come back so far. */
export async function sendPackets(
  socket: Socket,
  packets: readonly (string | Buffer)[],
): Promise<() => string> {
  let text = ''
  socket.setEncoding('utf8').on('data', (piece) => {
    text += piece
  })
  for (const packet of packets) {
    socket.write(packet)
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
  return () => text
}

/** What comes back until the other side hangs up. */
export async function readAll(socket: Socket): Promise<{ status: number; text: string }> {
  const text = Buffer.concat(await socket.toArray()).toString('latin1')
  return { status: Number(text.split(' ', 2)[1]), text }
}

/** Sends a head without a body, and `Connection: close`. */
export const sendHead = async (port: number, ...lines: string[]) =>
  readAll(await open(port, ...lines, 'Connection: close', '', ''))

/** Answers through node-mocks-http, whose requests are no streams. */
export async function callGlue(handler: Handler, options: RequestOptions): Promise<Answer> {
  const request = createRequest(options)
  if ('body' in options) request.body = options.body
  // As Express has it in an application that is mounted nowhere.
  if (options.baseUrl === undefined) request.baseUrl = ''
  const response = createResponse({ req: request })
  await toNodeHandler(handler)(request, response)
  const text = response._getBuffer().toString() || response._getData()
  const headers = response.getHeaders() as IncomingHttpHeaders
  return { status: response.statusCode, headers, text, body: text === '' ? undefined : JSON.parse(text) }
}
