import type { RequestListener } from 'node:http'
import express from 'express'
import { describe, expect, test } from 'vitest'
import type { Handler } from '../../src/index.js'
import { toNodeHandler } from '../../src/mounts/node.js'
import { PAGE } from '../support/page.js'
import { type AnyConfig, createTestService } from '../support/service.js'
import { call, callGlue, config, JSON_BODY, post, sendHead, useListen } from './support/node.js'

const listen = useListen()

describe('below a path of the host', () => {
  const nested = (handler: Handler) => {
    const inner = express.Router()
    inner.use('/api', toNodeHandler(handler))
    return express().use('/v1', inner)
  }
  test.each<[string, string, string, (handler: Handler) => RequestListener]>([
    ['mounted at /api', '', '/api', (handler) => express().use('/api', toNodeHandler(handler))],
    [
      'mounted at /api, which is the base path too',
      '/api',
      '/api',
      (handler) => express().use('/api', toNodeHandler(handler)),
    ],
    [
      'mounted at /v1, with a base path below',
      '/api',
      '/v1/api',
      (handler) => express().use('/v1', toNodeHandler(handler)),
    ],
    [
      'mounted at /v1, with a base path from the root',
      '/v1/api',
      '/v1/api',
      (handler) => express().use('/v1', toNodeHandler(handler)),
    ],
    ['mounted by a router in a router', '', '/v1/api', nested],
    ['mounted by a router in a router, with all of it as the base path', '/v1/api', '/v1/api', nested],
    [
      'mounted at the root, with a base path',
      '/api',
      '/api',
      (handler) => express().use(toNodeHandler(handler)),
    ],
    [
      'as a route with a wildcard',
      '/api',
      '/api',
      (handler) => express().all('/api{/*path}', toNodeHandler(handler)),
    ],
    ['on node:http, with a base path', '/api', '/api', toNodeHandler],
    [
      'where a framework keeps only the original target',
      '/api',
      '/api',
      (handler) => (request, response) => {
        const originalUrl = request.url
        const url = request.url?.slice('/api'.length)
        void toNodeHandler(handler)(Object.assign(request, { originalUrl, url }), response)
      },
    ],
    [
      'where a framework puts a slash in the place of nothing, as Connect does',
      '',
      '/api',
      (handler) => (request, response) => {
        const originalUrl = request.url ?? ''
        const [, left] = /^\/api(|[/?].*)$/.exec(originalUrl) ?? []
        const url = left?.startsWith('/') ? left : `/${left}`
        if (left === undefined) response.writeHead(404).end()
        else void toNodeHandler(handler)(Object.assign(request, { originalUrl, url }), response)
      },
    ],
  ])('the service lives there and nowhere else: %s', async (_, basePath, prefix, mount) => {
    const { handler } = createTestService(config, { basePath, page: PAGE })
    const port = await listen(mount(handler))
    const created = await call(port, `POST ${prefix}/articles`, { headers: JSON_BODY, body: '{"title":"x"}' })
    expect(created.status).toBe(201)
    expect(created.headers.location).toBe(`${prefix}/articles/${created.body._id}`)
    const read = await call(port, `GET ${created.headers.location}`)
    expect(read.body).toEqual(created.body)
    expect((await call(port, `GET ${prefix}/articles?q[title]=x`)).body).toHaveLength(1)
    for (const target of [`${prefix}/_page`, `${prefix}/_page/`]) {
      const { status, text, headers } = await call(port, `GET ${target}`)
      expect([status, text, headers['content-security-policy']]).toEqual([200, PAGE.html, PAGE.policy])
      expect(headers['content-length']).toBe(String(PAGE.html.length))
    }
    expect((await call(port, `HEAD ${prefix}/_page`)).text).toBe('')
    expect((await call(port, `GET ${prefix}/_page/x`)).status).toBe(404)
    const root = { collections: [{ name: 'articles', href: `${prefix}/articles` }] }
    for (const target of prefix === '' ? ['/'] : [prefix, `${prefix}/`, `${prefix}?`])
      expect((await call(port, `GET ${target}`)).body, target).toMatchObject(root)
    for (const target of [`${prefix}articles`, `${prefix}//articles`, `${prefix}/../articles`]) {
      expect(await rawStatus(port, target), target).toBe(404)
    }
    if (prefix !== '') expect(await rawStatus(port, '/articles')).toBe(404)
  })

  test('under Connect, also where the target names a host', async () => {
    const { handler } = createTestService(config)
    // It cuts off its path behind the host.
    const port = await listen((request, response) => {
      const originalUrl = request.url ?? ''
      const url = originalUrl.replace(/^(http:..h)?\/api/, '$1').replace(/^(?=\?|$)/, '/')
      void toNodeHandler(handler)(Object.assign(request, { originalUrl, url }), response)
    })
    for (const target of ['/api/articles', '/api', '/api?', '/api/'])
      for (const host of ['', 'http://h'])
        expect([target, await rawStatus(port, host + target)]).toEqual([target, 200])
    expect(await rawStatus(port, 'http://h/api/nothing')).toBe(404)
  })

  const rawStatus = async (port: number, target: string): Promise<number> =>
    (await sendHead(port, `GET ${target} HTTP/1.1`, 'Host: h')).status

  test.each([
    ['/api', '', '/api'],
    ['/api', '/api', '/api'],
    ['/v1', '/api', '/v1/api'],
    ['/API', '', '/API'],
    ['/%61pi', '/api', '/%61pi'],
    ['/a%20b', '/a%20b', '/a%20b'],
  ])('a mocked request at %s with the base path "%s" is served as %s', async (baseUrl, basePath, prefix) => {
    const { handler } = createTestService(config, { basePath })
    const created = await callGlue(handler, {
      method: 'POST',
      originalUrl: `${prefix}/articles?`,
      baseUrl,
      url: `${prefix.slice(baseUrl.length)}/articles?`,
      headers: JSON_BODY,
      body: { title: 'x' },
    })
    expect(created.status).toBe(201)
    expect(created.headers.location).toBe(`${prefix}/articles/${created.body._id}`)
  })
})

test('a mount path that its client has spelled ends no header', async () => {
  const { handler } = createTestService(config, { documents: { articles: [{ title: 'a' }, { title: 'b' }] } })
  const baseUrl = '/x>; rel="next", <https://evil.example'
  const url = '/articles?limit=1'
  const { status, headers } = await callGlue(handler, {
    method: 'GET',
    originalUrl: baseUrl + url,
    baseUrl,
    url,
  })
  expect(status).toBe(200)
  expect(headers.link).toMatch(
    /^<\/x%3E;%20rel=%22next%22,%20%3Chttps:\/\/evil\.example\/articles\?[^<>" ]+>; rel="next"$/,
  )
})

describe('the request that a host identifies callers by', () => {
  const hostConfig = {
    collections: {
      articles: {
        schema: config.collections.articles.schema,
        permissions: { user: { read: true, create: true } },
      },
    },
  } as const satisfies AnyConfig

  const identify = () => {
    const seen: Request[] = []
    const service = createTestService(hostConfig, {
      authenticate: (request) => {
        seen.push(request)
        return /\bsession=ann\b/.test(request.headers.get('cookie') ?? '') ? { id: 'ann' } : null
      },
    })
    return { seen, service }
  }

  test('has the whole target, the method and the headers below a mount', async () => {
    const { seen, service } = identify()
    const port = await listen(express().use('/api', express.json(), toNodeHandler(service.handler)))
    const cookie = { cookie: 'theme=dark; session=ann' }
    expect(
      (await call(port, 'GET /api/articles?limit=1', { headers: { ...cookie, host: 'evil/x' } })).status,
    ).toBe(200)
    const created = await call(port, 'POST /api/articles', {
      headers: { ...cookie, ...JSON_BODY },
      body: '{"title":"x"}',
    })
    expect(created.status).toBe(201)
    expect(created.body).toMatchObject({ createdBy: 'ann' })
    expect((await call(port, 'HEAD /api/articles/count')).status).toBe(401)
    expect(seen.map(({ method, url }) => [method, new URL(url).pathname + new URL(url).search])).toEqual([
      ['GET', '/api/articles?limit=1'],
      ['POST', '/api/articles'],
      ['HEAD', '/api/articles/count'],
    ])
    for (const { url } of seen) expect(new URL(url).hostname).toBe('localhost')
    expect(seen[1]?.headers.get('content-type')).toBe('application/json')
  })

  test.each([
    ['two cookie lines', 'GET /articles HTTP/1.1', 'Host: h', 'Cookie: theme=dark', 'Cookie: session=ann'],
    ['a target in absolute form', 'GET http://evil/articles HTTP/1.1', 'Host: h', 'Cookie: session=ann'],
    ['a header called __proto__', 'GET /articles HTTP/1.1', 'Host: h', '__proto__: x', 'Cookie: session=ann'],
    ['a header in Latin-1', 'GET /articles HTTP/1.1', 'Host: h', 'X-Name: \u00e9', 'Cookie: session=ann'],
    ['a Host that is none', 'GET /articles HTTP/1.1', 'Host: [', 'Cookie: session=ann'],
    [
      'brackets and bars in the query',
      'GET /articles?q[title]=a|b{} HTTP/1.1',
      'Host: h',
      'Cookie: session=ann',
    ],
  ])('is made of any request that node lets in: %s', async (_, ...head) => {
    const { seen, service } = identify()
    const port = await listen(toNodeHandler(service.handler))
    const { status, text } = await sendHead(port, ...head)
    expect(status, text).toBe(200)
    expect(seen.map(({ url }) => new URL(url).host + new URL(url).pathname)).toEqual(['localhost/articles'])
  })

  test('has the headers of a request that is no stream', async () => {
    const { service } = identify()
    const { status } = await callGlue(service.handler, {
      method: 'GET',
      url: '/articles',
      headers: { cookie: 'session=ann' },
    })
    expect(status).toBe(200)
  })

  test('is not asked for where the host has said who calls', async () => {
    const { seen, service } = identify()
    const port = await listen(toNodeHandler(service.handler.as({ id: 'bob' })))
    expect((await post(port, { title: 'x' })).body).toMatchObject({ createdBy: 'bob' })
    expect(seen).toEqual([])
  })
})
