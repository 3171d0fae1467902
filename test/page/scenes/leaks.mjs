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
      permissions: {
        '*': { read: { where: { state: 'open' }, omit: ['secret'] } },
        owner: { read: { omit: ['secret'] }, update: { pick: ['title'], where: { state: 'done' } } },
      },
    },
    hidden: { schema: { name: { type: 'string' } }, permissions: {} },
    users: {
      schema: {
        email: { type: 'string', unique: true },
        password: { type: 'hash' },
        standing: { type: 'string' },
      },
      permissions: { owner: { read: { omit: ['standing'] } } },
    },
  },
}

const id = (n) => `0190163d-8694-7000-8000-00000000000${n}`
const times = { createdAt: '2026-01-01T00:00:00.000Z', updatedAt: '2026-01-01T00:00:00.000Z' }
const shown = { _id: id(1), title: 'Seen', state: 'open', about: id(7), ...times }

const ANN = { email: 'ann@example.com', password: 'correct horse 1' }
const ann = { _id: id(3), ...ANN, createdBy: id(3), ...times }
const own = { _id: id(4), title: 'Own', state: 'done', createdBy: ann._id, ...times }

/** Two stores that show a guest the same, and Ann, and differ in all else. */
const STORES = [
  {
    users: [{ ...ann, standing: 'good' }],
    hidden: [{ _id: id(7), name: 'one', ...times }],
    notes: [{ ...shown, secret: 'a' }, own],
  },
  {
    users: [
      { ...ann, standing: 'bad' },
      { ...ann, _id: id(5), email: 'bob@example.com', createdBy: id(5) },
    ],
    hidden: [
      { _id: id(7), name: 'two', ...times },
      { _id: id(8), name: 'three', ...times },
    ],
    notes: [
      { ...shown, secret: 'bbb' },
      { ...own, secret: 'c' },
      { _id: id(2), title: 'Unseen', state: 'done', ...times },
    ],
  },
]

/** Every view that a reader can come to. */
const VIEWS = [
  '#/',
  '#/list/notes',
  '#/list/notes?sort[title]=1',
  `#/document/notes/${id(1)}`,
  `#/document/notes/${id(2)}`,
  `#/document/notes/${id(4)}`,
  '#/list/hidden',
  '#/list/users',
  `#/document/users/${id(3)}`,
  `#/document/users/${id(5)}`,
  '#/account',
  '#/requests',
]

/** Without when it was asked and how long it took, and from when until when a session lasts. */
const withoutClock = (text) =>
  text
    .replace(/\d+ ms/g, 'ms')
    .replace(/<time .*?<\/time>/g, '')
    .replace(/(since|until) [^<"]*\d\d:\d\d/g, '$1')

/** Says where two texts part, and not all of both. */
function assertSame(one, other, view) {
  if (one === other) return
  let at = 0
  while (one[at] === other[at]) at++
  const near = (text) => text.slice(Math.max(0, at - 200), at + 200)
  assert.fail(`${view} shows in one store:\n${near(one)}\nand in the other:\n${near(other)}`)
}

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
    const pages = []
    const visit = async () => {
      for (const fragment of VIEWS) {
        await screen.go(fragment)
        await screen.settle()
        pages.push(await read())
      }
    }
    await visit()
    await screen.signIn(ANN.email, ANN.password)
    // It is said that she is, for some seconds: that goes by the clock.
    await screen.page.getByText('You are signed in.').waitFor({ state: 'detached' })
    await visit()
    texts.push(pages.map(withoutClock))
    // What it may not read is asked for by its address.
    await screen.close({ mayRefuse: true })
    await service.stop()
  }
  for (const [i, text] of texts[0].entries()) assertSame(text, texts[1][i], VIEWS[i % VIEWS.length])
  const [guest, signedIn] = [texts[0].slice(0, VIEWS.length), texts[0].slice(VIEWS.length)].map(String)
  assert.ok(guest.includes('Seen') && !guest.includes('Own') && signedIn.includes('Own'))
  await rm(folder, { recursive: true, force: true })
}
