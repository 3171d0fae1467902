// Documents in PostgreSQL, for any number of processes. To run it:
// npm install pg && DATABASE_URL=postgres://localhost/app PORT=3000 npx tsx postgres.ts
import { createServer } from 'node:http'
import { createCollectionService } from 'collection-service'
import { createWorkerHasher, toNodeHandler } from 'collection-service/node'
import { createPostgresAdapter } from 'collection-service/postgres'
import config from './config.json' with { type: 'json' }

const connectionString = process.env.DATABASE_URL ?? 'postgres://localhost/app'

// Tables and indexes that are missing are made, in a schema of their own. Secrets are hashed in threads.
export const service = createCollectionService(config, createPostgresAdapter({ connectionString }), {
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
    server.closeIdleConnections()
  })
}
