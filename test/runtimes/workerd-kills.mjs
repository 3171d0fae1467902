/**
 * Kills workerd while it writes to a Durable Object and to D1: node workerd-kills.mjs PROJECT MINIFLARE. Needs a node that
 * miniflare takes. PROJECT has installed the package, MINIFLARE has installed miniflare.
 */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createCounts } from '../support/counts.mjs'
import { bundleWorker, loadMiniflare, STORAGE_OPTIONS } from '../support/workerd.mjs'
import { findChild, judgePairs, wait } from './kills.mjs'

const ROUNDS = 12
const STORAGES = ['object', 'd1']
/** The clients that write to a storage at the same time. */
const CLIENTS = 2

const [project, miniflare] = process.argv.slice(2)
const Miniflare = loadMiniflare(miniflare)
const { judge, end } = createCounts()
const folder = await mkdtemp(join(tmpdir(), 'collection-service-kills-'))
const script = await bundleWorker({
  project,
  entry: join(import.meta.dirname, 'pairs-in-worker.mjs'),
})

const start = () =>
  new Miniflare({
    ...STORAGE_OPTIONS,
    script,
    durableObjects: { STORE: { className: 'Store', useSQLite: true } },
    durableObjectsPersist: join(folder, 'objects'),
    d1Databases: ['D1'],
    d1Persist: join(folder, 'd1'),
    // It reports that it is killed.
    handleRuntimeStdio() {},
  })

/** Writes pairs of documents, each in one batch, until the connection breaks. Adds those that are acknowledged to `told`. */
async function writePairs(url, name, told) {
  for (let n = 0; ; n += 1) {
    const pair = `${name}-${n}`
    const create = { method: 'POST', path: '/pairs', body: { pair } }
    try {
      const response = await fetch(`${url}/_batch`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ operations: [create, create] }),
      })
      await response.text()
      if (response.status !== 200) return response.status
    } catch {
      return undefined
    }
    told.push(pair)
  }
}

/** Writes to all storages, and kills workerd in the middle of it, at another moment in each round. */
async function kill(round, told) {
  const worker = start()
  try {
    const { origin } = await worker.ready
    const before = new Map(STORAGES.map((storage) => [storage, told.get(storage).length]))
    const writers = STORAGES.flatMap((storage) =>
      Array.from({ length: CLIENTS }, (_, client) =>
        writePairs(`${origin}/${storage}`, `${round}-${client}`, told.get(storage)),
      ),
    )
    const workerd = await findChild('workerd')
    const deadline = Date.now() + 60_000
    while (
      Date.now() < deadline &&
      STORAGES.some((storage) => told.get(storage).length < before.get(storage) + 20 + 5 * round)
    )
      await wait(5)
    await wait(40 * Math.random())
    process.kill(workerd, 'SIGKILL')
    const statuses = (await Promise.all(writers)).filter((status) => status !== undefined)
    // A killed process closes connections; it does not answer with errors.
    judge(`round ${round} › ${statuses}`, statuses.length === 0 && Date.now() < deadline)
  } finally {
    await worker.dispose().catch(() => {})
  }
}

/** The pair of each document. */
async function listPairs(url) {
  const documents = await (await fetch(`${url}/pairs`)).json()
  return documents.map(({ pair }) => pair)
}

const told = new Map(STORAGES.map((storage) => [storage, []]))
try {
  for (let round = 0; round < ROUNDS; round += 1) await kill(round, told)
  const worker = start()
  try {
    const { origin } = await worker.ready
    for (const storage of STORAGES)
      judgePairs(judge, storage, {
        told: told.get(storage),
        stored: await listPairs(`${origin}/${storage}`),
      })
  } finally {
    await worker.dispose().catch(() => {})
  }
} catch (error) {
  judge(error.stack, false)
} finally {
  await rm(folder, { recursive: true, force: true })
}
end()
