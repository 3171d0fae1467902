import { execFile } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { createServer, type RequestListener, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { getRequestListener } from '@hono/node-server'
import { createClient } from 'collection-service/client'
import type { DurableObjectSql } from 'collection-service/durable-object'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { ALL } from '../../examples/astro/api/[...path].js'
import { service as counter } from '../../examples/counter.js'
import d1Worker from '../../examples/d1.js'
import tenantWorker, { Tenant } from '../../examples/durable-object.js'
import { app as expressApp } from '../../examples/express.js'
import { app as honoApp } from '../../examples/hono.js'
import { server as nodeServer, stop } from '../../examples/node.js'
import { fallback } from '../../examples/sveltekit/+server.js'
import worker from '../../examples/worker.js'
import { type Closable, createD1Database, createObjectStorage } from '../support/program-databases.js'

const root = fileURLToPath(new URL('../..', import.meta.url))

async function listen(server: Server): Promise<string> {
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

type Send = (path: string, init?: RequestInit) => Promise<Response>

const serve = async (listener: RequestListener): Promise<{ send: Send; server: Server }> => {
  const server = createServer(listener)
  const origin = await listen(server)
  return { server, send: (path, init) => fetch(origin + path, init) }
}

const json = (body: object, headers: { [name: string]: string } = {}): RequestInit => ({
  method: 'POST',
  headers: { 'content-type': 'application/json', ...headers },
  body: JSON.stringify(body),
})

const account = { email: 'Ann@Example.com ', password: 'correct horse', name: 'Ann' }

/** What every example serves below `/api`. */
async function exerciseApi(send: Send): Promise<void> {
  const list = await send('/api/articles?sort[createdAt]=-1&limit=5')
  expect(list.status).toBe(200)
  expect(await list.json()).toEqual([])
  expect((await send('/articles')).status).toBe(404)

  const refused = await send('/api/articles', json({ title: 'Mine' }))
  expect(refused.status).toBe(401)
  expect(await refused.json()).toMatchObject({ code: 'unauthenticated' })

  const registered = await send('/api/auth/register', json(account))
  expect(registered.status).toBe(201)
  const { token, user } = await registered.json()
  expect(user).toMatchObject({ email: 'ann@example.com', name: 'Ann' })

  const created = await send('/api/articles', json({ title: 'Mine' }, { authorization: `Bearer ${token}` }))
  expect(created.status).toBe(201)
  const { _id } = await created.json()
  expect(created.headers.get('location')).toBe(`/api/articles/${_id}`)

  const head = await send(`/api/articles/${_id}`, {
    method: 'HEAD',
    headers: { authorization: `Bearer ${token}` },
  })
  expect(head.status).toBe(200)
  expect(await head.text()).toBe('')

  const wrong = await send('/api/articles/count', { method: 'DELETE' })
  expect(wrong.status).toBe(405)
  expect(wrong.headers.get('allow')).toBe('GET, HEAD, OPTIONS')
  const options = await send('/api/articles', { method: 'OPTIONS' })
  expect(options.status).toBe(204)
  expect(options.headers.get('allow')).toBe('GET, HEAD, POST, OPTIONS')
}

describe.each([
  ['Express', () => expressApp as RequestListener],
  ['Hono', () => getRequestListener(honoApp.fetch)],
] as const)('the example for %s', (_, createListener) => {
  let server: Server
  let send: Send
  beforeAll(async () => {
    ;({ server, send } = await serve(createListener()))
  })
  afterAll(() => void server.close())

  test('serves the configuration below /api', () => exerciseApi(send))

  test('leaves the routes of the host as they are', async () => {
    expect(await (await send('/health')).json()).toEqual({ healthy: true })
    expect((await send('/nothing')).headers.get('content-type')).not.toBe('application/problem+json')
  })
})

test('the example for Express parses bodies for the routes of the host', async () => {
  const { server, send } = await serve(expressApp as RequestListener)
  const answer = await send('/contact', json({ name: 'Ann' }))
  expect(answer.status).toBe(202)
  expect(await answer.json()).toEqual({ thanks: 'Ann' })
  server.close()
})

type NextHandler = (request: Request, context: object) => Promise<Response>

describe('the example for Next', () => {
  let handlers: { readonly [method: string]: NextHandler }
  beforeAll(async () => {
    // By its path: it names its neighbour as bundlers do, not as node does.
    handlers = await import(join(root, 'examples', 'next', 'route.ts'))
  })

  test('serves the configuration below /api', () =>
    exerciseApi((path, init) => {
      const request = new Request(`https://shop.example${path}`, init)
      // Next finds the export by the method and passes the parts of the path behind the request.
      const handler = handlers[request.method]
      if (!handler) throw new Error(`there is no handler for ${request.method}`)
      return handler(request, { params: Promise.resolve({ path: path.split('/').slice(2) }) })
    }))

  test('exports the methods that Next knows, and nothing else', () => {
    expect(Object.keys(handlers).sort()).toEqual(['DELETE', 'GET', 'HEAD', 'OPTIONS', 'PATCH', 'POST', 'PUT'])
  })
})

test.each([
  ['SvelteKit', fallback],
  ['Astro', ALL],
] as const)('the example for %s serves the configuration below /api', (_, handle) =>
  exerciseApi((path, init) => handle({ request: new Request(`https://shop.example${path}`, init) })),
)

test('the example for node:http serves its documents and stops', async () => {
  const origin = await listen(nodeServer)
  const list = await fetch(`${origin}/articles?sort[title]=1`)
  const titles = (await list.json()).map(({ title }: { title: string }) => title)
  expect(titles).toEqual(['Hello, world', 'How filters work'])
  const login = await fetch(
    `${origin}/auth/login`,
    json({ email: 'admin@example.com', password: 'change me first' }),
  )
  expect(login.status).toBe(200)
  const { token } = await login.json()
  const drafts = await fetch(`${origin}/articles/count?q[status]=draft`, {
    headers: { authorization: `Bearer ${token}` },
  })
  expect(await drafts.json()).toEqual({ total: 1 })
  // Longer than the 60 seconds of usual proxies.
  expect(drafts.headers.get('keep-alive')).toBe('timeout=75')
  const stopping = stop(2)
  expect((await fetch(`${origin}/_health/ready`)).status).toBe(503)
  const last = await fetch(`${origin}/articles`)
  expect([last.status, last.headers.get('connection')]).toEqual([200, 'close'])
  await stopping
  expect(nodeServer.listening).toBe(false)
  await expect(fetch(`${origin}/articles`)).rejects.toThrow()
})

test('the example of a worker serves its documents', async () => {
  const list = await worker.fetch(
    new Request('https://shop.example/articles?sort[title]=1&project=["title"]'),
  )
  expect((await list.json()).map(({ title }: { title: string }) => title)).toEqual([
    'Hello, world',
    'How filters work',
  ])
})

describe('on Cloudflare', () => {
  let folder: string
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'collection-service-example-'))
  })
  afterAll(() => rm(folder, { recursive: true }))

  test('the example of a Durable Object gives each tenant an object of its own', async () => {
    const storages: Closable<DurableObjectSql>[] = []
    const objects = new Map<string, Tenant>()
    const create = (name: string): Tenant => {
      const storage = createObjectStorage(join(folder, `${name}.db`))
      storages.push(storage)
      const object = new Tenant({ storage })
      objects.set(name, object)
      return object
    }
    const bindings = {
      TENANTS: {
        idFromName: (name: string): unknown => name,
        get: (id: unknown) => objects.get(String(id)) ?? create(String(id)),
      },
    }
    const send = (target: string, init?: RequestInit) =>
      tenantWorker.fetch(new Request(`https://${target}`, init), bindings)
    expect((await send('acme.example.com/auth/register', json(account))).status).toBe(201)
    expect((await send('acme.example.com/auth/register', json(account))).status).toBe(409)
    const { email, password } = account
    expect((await send('globex.example.com/auth/login', json({ email, password }))).status).toBe(401)
    expect((await send('globex.example.com/auth/register', json(account))).status).toBe(201)
    expect((await send('initech.example.com/articles')).status).toBe(404)
    expect([...objects.keys()]).toEqual(['acme', 'globex'])
    for (const storage of storages) storage.close()
  })

  test('the example of D1 keeps a request until it is answered', async () => {
    const database = createD1Database(join(folder, 'd1.db'))
    const kept: Promise<unknown>[] = []
    const send = (path: string, init?: RequestInit) =>
      d1Worker.fetch(
        new Request(`https://shop.example${path}`, init),
        { DB: database },
        { waitUntil: (work) => void kept.push(work) },
      )
    for (const status of [201, 409]) {
      const response = send('/auth/register', json(account))
      expect(kept).toContain(response)
      expect((await response).status).toBe(status)
    }
    await Promise.all(kept)
    database.close()
  })
})

test('the example of a counter counts in the step that writes', async () => {
  const client = createClient(counter)
  const { posts, comments } = { posts: client.collection('posts'), comments: client.collection('comments') }
  const post = await posts.create({ title: 'Hello' })
  const made = await Promise.all(['a', 'b', 'c'].map((text) => comments.create({ post: post._id, text })))
  await comments.delete(made[0]?._id ?? '')
  expect((await posts.get(post._id)).comments).toBe(2)
  await posts.update(post._id, { isClosed: true })
  await expect(comments.create({ post: post._id, text: 'd' })).rejects.toMatchObject({
    code: 'refused',
    status: 409,
  })
  await posts.delete(post._id)
  expect(await comments.count()).toBe(0)
})

test('the example for SQLite keeps what it is told', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'collection-service-example-'))
  process.env.DATA_FILE = join(folder, 'data.db')
  const { server, service } = await import('../../examples/sqlite.js')
  const origin = await listen(server)
  expect((await fetch(`${origin}/auth/register`, json(account))).status).toBe(201)
  expect((await fetch(`${origin}/auth/register`, json(account))).status).toBe(409)
  server.close()
  server.closeAllConnections()
  await service.close()
  delete process.env.DATA_FILE
  await rm(folder, { recursive: true })
})

test('the runner finds the example of a unit test by its name alone', async () => {
  const vitest = fileURLToPath(new URL('../../node_modules/vitest/vitest.mjs', import.meta.url))
  const { stdout } = await promisify(execFile)(process.execPath, [vitest, 'list', '--filesOnly'], {
    cwd: root,
  })
  const files = stdout.split('\n').filter((file) => file.startsWith('examples/'))
  expect(files).toEqual(['examples/unit-test.test.ts'])
})
