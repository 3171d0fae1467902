// Documents in a file, which several processes may use. To run it, with Node 24: PORT=3000 npx tsx sqlite.ts
import { createServer } from 'node:http'
import { createCollectionService } from 'collection-service'
import { toNodeHandler } from 'collection-service/node'
import { createSqliteAdapter } from 'collection-service/sqlite'
import config from './config.json' with { type: 'json' }

export const service = createCollectionService(
  config,
  createSqliteAdapter({ file: process.env.DATA_FILE ?? 'data.db' }),
)

export const server = createServer(toNodeHandler(service))

if (process.env.PORT !== undefined) {
  // A file that cannot be opened is known now and not at the first request.
  await service.ready()
  server.listen(Number(process.env.PORT))
  process.once('SIGTERM', async () => {
    server.close()
    // Ends streams of changes too, for which the server waits.
    await service.close()
    server.closeIdleConnections()
  })
}
