import assert from 'node:assert/strict'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { becomes, openPage, serve } from '../browser.mjs'

const CONFIG = {
  collections: {
    orders: {
      schema: {
        name: { type: 'string', maxLength: 80 },
        status: { type: 'string', enum: ['open', 'paid', 'sent'] },
        amount: { type: 'number' },
        placedAt: { type: 'timestamp' },
        token: { type: 'hash' },
      },
      permissions: { '*': true },
    },
  },
}

const SEED = {
  orders: [
    { name: 'a', status: 'paid', amount: 0.1, placedAt: '2026-03-28T23:30:00Z' },
    { name: 'b', status: 'paid', amount: 0.2, placedAt: '2026-03-29T00:10:00Z' },
    { name: 'c', status: 'open', amount: -5, placedAt: '2026-03-29T22:05:00Z' },
    { name: 'd', placedAt: '2026-04-01T00:00:00Z' },
  ],
}

/** The list shows groups as a chart and as a table with the same numbers; the table is used by keyboard alone. */
export async function playGroups(browser) {
  const folder = await mkdtemp(join(tmpdir(), 'page-groups-'))
  await writeFile(join(folder, 'config.json'), JSON.stringify(CONFIG))
  await writeFile(join(folder, 'seed.json'), JSON.stringify(SEED))
  const service = await serve(join(folder, 'config.json'), '--seed', join(folder, 'seed.json'))
  const screen = await openPage(browser, service)
  const { page } = screen
  const table = page.getByRole('region', { name: 'Table of groups' })
  const rows = async () =>
    (await table.locator('tbody tr').all()).length === 0
      ? []
      : table
          .locator('tbody tr')
          .evaluateAll((all) => all.map(({ cells }) => [...cells].map((cell) => cell.textContent).join(' ')))
  const shows = (...expected) => becomes(async () => (await rows()).join(', '), expected.join(', '))
  const heights = () =>
    page
      .locator('.chart i')
      .evaluateAll((bars) => bars.map(({ style }) => Math.round(parseFloat(style.height))))
  const select = (name) => page.getByRole('combobox', { name })
  const choose = (name, value) => select(name).selectOption({ label: value })
  try {
    await screen.go('#/list/orders')
    await shows('paid 2', '– 1', 'open 1')
    assert.deepEqual(await heights(), [100, 50, 50])
    const names = await select('Groups by').locator('option').allTextContents()
    assert.ok(names.includes('placedAt month') && !names.some((name) => name.includes('token')))

    await choose('measure', 'sum amount')
    await shows('paid 2 0.3', '– 1 0', 'open 1 -5')
    assert.deepEqual(await heights(), [6, 0, 100])
    await screen.checkAccess('groups')

    await choose('Groups by', 'placedAt month')
    await shows('2026-03 3 -4.7', '2026-04 1 0')
    await choose('Groups by', 'placedAt day')
    await choose('measure', '–')
    await shows('2026-03-28 1', '2026-03-29 2', '2026-04-01 1')

    await choose('Groups by', 'status')
    await shows('paid 2', '– 1', 'open 1')
    await table.focus()
    await page.keyboard.press('Tab')
    await page.keyboard.press('Enter')
    await becomes(() => page.locator('.total').textContent(), '2 matches')
    // The other groups stay, and so does the focus.
    await shows('paid 2', '– 1', 'open 1')
    assert.equal(await page.evaluate(() => document.activeElement.textContent), 'paid')
    assert.equal(await page.evaluate(() => document.activeElement.ariaPressed), 'true')
    await page.keyboard.press('Tab')
    await page.keyboard.press('Space')
    await becomes(() => page.locator('.total').textContent(), '1 match')
    await screen.go('#/list/orders?q[status][$exists]=true')
    await shows('paid 2', 'open 1')
    await screen.close()
  } finally {
    await service.stop()
    await rm(folder, { recursive: true, force: true })
  }
}
