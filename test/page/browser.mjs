import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { setTimeout as pass } from 'node:timers/promises'
import { isDeepStrictEqual } from 'node:util'
import { chromium } from 'playwright-core'

const AXE = await readFile(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')

/** Long enough for any machine: nothing here is about how fast it is. */
const PATIENCE = 120_000

/** Waits until what is read is what is expected; at last it says how they differ. */
export async function becomes(read, expected, message) {
  for (const end = performance.now() + PATIENCE; performance.now() < end; await pass(50))
    if (isDeepStrictEqual(await read(), expected)) return
  assert.deepEqual(await read(), expected, message)
}

/** The Chromium of this machine; `undefined` where there is none. */
export const findChromium = () =>
  [process.env.CHROME_PATH, '/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'].find(
    (path) => path && existsSync(path),
  )

/** Starts the command, and gives the address that it prints for its page. */
export async function serve(config, ...options) {
  const child = spawn(process.execPath, ['dist/cli.js', config, '--port', '0', ...options])
  let said = ''
  const page = await new Promise((resolve, reject) => {
    const hear = (text) => {
      said += text
      const [, found] = /Open (http\S+)/.exec(said) ?? []
      if (found) resolve(found)
    }
    child.stdout.on('data', hear)
    child.stderr.on('data', hear)
    child.on('exit', () => reject(new Error(said)))
  })
  const api = page.replace(/\/_page$/, '')
  return {
    page,
    api,
    async ask(method, path, sending = {}) {
      const { body, token, headers = {} } = sending
      const response = await fetch(api + path, {
        method,
        headers: {
          ...headers,
          ...(token ? { authorization: `Bearer ${token}` } : {}),
          ...(body ? { 'content-type': 'application/json' } : {}),
        },
        ...(body ? { body: JSON.stringify(body) } : {}),
      })
      const text = await response.text()
      // Busy: asked again, as the page does.
      if (response.status === 503) return pass(1000).then(() => this.ask(method, path, sending))
      return { status: response.status, body: text ? JSON.parse(text) : undefined }
    },
    async stop() {
      child.removeAllListeners('exit')
      const over = new Promise((resolve) => child.once('exit', resolve))
      child.kill()
      await over
    },
  }
}

const optionsOf = (executablePath) => ({
  executablePath,
  timeout: PATIENCE,
  args: ['--no-sandbox', '--disable-dev-shm-usage'],
})

export const launch = (executablePath) => chromium.launch(optionsOf(executablePath))

/** Launches a browser whose files are in a folder and outlive it: its context. */
export const launchWithProfile = (executablePath, folder) =>
  chromium.launchPersistentContext(folder, optionsOf(executablePath))

/** Whether a request only asks if something would be allowed. */
const isQuestion = (request) =>
  request.headers()['if-match'] === '"-"' ||
  (request.url().endsWith('/_batch') && /"path":"[^"]*\/-"\}\]\}$/.test(request.postData() ?? ''))

/** Opens the page in a window of its own, and watches it: what it asks, what it must never do. */
export async function openPage(browser, service, { width = 1200, scheme = 'light', except = '' } = {}) {
  const context = await browser.newContext({
    viewport: { width, height: 800 },
    colorScheme: scheme,
    locale: 'en-GB',
    acceptDownloads: true,
    reducedMotion: 'reduce',
  })
  context.setDefaultTimeout(PATIENCE)
  await context.addInitScript(watch)
  const page = await context.newPage()
  const [faults, refused, hindrances] = [[], [], []]
  context.on('weberror', (thrown) => faults.push(thrown.error().stack))
  context.on('dialog', (dialog) => {
    faults.push(`dialog: ${dialog.message()}`)
    void dialog.dismiss()
  })
  context.on('request', (request) => {
    const { origin, protocol } = new URL(request.url())
    if (origin !== service.api && origin !== except && protocol !== 'data:' && protocol !== 'blob:')
      faults.push(`asked ${request.url()}`)
  })
  context.on('response', (response) => {
    if ([401, 403, 404].includes(response.status()) && !isQuestion(response.request()))
      refused.push(`${response.status()} ${response.request().method()} ${response.url()}`)
  })
  await page.goto(service.page)
  await page.locator('main h1').waitFor()
  /** Nothing that must never happen has happened in any tab. */
  async function close({ mayRefuse = false } = {}) {
    for (const tab of context.pages()) assert.deepEqual(await tab.evaluate(() => globalThis.violations), [])
    assert.deepEqual(hindrances, [])
    assert.deepEqual(faults, [])
    if (!mayRefuse) assert.deepEqual(refused, [])
    await context.close()
  }
  return { ...drive(page, hindrances), refused, close }
}

/** In each document, from its beginning: what its policy refused, and how many answers it waits for. */
function watch() {
  globalThis.violations = []
  document.addEventListener('securitypolicyviolation', (event) => {
    globalThis.violations.push(`${event.violatedDirective} ${event.blockedURI}`)
  })
  globalThis.underWay = 0
  const counted = (call) =>
    async function (...args) {
      // Changes come as long as one looks.
      if (String(args[0]).includes('/changes')) return call.apply(this, args)
      globalThis.underWay++
      try {
        return await call.apply(this, args)
      } finally {
        globalThis.underWay--
      }
    }
  globalThis.fetch = counted(fetch)
  for (const name of ['json', 'text']) Response.prototype[name] = counted(Response.prototype[name])
}

/** What a test does on a tab. */
export function drive(page, hindrances = []) {
  const screen = {
    page,
    go: async (fragment) => {
      await page.evaluate((to) => {
        location.hash = to
      }, fragment)
    },
    heading: (text) => page.locator('h1', { hasText: text }).waitFor(),
    /** Nothing is on its way, and nothing follows. By the page's own clock: where the machine is busy, both wait. */
    settle: () =>
      page.evaluate(async () => {
        const pause = () => new Promise((resolve) => setTimeout(resolve, 50))
        for (let quiet = 0; quiet < 12; quiet = globalThis.underWay === 0 ? quiet + 1 : 0) await pause()
      }),
    /** Fills a field by its label. */
    fill: async (label, value) => {
      const field = page.locator('main, dialog').last().getByLabel(label, { exact: false }).first()
      await field.fill(value)
    },
    choose: async (label, value) => {
      await page.locator('main').getByLabel(label).first().selectOption({ label: value })
    },
    /** Chooses what a reference names, by keyboard. */
    refer: async (label, text) => {
      const input = page.locator('main').getByRole('combobox', { name: label })
      await input.fill(text)
      await page.getByRole('option', { name: text }).first().waitFor()
      await input.press('Enter')
    },
    press: (name) => page.getByRole('button', { name, exact: true }).first().click(),
    said: (text) => page.getByRole('status').filter({ hasText: text }).first().waitFor(),
    /** Somebody is who asks. */
    isThere: (email) =>
      page.getByRole('navigation', { name: 'Account' }).filter({ hasText: email }).waitFor(),
    async signIn(email, password) {
      await screen.go('#/account')
      await page.locator('input[name=email]').fill(email)
      await page.locator('input[name=password]').fill(password)
      await page.locator('main button[type=submit]').click()
      await screen.isThere(email)
    },
    async register(email, password) {
      await screen.go('#/account')
      await screen.press('Register')
      await page.locator('input[name=email]').fill(email)
      await page.locator('input[name=password]').fill(password)
      await screen.press('Create account')
      await screen.isThere(email)
    },
    /** axe-core, on what is shown now. */
    async checkAccess(where) {
      const isThere = await page.evaluate(() => 'axe' in globalThis)
      if (!isThere) await page.evaluate(`(() => { const module = undefined; ${AXE} })()`)
      const found = await page.evaluate(() => globalThis.axe.run(document, { resultTypes: ['violations'] }))
      const told = found.violations.map(
        ({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html).join(' | ')}`,
      )
      hindrances.push(...told.map((one) => `${where}: ${one}`))
    },
    async noSideways(where) {
      const wide = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth)
      if (wide > 0) hindrances.push(`${where}: ${wide} pixels too wide`)
    },
  }
  return screen
}
