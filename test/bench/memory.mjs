/**
 * The heap that a million tasks take in memory, stored by the adapter and through a service, beside the same tasks as parsed
 * objects in a Map by `_id` with one sorted array for each index. Each of the three has a process of its own; all indexes are
 * in order when it measures. `SIZE=100000` asks for less.
 */
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { createCollectionService, createMemoryAdapter } from '../../dist/index.js'
import { config } from './real/ours.mjs'
import { createWorld } from './real/world.mjs'

const SIZE = Number(process.env.SIZE ?? 1_000_000)
/** The tasks of one write. */
const MANY = 500
/** By the ratio to the plain objects. */
const GOAL = 1.6
const MEBIBYTE = 2 ** 20

const ID = { path: '_id', type: 'string', each: false }
const EVERYTHING = { kind: 'and', filters: [] }
const time = '2026-01-01T00:00:00.000Z'
const stamps = { createdAt: time, updatedAt: time, createdBy: null }

/** The texts of the tasks as they are stored, some at a time; the world goes as they come. */
function* createTexts() {
  const { tasks } = createWorld(SIZE)
  for (let i = 0; i < SIZE; i += MANY) {
    yield tasks.slice(i, i + MANY).map((task, place) => {
      // As large as the service draws them.
      const _version = (i + place + 1) * 3_000_000_019
      return JSON.stringify({ ...task, updatedAt: task.createdAt, createdBy: null, _version })
    })
    tasks.fill(undefined, i, i + MANY)
  }
}

/** An adapter over which a service has opened, and the fields of each index of the tasks. */
async function open(collections) {
  const adapter = createMemoryAdapter()
  let indexes = []
  const watched = Object.create(adapter, {
    open: {
      value(plans) {
        indexes = plans.find(({ name }) => name === 'tasks').indexes.map(({ fields }) => [...fields, ID])
        return adapter.open(plans)
      },
    },
  })
  const logger = { info() {}, warn() {}, error: console.error }
  const all = { ...config, collections, limits: { bulk: MANY } }
  const service = createCollectionService(all, watched, { logger })
  await service.ready()
  /** Asks for the first of each index, which puts in order what has come since the last time. */
  const settle = async () => {
    for (const fields of indexes) {
      const sort = fields.map((field) => ({ field, descending: false }))
      await adapter.list('tasks', { filter: EVERYTHING, sort, skip: 0, limit: 1 })
    }
  }
  return { adapter, service, indexes, settle }
}

async function insert(adapter, name, documents) {
  const steps = documents.map((document) => ({ in: name, insert: document }))
  const { ok } = await adapter.write(steps, {})
  if (!ok) throw new Error('the documents could not be stored')
}

const compareBy = (fields) => (a, b) => {
  for (const { path } of fields) if (a[path] !== b[path]) return a[path] < b[path] ? -1 : 1
  return 0
}

/** Each opens, and gives what fills it. */
const WAYS = {
  async plain() {
    const { indexes } = await open(config.collections)
    const documents = new Map()
    const arrays = []
    return {
      held: { documents, arrays },
      fill() {
        for (const texts of createTexts())
          for (const document of texts.map((text) => JSON.parse(text))) documents.set(document._id, document)
        for (const fields of indexes) arrays.push(Array.from(documents.values()).sort(compareBy(fields)))
      },
    }
  },
  async adapter() {
    const { adapter, settle } = await open(config.collections)
    return {
      held: adapter,
      async fill() {
        for (const texts of createTexts())
          await insert(
            adapter,
            'tasks',
            texts.map((text) => JSON.parse(text)),
          )
        await settle()
      },
    }
  },
  async service() {
    const permissions = { '*': { create: true, read: true } }
    const collections = Object.entries(config.collections).map(([name, one]) => [
      name,
      { ...one, permissions },
    ])
    const { adapter, service, settle } = await open(Object.fromEntries(collections))
    const { teams, people } = createWorld(0)
    const stamped = (document) => ({ ...document, ...stamps, _version: 1 })
    await insert(adapter, 'teams', teams.map(stamped))
    await insert(
      adapter,
      'users',
      people.map(({ _id, email }) => stamped({ _id, email, password: '' })),
    )
    return {
      held: service,
      async fill() {
        for (const texts of createTexts()) await createTasks(service, texts)
        await settle()
      },
    }
  },
}

async function createTasks(service, texts) {
  const documents = texts.map((text) => {
    const { _id, createdAt, updatedAt, createdBy, _version, ...task } = JSON.parse(text)
    return task
  })
  const body = JSON.stringify({ documents })
  const headers = { 'content-type': 'application/json' }
  const answer = await service(new Request('http://localhost/tasks/bulk', { method: 'POST', body, headers }))
  const text = await answer.text()
  if (answer.status !== 201) throw new Error(text)
}

async function readHeap() {
  // Again, for what finalizers let go of.
  for (let i = 0; i < 5; i++) {
    await new Promise((resolve) => setImmediate(resolve))
    global.gc()
  }
  return process.memoryUsage().heapUsed
}

async function measure(way) {
  const { held, fill } = await WAYS[way]()
  const before = await readHeap()
  const begun = process.cpuUsage()
  await fill()
  const { user, system } = process.cpuUsage(begun)
  const heap = (await readHeap()) - before
  process.send({ heap, seconds: (user + system) / 1_000_000, what: typeof held })
  process.disconnect()
}

async function run(way) {
  const execArgv = ['--expose-gc', '--max-old-space-size=8192']
  const child = fork(import.meta.filename, ['measure', way], { execArgv })
  const ended = once(child, 'exit').then(([code]) => {
    throw new Error(`${way} ended with ${code} before it told anything`)
  })
  ended.catch(() => {})
  const [told] = await Promise.race([once(child, 'message'), ended])
  return told
}

const [command, way] = process.argv.slice(2)
if (command === 'measure') await measure(way)
else {
  let plain = Number.NaN
  for (const name of Object.keys(WAYS)) {
    const { heap, seconds } = await run(name)
    if (name === 'plain') plain = heap
    const ratio = heap / plain
    const cells = [`${(heap / SIZE).toFixed(0)} bytes a task`, `${(heap / MEBIBYTE).toFixed(0)} MiB`]
    if (name !== 'plain') cells.push(`${ratio.toFixed(2)} × of plain (at most ${GOAL})`)
    console.log(`${name.padEnd(8)} ${cells.join(', ')}; filled in ${seconds.toFixed(1)} s of the processor`)
    if (ratio > GOAL) process.exitCode = 1
  }
}
