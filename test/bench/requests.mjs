/**
 * What a request costs, by the processor's time and by rate: the floor of node:http, a handler by hand, and ours on every storage.
 * All servers run at once and are asked in turn, so that the state of the machine is the same for all. Writes `results.md`.
 * `SIZE=10000`, `ROUNDS=3`, `WAYS=floor,memory` and `WORKLOADS=ae` ask for less.
 */
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { writeFile } from 'node:fs/promises'
import { cpus } from 'node:os'
import { Worker } from 'node:worker_threads'
import { workloads } from './requests/workloads.mjs'

const SIZE = Number(process.env.SIZE ?? 100_000)
const ROUNDS = Number(process.env.ROUNDS ?? 5)
const WAYS = (process.env.WAYS ?? 'floor,hand,memory,fetch,sqlite,postgres').split(',')
const NAMES = [...(process.env.WORKLOADS ?? 'abcdefg')]
const CONNECTIONS = 32
const MILLISECONDS = 1000

/** The least share of the handler by hand that ours may have over memory, by the processor's time. */
const GOALS = { a: 0.65, b: 0.9, c: 0.65, d: 0.65, e: 0.65, f: 0.65, g: 0.65 }

const median = (numbers) => [...numbers].sort((x, y) => x - y)[Math.floor(numbers.length / 2)] ?? Number.NaN

async function start(way) {
  const child = fork(new URL('./requests/serve.mjs', import.meta.url), [way, String(SIZE)], {
    env: { ...process.env, NODE_ENV: 'production' },
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
  })
  const [{ port }] = await once(child, 'message')
  const readTime = async () => {
    const told = once(child, 'message')
    child.send('time')
    const [{ microseconds }] = await told
    return microseconds
  }
  return { way, port, readTime, stop: () => child.kill() }
}

const client = new Worker(new URL('./load.mjs', import.meta.url))

async function load({ port, readTime }, name) {
  const before = await readTime()
  const done = once(client, 'message')
  const module = './requests/workloads.mjs'
  client.postMessage({ port, module, name, size: SIZE, milliseconds: MILLISECONDS, connections: CONNECTIONS })
  const [{ count, refused, tail }] = await done
  const after = await readTime()
  if (refused > 0) throw new Error(`${refused} requests of ${name} were refused`)
  return { cost: (after - before) / count, rate: count / (MILLISECONDS / 1000), tail }
}

const servers = []
for (const way of WAYS) servers.push(await start(way))
const rows = []
for (const name of NAMES) {
  for (const server of servers) await load(server, name)
  const rounds = []
  for (let i = 0; i < ROUNDS; i++) {
    const round = {}
    for (const server of servers) round[server.way] = await load(server, name)
    rounds.push(round)
  }
  const cells = WAYS.map((way) => {
    const of = (read) => median(rounds.map((round) => read(round[way], round.hand ?? round[WAYS[0]])))
    return {
      way,
      cost: of(({ cost }) => cost),
      rate: of(({ rate }) => rate),
      share: of(({ cost }, hand) => hand.cost / cost),
      tail: of(({ tail }) => tail),
    }
  })
  rows.push({ name, cells })
  console.log(
    `${name}  ${cells.map(({ way, cost, share }) => `${way} ${cost.toFixed(0)} µs (${share.toFixed(2)})`).join('  ')}`,
  )
}
for (const { stop } of servers) stop()

const writeCell = ({ cost, share, rate }) =>
  `${cost.toFixed(0)} µs · ${share.toFixed(2)} · ${Math.round(rate).toLocaleString('en')}/s`
const table = [
  `| request | ${WAYS.join(' | ')} | goal of memory |`,
  `|---|${WAYS.map(() => '---').join('|')}|---|`,
  ...rows.map(
    ({ name, cells }) =>
      `| **${name}** ${workloads[name].what} | ${cells.map(writeCell).join(' | ')} | ≥ ${GOALS[name]} |`,
  ),
]
const today = new Date().toISOString().slice(0, 10)
await writeFile(
  new URL('./results.md', import.meta.url),
  `# What a request costs

${today}, Node ${process.versions.node}, ${cpus().length} × ${cpus()[0]?.model ?? 'unknown'}, ${SIZE.toLocaleString('en')} documents, ${CONNECTIONS} connections, medians of ${ROUNDS}.
Each cell: the processor's time of a request · the share of the handler by hand, by that time · requests in a second.
Only shares compare between machines. \`npm run bench -- requests\` writes this page; \`floor\` sends answers that were made before,
\`hand\` is [by-hand.mjs](requests/by-hand.mjs), the others are this package over node:http; \`fetch\` is its handler of web-standard requests.
By hand, what is created goes into plain sorted arrays, for \`floor\` too. All requests of **c** are different, so none finds what another one has compiled.

${table.join('\n')}
`,
)
await client.terminate()
