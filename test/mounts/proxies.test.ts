import { request as httpRequest, type RequestListener } from 'node:http'
import { describe, expect, test } from 'vitest'
import type { ServiceOptions } from '../../src/index.js'
import { toNodeHandler } from '../../src/mounts/node.js'
import { PAGE } from '../support/page.js'
import { type Ask, CONFIG, checkLinks } from '../support/path-laws.js'
import { createTestService } from '../support/service.js'
import { useListen } from './support/node.js'

// CONTRACT.md §2, "Paths and methods"

const listen = useListen()

/** A reverse proxy for `/desk/`, which passes requests on with another path. Anything else it does not have. */
const createProxy =
  (port: number, toPath: (path: string) => string): RequestListener =>
  (request, response) => {
    const { method = 'GET', url = '', headers } = request
    if (!url.startsWith('/desk/')) return void response.writeHead(404).end()
    const passed = httpRequest({ port, host: '127.0.0.1', method, path: toPath(url), headers }, (answer) => {
      response.writeHead(answer.statusCode ?? 502, answer.headers)
      answer.pipe(response)
    })
    request.pipe(passed)
  }

const asker =
  (port: number): Ask =>
  async (line, { body, headers, token } = {}) => {
    const [method = 'GET', path] = line.split(' ')
    const response = await fetch(`http://127.0.0.1:${port}${path}`, {
      method,
      headers: {
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
        ...headers,
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    })
    const text = await response.text()
    const isJson = response.headers.get('content-type')?.includes('json')
    return {
      status: response.status,
      text,
      body: isJson ? JSON.parse(text) : undefined,
      header: (name) => response.headers.get(name),
    }
  }

describe.each<[what: string, options: ServiceOptions, toPath: (path: string) => string]>([
  ['that passes the path on', { basePath: '/desk' }, (path) => path],
  ['that removes it', { publicPath: '/desk' }, (path) => path.slice('/desk'.length)],
  ['that replaces it', { basePath: '/api', publicPath: '/desk' }, (path) => path.replace(/^\/desk/, '/api')],
])('behind a proxy %s', (_, options, toPath) => {
  const start = async () => {
    const { handler } = createTestService(CONFIG, { ...options, page: PAGE })
    return asker(await listen(createProxy(await listen(toNodeHandler(handler)), toPath)))
  }

  test('all paths in answers lead to where they should', async () => checkLinks(await start(), '/desk'))

  test('the admin UI finds the service by its own address', async () => {
    const ask = await start()
    expect((await ask('GET /desk/_page')).text).toBe(PAGE.html)
    // As `prefix` in src/tools/page/app/state/service.ts.
    const prefix = new URL('http://localhost/desk/_page').pathname.replace(/\/_page\/?$/, '')
    for (const path of ['/', '/_openapi.json', '/notes?limit=1', '/notes/count'])
      expect((await ask(`GET ${prefix}${path}`)).status).toBe(200)
  })
})
