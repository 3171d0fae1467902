/**
 * How long after the answer to a write its event is with those who listen: many subscribers of one process, in groups with
 * a list each, while documents are created and changed at a steady rate, on every storage; on PostgreSQL by another process.
 * `STORAGES=memory,sqlite`, `SUBSCRIBERS=100` and `SECONDS=5` ask for less.
 */
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { Agent, request } from 'node:http'
import { loadavg, tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'

const STORAGES = (process.env.STORAGES ?? 'memory,sqlite,postgres').split(',')
const SUBSCRIBERS = Number(process.env.SUBSCRIBERS ?? 1000)
const SECONDS = Number(process.env.SECONDS ?? 10)
const GROUPS = 50
/** Writes in a second. */
const RATE = 200
/** Milliseconds from the answer to the event, for 99 of 100 events. */
const GOALS = { memory: 100, sqlite: 100, postgres: 500 }
/** Seconds in which the engine only learns the code. */
const WARM = 3
/** Milliseconds after which an event is lost. */
const LOST = 10_000

const agent = new Agent({ keepAlive: true, maxSockets: 50 })

/** By the number that a write has given: when it was answered, and when its event came to each who listens. */
let answered = new Map()
let arrived = new Map()
let missing = 0

function subscribe(port, group) {
  return new Promise((resolve, reject) => {
    let text = ''
    request({ port, path: `/notes/changes?q[group]=${group}`, agent: false }, (response) => {
      if (response.statusCode !== 200) reject(new Error(`a stream was answered ${response.statusCode}`))
      response.setEncoding('utf8')
      response.on('error', () => {})
      response.on('data', (part) => {
        const now = performance.now()
        text += part
        const events = text.split('\n\n')
        text = events.pop()
        for (const event of events) {
          const [, n] = /^data: .*"n":(\d+)/m.exec(event) ?? []
          if (n === undefined) {
            resolve()
            continue
          }
          arrived.get(Number(n))?.push(now)
          missing -= 1
        }
      })
    })
      .on('error', reject)
      .end()
  })
}

function write(port, method, path, body) {
  return new Promise((resolve, reject) => {
    const text = JSON.stringify(body)
    const headers = { 'content-type': 'application/json', 'content-length': Buffer.byteLength(text) }
    const sent = request({ port, method, path, headers, agent }, (response) => {
      const now = performance.now()
      let read = ''
      response.setEncoding('utf8')
      response.on('data', (part) => {
        read += part
      })
      response.on('end', () => {
        if (response.statusCode >= 300)
          reject(new Error(`a write was answered ${response.statusCode}: ${read}`))
        else resolve({ now, id: JSON.parse(read)._id })
      })
    })
    sent.on('error', reject)
    sent.end(text)
  })
}

/** Writes for some seconds, each when it is due: every second write creates a document, the next one changes it. */
async function writeFor(port, seconds) {
  const start = performance.now()
  const writes = []
  const made = []
  for (let n = 0; n < seconds * RATE; n++) {
    await wait(Math.max(0, start + (n * 1000) / RATE - performance.now()))
    arrived.set(n, [])
    missing += SUBSCRIBERS / GROUPS
    const old = n % 2 === 0 ? undefined : made.shift()
    const group = n % GROUPS
    const sent = old
      ? write(port, 'PATCH', `/notes/${old}`, { n })
      : write(port, 'POST', '/notes', { group, n, text: 'x'.repeat(200) })
    writes.push(
      sent.then(({ now, id }) => {
        answered.set(n, now)
        if (!old) made.push(id)
      }),
    )
  }
  await Promise.all(writes)
  const end = performance.now() + LOST
  while (missing > 0 && performance.now() < end) await wait(20)
}

const at = (sorted, part) =>
  sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * part))] ?? Number.NaN

/** Begins a process that serves a storage. */
async function serve(kind, place) {
  const child = fork(new URL('./changes-serve.mjs', import.meta.url), [kind, place, String(SUBSCRIBERS)], {
    env: { ...process.env, NODE_ENV: 'production' },
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
  })
  const [{ port }] = await once(child, 'message')
  return { child, port }
}

async function measure(kind, place) {
  const { child, port } = await serve(kind, place)
  // Where several processes share a storage, another one writes.
  const writer = kind === 'postgres' ? await serve(kind, place) : { child, port }
  const readTime = async () => {
    const told = once(child, 'message')
    child.send('time')
    const [{ microseconds }] = await told
    return microseconds
  }
  for (let i = 0; i < SUBSCRIBERS; i += GROUPS)
    await Promise.all(Array.from({ length: GROUPS }, (_, group) => subscribe(port, group)))
  const run = async (seconds) => {
    answered = new Map()
    arrived = new Map()
    missing = 0
    const before = await readTime()
    await writeFor(writer.port, seconds)
    return (await readTime()) - before
  }
  await run(WARM)
  const time = await run(SECONDS)
  const waits = [...arrived].flatMap(([n, times]) => times.map((time) => Math.max(0, time - answered.get(n))))
  waits.sort((a, b) => a - b)
  const lost = missing
  for (const served of new Set([child, writer.child])) {
    served.disconnect()
    await once(served, 'exit')
  }
  return { waits, lost, cost: time / (SECONDS * RATE) }
}

let isGood = true
console.log(
  `${SUBSCRIBERS} subscribers in ${GROUPS} groups, ${RATE} writes in a second, for ${SECONDS} seconds`,
)
for (const kind of STORAGES) {
  const folder = await mkdtemp(join(tmpdir(), 'collection-service-changes-'))
  const place = kind === 'postgres' ? `changes_${process.pid}` : join(folder, 'data.db')
  const { waits, lost, cost } = await measure(kind, place)
  const [half, most, worst] = [at(waits, 0.5), at(waits, 0.99), at(waits, 1)]
  const isMet = most <= GOALS[kind] && lost === 0
  isGood &&= isMet
  console.log(
    `${isMet ? '✓' : '✗'} ${kind.padEnd(8)} p50 ${half.toFixed(1)} ms, p99 ${most.toFixed(1)} ms (at most ${GOALS[kind]}), longest ${worst.toFixed(1)} ms, ${waits.length} events, ${lost} lost, ${(cost / 1000).toFixed(2)} ms of the processor for a write; load ${loadavg()[0].toFixed(1)}`,
  )
  await rm(folder, { recursive: true, force: true })
}
agent.destroy()
process.exitCode = isGood ? 0 : 1
