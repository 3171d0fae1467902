import { createServer, type RequestListener, type Server } from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import express from 'express'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { toNodeHandler } from '../../src/mounts/node.js'
import { type Attacked, attack, CONFIG, POSTS, USERS } from '../security/fixture.js'
import { PAGE } from '../support/page.js'

// CONTRACT.md §7, "The Node mount"

interface Answered {
  readonly status: number
  readonly text: string
}

/** A way in: takes the head of a request as it goes over the wire. */
type Edge = (method: string, target: string, headers?: readonly string[], body?: string) => Promise<Answered>

let service: Attacked
const servers: Server[] = []
const edges = new Map<string, Edge>()

beforeAll(async () => {
  service = await attack(CONFIG, { page: PAGE, documents: { users: USERS, posts: POSTS } })
  const listener = toNodeHandler(service.handler)
  edges.set('the bare handler', sendToHandler)
  edges.set('node:http', await listen(listener as RequestListener))
  edges.set('Express', await listen(express().use(toNodeHandler(service.handler))))
  edges.set('Express, with parsers', await listen(withParsers().use(toNodeHandler(service.handler))))
  edges.set(
    'Express below /api',
    await listen(withParsers().use('/api', toNodeHandler(service.handler)), '/api'),
  )
})

afterAll(() => {
  for (const server of servers) server.close()
})

const withParsers = () =>
  // Else its own page about a broken body shows where it lies.
  express()
    .set('env', 'production')
    .set('trust proxy', true)
    .set('query parser', 'extended')
    .use(express.json())

/** A web-standard request can say less than the wire: what it refuses to say is as good as refused. */
async function sendToHandler(
  method: string,
  target: string,
  headers: readonly string[] = [],
  body?: string,
): Promise<Answered> {
  try {
    const pairs = headers.map((line) => line.split(/:\s*/, 2) as [string, string])
    const url = /^https?:/.test(target) ? target : `http://localhost${target}`
    const request = new Request(url, { method, headers: pairs, ...(body === undefined ? {} : { body }) })
    const response = await service.handler(request)
    return { status: response.status, text: await response.text() }
  } catch {
    return { status: 400, text: '' }
  }
}

async function listen(listener: RequestListener, prefix = ''): Promise<Edge> {
  const server = createServer(listener)
  servers.push(server)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  return (method, target, headers = [], body = '') => {
    const isOrigin = target.startsWith('/')
    const hasHost = headers.some((line) => /^host:/i.test(line))
    const head = [
      `${method} ${isOrigin ? prefix + target : target.replace('other/', `other${prefix}/`)} HTTP/1.1`,
      ...(hasHost ? [] : ['Host: localhost']),
      'Connection: close',
      ...(body === '' ? [] : [`Content-Length: ${Buffer.byteLength(body)}`]),
      ...headers,
    ]
    return exchange(port, `${head.join('\r\n')}\r\n\r\n${body}`)
  }
}

function exchange(port: number, raw: string): Promise<Answered> {
  return new Promise((resolve, reject) => {
    const socket = connect(port, '127.0.0.1', () => socket.write(raw, 'latin1'))
    let text = ''
    socket.setEncoding('utf8')
    socket.on('data', (chunk) => {
      text += chunk
    })
    socket.on('error', reject)
    socket.on('close', () => {
      const [head = '', ...rest] = text.split('\r\n\r\n')
      resolve({ status: Number(/^HTTP\/1\.1 (\d{3})/.exec(head)?.[1] ?? 0), text: rest.join('\r\n\r\n') })
    })
  })
}

/** A request, and the statuses of which its answer must have one. */
type Row = readonly [
  what: string,
  method: string,
  target: string,
  statuses: readonly number[],
  headers?: readonly string[],
  body?: string,
]

const JSON_TYPE = 'Content-Type: application/json'

const ROWS: readonly Row[] = [
  ...[
    '/__proto__',
    '/constructor',
    '/hasOwnProperty',
    '/toString',
    '/prototype',
    '/valueOf',
    '/nosuch',
  ].flatMap((target): Row[] => [
    ['a name that objects inherit', 'GET', target, [404]],
    ['a name that objects inherit', 'GET', `${target}/count`, [404]],
    ['a name that objects inherit', 'POST', target, [404], [JSON_TYPE], '{}'],
  ]),
  ...['/posts/%2e%2e/users', '/posts/../users', '/posts/.%2e/users'].map(
    (target): Row => ['a path out of a collection', 'GET', target, [401, 404]],
  ),
  ...[
    '/posts//count',
    '//posts',
    '/posts/count/x',
    '/count',
    '//',
    '/auth',
    '/auth/x',
    '/auth/__proto__',
  ].map((target): Row => ['a path beside the routes', 'GET', target, [404]]),
  ...[
    '/POSTS',
    '/Posts',
    '/posts%20',
    '/posts%00',
    '/posts;v=1',
    '/posts.json',
    '/posts.css',
    '/p%C3%B6sts',
  ].map((target): Row => ['nearly the name of a collection', 'GET', target, [404]]),
  ['a backslash', 'GET', '/users\\count', [400, 401, 404]],
  ...['PUT', 'PATCH', 'DELETE'].map((method): Row => ['a method that is not there', method, '/posts', [405]]),
  ...['GET', 'PUT', 'PATCH', 'DELETE'].map((method): Row => ['a method', method, '/auth/register', [405]]),
  ['a page by another method', 'POST', '/_page', [405], [JSON_TYPE], '{}'],
  ['markup behind the page', 'GET', '/_page?<script>alert(1)</script>', [400]],
  ...['/_page/x', '/_page.html', '//_page', '/_page;x.css', '/_page%00', '/_page/..%2fusers'].map(
    (target): Row => ['a path beside the page', 'GET', target, [404]],
  ),
  ['a probe by another method', 'POST', '/_health/ready', [405], [JSON_TYPE], '{}'],
  ['markup behind a probe', 'GET', '/_health/live?<script>alert(1)</script>', [400]],
  ...[
    '/_health',
    '/_health/',
    '/_health/ready/x',
    '/_health//ready',
    '/_health/READY',
    '/_health/..%2fusers',
  ].map((target): Row => ['a path beside the probes', 'GET', target, [404]]),
  ['an unknown method', 'FOO', '/posts', [400, 405]],
  ['a method in lower case', 'patch', '/posts', [400, 405]],
  ['HEAD of what is locked', 'HEAD', '/locked', [401]],
  ['an overridden method', 'POST', '/posts', [401], ['X-HTTP-Method-Override: DELETE', JSON_TYPE], '{}'],
  ['an overridden method in the query', 'GET', '/posts?_method=DELETE', [400]],
  ['a host with a path', 'GET', '/locked', [400, 401], ['Host: h/posts?x=']],
  ['a host with a user', 'GET', '/locked', [400, 401], ['Host: good@evil']],
  ['a target that names a host', 'GET', 'http://other/locked', [400, 401]],
  ['a target that looks like a host', 'GET', '//evil.com/users', [404]],
  ['a header called __proto__', 'GET', '/posts/count', [200], ['__proto__: x', 'constructor: y']],
  ['200 headers', 'GET', '/posts/count', [200], Array.from({ length: 200 }, (_, i) => `X-${i}: ${i}`)],
  ['a header in latin-1', 'GET', '/posts/count', [200], ['X-Name: caf\u00e9']],
  ['a body that is no object', 'POST', '/auth/login', [400], [JSON_TYPE], '[]'],
  ['a broken body', 'POST', '/auth/login', [400], [JSON_TYPE], '{"email":'],
]

describe.each(['the bare handler', 'node:http', 'Express', 'Express, with parsers', 'Express below /api'])(
  'through %s',
  (name) => {
    test.each(ROWS.map((row) => [row[0], row[1], row[2], row] as const))(
      '%s: %s %s',
      async (_, method, target, row) => {
        const [, , , statuses, headers, body] = row
        const edge = edges.get(name)
        if (!edge) throw new Error('there is no such edge')
        const before = await service.dump()
        const { status, text } = await edge(method, target, headers, body)
        expect([...statuses], text).toContain(status)
        expect(text).not.toMatch(/zeta|alpha|\$2[aby]\$|example\.com|node_modules/)
        expect(Object.hasOwn(Object.prototype, 'x')).toBe(false)
        expect(await service.dump()).toBe(before)
        // The canary still sings.
        expect((await edge('GET', '/posts/count')).text).toContain('{"total":4}')
      },
    )
  },
)

test.each(['/apiposts', '/ap', '/api//posts', '/api/../posts'])('outside of a mount: %s', async (target) => {
  const server = servers.at(-1)?.address() as AddressInfo
  const raw = `GET ${target} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n`
  expect((await exchange(server.port, raw)).status).toBe(404)
})
