/** Serves the documents of `aggregates.mjs` from one storage, and measures requests in this process. */
import { createServer } from 'node:http'
import { createCollectionService, createMemoryAdapter } from '../../dist/index.js'
import { toNodeHandler } from '../../dist/node.js'
import { createPostgresAdapter } from '../../dist/postgres.js'
import { createSqliteAdapter } from '../../dist/sqlite.js'

const [kind, place, orders] = process.argv.slice(2)

const adapter = {
  memory: () => createMemoryAdapter(),
  sqlite: () => createSqliteAdapter({ file: place }),
  postgres: () => createPostgresAdapter({ connectionString: process.env.DATABASE_URL, schema: place }),
}[kind]()

const open = { '*': { read: true, create: true, update: true } }
const config = {
  collections: {
    orders: {
      schema: {
        status: { type: 'string', index: true },
        kind: { type: 'string' },
        amount: { type: 'number' },
        note: { type: 'string' },
      },
      permissions: open,
    },
    counters: { schema: { n: { type: 'integer', index: true } }, permissions: open },
  },
}
const handler = createCollectionService(config, adapter, {
  production: false,
  logger: { warn() {}, error() {} },
})
await handler.ready()
const now = new Date().toISOString()
const system = { createdAt: now, updatedAt: now, createdBy: null, _version: 1 }
for (let i = 0; i < Number(orders); i += 1000) {
  const steps = Array.from({ length: Math.min(1000, Number(orders) - i) }, (_, j) => {
    const n = i + j
    const insert = {
      _id: `0199b0f0-0000-7000-8000-${String(n).padStart(12, '0')}`,
      status: `status ${(n * 7919) % 100}`,
      kind: `kind ${(n * 104_729) % 20}`,
      amount: ((n * 31) % 100_000) / 100,
      note: `the note of order ${n}`,
      ...system,
    }
    return { in: 'orders', insert }
  })
  const { ok } = await adapter.write(steps, {})
  if (!ok) throw new Error('the documents could not be stored')
}
const server = createServer(toNodeHandler(handler))
server.listen(0, '127.0.0.1', () => process.send({ port: server.address().port }))
process.on('disconnect', () => process.exit())
process.on('message', async ({ path, times }) => {
  const took = []
  for (let i = 0; i < times; i++) {
    const begun = performance.now()
    const response = await handler(new Request(`http://service.test${path}`))
    await response.text()
    took.push(performance.now() - begun)
    if (response.status !== 200) throw new Error(`${path}: ${response.status}`)
  }
  process.send({ took })
})
