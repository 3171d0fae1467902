import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer } from 'node:http'
import { createCollectionService } from '../../../dist/index.js'
import { toNodeHandler } from '../../../dist/node.js'
import { createPage } from '../../../dist/page.js'
import { becomes } from '../browser.mjs'

const ANN = { email: 'ann@example.com', password: 'correct horse' }

const CONFIG = {
  collections: {
    users: {
      schema: {
        email: { type: 'string', unique: true, required: true, lowercase: true },
        password: { type: 'hash', required: true },
      },
      permissions: { owner: { read: true } },
    },
    notes: {
      changes: true,
      schema: { text: { type: 'string' } },
      permissions: { '*': { read: true }, user: { create: true }, owner: { update: true, delete: true } },
    },
  },
  auth: { cookie: true, cost: 10 },
}

/** Listens on a free port of this machine. */
async function listen(listener) {
  const server = createServer(listener).listen(0)
  await once(server, 'listening')
  return { port: server.address().port, close: () => server.close().closeAllConnections() }
}

const HTML = { 'content-type': 'text/html; charset=utf-8' }
const FORM = (target) =>
  `<form method=post enctype="text/plain" action="${target}"><input name='{"text":"forged","x":"' value='"}'></form>`

/** Sends a request from a page, and returns its status and its body. */
const ask = (page, method, path, body) =>
  page.evaluate(
    async ([method, path, body]) => {
      const response = await fetch(`/api${path}`, {
        method,
        ...(body ? { headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) } : {}),
      })
      const text = await response.text()
      return { status: response.status, body: text ? JSON.parse(text) : undefined }
    },
    [method, path, body],
  )

/** Opens a stream of changes, and returns whether the browser lets the page read it. */
const follow = (page, url) =>
  page.evaluate(
    (url) =>
      new Promise((resolve) => {
        const stream = new EventSource(url, { withCredentials: true })
        const end = (what) => () => {
          stream.close()
          resolve(what)
        }
        stream.addEventListener('reset', end('read'))
        stream.onerror = end('hidden')
      }),
    url,
  )

/** A session in a cookie: from sign-in to its end, in two tabs, and beside pages of other origins that want to use it. */
export async function playCookies(browser) {
  let now = Date.now()
  const service = createCollectionService(CONFIG, undefined, {
    basePath: '/api',
    page: createPage(),
    now: () => now,
    logger: { info() {}, warn() {}, error: console.error },
  })
  const handle = toNodeHandler(service)
  const app = await listen((request, response) =>
    request.url.startsWith('/api') ? handle(request, response) : response.writeHead(200, HTML).end('<p>app'),
  )
  const evil = await listen((_, response) =>
    response.writeHead(200, HTML).end(FORM(`http://localhost:${app.port}/api/notes`)),
  )
  const own = `http://localhost:${app.port}`
  const context = await browser.newContext()
  const kept = async () => (await context.cookies(own)).map(({ name, httpOnly }) => [name, httpOnly])
  const texts = async () =>
    (await (await service(new Request('http://a/api/notes'))).json()).map(({ text }) => text)
  try {
    const page = await context.newPage()
    await page.goto(own)
    const { status, body } = await ask(page, 'POST', '/auth/register', ANN)
    assert.deepEqual([status, 'token' in body], [201, false])
    assert.deepEqual(await kept(), [['session', true]])
    assert.equal(await page.evaluate(() => document.cookie), '')

    await page.reload()
    assert.equal((await ask(page, 'GET', '/auth/me')).body.email, ANN.email)
    assert.equal((await ask(page, 'POST', '/notes', { text: 'own' })).status, 201)

    assert.equal(await follow(page, `${own}/api/notes/changes`), 'read')

    // Another tab has the same session; the admin UI has one of its own, and leaves the cookie alone.
    const second = await context.newPage()
    await second.goto(own)
    assert.equal((await ask(second, 'GET', '/auth/me')).status, 200)
    const before = await context.cookies(own)
    await second.goto(`${own}/api/_page#/account`)
    await second.locator('input[name=email]').fill(ANN.email)
    await second.locator('input[name=password]').fill(ANN.password)
    await second.locator('main button[type=submit]').click()
    await second.getByRole('navigation', { name: 'Account' }).filter({ hasText: ANN.email }).waitFor()
    assert.equal(await second.evaluate(() => Object.values({ ...sessionStorage }).length), 1)
    assert.deepEqual(await context.cookies(own), before)

    // A page of another site, and one of the same site on another port, to which browsers send the cookie.
    for (const host of ['127.0.0.1', 'localhost']) {
      const forged = await context.newPage()
      const answers = []
      context.on('response', (response) => {
        if (response.url().startsWith(`${own}/api/notes`) && response.request().method() !== 'GET')
          answers.push(response.status())
      })
      await forged.goto(`http://${host}:${evil.port}`)
      const send = (credentials) =>
        forged.evaluate(
          ([url, credentials]) =>
            fetch(url, { method: 'POST', mode: 'no-cors', credentials, body: '{"text":"forged"}' }).then(
              ({ type }) => type,
            ),
          [`${own}/api/notes`, credentials],
        )
      assert.equal(await send('include'), 'opaque')
      const read = forged.evaluate(
        (url) =>
          fetch(url, { credentials: 'include' }).then(
            () => 'read',
            () => 'hidden',
          ),
        `${own}/api/auth/me`,
      )
      assert.equal(await read, 'hidden')
      assert.equal(await follow(forged, `${own}/api/notes/changes`), 'hidden')
      const asked = forged.evaluate(
        (url) =>
          fetch(url, {
            method: 'POST',
            credentials: 'include',
            headers: { 'content-type': 'application/json' },
            body: '{"text":"forged"}',
          }).then(
            () => 'sent',
            () => 'hidden',
          ),
        `${own}/api/notes`,
      )
      assert.equal(await asked, 'hidden')
      await forged.evaluate(
        (url) =>
          new Promise((resolve) => {
            const image = new Image()
            image.onload = image.onerror = resolve
            image.src = url
          }),
        `${own}/api/auth/logout`,
      )
      await Promise.all([
        forged.waitForURL(`${own}/api/notes`),
        forged.evaluate(() => document.querySelector('form').submit()),
      ])
      assert.match(await forged.textContent('body'), /cross_site|unauthenticated/)
      await becomes(texts, ['own'])
      assert.ok(
        answers.length > 0 && answers.every((one) => one === 403 || one === 401 || one === 204),
        String(answers),
      )
      await forged.close()
    }
    assert.equal((await ask(page, 'GET', '/auth/me')).status, 200)

    // What one tab ends has ended in both, and neither is locked out.
    await second.goto(own)
    assert.equal((await ask(second, 'POST', '/auth/logout')).status, 204)
    assert.deepEqual(await kept(), [])
    assert.equal((await ask(page, 'GET', '/auth/me')).body.code, 'unauthenticated')

    // A session that has expired is said once, and its cookie is gone.
    assert.equal((await ask(page, 'POST', '/auth/login', ANN)).status, 200)
    assert.equal((await kept()).length, 1)
    now += 31 * 86_400_000
    assert.equal((await ask(page, 'GET', '/notes')).body.code, 'invalid_token')
    assert.deepEqual(await kept(), [])
    assert.equal((await ask(page, 'GET', '/notes')).status, 200)
  } finally {
    await context.close()
    app.close()
    evil.close()
    await service.close()
  }
}
