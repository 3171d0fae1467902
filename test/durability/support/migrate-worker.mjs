/** A process of its own that migrates with the built package. It takes tasks as `worker.mjs` does. */
import { createInterface } from 'node:readline'
import { migrateCollections } from '../../../dist/migrate.js'
import { createPostgresAdapter } from '../../../dist/postgres.js'
import { createSqliteAdapter } from '../../../dist/sqlite.js'

const adapters = { sqlite: createSqliteAdapter, postgres: createPostgresAdapter }

/** Resolves when a line has left this process: what is still on its way would be lost with it. */
const print = (line) => new Promise((resolve) => process.stdout.write(`${line}\n`, resolve))

/** Adds one to `n` of each document, and makes a document that says so. */
const addOne = (name) => ({
  collections: {
    things: ({ _id, n }) => ({
      set: { n: n + 1 },
      also: [{ in: 'logs', document: { of: _id, by: name } }],
    }),
  },
})

/** Runs what a configuration needs, and tells of each write. */
async function migrate({ config, store: { engine, options } }) {
  const adapter = adapters[engine](options)
  const { steps } = await migrateCollections(config, adapter, {
    migrations: Object.fromEntries(config.migrations.map((name) => [name, addOne(name)])),
    onProgress: ({ name, done }) => void print(`at ${name} ${done}`),
  })
  await adapter.close()
  return steps
}

createInterface({ input: process.stdin }).on('line', async (line) => {
  const task = JSON.parse(line)
  try {
    await print(`done ${task.id} ${JSON.stringify(await migrate(task))}`)
  } catch (thrown) {
    await print(`failed ${task.id} ${JSON.stringify(String(thrown?.stack))}`)
  }
})
