/**
 * What an application costs: signed-in people of many teams, every request different, reads and writes as in life, over Hono.
 * Beside this package run two servers by hand for this one application, over better-sqlite3 and over pg. All run at once and
 * are asked in turn. Writes `real.md`. `SIZE=10000`, `ROUNDS=3`, `WAYS=hand-sqlite,sqlite` and `KINDS=mix,team` ask for less.
 */
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { readdirSync, readFileSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { cpus } from 'node:os'
import { Worker } from 'node:worker_threads'
import * as byHand from './real/by-hand.mjs'
import * as ours from './real/ours.mjs'
import { createRequests, createWorld, KINDS } from './real/world.mjs'

const SIZE = Number(process.env.SIZE ?? 100_000)
const ROUNDS = Number(process.env.ROUNDS ?? 9)
const WAYS = (process.env.WAYS ?? 'hand-sqlite,memory,sqlite,hand-pg,postgres').split(',')
const ASKED = (process.env.KINDS ?? ['mix', ...KINDS].join()).split(',')
const CONNECTIONS = 32
const MILLISECONDS = 1000
/** So many requests are different, and each round begins with others. */
const [REQUESTS, STEP] = [40_000, 5000]
const CHECKED = 400

/** The server by hand that another one is compared with. */
const rivalOf = (way) => (way === 'postgres' || way === 'hand-pg' ? 'hand-pg' : 'hand-sqlite')

const median = (numbers) => [...numbers].sort((x, y) => x - y)[Math.floor(numbers.length / 2)] ?? Number.NaN
const world = createWorld(SIZE)

async function start(way) {
  const child = fork(new URL('./real/serve.mjs', import.meta.url), [way, String(SIZE)], {
    env: { ...process.env, NODE_ENV: 'production' },
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
  })
  const [{ port, tokens, ids }] = await once(child, 'message')
  const own = new Map(world.people.map(({ _id }, i) => [_id, ids[i]]))
  const { write } = way.startsWith('hand') ? byHand : ours
  const send = (asked) => {
    const { body, me } = asked
    const assigned = body?.assignee ? { body: { ...body, assignee: own.get(body.assignee) } } : {}
    const [method, path, sent] = write({ ...asked, ...assigned, me: own.get(me) })
    return { method, path, body: sent, token: tokens[asked.person] }
  }
  const readTime = async () => {
    const told = once(child, 'message')
    child.send('time')
    const [{ microseconds }] = await told
    return microseconds + (rivalOf(way) === 'hand-pg' ? readDatabaseTime() : 0)
  }
  return { way, port, send, readTime, stop: () => child.kill() }
}

/** The processor's time of all processes of PostgreSQL on this machine, where it has /proc, in microseconds. */
function readDatabaseTime() {
  let ticks = 0
  for (const name of readdirSync('/proc').filter((name) => /^\d+$/.test(name))) {
    try {
      const stat = readFileSync(`/proc/${name}/stat`, 'utf8')
      const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
      if (stat.includes('(postgres)')) ticks += Number(fields[11]) + Number(fields[12])
    } catch {
      // The process has ended.
    }
  }
  return ticks * 10_000
}

const client = new Worker(new URL('./load.mjs', import.meta.url))

async function load({ way, port, readTime }, kind, from, milliseconds = MILLISECONDS) {
  const before = await readTime()
  const done = once(client, 'message')
  client.postMessage({ port, name: `${way} ${kind}`, from, milliseconds, connections: CONNECTIONS })
  const [{ count, refused, slow }] = await done
  const after = await readTime()
  if (refused > 0) throw new Error(`${refused} requests of ${kind} were refused by ${way}`)
  return { cost: (after - before) / count, rate: count / (milliseconds / 1000), slow }
}

/** What an answer says, whoever gives it. */
const digest = (answer) =>
  Array.isArray(answer)
    ? answer.map(({ _id, id }) => _id ?? id).join()
    : (answer.total ?? `${answer._id ?? answer.id} ${answer.status} ${answer.title} ${'budget' in answer}`)

async function ask({ port, send }, asked) {
  const { method, path, token } = send(asked)
  const answer = await fetch(`http://127.0.0.1:${port}${path}`, {
    method,
    headers: { authorization: `Bearer ${token}` },
  })
  return `${answer.status} ${digest(await answer.json())}`
}

const servers = []
for (const way of WAYS) servers.push(await start(way))

for (const asked of createRequests(world, CHECKED, 99).filter(({ body }) => !body)) {
  const answers = await Promise.all(servers.map((server) => ask(server, asked)))
  const others = answers.filter((answer) => answer !== answers[0])
  if (others.length > 0) throw new Error(`${JSON.stringify(asked)}: ${answers.join(' | ')}`)
}

const rows = []
for (const kind of ASKED) {
  const asked = createRequests(world, REQUESTS, 1 + ASKED.indexOf(kind), kind === 'mix' ? undefined : kind)
  for (const server of servers) {
    const list = asked.map(server.send)
    client.postMessage({
      list,
      name: `${server.way} ${kind}`,
      port: server.port,
      milliseconds: 0,
      connections: 1,
    })
    await once(client, 'message')
    await load(server, kind, 6 * STEP, 2 * MILLISECONDS)
  }
  const rounds = []
  for (let i = 0; i < ROUNDS; i++) {
    const round = {}
    for (const server of servers) round[server.way] = await load(server, kind, i * STEP)
    rounds.push(round)
  }
  const cells = WAYS.map((way) => {
    const of = (read) => median(rounds.map((round) => read(round[way], round[rivalOf(way)])))
    return {
      way,
      cost: of(({ cost }) => cost),
      rate: of(({ rate }) => rate),
      share: of(({ cost }, rival) => (rival ? rival.cost / cost : Number.NaN)),
      slow: of(({ slow }) => slow),
    }
  })
  rows.push({ kind, cells })
  console.log(
    `${kind}  ${cells.map(({ way, cost, share, slow }) => `${way} ${cost.toFixed(0)} µs (${share.toFixed(2)}, p99 ${slow.toFixed(1)} ms)`).join('  ')}`,
  )
}
for (const { stop } of servers) stop()
await client.terminate()

const writeCell = ({ cost, share, rate }) =>
  `${cost.toFixed(0)} µs · ${share.toFixed(2)} · ${Math.round(rate).toLocaleString('en')}/s`
const ABOUT = {
  mix: 'all of these, 85 % reads',
  team: 'tasks of a team with a status, by due date, 20',
  mine: 'my tasks from a date on, by due date, 20',
  newest: 'the 20 newest tasks of my teams',
  search: 'tasks of a team whose title contains a text, by due date, 20',
  read: 'one task',
  count: 'tasks of a team within some days',
  patch: 'change status and priority',
  create: 'create',
}
if (ASKED.length === KINDS.length + 1) {
  await writeFile(
    new URL('./real.md', import.meta.url),
    `# What an application costs

${new Date().toISOString().slice(0, 10)}, Node ${process.versions.node}, ${cpus().length} × ${cpus()[0]?.model ?? 'unknown'}, ${SIZE.toLocaleString('en')} tasks, ${CONNECTIONS} connections, medians of ${ROUNDS}.
A thousand people in two hundred teams; each sees the tasks of their teams without their budget, and asks for something else
each time. Each cell: the processor's time of a request · the share of the server by hand, by that time · requests in a second.
By hand: [over better-sqlite3](real/hand-sqlite.mjs), with which \`memory\` and \`sqlite\` are compared, and [over pg](real/hand-pg.mjs), with
which \`postgres\` is; there the time of PostgreSQL itself counts too. All over Hono. Only shares compare between machines.
\`npm run bench -- real\` writes this page.

| request | ${WAYS.join(' | ')} |
|---|${WAYS.map(() => '---').join('|')}|
${rows.map(({ kind, cells }) => `| **${kind}** ${ABOUT[kind]} | ${cells.map(writeCell).join(' | ')} |`).join('\n')}
`,
  )
}
