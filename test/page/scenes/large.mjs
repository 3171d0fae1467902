import assert from 'node:assert/strict'
import { createServer } from 'node:http'
import { openPage } from '../browser.mjs'

const TOTAL = Number(process.env.LONG ? 1_000_000 : 50_000)

const CONFIG = {
  collections: {
    readings: {
      schema: { name: { type: 'string' }, value: { type: 'integer' } },
      permissions: { '*': { read: true } },
    },
  },
}

/** An adapter that holds nothing: each document is made when it is asked for. */
function createCounting() {
  const idOf = (n) => `0190163d-8694-7000-8000-${String(n).padStart(12, '0')}`
  const documentAt = (n) => ({
    ...{ _id: idOf(n), _version: 1, name: `Reading ${n}`, value: n, createdBy: null },
    ...{ createdAt: '2026-01-01T00:00:00.000Z', updatedAt: '2026-01-01T00:00:00.000Z' },
  })
  const range = (from, to) => Array.from({ length: Math.max(0, to - from) }, (_, i) => documentAt(from + i))
  return {
    async open() {},
    list: (_, { skip, limit }) => range(skip, Math.min(TOTAL, skip + (limit ?? TOTAL))),
    async *stream(_, { skip }) {
      for (let n = skip; n < TOTAL; n += 500) yield range(n, Math.min(TOTAL, n + 500))
    },
    count: () => TOTAL,
    write: async () => ({ ok: true, removed: 0 }),
    async close() {},
  }
}

/** A very large collection: its first rows come at once, and a download of all holds little. */
export async function playLarge(browser) {
  const { createCollectionService } = await import('../../../dist/index.js')
  const { createPage } = await import('../../../dist/page.js')
  const { toNodeHandler } = await import('../../../dist/node.js')
  const handler = createCollectionService(CONFIG, createCounting(), { page: createPage() })
  const server = createServer(toNodeHandler(handler))
  await new Promise((resolve) => server.listen(0, 'localhost', resolve))
  const api = `http://localhost:${server.address().port}`
  const screen = await openPage(browser, { api, page: `${api}/_page` })
  try {
    const { page } = screen
    const devtools = await page.context().newCDPSession(page)
    const heap = async () => {
      await devtools.send('HeapProfiler.collectGarbage')
      return (await page.evaluate(() => performance.memory.usedJSHeapSize)) / 1_000_000
    }
    const answered = page.waitForResponse((response) => response.url().includes('/readings?limit'))
    await screen.go('#/list/readings')
    await answered
    const start = performance.now()
    await page.locator('tbody tr').nth(24).waitFor()
    console.log(`  first rows ${Math.round(performance.now() - start)} ms after the answer`)
    await page
      .getByText(`${TOTAL.toLocaleString('en')} documents`)
      .first()
      .waitFor()
    const before = await heap()
    await screen.press('Download')
    const downloading = page.waitForEvent('download', { timeout: 600_000 })
    await page.getByRole('button', { name: /CSV/ }).click()
    const download = await downloading
    const grown = (await heap()) - before
    console.log(`  a download of ${TOTAL} documents leaves ${grown.toFixed(1)} MB`)
    assert.ok(grown < 20)
    let lines = 0
    for await (const piece of await download.createReadStream())
      lines += piece.toString().split('\n').length - 1
    assert.equal(lines, TOTAL + 1)
  } finally {
    await screen.close()
    server.closeAllConnections()
    await handler.close()
  }
}
