// The service as a server of its own, on node:http alone. To run it: PORT=3000 npx tsx node.ts
import { createServer } from 'node:http'
import { setTimeout } from 'node:timers/promises'
import { createCollectionService, createMemoryAdapter } from 'collection-service'
import { toNodeHandler } from 'collection-service/node'
import config from './config.json' with { type: 'json' }
import documents from './documents.json' with { type: 'json' }

// In memory: documents last as long as the process, and these are there from the beginning.
const service = createCollectionService(config, createMemoryAdapter({ documents }))

// Idle connections are kept longer than usual proxies keep them (60 s): if the server closed first, a request that is on
// its way would fail.
export const server = createServer({ keepAliveTimeout: 75_000 }, toNodeHandler(service))

// For `seconds`, the service answers requests but is not ready, so that a proxy sends its requests elsewhere. Then no
// connection is accepted, requests in flight and streams of changes end, and the storage is closed.
export async function stop(seconds: number): Promise<void> {
  service.drain()
  // Connections end with their answers, so that a proxy sends no request on one that the server closes.
  server.prependListener('request', (_, response) => response.setHeader('connection', 'close'))
  await setTimeout(seconds * 1000)
  const closed = new Promise((resolve) => server.close(resolve))
  await service.close()
  // A client may hold a connection open: by a part of a request, or because it does not read.
  await Promise.race([closed, setTimeout(5000, undefined, { ref: false })])
  server.closeAllConnections()
}

if (process.env.PORT !== undefined) {
  // A storage that cannot be opened, or a wrong document, is known now and not at the first request.
  await service.ready()
  server.listen(Number(process.env.PORT))
  process.once('SIGTERM', () => void stop(5))
}
