import assert from 'node:assert/strict'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openPage, serve } from '../browser.mjs'

const CONFIG = {
  collections: {
    notes: {
      schema: {
        title: { type: 'string' },
        state: { type: 'string', enum: ['open', 'done'] },
        secret: { type: 'string' },
        about: { type: 'reference', collection: 'hidden' },
      },
      permissions: { '*': { read: { where: { state: 'open' }, omit: ['secret'] } } },
    },
    hidden: { schema: { name: { type: 'string' } }, permissions: {} },
  },
}

const id = (n) => `0190163d-8694-7000-8000-00000000000${n}`
const times = { createdAt: '2026-01-01T00:00:00.000Z', updatedAt: '2026-01-01T00:00:00.000Z' }
const shown = { _id: id(1), title: 'Seen', state: 'open', about: id(7), ...times }

/** Two stores that show a guest the same, and differ in all else. */
const STORES = [
  { hidden: [{ _id: id(7), name: 'one', ...times }], notes: [{ ...shown, secret: 'a' }] },
  {
    hidden: [
      { _id: id(7), name: 'two', ...times },
      { _id: id(8), name: 'three', ...times },
    ],
    notes: [
      { ...shown, secret: 'bbb' },
      { _id: id(2), title: 'Unseen', state: 'done', ...times },
    ],
  },
]

/** What the page renders is a function of what its reader may read. */
export async function playLeaks(browser) {
  const folder = await mkdtemp(join(tmpdir(), 'page-leaks-'))
  await writeFile(join(folder, 'config.json'), JSON.stringify(CONFIG))
  const texts = []
  for (const [i, documents] of STORES.entries()) {
    await writeFile(join(folder, `${i}.json`), JSON.stringify(documents))
    const service = await serve(join(folder, 'config.json'), '--seed', join(folder, `${i}.json`))
    const screen = await openPage(browser, service)
    const read = async () =>
      (await screen.page.locator('#app').innerHTML()).replaceAll(service.api.slice(7), 'HERE')
    await screen.settle()
    const pages = [await read()]
    for (const fragment of [
      '#/list/notes',
      '#/list/notes?sort[title]=1',
      `#/document/notes/${id(1)}`,
      '#/list/hidden',
    ]) {
      await screen.go(fragment)
      await screen.settle()
      pages.push(await read())
    }
    texts.push(pages.map((text) => text.replace(/\d+ ms/g, 'ms')))
    await screen.close()
    await service.stop()
  }
  assert.deepEqual(texts[0], texts[1])
  assert.ok(texts[0]?.some((text) => text.includes('Seen')))
  await rm(folder, { recursive: true, force: true })
}
