/** Serves the documents in one way, and tells its parent what time of the processor it has taken. */
import { mkdtemp } from 'node:fs/promises'
import { createServer } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createCollectionService, createMemoryAdapter } from '../../../dist/index.js'
import { toNodeHandler } from '../../../dist/node.js'
import { createPostgresAdapter } from '../../../dist/postgres.js'
import { createSqliteAdapter } from '../../../dist/sqlite.js'
import { createByHand, createFloor } from './by-hand.mjs'
import { config, createDocuments } from './workloads.mjs'

const [way, size] = process.argv.slice(2)
const documents = createDocuments(Number(size))
const few = createDocuments(1000)

const adapters = {
  memory: () => createMemoryAdapter(),
  fetch: () => createMemoryAdapter(),
  sqlite: async () => createSqliteAdapter({ file: join(await mkdtemp(join(tmpdir(), 'bench-')), 'data.db') }),
  postgres: () =>
    createPostgresAdapter({ connectionString: process.env.DATABASE_URL, schema: `bench_${process.pid}` }),
}

async function createOurs() {
  const adapter = await adapters[way]()
  const handler = createCollectionService(config, adapter, { logger: { warn() {}, error: console.error } })
  await handler.ready()
  const stored = [
    ['docs', documents],
    ['small', few],
  ]
  for (const [name, list] of stored) {
    for (let i = 0; i < list.length; i += 500) {
      const steps = list
        .slice(i, i + 500)
        .map((document) => ({ in: name, insert: { ...document, _version: 1 } }))
      const { ok } = await adapter.write(steps, {})
      if (!ok) throw new Error('the documents could not be stored')
    }
  }
  if (way !== 'fetch') return createServer(toNodeHandler(handler))
  return createServer(async (request, response) => {
    const chunks = []
    for await (const chunk of request) chunks.push(chunk)
    const body = request.method === 'POST' ? { body: Buffer.concat(chunks) } : {}
    const { method, headers, url } = request
    const answered = await handler(new Request(`http://localhost${url}`, { method, headers, ...body }))
    response.writeHead(answered.status, Object.fromEntries(answered.headers))
    response.end(Buffer.from(await answered.arrayBuffer()))
  })
}

const ways = { floor: () => createFloor(documents, few), hand: () => createByHand(documents, few) }
const server = await (ways[way] ?? createOurs)()
server.listen(0, '127.0.0.1', () => process.send({ port: server.address().port }))
process.on('message', () => {
  const { user, system } = process.cpuUsage()
  process.send({ microseconds: user + system })
})
process.on('disconnect', () => process.exit())
