/**
 * What a hundred creates in one request cost, in a batch and in bulk, beside one create: by the processor's time, over memory,
 * with the handler called in process. The three take turns, so that the state of the machine is the same for all.
 * `ROUNDS=3` and `SIZE=1000` ask for less.
 */
import { createCollectionService, createMemoryAdapter } from '../../dist/index.js'
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

/** The microseconds of a request. */
async function measure(handler, way, more) {
  const sent = WAYS[way](Array.from({ length: MANY * REQUESTS }, () => createBody(more)))
  const requests = sent.map(
    ([path, body]) =>
      new Request(`http://localhost${path}`, {
        method: 'POST',
        body: JSON.stringify(body),
        headers: { 'content-type': 'application/json' },
      }),
  )
  const before = process.cpuUsage()
  for (const request of requests) {
    const answer = await handler(request)
    if (answer.status >= 300) throw new Error(`${way}: ${await answer.text()}`)
    await answer.arrayBuffer()
  }
  const { user, system } = process.cpuUsage(before)
  return (user + system) / requests.length
}

for (const [kind, { collection, more }] of Object.entries(KINDS)) {
  const handler = await open(collection)
  const rounds = []
  // The first rounds only let the engine learn the code.
  for (let i = -3; i < ROUNDS; i++) {
    const round = {}
    for (const way of Object.keys(WAYS)) round[way] = await measure(handler, way, more)
    if (i >= 0) rounds.push(round)
  }
  const one = median(rounds.map((round) => round.one))
  const cells = Object.entries(GOALS).map(([way, goal]) => {
    const ratio = median(rounds.map((round) => round[way] / round.one))
    return `${way} of ${MANY} ${ratio.toFixed(1)} × (at most ${goal})`
  })
  console.log(`${kind}: one create ${one.toFixed(0)} µs, ${cells.join(', ')}`)
  await handler.close()
}
