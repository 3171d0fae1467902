// The service as a server of its own, on node:http alone. To run it: PORT=3000 npx tsx node.ts
import { createServer } from 'node:http'
import { createCollectionService, createMemoryAdapter } from 'collection-service'
import { toNodeHandler } from 'collection-service/node'
import config from './config.json' with { type: 'json' }
import documents from './documents.json' with { type: 'json' }

// In memory: documents last as long as the process, and these are there from the beginning.
const service = createCollectionService(config, createMemoryAdapter({ documents }))

export const server = createServer(toNodeHandler(service))

// Requests in flight end first, then the storage.
export async function stop(): Promise<void> {
  server.closeIdleConnections()
  await new Promise((resolve) => server.close(resolve))
  await service.close()
}

if (process.env.PORT !== undefined) {
  // A storage that cannot be opened, or a wrong document, is known now and not at the first request.
  await service.ready()
  server.listen(Number(process.env.PORT))
  process.once('SIGTERM', () => void stop())
}
