/**
 * What a create and a read by id cost where 1, 2 and 4 processes share one PostgreSQL: by the processor's time of all of
 * them, and with that of the server (as Linux tells it). Each process has as many requests at once as any other, and those
 * that are measured take turns. `ROUNDS=5` and `AT_ONCE=16` ask for something else.
 */
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { readdir, readFile } from 'node:fs/promises'
import pg from 'pg'

const ROUNDS = Number(process.env.ROUNDS ?? 7)
const AT_ONCE = Number(process.env.AT_ONCE ?? 16)
const COUNTS = [1, 2, 4]
/** The requests of a process in a round. */
const REQUESTS = 3000
/** By the ratio of four processes to one. */
const GOAL = 1.1
/** Microseconds of a tick of the clock of Linux. */
const TICK = 10_000

const median = (numbers) => [...numbers].sort((x, y) => x - y)[Math.floor(numbers.length / 2)] ?? Number.NaN
const schema = `processes_${process.pid}`

const workers = []
for (let i = 0; i < Math.max(...COUNTS); i++) {
  const worker = fork(new URL('./processes-serve.mjs', import.meta.url), [schema, String(AT_ONCE)])
  await once(worker, 'message')
  workers.push(worker)
}

const client = new pg.Client({ connectionString: process.env.DATABASE_URL })
await client.connect()
const readStat = async (pid) => {
  const text = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => '')
  return text.slice(text.lastIndexOf(')') + 2).split(' ')
}
const [{ pid }] = (await client.query('SELECT pg_backend_pid() AS pid')).rows
const server = existsSync('/proc/self/stat') ? (await readStat(pid))[1] : undefined

/** The microseconds of the processor that the server has taken, with its processes that have ended. */
async function readServer() {
  if (server === undefined) return Number.NaN
  const all = (await readdir('/proc')).filter((name) => /^\d+$/.test(name))
  const stats = await Promise.all(all.map(async (one) => ({ one, stat: await readStat(one) })))
  const times = stats.map(({ one, stat }) => {
    const [user, system, endedUser, endedSystem] = stat.slice(11, 15).map(Number)
    if (one === server) return user + system + endedUser + endedSystem
    return stat[1] === server ? user + system : 0
  })
  return times.reduce((sum, time) => sum + time, 0) * TICK
}

/** As many processes, beginning with another one each time: all are as warm as the others. */
const some = (count, first) => Array.from({ length: count }, (_, i) => workers[(first + i) % workers.length])

async function measure(count, kind, first) {
  const [before, begin] = [await readServer(), performance.now()]
  const costs = await Promise.all(
    some(count, first).map(async (worker) => {
      const done = once(worker, 'message')
      worker.send({ kind, times: REQUESTS })
      return (await done)[0].microseconds
    }),
  )
  const requests = count * REQUESTS
  return {
    rate: requests / ((performance.now() - begin) / 1000),
    cost: costs.reduce((sum, cost) => sum + cost, 0) / requests,
    server: ((await readServer()) - before) / requests,
  }
}

let isGood = true
for (const kind of ['create', 'read']) {
  for (let i = 0; i < 3; i++) await measure(workers.length, kind, 0)
  const rounds = []
  for (let i = 0; i < ROUNDS; i++) {
    const round = new Map()
    for (const count of COUNTS) round.set(count, await measure(count, kind, i * count))
    rounds.push(round)
  }
  for (const count of COUNTS) {
    const of = (read) => median(rounds.map((round) => read(round.get(count), round.get(1))))
    const ratio = of(({ cost }, alone) => cost / alone.cost)
    const whole = of((one, alone) => (one.cost + one.server) / (alone.cost + alone.server))
    if (ratio > GOAL) isGood = false
    console.log(
      `${kind.padEnd(6)} ${count} processes  ${of(({ rate }) => rate).toFixed(0)}/s  ${of(({ cost }) => cost).toFixed(0)} µs (${ratio.toFixed(2)})  with the server's ${of(({ server }) => server).toFixed(0)} µs (${whole.toFixed(2)})`,
    )
  }
}
console.log(isGood ? `no more than ${GOAL} times the work` : `more than ${GOAL} times the work`)
for (const worker of workers) worker.disconnect()
await client.query(`DROP SCHEMA ${schema} CASCADE`)
await client.end()
if (!isGood) process.exitCode = 1
