import { once } from 'node:events'
import { createServer, request as httpRequest, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterEach, describe, expect, test } from 'vitest'
import { type Command, ORIGIN, STACK, useCommand } from '../support/command.js'

// CONTRACT.md §7, "The command" and "Addresses"

const { start, run, writeFiles } = useCommand()

const ANN = { email: 'ann@example.com', password: 'correct horse' }

const CONFIG = {
  collections: {
    users: {
      schema: { email: { type: 'string', unique: true, lowercase: true }, password: { type: 'hash' } },
      permissions: { '*': { create: true }, owner: { read: true } },
    },
    notes: {
      schema: { text: { type: 'string' } },
      permissions: { '*': { read: true, create: true } },
    },
  },
  auth: { cost: 10 },
}

const proxies: Server[] = []
afterEach(() => {
  for (const proxy of proxies.splice(0)) {
    proxy.close()
    proxy.closeAllConnections()
  }
})

/** The header in which a test says which client the proxy sees. */
const SEEN = 'x-seen'

/**
 * A reverse proxy: adds the client that it sees at the end of `X-Forwarded-For`, and removes `strip` from the path.
 * Returns its origin.
 */
async function startProxy(origin: string, strip = ''): Promise<string> {
  const proxy = createServer(({ method = 'GET', url = '', headers }, response) => {
    const { [SEEN]: seen, 'x-forwarded-for': before, ...others } = headers
    const list = [before, seen].filter((one) => one !== undefined).join(', ')
    const passed = httpRequest(origin + url.slice(strip.length), {
      method,
      headers: { ...others, 'x-forwarded-for': list },
    })
    passed.on('response', (answer) => {
      response.writeHead(answer.statusCode ?? 502, answer.headers)
      answer.pipe(response)
    })
    response.req.pipe(passed)
  })
  proxies.push(proxy)
  proxy.listen(0, '127.0.0.1')
  await once(proxy, 'listening')
  return `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`
}

async function serve(...args: string[]): Promise<{ readonly serving: Command; readonly origin: string }> {
  await writeFiles({ 'config.json': CONFIG })
  const serving = start('--port', '0', '--host', '127.0.0.1', ...args)
  const [origin] = await serving.printed(ORIGIN)
  await serving.printed(/Try: .*\n/)
  return { serving, origin }
}

const logIn = async (origin: string, password: string, headers: { readonly [name: string]: string } = {}) =>
  (
    await fetch(`${origin}/auth/login`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...headers },
      body: JSON.stringify({ ...ANN, password }),
    })
  ).status

const register = (origin: string) =>
  fetch(`${origin}/auth/register`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(ANN),
  })

describe('--trust-proxy', () => {
  test.each(['1', 'loopback', '127.0.0.0/8,::1'])(
    '%s: ten wrong logins lock out their address and no other one, whatever they claim',
    async (trust) => {
      const { serving, origin } = await serve('--trust-proxy', trust)
      const proxy = await startProxy(origin)
      await register(proxy)
      const guess = (i: number) =>
        logIn(proxy, 'wrong', {
          [SEEN]: '203.0.113.66',
          'x-forwarded-for': `192.0.2.${i}, 198.51.100.7`,
          forwarded: `for=192.0.2.${i}`,
        })
      for (let i = 0; i < 10; i++) expect(await guess(i)).toBe(401)
      expect(await guess(10)).toBe(429)
      expect(await logIn(proxy, ANN.password, { [SEEN]: '198.51.100.7' })).toBe(200)
      await serving.printed(/^POST \/auth\/login 200 \d+ ms 198\.51\.100\.7$/m)
      expect(serving.stdout()).toMatch(/^POST \/auth\/login 429 \d+ ms 203\.0\.113\.66$/m)
      expect(serving.stdout()).not.toContain('192.0.2.')
      expect(serving.stderr()).toBe('')
    },
  )

  test('without it, the address is that of the connection, and the log says once that a header is not read', async () => {
    const { serving, origin } = await serve()
    for (let i = 0; i < 3; i++)
      await fetch(`${origin}/notes`, { headers: { 'x-forwarded-for': '203.0.113.66' } })
    await serving.printed(/(?:^GET \/notes 200 \d+ ms 127\.0\.0\.1\n){3}/m)
    await serving.complained(/--trust-proxy/)
    expect(serving.stderr().match(/forwarded_header_unread/g)).toHaveLength(1)
  })

  test('--proxy-header names the header that the proxies write', async () => {
    const { serving, origin } = await serve('--trust-proxy', '1', '--proxy-header', 'forwarded')
    const headers = { 'x-forwarded-for': '192.0.2.1', forwarded: 'for=192.0.2.2, for="[2001:db8::7]:80"' }
    await fetch(`${origin}/notes`, { headers })
    await serving.printed(/^GET \/notes 200 \d+ ms 2001:db8::7$/m)
    expect(serving.stderr()).toBe('')
  })
})

describe.each<[args: readonly string[], strip: string, local: string]>([
  [['--base-path', '/desk'], '', '/desk'],
  [['--base-path', '/desk', '--stripped'], '/desk', ''],
])('%j', (args, strip, local) => {
  test('paths in answers lead through the proxy, to the admin UI too', async () => {
    const { serving, origin } = await serve(...args)
    expect(serving.stdout()).toContain(`Serving config.json on ${origin}${local}, `)
    expect(serving.stdout()).toContain(`Open ${origin}${local}/_page `)
    expect(serving.stdout()).toMatch(`Try: curl -g '${origin}${local}/notes?`)
    expect(serving.stdout().includes('begin with /desk')).toBe(strip !== '')
    const proxy = await startProxy(origin, strip)
    const ask = async (path: string) => (await fetch(proxy + path)).json()
    const created = await fetch(`${proxy}/desk/notes`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: '{"text":"a"}',
    })
    expect(created.headers.get('location')).toMatch(/^\/desk\/notes\/[^/]+$/)
    expect(await ask(created.headers.get('location') ?? '')).toMatchObject({ text: 'a' })
    const { collections, auth } = await ask('/desk/')
    expect(collections).toMatchObject([{ href: '/desk/users' }, { href: '/desk/notes' }])
    expect(auth).toContain('/desk/auth/login')
    expect((await ask('/desk/_openapi.json')).servers).toEqual([{ url: '/desk' }])
    const page = await fetch(`${proxy}/desk/_page`)
    expect([page.status, page.headers.get('content-type')]).toEqual([200, 'text/html; charset=utf-8'])
    // The admin UI has all its parts in itself, and finds the service by its own address.
    expect(await page.text()).not.toMatch(/(?:src|href)="\//)
    expect((await fetch(`${origin}${local === '' ? '/desk' : ''}/notes`)).status).toBe(404)
  })
})

test.each<[args: readonly string[], said: string]>([
  [['--trust-proxy', '0'], '--trust-proxy: must be a whole number of proxies from 1 to 100, found 0'],
  [['--trust-proxy=-1'], 'found -1'],
  [['--trust-proxy', '1.5'], 'found 1.5'],
  [['--trust-proxy', 'all'], '"all" is neither an address nor a network'],
  [['--trust-proxy', 'privat'], 'did you mean "private"?'],
  [['--trust-proxy', '10.0.0.0/8,'], '"" is neither an address nor a network'],
  [['--trust-proxy', '10.0.0.0/8,0.0.0.0/0'], '"0.0.0.0/0" is too wide'],
  [['--trust-proxy', '10.1.0.0/8'], 'did you mean "10.0.0.0/8"?'],
  [['--trust-proxy', ''], '--trust-proxy must not be empty'],
  [['--trust-proxy', '1', '--proxy-header', 'x-real-ip'], 'must be x-forwarded-for or forwarded'],
  [['--proxy-header', 'forwarded'], '--proxy-header needs --trust-proxy'],
  [['--base-path', 'desk'], 'must be a path like "/api", found "desk"; did you mean /desk?'],
  [['--base-path', '/a b'], 'must be a path like "/api", found "/a b"'],
  [['--base-path', 'https://a.example/desk'], 'must be a path like "/api"'],
  [['--stripped'], '--stripped needs --base-path'],
  [['check', '--base-path', '/desk'], 'belongs to serving a configuration'],
])('%j ends with 2 and says what is wrong', async (args, said) => {
  const { code, stdout, stderr } = await run(...args)
  expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
  expect(stderr).toContain(said)
  expect(stderr).not.toMatch(STACK)
})
