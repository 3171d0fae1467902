#!/usr/bin/env node
/**
 * Fail-overs under load: three PostgreSQL under Patroni, four processes of a service, faults in turn. Checks what was
 * answered, and writes the figures into results.md. `ROUNDS`: how many faults (20). `ONLY`: part of the name of a fault.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import pg from 'pg'
import { createCollectionService } from '../../dist/index.js'
import { createPostgresAdapter } from '../../dist/postgres.js'
import { checkAnswers } from './check-answers.mjs'
import { signal, startCluster, until } from './cluster.mjs'
import { config } from './config.mjs'
import { enterNetwork } from './network.mjs'
import { installPackages } from './packages.mjs'

const ROUNDS = Number(process.env.ROUNDS ?? 20)
const REGISTERS = 5

const seconds = () => Number(process.hrtime.bigint()) / 1e9
const sleep = (milliseconds) => new Promise((resolve) => setTimeout(resolve, milliseconds))
const say = (line) => process.stdout.write(`${new Date().toISOString().slice(11, 19)} ${line}\n`)

installPackages(['pgbouncer', 'haproxy', 'etcd-server', 'patroni', 'postgresql-15', 'iproute2'])
enterNetwork()
const cluster = await startCluster()
say('the cluster is there')

const isLed = (by) => async () => {
  const leads = await cluster.leader()
  return leads && by(leads) && leads
}

async function stopAndContinue(node, pids) {
  for (const pid of pids) signal(pid, 'SIGSTOP')
  const at = await until(
    isLed((next) => next !== node),
    'another one leads',
  ).then(seconds)
  await sleep(5000)
  for (const pid of pids) signal(pid, 'SIGCONT')
  return at
}

/** Each puts an end to a leader, says when another one is there, and mends what it broke. */
const FAULTS = {
  async 'kill -9 of the machine'(node) {
    const pids = await node.servers()
    for (const pid of [node.patroni.pid, ...pids]) signal(pid, 'SIGKILL')
    const at = await until(
      isLed((next) => next !== node),
      'another one leads',
    ).then(seconds)
    node.start()
    return at
  },
  async 'kill -9 of the server'(node) {
    const [first] = await node.servers()
    signal(first, 'SIGKILL')
    await sleep(3000)
    return until(
      isLed(() => true),
      'there is a leader',
    ).then(seconds)
  },
  async 'SIGSTOP, then SIGCONT'(node) {
    return stopAndContinue(node, [node.patroni.pid, ...(await node.servers())])
  },
  /** So Patroni is stopped between a look at who leads and what it does about it. */
  async 'SIGSTOP of the server, then of Patroni'(node) {
    const pids = await node.servers()
    for (const pid of pids) signal(pid, 'SIGSTOP')
    await sleep(2000)
    return stopAndContinue(node, [node.patroni.pid, ...pids])
  },
  async partition(node) {
    node.pull()
    const at = await until(
      isLed((next) => next !== node),
      'another one leads',
    ).then(seconds)
    await sleep(5000)
    node.plug()
    return at
  },
  async 'switch-over'(node) {
    const body = JSON.stringify({ leader: node.name })
    const signal = AbortSignal.timeout(60_000)
    await cluster.ask(node, '/switchover', { method: 'POST', body, signal })
    return until(
      isLed((next) => next !== node),
      'another one leads',
    ).then(seconds)
  },
}

const { urls } = cluster
const preparing = createCollectionService(config, createPostgresAdapter({ connectionString: urls.hosts }), {
  production: false,
})
const registers = []
for (let i = 0; i < REGISTERS; i++) {
  const body = JSON.stringify({ n: 0, writer: 'first' })
  const response = await preparing(new Request('http://service.test/registers', { method: 'POST', body }))
  registers.push((await response.json())._id)
}
await preparing.close()

const WAYS = ['hosts', 'hosts', 'haproxy', 'pgbouncer']
const processes = await Promise.all(
  WAYS.map(async (way, i) => {
    const file = join(cluster.folder, `process${i}.jsonl`)
    const task = { name: `p${i}`, connectionString: urls[way], registers, file, clients: 6 }
    const child = spawn(
      process.execPath,
      [new URL('client.mjs', import.meta.url).pathname, JSON.stringify(task)],
      {
        stdio: ['pipe', 'pipe', 'inherit'],
      },
    )
    let said = ''
    child.stdout.on('data', (data) => {
      said += data
    })
    await until(async () => said.includes('ready'), 'a process serves')
    return { way, file, child, ended: once(child, 'exit'), said: () => said }
  }),
)
say('four processes serve')

const rounds = []
const kinds = Object.keys(FAULTS).filter((kind) => kind.includes(process.env.ONLY ?? ''))
const limit = seconds() + Number(process.env.MINUTES ?? 60) * 60
for (let i = 0; i < ROUNDS && seconds() < limit; i++) {
  const fault = kinds[i % kinds.length]
  const node = await until(cluster.isWhole, 'all nodes are well')
  await sleep(3000)
  const begin = seconds()
  const led = await FAULTS[fault](node)
  const isWell = await until(cluster.isWhole, 'all nodes are well again').catch(say)
  const end = seconds()
  rounds.push({ fault, begin, led, end })
  say(
    `${i + 1}. ${fault}: a leader after ${(led - begin).toFixed(1)} s, whole after ${(end - begin).toFixed(1)} s`,
  )
  // What was answered until then is checked nevertheless.
  if (!isWell) break
}
await sleep(3000)
for (const { child } of processes) child.stdin.end()
await Promise.all(processes.map(({ ended }) => ended))
for (const { way, said } of processes) say(`${way}: ${said().split('\n')[1]}`)

const answers = []
for (const { way, file } of processes)
  for (const line of (await readFile(file, 'utf8')).trim().split('\n'))
    answers.push({ way, ...JSON.parse(line) })

const client = new pg.Client({ connectionString: urls.haproxy })
await client.connect()
const stored = {}
for (const name of ['things', 'marks', 'registers']) {
  const { rows } = await client.query(`SELECT _id, document FROM collection_service.c_${name}`)
  stored[name] = rows.map(({ _id, document }) => ({ ...document, _id }))
}
await client.end()
if (process.env.KEEP) await writeFile(process.env.KEEP, JSON.stringify({ answers, stored, rounds }))
const { report, faults } = checkAnswers({ answers, stored, rounds, ways: [...new Set(WAYS)] })
process.stdout.write(`\n${report}\n`)
if (rounds.length >= 20) await writeFile(new URL('results.md', import.meta.url), report)
// What went wrong is looked for in the logs.
await cluster.stop(faults.length > 0)
if (faults.length > 0) say(`the logs are in ${cluster.folder}`)
process.exit(faults.length > 0 ? 1 : 0)
