import assert from 'node:assert/strict'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openPage, serve } from '../browser.mjs'

/** Texts that want to be more than text. */
export const ATTACKS = [
  '<img src=x onerror="globalThis.owned=1"><script>globalThis.owned=1</script>',
  '"><svg onload=globalThis.owned=1>',
  'javascript:globalThis.owned=1',
  'data:text/html,<script>globalThis.owned=1</script>',
  '{{constructor.constructor("globalThis.owned=1")()}}',
  'a'.repeat(100_000),
  '\u202e\u2066\u202bright to left \u05d0\u05d1\u05d2',
  '\u0001\u0007\u001b[31mcontrol\u007f',
  '👩‍👩‍👧‍👦 '.repeat(500),
  '9'.repeat(1_000_000),
  '=HYPERLINK("http://example.com")',
  '__proto__',
  'http://example.com/<b>',
]

/** Whole characters. */
const cut = (text, most) => [...text].slice(0, most).join('')

const CONFIG = {
  collections: {
    things: {
      schema: {
        title: { type: 'string', description: '<b onclick=x>not bold</b>' },
        text: { type: 'string' },
        tags: { type: 'array', items: { type: 'string' } },
        part: { type: 'object', properties: { text: { type: 'string' } } },
        any: { type: 'json' },
      },
      permissions: { '*': true },
    },
  },
}

/** Asked for by what the test itself puts in, and refused by the policy. */
const FORGED = 'http://example.invalid'

/** Documents whose every text is an attack: shown as text, nothing runs, and no layout breaks. */
export async function playAttacks(browser) {
  const folder = await mkdtemp(join(tmpdir(), 'page-attacks-'))
  const things = ATTACKS.map((text) => ({
    title: text,
    text,
    tags: [cut(text, 2500), cut(text, 2500)],
    part: { text: cut(text, 2500) },
    any: text.startsWith('__') ? text : { [cut(text, 99)]: cut(text, 2500) },
  }))
  await writeFile(join(folder, 'config.json'), JSON.stringify(CONFIG))
  await writeFile(join(folder, 'seed.json'), JSON.stringify({ things }))
  const service = await serve(join(folder, 'config.json'), '--seed', join(folder, 'seed.json'))
  try {
    for (const width of [360, 1200]) {
      const screen = await openPage(browser, service, { width, except: FORGED })
      await screen.go('#/list/things?project=["title","text","tags","part","any"]')
      await screen.page
        .locator('tbody tr')
        .nth(ATTACKS.length - 1)
        .waitFor()
      await screen.noSideways('the list')
      const { body } = await service.ask('GET', '/things')
      for (const { _id: id } of body) {
        await screen.go(`#/document/things/${id}`)
        await screen.page.locator('.facts code', { hasText: id }).waitFor()
        await screen.noSideways(`/things/${id}`)
        const addresses = await screen.page
          .locator('main a')
          .evaluateAll((links) => links.map(({ protocol }) => protocol))
        assert.deepEqual(
          addresses.filter((protocol) => !['http:', 'https:'].includes(protocol)),
          [],
        )
      }
      await screen.go('#/new/things')
      await screen.heading('Add to things')
      await screen.page.getByText('<b onclick=x>not bold</b>').waitFor()
      assert.equal(await screen.page.evaluate(() => globalThis.owned), undefined)
      await forged(screen.page)
      assert.equal(await screen.page.evaluate(() => globalThis.owned), undefined)
      const violations = await screen.page.evaluate(() => globalThis.violations.splice(0))
      assert.ok(violations.length > 0, 'the policy holds')
      await screen.close()
    }
  } finally {
    await service.stop()
    await rm(folder, { recursive: true, force: true })
  }
}

/** Were a hole found, the policy would still stop what comes through. */
async function forged(page) {
  const isRefused = await page.evaluate(() => {
    try {
      document.createElement('div').innerHTML = '<img src=x onerror="globalThis.owned=1">'
      return false
    } catch {
      return true
    }
  })
  assert.ok(isRefused, 'Trusted Types are enforced')
  await page.evaluate((origin) => {
    const image = document.createElement('img')
    image.setAttribute('src', `${origin}/x.png`)
    document.body.append(image)
    image.remove()
  }, FORGED)
  await page.waitForFunction(() => globalThis.violations.length > 0)
}
