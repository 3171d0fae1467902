/**
 * What a hundred creates in one request cost, in a batch and in bulk, beside one create: by the processor's time, over memory,
 * with the handler called in process, and behind `node:http` with 32 connections, in a process of its own. The three take
 * turns, so that the state of the machine is the same for all. `ROUNDS=3` and `SIZE=1000` ask for less.
 */
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { Agent, createServer, request as send } from 'node:http'
import { createCollectionService, createMemoryAdapter } from '../../dist/index.js'
import { toNodeHandler } from '../../dist/node.js'
import { config, createDocuments } from './requests/workloads.mjs'

const ROUNDS = Number(process.env.ROUNDS ?? 9)
const SIZE = Number(process.env.SIZE ?? 10_000)
const MANY = 100
/** The requests of a round, so that each of the three creates as many documents. */
const REQUESTS = 5

/** By the ratio to one create: the most that a hundred may cost. */
const GOALS = { batch: 20, bulk: 15 }

const { docs } = config.collections
const list = { type: 'array', items: { type: 'string', maxLength: 50 } }
const inside = { type: 'object', properties: { street: { type: 'string' }, rooms: { ...list } } }

/** The kinds of documents: only single values, and lists and objects in them. */
const KINDS = {
  flat: { collection: docs, more: {} },
  'with lists': {
    collection: { ...docs, schema: { ...docs.schema, tags: { ...list, default: [] }, place: inside } },
    more: { tags: ['amber', 'basin', 'cedar'], place: { street: 'a street', rooms: ['one', 'two'] } },
  },
}

const median = (numbers) => [...numbers].sort((x, y) => x - y)[Math.floor(numbers.length / 2)] ?? Number.NaN

let created = 0
const createBody = (more) => {
  created += 1
  const email = `new${created}@example.com`
  return { title: `new ${created}`, n: created, group: created % 100, email, body: 'x'.repeat(200), ...more }
}

async function open(collection) {
  const options = { logger: { info() {}, warn() {}, error: console.error }, production: false }
  const adapter = createMemoryAdapter({ documents: { docs: createDocuments(SIZE).map(readBody) } })
  const handler = createCollectionService(
    { collections: { docs: collection }, limits: { bulk: MANY } },
    adapter,
    options,
  )
  await handler.ready()
  return handler
}

const readBody = ({ title, n, group, email, body }) => ({ title, n, group, email, body })

/** By name: the requests of a round. */
const WAYS = {
  one: (bodies) => bodies.map((body) => ['/docs', body]),
  batch: (bodies) =>
    cut(bodies).map((some) => [
      '/_batch',
      { operations: some.map((body) => ({ method: 'POST', path: '/docs', body })) },
    ]),
  bulk: (bodies) => cut(bodies).map((documents) => ['/docs/bulk', { documents }]),
}

const cut = (bodies) => Array.from({ length: REQUESTS }, (_, i) => bodies.slice(i * MANY, (i + 1) * MANY))

/** A round of requests of one kind: their paths and bodies. */
const roundOf = (way, more) => WAYS[way](Array.from({ length: MANY * REQUESTS }, () => createBody(more)))

const HEADERS = { 'content-type': 'application/json' }
const microseconds = ({ user, system }) => user + system

/** The microseconds of a request to a handler in this process. */
async function measureHere(handler, sent) {
  const requests = sent.map(
    ([path, body]) =>
      new Request(`http://localhost${path}`, {
        method: 'POST',
        body: JSON.stringify(body),
        headers: HEADERS,
      }),
  )
  const before = process.cpuUsage()
  for (const request of requests) {
    const answer = await handler(request)
    if (answer.status >= 300) throw new Error(`${request.url}: ${await answer.text()}`)
    await answer.arrayBuffer()
  }
  return microseconds(process.cpuUsage(before)) / requests.length
}

const CONNECTIONS = 32
const agent = new Agent({ keepAlive: true, maxSockets: CONNECTIONS })

async function post(port, [path, body]) {
  const sent = send({ port, path, method: 'POST', agent, headers: HEADERS }).end(JSON.stringify(body))
  const [answer] = await once(sent, 'response')
  answer.resume()
  await once(answer, 'end')
  if (answer.statusCode >= 300) throw new Error(`${path}: ${answer.statusCode}`)
}

/** The microseconds of a request in the process of a server. */
async function measureThere({ child, port }, sent) {
  const ask = async () => {
    const told = once(child, 'message')
    child.send('time')
    return microseconds((await told)[0])
  }
  const before = await ask()
  const left = [...sent]
  const goOn = async () => {
    for (let next = left.pop(); next; next = left.pop()) await post(port, next)
  }
  await Promise.all(Array.from({ length: CONNECTIONS }, goOn))
  return ((await ask()) - before) / sent.length
}

/** Serves a kind of documents, and tells the time that it took of the processor. */
async function serve(kind) {
  const server = createServer(toNodeHandler(await open(KINDS[kind].collection)))
  server.listen(0, '127.0.0.1', () => process.send({ port: server.address().port }))
  process.on('message', () => process.send(process.cpuUsage()))
}

async function report(what, measure) {
  const rounds = []
  // The first rounds only let the engine learn the code.
  for (let i = -3; i < ROUNDS; i++) {
    const round = {}
    for (const way of Object.keys(WAYS)) round[way] = await measure(way)
    if (i >= 0) rounds.push(round)
  }
  const one = median(rounds.map((round) => round.one))
  const cells = Object.entries(GOALS).map(([way, goal]) => {
    const ratio = median(rounds.map((round) => round[way] / round.one))
    return `${way} of ${MANY} ${ratio.toFixed(1)} × (at most ${goal})`
  })
  console.log(`${what}: one create ${one.toFixed(0)} µs, ${cells.join(', ')}`)
}

async function measureKind(kind, { collection, more }) {
  const handler = await open(collection)
  await report(`${kind}, in process`, (way) => measureHere(handler, roundOf(way, more)))
  await handler.close()
  const child = fork(import.meta.filename, ['serve', kind])
  const [{ port }] = await once(child, 'message')
  await report(`${kind}, behind node:http`, (way) => measureThere({ child, port }, roundOf(way, more)))
  child.kill()
}

const [command, kind] = process.argv.slice(2)
if (command === 'serve') await serve(kind)
else {
  for (const [name, one] of Object.entries(KINDS)) await measureKind(name, one)
  agent.destroy()
}
