/** Serves a collection whose changes are followed, from one storage, and tells its parent what time of the processor it has taken. */
import { createServer } from 'node:http'
import { createCollectionService, createMemoryAdapter } from '../../dist/index.js'
import { toNodeHandler } from '../../dist/node.js'
import { createPostgresAdapter } from '../../dist/postgres.js'
import { createSqliteAdapter } from '../../dist/sqlite.js'

const [kind, place, subscribers] = process.argv.slice(2)

const adapter = {
  memory: () => createMemoryAdapter(),
  sqlite: () => createSqliteAdapter({ file: place }),
  postgres: () => createPostgresAdapter({ connectionString: process.env.DATABASE_URL, schema: place }),
}[kind]()

const config = {
  collections: {
    notes: {
      changes: true,
      schema: {
        group: { type: 'integer', required: true, index: true },
        n: { type: 'integer', required: true },
        text: { type: 'string' },
      },
      permissions: { '*': { read: true, create: true, update: true } },
    },
  },
  // All of them come from one address, which may have a tenth.
  limits: { subscribers: Number(subscribers) * 10 },
}
const handler = createCollectionService(config, adapter, { logger: { warn() {}, error: console.error } })
await handler.ready()
const server = createServer(toNodeHandler(handler))
// A connection for writes may rest for long.
server.keepAliveTimeout = 60_000
server.listen(0, '127.0.0.1', 2000, () => process.send({ port: server.address().port }))
process.on('message', () => {
  const { user, system } = process.cpuUsage()
  process.send({ microseconds: user + system })
})
process.on('disconnect', () => process.exit())
