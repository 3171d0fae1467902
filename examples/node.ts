// The service as a server of its own, on node:http alone. To run it: PORT=3000 npx tsx node.ts
import { createServer } from 'node:http'
import { createCollectionService, createMemoryAdapter } from 'collection-service'
import { toNodeHandler } from 'collection-service/node'
import config from './config.json' with { type: 'json' }
import documents from './documents.json' with { type: 'json' }

// In memory: documents last as long as the process, and these are there from the beginning.
const service = createCollectionService(config, createMemoryAdapter({ documents }))

export const server = createServer(toNodeHandler(service))

// Nobody is let in any more. Streams of changes end, and requests in flight, then the storage.
export async function stop(): Promise<void> {
  const closed = new Promise((resolve) => server.close(resolve))
  await service.close()
  server.closeIdleConnections()
  await closed
}

if (process.env.PORT !== undefined) {
  // A storage that cannot be opened, or a wrong document, is known now and not at the first request.
  await service.ready()
  server.listen(Number(process.env.PORT))
  process.once('SIGTERM', () => void stop())
}
