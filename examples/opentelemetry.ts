// Makes spans of OpenTelemetry: one for each request, and one for each call of the storage within it. To run it, beside
// what your exporter needs: PORT=3000 npx tsx --import ./instrumentation.ts opentelemetry.ts
import { createServer } from 'node:http'
import { context, SpanKind, SpanStatusCode, trace } from '@opentelemetry/api'
import { createCollectionService, type Observe } from 'collection-service'
import { createWorkerHasher, toNodeHandler } from 'collection-service/node'
import config from './config.json' with { type: 'json' }

const tracer = trace.getTracer('collection-service')

/** The sender of a request can invent methods: each would be a name of its own. */
const METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']

/** Called in the context of the request: its span is a child of what was active there, as of a proxy's. */
export const observe: Observe = ({
  method: sent,
  route,
  status,
  code,
  startedAt,
  milliseconds,
  ...event
}) => {
  const method = METHODS.includes(sent) ? sent : '_OTHER'
  const span = tracer.startSpan(
    `${method === '_OTHER' ? 'HTTP' : method}${route === null ? '' : ` ${route}`}`,
    {
      kind: SpanKind.SERVER,
      startTime: startedAt,
      attributes: {
        'http.request.method': method,
        ...(route === null ? {} : { 'http.route': route }),
        'http.response.status_code': status,
        ...(code === undefined ? {} : { 'error.type': code }),
        'collection_service.request_id': event.requestId,
      },
    },
  )
  // What a client did wrong is not an error of the server.
  if (status >= 500) span.setStatus({ code: SpanStatusCode.ERROR })
  const within = trace.setSpan(context.active(), span)
  for (const { system, operation, collection, error, ...call } of event.storage) {
    const attributes = {
      'db.system.name': system,
      'db.operation.name': operation,
      'db.collection.name': collection,
      ...(error === undefined ? {} : { 'error.type': error }),
    }
    const { startedAt: startTime, milliseconds: duration } = call
    const inner = tracer.startSpan(
      `${operation} ${collection}`,
      { kind: SpanKind.CLIENT, startTime, attributes },
      within,
    )
    if (error !== undefined) inner.setStatus({ code: SpanStatusCode.ERROR })
    inner.end(startTime + duration)
  }
  span.end(startedAt + milliseconds)
}

export const service = createCollectionService(config, undefined, { observe, hasher: createWorkerHasher() })

const { PORT } = process.env
if (PORT !== undefined) createServer(toNodeHandler(service)).listen(Number(PORT))
