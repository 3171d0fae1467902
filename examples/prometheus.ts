// Measures requests and calls of the storage for Prometheus. The metrics are on a port of their own, because they are
// for operators only. To run it: npm install prom-client, then PORT=3000 METRICS_PORT=9464 npx tsx prometheus.ts
import { createServer } from 'node:http'
import { createCollectionService, type Observe } from 'collection-service'
import { createWorkerHasher, toNodeHandler } from 'collection-service/node'
import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client'
import config from './config.json' with { type: 'json' }

export const registry = new Registry()

// CPU, memory and the delay of the event loop of this process.
collectDefaultMetrics({ register: registry })

const buckets = [0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10]

// The values of all labels come from the configuration and the service: no client can add any. Never use a path, an id
// or `method`, which is as the client sent it.
const requests = new Histogram({
  name: 'collection_service_request_duration_seconds',
  help: 'Duration of requests until their last byte was sent',
  labelNames: ['operation', 'collection', 'status'],
  buckets,
  registers: [registry],
})

const streams = new Counter({
  name: 'collection_service_streams_ended_total',
  help: 'Streams of changes that have ended. They last as long as their clients listen, so they have no duration here',
  labelNames: ['collection', 'status'],
  registers: [registry],
})

const problems = new Counter({
  name: 'collection_service_problems_total',
  help: 'Error responses by code',
  labelNames: ['code'],
  registers: [registry],
})

const storage = new Histogram({
  name: 'collection_service_storage_duration_seconds',
  help: 'Duration of calls of the storage',
  labelNames: ['operation', 'collection', 'outcome'],
  buckets,
  registers: [registry],
})

export const observe: Observe = ({ operation, collection, status, code, milliseconds, storage: calls }) => {
  const labels = { collection: collection ?? 'none', status }
  if (operation === 'changes') streams.inc(labels)
  else requests.observe({ ...labels, operation: operation ?? 'none' }, milliseconds / 1000)
  if (code !== undefined) problems.inc({ code })
  for (const call of calls)
    storage.observe(
      { operation: call.operation, collection: call.collection, outcome: call.error ?? 'ok' },
      call.milliseconds / 1000,
    )
}

export const service = createCollectionService(config, undefined, { observe, hasher: createWorkerHasher() })

new Gauge({
  name: 'collection_service_check_ok',
  help: 'Whether a check of the health of the service is ok',
  labelNames: ['check'],
  registers: [registry],
  async collect() {
    // Asks the storage at most once a second, however often it is called.
    for (const { name, status } of (await service.health()).checks)
      this.set({ check: name }, status === 'ok' ? 1 : 0)
  },
})

const { PORT, METRICS_PORT } = process.env
if (PORT !== undefined) createServer(toNodeHandler(service)).listen(Number(PORT))
if (METRICS_PORT !== undefined)
  createServer(async (_, response) => {
    response.setHeader('content-type', registry.contentType).end(await registry.metrics())
  }).listen(Number(METRICS_PORT))
