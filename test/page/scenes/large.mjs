import assert from 'node:assert/strict'
import { mkdtemp, rm } from 'node:fs/promises'
import { createServer } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openPage } from '../browser.mjs'

const TOTAL = Number(process.env.LONG ? 1_000_000 : 20_000)

const CONFIG = {
  collections: {
    readings: {
      schema: { name: { type: 'string' }, value: { type: 'integer' } },
      permissions: { '*': { read: true } },
    },
  },
}

/** So many are stored at once. */
const STEP = 2000

/** A file of documents, put straight into the storage. */
async function createReadings(file) {
  const { createSqliteAdapter } = await import('../../../dist/sqlite.js')
  const adapter = createSqliteAdapter({ file })
  const times = { createdAt: '2026-01-01T00:00:00.000Z', updatedAt: '2026-01-01T00:00:00.000Z' }
  const documentAt = (n) => ({
    _id: `0190163d-8694-7000-8000-${String(n).padStart(12, '0')}`,
    _version: 1,
    createdBy: null,
    name: `Reading ${n}`,
    value: n,
    ...times,
  })
  return {
    adapter,
    async fill() {
      for (let from = 0; from < TOTAL; from += STEP) {
        const steps = Array.from({ length: Math.min(STEP, TOTAL - from) }, (_, i) => ({
          in: 'readings',
          insert: documentAt(from + i),
        }))
        assert.ok((await adapter.write(steps, {})).ok)
      }
    },
  }
}

/** A very large collection: its first rows come at once, and a download of all holds little. */
export async function playLarge(browser) {
  const { createCollectionService } = await import('../../../dist/index.js')
  const { createPage } = await import('../../../dist/page.js')
  const { toNodeHandler } = await import('../../../dist/node.js')
  const folder = await mkdtemp(join(tmpdir(), 'page-large-'))
  const { adapter, fill } = await createReadings(join(folder, 'readings.db'))
  const handler = createCollectionService(CONFIG, adapter, { page: createPage() })
  await handler.ready()
  await fill()
  const server = createServer(toNodeHandler(handler))
  await new Promise((resolve) => server.listen(0, 'localhost', resolve))
  const api = `http://localhost:${server.address().port}`
  const screen = await openPage(browser, { api, page: `${api}/_page` })
  try {
    const { page } = screen
    const devtools = await page.context().newCDPSession(page)
    const heap = async () => {
      await devtools.send('HeapProfiler.collectGarbage')
      return (await devtools.send('Runtime.getHeapUsage')).usedSize / 1_000_000
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
    let most = 0
    const measure = async () => {
      most = Math.max(most, (await heap()) - before)
    }
    let isOver = false
    const end = () => {
      isOver = true
    }
    downloading.then(end, end)
    while (!isOver) await measure()
    const download = await downloading
    console.log(`  a download of ${TOTAL} documents holds ${most.toFixed(1)} MB at most`)
    assert.ok(most < 20)
    let lines = 0
    for await (const piece of await download.createReadStream())
      lines += piece.toString().split('\n').length - 1
    assert.equal(lines, TOTAL + 1)
  } finally {
    await screen.close()
    server.closeAllConnections()
    await handler.close()
    await rm(folder, { recursive: true, force: true })
  }
}
