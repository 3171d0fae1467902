/** Serves a million small documents from one storage, and tells its parent what it does and how much memory it takes. */
import { createServer } from 'node:http'
import { createCollectionService, createMemoryAdapter } from '../../dist/index.js'
import { toNodeHandler } from '../../dist/node.js'
import { createPostgresAdapter } from '../../dist/postgres.js'
import { createSqliteAdapter } from '../../dist/sqlite.js'

const [kind, place, size] = process.argv.slice(2)
const STEPS = 2000

const create = {
  memory: () => createMemoryAdapter(),
  sqlite: () => createSqliteAdapter({ file: place }),
  postgres: () => createPostgresAdapter({ connectionString: process.env.DATABASE_URL, schema: place }),
}

const adapter = create[kind]()
let batches = 0
const counted = {
  ...adapter,
  list: (...query) => {
    batches += 1
    return adapter.list(...query)
  },
}
const config = {
  collections: { docs: { schema: { n: { type: 'integer' } }, permissions: { '*': { read: true } } } },
}
const handler = createCollectionService(config, counted)
await handler.ready()
for (let i = 0; i < Number(size); i += STEPS) {
  const steps = Array.from({ length: Math.min(STEPS, Number(size) - i) }, (_, j) => ({
    in: 'docs',
    insert: { _id: `0199b0f0-0000-7000-8000-${String(i + j).padStart(12, '0')}`, _version: 1, n: i + j },
  }))
  const { ok } = await adapter.write(steps, {})
  if (!ok) throw new Error('the documents could not be stored')
}
const server = createServer(toNodeHandler(handler))
server.listen(0, '127.0.0.1', () => process.send({ port: server.address().port }))
process.on('message', () => process.send({ rss: process.memoryUsage().rss, batches }))
process.on('disconnect', () => process.exit())
