/**
 * What a create, an update and a delete cost in a collection that keeps its changes, beside one that does not: by the
 * processor's time of this process, with the handler called in process, on every storage. The two take turns, so that the
 * state of the machine is the same for both. `STORAGES=memory,sqlite`, `ROUNDS=5` and `AT_ONCE=16` ask for something else.
 */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createCollectionService, createMemoryAdapter } from '../../dist/index.js'
import { createPostgresAdapter } from '../../dist/postgres.js'
import { createSqliteAdapter } from '../../dist/sqlite.js'
import { config } from './requests/workloads.mjs'

const STORAGES = (process.env.STORAGES ?? 'memory,sqlite,postgres').split(',')
const ROUNDS = Number(process.env.ROUNDS ?? 15)
const AT_ONCE = Number(process.env.AT_ONCE ?? 1)
/** The requests of a round. */
const REQUESTS = 200
/** By the ratio to the same without a log. */
const GOAL = 1.3

const permissions = { '*': { read: true, create: true, update: true, delete: true } }
const docs = { ...config.collections.docs, permissions }
const collections = { plain: docs, logged: { ...docs, changes: true } }

const median = (numbers) => [...numbers].sort((x, y) => x - y)[Math.floor(numbers.length / 2)] ?? Number.NaN

let created = 0
function createBody() {
  created += 1
  const email = `new${created}@example.com`
  return { title: `new ${created}`, n: created, group: created % 100, email, body: 'x'.repeat(200) }
}

const ask = (handler, [method, path, body]) =>
  handler(
    new Request(`http://localhost${path}`, {
      method,
      ...(body && { body: JSON.stringify(body), headers: { 'content-type': 'application/json' } }),
    }),
  )

/** The microseconds of a request, and the answers. */
async function measure(handler, requests) {
  const before = process.cpuUsage()
  const answers = []
  for (let i = 0; i < requests.length; i += AT_ONCE) {
    const some = requests.slice(i, i + AT_ONCE).map(async (request) => {
      const answer = await ask(handler, request)
      const text = await answer.text()
      if (answer.status >= 300) throw new Error(`${request.join(' ')}: ${text}`)
      return text
    })
    answers.push(...(await Promise.all(some)))
  }
  const { user, system } = process.cpuUsage(before)
  return { cost: (user + system) / requests.length, answers }
}

/** Creates, updates and deletes as many documents. */
async function runRound(handler, name) {
  const creates = Array.from({ length: REQUESTS }, () => ['POST', `/${name}`, createBody()])
  const create = await measure(handler, creates)
  const paths = create.answers.map((text) => `/${name}/${JSON.parse(text)._id}`)
  const update = await measure(
    handler,
    paths.map((path) => ['PATCH', path, { title: 'another title' }]),
  )
  const remove = await measure(
    handler,
    paths.map((path) => ['DELETE', path]),
  )
  return { create: create.cost, update: update.cost, delete: remove.cost }
}

function createAdapter(kind, folder) {
  if (kind === 'memory') return createMemoryAdapter()
  if (kind === 'sqlite') return createSqliteAdapter({ file: join(folder, 'data.db') })
  return createPostgresAdapter({
    connectionString: process.env.DATABASE_URL,
    schema: `logged_${process.pid}`,
  })
}

let isGood = true
for (const kind of STORAGES) {
  const folder = await mkdtemp(join(tmpdir(), 'collection-service-logged-'))
  const options = { logger: { info() {}, warn() {}, error: console.error }, production: false }
  const handler = createCollectionService({ collections }, createAdapter(kind, folder), options)
  await handler.ready()
  const rounds = []
  // The first rounds only let the engine learn the code.
  for (let i = -5; i < ROUNDS; i++) {
    const round = {}
    for (const name of i % 2 === 0 ? ['plain', 'logged'] : ['logged', 'plain'])
      round[name] = await runRound(handler, name)
    if (i >= 0) rounds.push(round)
  }
  const cells = ['create', 'update', 'delete'].map((what) => {
    const ratio = median(rounds.map(({ plain, logged }) => logged[what] / plain[what]))
    isGood &&= ratio <= GOAL
    const cost = (name) => median(rounds.map((round) => round[name][what])).toFixed(0)
    return `${what} ${cost('logged')} µs, ${ratio.toFixed(2)} × of ${cost('plain')} µs`
  })
  console.log(`${kind.padEnd(8)} ${cells.join(';  ')} (at most ${GOAL})`)
  await handler.close()
  await rm(folder, { recursive: true, force: true })
}
process.exitCode = isGood ? 0 : 1
