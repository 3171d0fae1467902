/**
 * What it costs to give a field to many stored documents (`fill`), on SQLite and PostgreSQL: how long a run takes, how much its
 * heap grows, what it does to the requests of a service with the earlier configuration, and how often a start with an unchanged
 * configuration reads. A run rests as long as it works, so that at full pace it would take half of the time.
 * `STORAGES=sqlite` and `DOCUMENTS=100000` ask for less.
 */
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { cpus, loadavg, tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import pg from 'pg'
import { createCollectionService } from '../../dist/index.js'
import { AFTER, BEFORE, connect } from './migrate-storage.mjs'

const { STORAGES = 'sqlite,postgres', DOCUMENTS = '1000000' } = process.env
const documents = Number(DOCUMENTS)
const isWhole = STORAGES === 'sqlite,postgres' && documents === 1_000_000
/** Seconds at full pace for a million documents, MiB of heap, and how many times as long others may wait. */
const GOALS = { sqlite: 120, postgres: 300, heap: 64, others: 2, reads: 1 }
/** Seconds in which requests are measured before the run. */
const ALONE = 10

const options = { production: false, logger: { info() {}, warn() {}, error: console.error } }
const open = (config, adapter) => createCollectionService(config, adapter, options)
const idOf = (n) => `0199b0f0-0000-7000-8000-${n.toString(16).padStart(12, '0')}`
const percentile = (times, share) =>
  [...times].sort((a, b) => a - b)[Math.min(times.length - 1, Math.floor(times.length * share))]

async function store(adapter) {
  const now = new Date().toISOString()
  const system = { createdAt: now, updatedAt: now, createdBy: null, _version: 1 }
  for (let i = 0; i < documents; i += 1000) {
    const steps = Array.from({ length: Math.min(1000, documents - i) }, (_, j) => ({
      in: 'articles',
      insert: { _id: idOf(i + j), title: `title ${i + j}`, n: i + j, body: 'x'.repeat(200), ...system },
    }))
    if (!(await adapter.write(steps, {})).ok) throw new Error('the documents could not be stored')
  }
}

/** Sends reads and writes of one document, one after another, until `isOver`: the milliseconds of each. */
async function ask(handler, isOver) {
  const took = { read: [], patch: [] }
  for (let i = 0; !isOver(); i++) {
    const isRead = i % 2 === 0
    const url = `http://service.test/articles/${idOf(Math.floor(Math.random() * documents))}`
    const init = isRead
      ? {}
      : {
          method: 'PATCH',
          headers: { 'content-type': 'application/json' },
          body: JSON.stringify({ title: `t ${i}` }),
        }
    const start = performance.now()
    const response = await handler(new Request(url, init))
    await response.text()
    took[isRead ? 'read' : 'patch'].push(performance.now() - start)
    if (response.status !== 200) throw new Error(`a request was answered ${response.status}`)
    await wait(5)
  }
  return { read: percentile(took.read, 0.95), patch: percentile(took.patch, 0.95) }
}

/** Counts what a start with an unchanged configuration reads before it is ready. */
async function countReads(kind, place) {
  const adapter = connect(kind, place)
  let reads = 0
  const count =
    (name) =>
    (...given) => {
      reads += 1
      return adapter[name](...given)
    }
  // What compares stored documents in the background begins later.
  const background = []
  const counted = { ...adapter, list: count('list'), count: count('count') }
  const handler = createCollectionService(AFTER, counted, {
    ...options,
    background: (work) => background.push(work),
  })
  await handler.ready()
  const found = reads
  await Promise.all(background)
  await handler.close()
  return found
}

async function measure(kind, place) {
  const adapter = connect(kind, place)
  const handler = open(BEFORE, adapter)
  await handler.ready()
  await store(adapter)
  const end = performance.now() + ALONE * 1000
  const alone = await ask(handler, () => performance.now() > end)
  const child = fork(new URL('./migrate-run.mjs', import.meta.url), [kind, place], {
    execArgv: ['--expose-gc'],
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
  })
  let run
  const told = once(child, 'message').then(([message]) => {
    run = message
  })
  const ended = once(child, 'exit').then(([code]) => {
    run ??= { failed: code }
  })
  const beside = await ask(handler, () => run !== undefined)
  await Promise.race([told, ended])
  await ended
  if (run.failed !== undefined) throw new Error(`the run ended with ${run.failed}`)
  await handler.close()
  // The first start records the configuration.
  const first = open(AFTER, connect(kind, place))
  await first.ready()
  await first.close()
  return { kind, run, alone, beside, reads: await countReads(kind, place) }
}

const rows = []
for (const kind of STORAGES.split(',')) {
  const folder = await mkdtemp(join(tmpdir(), 'collection-service-migrate-'))
  const place = kind === 'postgres' ? `migrate_${process.pid}` : join(folder, 'data.db')
  const row = await measure(kind, place)
  rows.push(row)
  console.log(show(row))
  await rm(folder, { recursive: true, force: true })
  if (kind !== 'postgres') continue
  const client = new pg.Client({ connectionString: process.env.DATABASE_URL })
  await client.connect()
  await client.query(`DROP SCHEMA ${place} CASCADE`)
  await client.end()
}

function show({ kind, run, alone, beside, reads }) {
  const pair = (name) => `${alone[name].toFixed(1)} → ${beside[name].toFixed(1)} ms`
  const cells = [
    kind,
    `${run.seconds.toFixed(0)} s`,
    `${(run.seconds / 2).toFixed(0)} s`,
    `${run.cpu.toFixed(0)} s`,
    `${(run.heap / 2 ** 20).toFixed(1)} MiB`,
    pair('read'),
    pair('patch'),
    reads,
  ]
  return `| ${cells.join(' | ')} |`
}

const page = `# What a run of migrate costs

${new Date().toISOString().slice(0, 10)}, Node ${process.versions.node}, ${cpus().length} × ${cpus()[0]?.model.trim()}, load average ${loadavg()[0].toFixed(1)};
${documents.toLocaleString('en')} documents of 300 bytes get the value of a \`fill\`. A run rests as long as it works, so that at full pace it would take half of
the time: the goal for a million documents is ${GOALS.sqlite} s on SQLite and ${GOALS.postgres} s on PostgreSQL, and ${GOALS.heap} MiB of heap. The 95th percentiles are those of
requests to a service with the earlier configuration, before and during the run: at most doubled. The last column is how often a
start with an unchanged configuration reads. \`npm run bench -- migrate\` writes this page.

| storage | run | at full pace | CPU of the run | heap growth | read, p95 | PATCH, p95 | reads of a start |
|---|---|---|---|---|---|---|---|
${rows.map(show).join('\n')}
`
if (isWhole) await writeFile(new URL('./migrate.md', import.meta.url), page)
const share = documents / 1_000_000
const missed = rows.flatMap(({ kind, run, alone, beside, reads }) => [
  ...(run.done !== documents ? [`${kind}: ${run.done} documents were changed`] : []),
  ...(run.seconds / 2 > GOALS[kind] * share ? [`${kind}: time`] : []),
  ...(run.heap > GOALS.heap * 2 ** 20 ? [`${kind}: heap`] : []),
  ...['read', 'patch'].flatMap((name) =>
    beside[name] > GOALS.others * alone[name] ? [`${kind}: ${name} of others`] : [],
  ),
  ...(reads > GOALS.reads ? [`${kind}: ${reads} reads of a start`] : []),
])
for (const what of missed) console.log(`✗ ${what}`)
process.exitCode = missed.length > 0 ? 1 : 0
