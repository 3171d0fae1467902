/**
 * Runs the kit of adapters on libSQL: node --expose-gc libsql-kit.mjs FOLDER file|http. FOLDER has installed
 * `@libsql/client`. With `http`, the client speaks the protocol of servers.
 */
import { copyFile, mkdtemp, rm } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createLibsqlAdapter } from 'collection-service/libsql'
import { createFetch } from './libsql-server.mjs'
import { runKit } from './run-kit.mjs'

const [packages, how] = process.argv.slice(2)
const require = createRequire(join(packages, 'package.json'))
const { createClient } = require('@libsql/client')
const Database = require('libsql')

/** An adapter that also closes its client, and opens it again. */
function connect(options) {
  const client = createClient(options)
  const adapter = createLibsqlAdapter(client)
  return {
    ...adapter,
    async open(plans) {
      if (client.closed) await client.reconnect()
      await adapter.open(plans)
    },
    async close() {
      await adapter.close()
      client.close()
      // The package closes a file only when the statements of its connections are garbage.
      globalThis.gc()
      await new Promise((resolve) => setImmediate(resolve))
    },
  }
}

async function createFile() {
  const folder = await mkdtemp(join(tmpdir(), 'collection-service-libsql-'))
  const file = join(folder, 'data.db')
  return {
    connect: () => connect({ url: `file:${file}` }),
    async backUp() {
      await copyFile(file, `${file}.backup`)
      return () => copyFile(`${file}.backup`, file)
    },
    destroy: () => rm(folder, { recursive: true, force: true }),
  }
}

async function createServer() {
  const connection = new Database(':memory:')
  const fetch = createFetch(connection)
  return {
    connect: () => connect({ url: 'http://sqld.test', fetch }),
    destroy: async () => connection.close(),
  }
}

await runKit(how === 'http' ? createServer : createFile)
