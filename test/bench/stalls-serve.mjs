/** Serves the documents of the attacks from one storage, and tells its parent what memory it takes. */
import { createServer } from 'node:http'
import { createCollectionService, createMemoryAdapter } from '../../dist/index.js'
import { toNodeHandler } from '../../dist/node.js'
import { createPostgresAdapter } from '../../dist/postgres.js'
import { createSqliteAdapter } from '../../dist/sqlite.js'
import { config, documents } from './stalls-attacks.mjs'

const [kind, place, things] = process.argv.slice(2)

const adapter = {
  memory: () => createMemoryAdapter(),
  sqlite: () => createSqliteAdapter({ file: place }),
  postgres: () => createPostgresAdapter({ connectionString: process.env.DATABASE_URL, schema: place }),
}[kind]()

const handler = createCollectionService(config, adapter, {
  production: false,
  logger: { warn() {}, error() {} },
})
await handler.ready()
const { total } = await (await handler(new Request('http://localhost/small/count'))).json()
let steps = []
let bytes = 0
const flush = async () => {
  const { ok } = steps.length > 0 ? await adapter.write(steps, {}) : { ok: true }
  if (!ok) throw new Error('the documents could not be stored')
  steps = []
  bytes = 0
}
const now = new Date().toISOString()
const system = { createdAt: now, updatedAt: now, createdBy: null, _version: 1 }
for (const [name, document] of total > 0 ? [] : documents(Number(things))) {
  steps.push({ in: name, insert: { ...document, ...system } })
  bytes += 300 + (document.text?.length ?? 0)
  if (bytes > 1_000_000) await flush()
}
await flush()
const server = createServer(toNodeHandler(handler))
server.listen(0, '127.0.0.1', () => process.send({ port: server.address().port }))
process.on('message', (command) => {
  if (command === 'collect') globalThis.gc?.()
  process.send({ rss: process.memoryUsage().rss })
})
process.on('disconnect', () => process.exit())
