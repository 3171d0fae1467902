/**
 * What aggregates of a million documents cost, beside the least that the storage could do, and what they do to others.
 * Writes `aggregates.md`. `STORAGES=memory,sqlite` and `ORDERS=10000` ask for less, and write nothing.
 */
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { cpus, tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { Worker } from 'node:worker_threads'
import Sqlite from 'better-sqlite3'
import pg from 'pg'
import { createAsk } from './fairness-ask.mjs'

const { STORAGES = 'memory,sqlite,postgres', ORDERS = '1000000' } = process.env
const isWhole = STORAGES === 'memory,sqlite,postgres' && ORDERS === '1000000'
const [ATTACKER, OTHER] = ['127.0.0.2', '127.0.0.3']
/** How often each request of others is sent. */
const TIMES = 40
/** How often an aggregate, and that with which it is compared, is measured. */
const ROUNDS = 9

const GROUPED = '/orders/aggregate?by[kind]=value&sum=["amount"]'
const SUMMED = '/orders/aggregate?sum=["amount"]'

async function start(kind, place) {
  const child = fork(new URL('./aggregates-serve.mjs', import.meta.url), [kind, place, ORDERS], {
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
  })
  const [{ port }] = await once(child, 'message')
  return {
    port,
    async measure(path, times) {
      const answer = once(child, 'message')
      child.send({ path, times })
      const [{ took }] = await answer
      return took
    },
    async stop() {
      const gone = once(child, 'exit')
      child.disconnect()
      await gone
    },
  }
}

const percentile = (times, share) =>
  [...times].sort((a, b) => a - b)[Math.min(times.length - 1, Math.floor(times.length * share))]

/** Measures a request and something else in turn: the median of each, and of the ratios of a turn. */
async function compare(service, path, other) {
  const [own, others] = [[], []]
  for (let i = 0; i < ROUNDS; i++) {
    own.push(...(await service.measure(path, 1)))
    others.push(await other())
  }
  const ratios = own.map((time, i) => time / others[i])
  return { own: percentile(own, 0.5), other: percentile(others, 0.5), ratio: percentile(ratios, 0.5) }
}

async function timed(run) {
  const begun = performance.now()
  await run()
  return performance.now() - begun
}

/** For each storage: what an aggregate is compared with, and the most that it may take of it. */
const COMPARISONS = {
  async memory(service) {
    const scan = async () => (await service.measure('/orders/count?q[amount][$gte]=0', 1))[0]
    const groups = percentile(await service.measure('/orders/aggregate?by[status]=value', 200), 0.5)
    return [
      { what: '100 groups of an indexed field', own: groups, goal: 1, unit: 'ms' },
      {
        what: 'a sum, and a count that reads the same field',
        goal: 1.3,
        ...(await compare(service, SUMMED, scan)),
      },
    ]
  },
  async sqlite(service, place) {
    const file = new Sqlite(place, { readonly: true })
    const [kind, amount] = ['kind', 'amount'].map((name) => `json_extract(document, '$.${name}')`)
    const statement = file.prepare(`SELECT ${kind}, count(*), sum(${amount}) FROM c_orders GROUP BY 1`)
    const compared = await compare(service, GROUPED, () => timed(() => statement.all()))
    file.close()
    return [{ what: 'sums in 20 groups, and a GROUP BY of doubles', goal: 1.4, ...compared }]
  },
  async postgres(service, place) {
    const client = new pg.Client({ connectionString: process.env.DATABASE_URL })
    await client.connect()
    await client.query(`VACUUM ANALYZE "${place}".c_orders`)
    await client.query('SET max_parallel_workers_per_gather = 0')
    // The value is searched in a document once, and its type is tested, as the aggregate must.
    const values = `SELECT document->'amount' AS amount FROM "${place}".c_orders OFFSET 0`
    const statement = `SELECT sum(CASE jsonb_typeof(amount) WHEN 'number' THEN amount::float8 END) FROM (${values}) AS found`
    const compared = await compare(service, SUMMED, () => timed(() => client.query(statement)))
    await client.end()
    return [{ what: 'a sum, and sum(float8) of numbers', goal: 1.3, ...compared }]
  },
}

const attackers = new Worker(new URL('./fairness-ask.mjs', import.meta.url))

/** Requests of others while eight aggregates of all documents run. */
async function measureOthers({ port }) {
  const ask = createAsk(port, OTHER)
  const own = `/counters/${(await ask('POST', '/counters', { n: 0 })).body._id}`
  attackers.postMessage({ port, address: ATTACKER, connections: 8, method: 'GET', path: GROUPED })
  await wait(1000)
  const rows = []
  const requests = {
    read: () => ask('GET', own),
    count: () => ask('GET', '/counters/count?q[n][$gte]=0'),
    patch: (n) => ask('PATCH', own, { n }),
  }
  for (const [name, send] of Object.entries(requests)) {
    const took = []
    let failed = 0
    for (let i = 0; i < TIMES; i++) {
      const { status, milliseconds } = await send(i)
      took.push(milliseconds)
      if (status >= 300) failed += 1
      await wait(5)
    }
    const what = `eight aggregates; a ${name} of others, 95th percentile${failed ? `, ${failed} failed` : ''}`
    rows.push({
      what,
      own: failed ? Number.POSITIVE_INFINITY : percentile(took, 0.95),
      goal: 100,
      unit: 'ms',
    })
  }
  const over = once(attackers, 'message')
  attackers.postMessage({ stop: true })
  await over
  return rows
}

const resultOf = ({ own, ratio = own }) => ratio
const inMs = (time) => (time === undefined ? '–' : `${time.toFixed(time < 10 ? 2 : 0)} ms`)
const show = ({ kind, what, own, other, ratio, goal, unit = '×' }) => {
  const result = ratio === undefined ? inMs(own) : `${ratio.toFixed(2)} ${unit}`
  return `| ${kind} | ${what} | ${inMs(own)} | ${inMs(other)} | ${result} | ${goal} ${unit} |`
}

const rows = []
for (const kind of STORAGES.split(',')) {
  const folder = await mkdtemp(join(tmpdir(), 'collection-service-aggregates-'))
  const place = kind === 'postgres' ? `aggregates_${process.pid}` : join(folder, 'data.db')
  const service = await start(kind, place)
  for (const row of [...(await COMPARISONS[kind](service, place)), ...(await measureOthers(service))]) {
    rows.push({ kind, ...row })
    console.log(show({ kind, ...row }))
  }
  await service.stop()
  await rm(folder, { recursive: true, force: true })
}
await attackers.terminate()

const page = `# What aggregates cost

${new Date().toISOString().slice(0, 10)}, Node ${process.versions.node}, ${cpus().length} × ${cpus()[0]?.model.trim()}, ${Number(ORDERS).toLocaleString('en')} documents. Each aggregate is measured in the process of the
service, in turn with what is named after it, ${ROUNDS} times: medians, and the median of the ratios of a turn. \`npm run bench -- aggregates\` writes this page.

| storage | what | aggregate | beside it | result | at most |
|---|---|---|---|---|---|
${rows.map(show).join('\n')}

Other processes may compete for the processors. In memory, the groups of an index then take several times as long, because
they make some 2,000 comparisons in places that are far apart, which the processor's cache no longer has.
`
if (isWhole) await writeFile(new URL('./aggregates.md', import.meta.url), page)
const missed = rows.filter((row) => !(resultOf(row) <= row.goal))
for (const { kind, what } of missed) console.log(`✗ ${kind}: ${what}`)
process.exitCode = missed.length > 0 ? 1 : 0
