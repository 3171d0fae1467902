/**
 * Lists a million documents through node's server with curl, from every storage: the list must be whole, the process
 * must not grow by 150 MB, and a client that leaves after the first kilobyte must stop the work.
 */
import { fork, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { get } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'

const SIZE = Number(process.env.SIZE ?? 1_000_000)
const MAX_GROWTH = 150
const serve = new URL('./serve.mjs', import.meta.url)
let passed = 0
let failed = 0

const judge = (what, holds) => {
  if (holds) passed += 1
  else failed += 1
  console.log(`${holds ? '✓' : '✗'} ${what}`)
}

const ask = async (child) => {
  child.send('?')
  const [answer] = await once(child, 'message')
  return answer
}

/** Counts the documents of a list while curl reads it, and asks how much memory the server takes meanwhile. */
async function list(child, url) {
  const before = await ask(child)
  const curl = spawn('curl', ['-sSg', url])
  let documents = 0
  let rest = ''
  let last = ''
  curl.stdout.on('data', (chunk) => {
    const text = rest + chunk
    const parts = text.split('"_id"')
    documents += parts.length - 1
    rest = text.slice(-4)
    if (rest.includes('"_id"')) rest = ''
    last = text.slice(-2)
  })
  let most = before.rss
  let isOver = false
  const over = once(curl, 'close').then(() => {
    isOver = true
  })
  while (!isOver) {
    most = Math.max(most, (await ask(child)).rss)
    await Promise.race([over, wait(50)])
  }
  return { documents, isWhole: last === '}]', growth: Math.round((most - before.rss) / 2 ** 20) }
}

/** How many batches were read for a client that leaves, once nothing more is read. */
async function leave(child, url) {
  const before = await ask(child)
  const request = get(url)
  const [response] = await once(request, 'response')
  await once(response, 'data')
  request.destroy()
  for (let last = -1; ; ) {
    const { batches } = await ask(child)
    if (batches === last) return batches - before.batches
    last = batches
    await wait(300)
  }
}

for (const kind of ['memory', 'sqlite', 'postgres']) {
  const folder = await mkdtemp(join(tmpdir(), 'collection-service-large-'))
  const place = kind === 'postgres' ? `large_${process.pid}` : join(folder, 'data.db')
  const child = fork(serve, [kind, place, String(SIZE)])
  const [{ port }] = await once(child, 'message')
  const url = `http://127.0.0.1:${port}/docs`
  const { documents, isWhole, growth } = await list(child, url)
  judge(`${kind}: all of ${SIZE} documents came, found ${documents}`, documents === SIZE && isWhole)
  judge(`${kind}: the process grew by ${growth} MB, at most ${MAX_GROWTH}`, growth < MAX_GROWTH)
  const batches = await leave(child, url)
  judge(`${kind}: ${batches} batches for a client that left`, batches < SIZE / 500 / 10)
  child.disconnect()
  await once(child, 'exit')
  await rm(folder, { recursive: true, force: true })
}
console.log(`${passed} passed, ${failed} failed`)
process.exit(failed > 0 ? 1 : 0)
