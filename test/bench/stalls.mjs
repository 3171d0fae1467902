/**
 * How long a small request waits while others try to keep the service busy, alone and twenty at once, on every storage;
 * by how much memory one of them lets the process grow, and whether a process with a heap of 512 MB lives through twenty.
 * `STORAGES=memory,sqlite`, `ONLY=pattern` and `THINGS=10000` ask for less.
 */
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { Worker } from 'node:worker_threads'
import { ask } from './ask.mjs'
import { attacks, canary } from './stalls-attacks.mjs'

const THINGS = process.env.THINGS ?? '100000'
const ONLY = process.env.ONLY ?? ''
const STORAGES = (process.env.STORAGES ?? 'memory,sqlite,postgres').split(',')
/** Milliseconds, and MiB. */
const GOAL = 100
const MAX_GROWTH = 64
/** Milliseconds between two small requests. */
const EVERY = 5

const attackers = new Worker(new URL('./ask.mjs', import.meta.url))

/** A service in a process of its own, and the memory that it takes. */
async function start(kind, place) {
  const child = fork(new URL('./stalls-serve.mjs', import.meta.url), [kind, place, THINGS], {
    execArgv: ['--expose-gc', '--max-old-space-size=512'],
    stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
  })
  let isAlive = true
  let memory = 0
  let onMessage = () => {}
  child.on('exit', () => {
    isAlive = false
    onMessage({})
  })
  child.on('message', (message) => onMessage(message))
  const next = () =>
    new Promise((resolve) => {
      onMessage = resolve
    })
  const { port } = await next()
  if (port === undefined) throw new Error(`the service over ${kind} did not start`)
  for (let i = 0; i < 300; i++) await ask(port, { method: 'GET', path: canary })
  return {
    port,
    get isAlive() {
      return isAlive
    },
    async measure(command) {
      if (!isAlive) return memory
      const answered = next()
      child.send(command)
      memory = (await answered).rss ?? memory
      return memory
    },
    async stop() {
      if (!isAlive) return
      const gone = once(child, 'exit')
      child.disconnect()
      await gone
    },
  }
}

/** The longest time that a small request waited while `count` of an attack ran, and what became of them. */
async function attack(service, what, count) {
  const { port } = service
  const before = await service.measure('collect')
  let isOver = false
  let worst = 0
  attackers.postMessage({ port, what, count })
  const ended = once(attackers, 'message').then(([statuses]) => {
    isOver = true
    return statuses
  })
  const waits = []
  let most = before
  const watch = (async () => {
    while (!isOver) {
      most = Math.max(most, await service.measure('look'))
      await wait(EVERY)
    }
  })()
  while (!isOver) {
    const due = performance.now()
    waits.push(
      ask(port, { method: 'GET', path: canary }).then(() => {
        worst = Math.max(worst, performance.now() - due)
      }),
    )
    await wait(EVERY)
  }
  const statuses = [...new Set(await ended)].join(' ')
  await Promise.all([...waits, watch])
  return { worst: Math.round(worst), growth: Math.round((most - before) / 2 ** 20), statuses }
}

const pad = (value, width) => String(value).padStart(width)
const show = ({ worst, growth, statuses }) => `${pad(worst, 5)} ms ${pad(growth, 4)} MiB (${statuses})`

let isGood = true
console.log(`goals: a small request waits ${GOAL} ms at most, one request takes ${MAX_GROWTH} MiB at most`)
for (const kind of STORAGES) {
  const folder = await mkdtemp(join(tmpdir(), 'collection-service-stalls-'))
  const place = kind === 'postgres' ? `stalls_${process.pid}` : join(folder, 'data.db')
  let service = await start(kind, place)
  for (const [name, what] of Object.entries(attacks).filter(([name]) => name.includes(ONLY))) {
    const alone = await attack(service, what, 1)
    const many = await attack(service, what, 20)
    const isMet = service.isAlive && Math.max(alone.worst, many.worst) <= GOAL && alone.growth <= MAX_GROWTH
    const end = service.isAlive ? '' : '   the process died'
    isGood &&= isMet
    console.log(
      `${isMet ? '✓' : '✗'} ${kind.padEnd(8)} ${name.padEnd(26)} alone ${show(alone)}   twenty ${show(many)}${end}`,
    )
    if (!service.isAlive) service = await start(kind, place)
  }
  await service.stop()
  await rm(folder, { recursive: true, force: true })
}
await attackers.terminate()
process.exitCode = isGood ? 0 : 1
