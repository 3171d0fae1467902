// Documents in libSQL: a server such as sqld or Turso Cloud, for any number of processes, or a file. To run it:
// npm install @libsql/client && LIBSQL_URL=libsql://app.turso.io LIBSQL_TOKEN=… PORT=3000 npx tsx libsql.ts
import { createServer } from 'node:http'
import { createClient } from '@libsql/client'
import { createCollectionService } from 'collection-service'
import { createLibsqlAdapter } from 'collection-service/libsql'
import { createWorkerHasher, toNodeHandler } from 'collection-service/node'
import config from './config.json' with { type: 'json' }

const { LIBSQL_URL: url = 'file:data.db', LIBSQL_TOKEN: authToken } = process.env
const client = createClient(authToken === undefined ? { url } : { url, authToken })

// Tables and indexes that are missing are made. Secrets are hashed in threads.
export const service = createCollectionService(config, createLibsqlAdapter(client), {
  hasher: createWorkerHasher(),
})

export const server = createServer(toNodeHandler(service))

if (process.env.PORT !== undefined) {
  // A database that cannot be reached is known now and not at the first request.
  await service.ready()
  server.listen(Number(process.env.PORT))
  process.once('SIGTERM', async () => {
    server.close()
    // Ends streams of changes too, for which the server waits.
    await service.close()
    client.close()
    server.closeIdleConnections()
  })
}
