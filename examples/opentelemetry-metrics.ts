// Measures requests, calls of the storage and health with OpenTelemetry, under the names of its conventions. To run it,
// beside what your exporter needs: PORT=3000 npx tsx --import ./instrumentation.ts opentelemetry-metrics.ts
import { createServer } from 'node:http'
import { metrics } from '@opentelemetry/api'
import { createCollectionService, type Observe } from 'collection-service'
import { createWorkerHasher, toNodeHandler } from 'collection-service/node'
import config from './config.json' with { type: 'json' }

const meter = metrics.getMeter('collection-service')

const SECONDS = {
  unit: 's',
  advice: { explicitBucketBoundaries: [0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10] },
}
const requests = meter.createHistogram('http.server.request.duration', SECONDS)
const calls = meter.createHistogram('db.client.operation.duration', SECONDS)
const streams = meter.createCounter('collection_service.streams.ended')

/** The sender of a request can invent methods: each would make time series of its own. */
const METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']

export const observe: Observe = ({ operation, method, route, status, code, milliseconds, storage }) => {
  const attributes = {
    'http.request.method': METHODS.includes(method) ? method : '_OTHER',
    'http.response.status_code': status,
    ...(route === null ? {} : { 'http.route': route }),
    ...(code === undefined ? {} : { 'error.type': code }),
  }
  // A stream of changes lasts as long as its client listens, so it has no duration.
  if (operation === 'changes') streams.add(1, attributes)
  else requests.record(milliseconds / 1000, attributes)
  for (const call of storage)
    calls.record(call.milliseconds / 1000, {
      'db.system.name': call.system,
      'db.operation.name': call.operation,
      'db.collection.name': call.collection,
      ...(call.error === undefined ? {} : { 'error.type': call.error }),
    })
}

export const service = createCollectionService(config, undefined, { observe, hasher: createWorkerHasher() })

// Asks the storage at most once a second, however often it is called.
meter.createObservableGauge('collection_service.check.ok').addCallback(async (result) => {
  for (const { name, status } of (await service.health()).checks)
    result.observe(status === 'ok' ? 1 : 0, { check: name })
})

const { PORT } = process.env
if (PORT !== undefined) createServer(toNodeHandler(service)).listen(Number(PORT))
