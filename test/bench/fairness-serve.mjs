/** Serves the documents of `fairness.mjs` from one storage. */
import { createServer } from 'node:http'
import { createCollectionService, createMemoryAdapter } from '../../dist/index.js'
import { toNodeHandler } from '../../dist/node.js'
import { createPostgresAdapter } from '../../dist/postgres.js'
import { createSqliteAdapter } from '../../dist/sqlite.js'

const [kind, place, things] = process.argv.slice(2)

const adapter = {
  memory: () => createMemoryAdapter(),
  sqlite: () => createSqliteAdapter({ file: place }),
  postgres: () => createPostgresAdapter({ connectionString: process.env.DATABASE_URL, schema: place }),
}[kind]()

const open = { '*': { read: true, create: true, update: true } }
const config = {
  collections: {
    things: { schema: { title: { type: 'string' }, n: { type: 'integer', index: true } }, permissions: open },
    counters: { schema: { n: { type: 'integer' } }, permissions: open },
    users: { schema: { email: { type: 'string', unique: true }, password: { type: 'hash' } } },
  },
}
const handler = createCollectionService(config, adapter, {
  production: false,
  logger: { warn() {}, error() {} },
})
await handler.ready()
const now = new Date().toISOString()
const system = { createdAt: now, updatedAt: now, createdBy: null, _version: 1 }
for (let i = 0; i < Number(things); i += 1000) {
  const steps = Array.from({ length: Math.min(1000, Number(things) - i) }, (_, j) => {
    const n = i + j
    const _id = `0199b0f0-0000-7000-8000-${String(n).padStart(12, '0')}`
    return { in: 'things', insert: { _id, title: `the title of number ${n} in this list`, n, ...system } }
  })
  const { ok } = await adapter.write(steps, {})
  if (!ok) throw new Error('the documents could not be stored')
}
const server = createServer(toNodeHandler(handler))
server.listen(0, '127.0.0.1', () => process.send({ port: server.address().port }))
process.on('disconnect', () => process.exit())
