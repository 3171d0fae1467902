/**
 * How long requests of others take while one caller keeps as many connections busy as it can, on every storage. Writes
 * `fairness.md`. `STORAGES=memory,sqlite`, `ONLY=count` and `THINGS=10000` ask for less, and write nothing.
 */
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { cpus, tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { Worker } from 'node:worker_threads'
import { createAsk } from './fairness-ask.mjs'

const { STORAGES = 'memory,sqlite,postgres', ONLY = '', THINGS = '50000' } = process.env
const isWhole = STORAGES === 'memory,sqlite,postgres' && ONLY === '' && THINGS === '50000'
/** The most milliseconds of requests of others, at the 95th percentile, and the most hashes that a login may take. */
const GOAL = 250
const HASHES = 4
/** How often each request of others is sent. */
const TIMES = 40
const LOGINS = 10
const [ATTACKER, OTHER] = ['127.0.0.2', '127.0.0.3']

const attackers = new Worker(new URL('./fairness-ask.mjs', import.meta.url))

async function start(kind, place) {
  const child = fork(new URL('./fairness-serve.mjs', import.meta.url), [kind, place, THINGS], {
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
  })
  const [{ port }] = await once(child, 'message')
  return {
    port,
    async stop() {
      const gone = once(child, 'exit')
      child.disconnect()
      await gone
    },
  }
}

const percentile = (times, share) =>
  [...times].sort((a, b) => a - b)[Math.min(times.length - 1, Math.floor(times.length * share))]

/** Sends a request some times, one after another: the 95th percentile, and how many were not answered as they should. */
async function measure(times, send) {
  const took = []
  let failed = 0
  for (let i = 0; i < times; i++) {
    const { status, milliseconds } = await send(i)
    took.push(milliseconds)
    if (status >= 300) failed += 1
    await wait(5)
  }
  return { p95: percentile(took, 0.95), failed }
}

async function measureOthers(kind, place) {
  const service = await start(kind, place)
  const ask = createAsk(service.port, OTHER)
  const create = async () => `/counters/${(await ask('POST', '/counters', { n: 0 })).body._id}`
  const [shared, own] = [await create(), await create()]
  const credentials = { email: 'own', password: 'correct horse' }
  await ask('POST', '/auth/register', credentials)
  const login = () => ask('POST', '/auth/login', credentials)
  const alone = await measure(5, login)
  const count = `/things/count?q[n][$gte]=${Number(THINGS) - 4}`
  const requests = {
    read: () => ask('GET', own),
    count: () => ask('GET', count),
    patch: (n) => ask('PATCH', own, { n }),
  }
  const attacks = {
    'count by a pattern, 60 connections': {
      connections: 60,
      method: 'GET',
      path: `/things/count?q[title][$regex]=${encodeURIComponent('[a-z]{3} (of|in) .*7{4}$')}`,
      also: {},
    },
    'login to unknown accounts, 150 connections': {
      connections: 150,
      method: 'POST',
      path: '/auth/login',
      body: { email: 'unknown#', password: 'wrong' },
      also: { login: () => measure(LOGINS, login) },
    },
    'PATCH of one document, 200 connections': {
      connections: 200,
      method: 'PATCH',
      path: shared,
      body: { n: 1 },
      also: { same: () => measure(TIMES, (n) => ask('PATCH', shared, { n })) },
    },
    'PATCH of one document, 20 connections': {
      connections: 20,
      method: 'PATCH',
      path: shared,
      body: { n: 1 },
      also: {
        batch: () =>
          measure(TIMES, () => ask('POST', '/_batch', { operations: [{ method: 'GET', path: shared }] })),
      },
    },
  }
  const rows = []
  for (const [name, { also, ...attack }] of Object.entries(attacks).filter(([name]) => name.includes(ONLY))) {
    attackers.postMessage({ ...attack, port: service.port, address: ATTACKER })
    await wait(1000)
    const row = { kind, name, hash: alone.p95 }
    for (const [what, send] of Object.entries(requests)) row[what] = await measure(TIMES, send)
    for (const [what, measured] of Object.entries(also)) row[what] = await measured()
    const over = once(attackers, 'message')
    attackers.postMessage({ stop: true })
    await over
    rows.push(row)
    console.log(show(row))
  }
  await service.stop()
  return rows
}

const milliseconds = (measured) =>
  measured ? `${Math.round(measured.p95)} ms${measured.failed ? `, ${measured.failed} failed` : ''}` : '–'
const hashes = ({ login, hash }) =>
  login ? `${(login.p95 / hash).toFixed(1)}${login.failed ? `, ${login.failed} failed` : ''}` : '–'
const cells = (row) => [
  row.name,
  row.kind,
  ...[row.read, row.count, row.patch, row.same, row.batch].map(milliseconds),
  hashes(row),
]
const show = (row) => `| ${cells(row).join(' | ')} |`

const isMet = ({ read, count, patch, login, batch, hash }) =>
  [read, count, patch].every(({ p95, failed }) => p95 <= GOAL && failed === 0) &&
  (!login || (login.failed === 0 && login.p95 <= HASHES * hash)) &&
  (!batch || batch.failed === 0)

const rows = []
for (const kind of STORAGES.split(',')) {
  const folder = await mkdtemp(join(tmpdir(), 'collection-service-fairness-'))
  const place = kind === 'postgres' ? `fairness_${process.pid}` : join(folder, 'data.db')
  rows.push(...(await measureOthers(kind, place)))
  await rm(folder, { recursive: true, force: true })
}
await attackers.terminate()

const page = `# What one caller can do to others

${new Date().toISOString().slice(0, 10)}, Node ${process.versions.node}, ${cpus().length} × ${cpus()[0]?.model.trim()}, ${Number(THINGS).toLocaleString('en')} documents; the attacker has one address, and runs on the
same processors. 95th percentiles of the requests of another address: at most ${GOAL} ms for a read, a count of four indexed
documents, and a PATCH of another document; a login takes at most ${HASHES} times as long as one alone, and the batch succeeds.
\`npm run bench -- fairness\` writes this page.

| one address | storage | read | count | PATCH | PATCH of the same | batch that reads it | login, in hashes |
|---|---|---|---|---|---|---|---|
${rows.map(show).join('\n')}
`
if (isWhole) await writeFile(new URL('./fairness.md', import.meta.url), page)
const missed = rows.filter((row) => !isMet(row))
for (const { kind, name } of missed) console.log(`✗ ${kind}: ${name}`)
process.exitCode = missed.length > 0 ? 1 : 0
