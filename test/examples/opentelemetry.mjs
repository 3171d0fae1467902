/** Runs in a folder with the example and OpenTelemetry: asks for some things, and prints the spans that came of it. */
import { context, trace } from '@opentelemetry/api'
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks'
import { BasicTracerProvider, InMemorySpanExporter, SimpleSpanProcessor } from '@opentelemetry/sdk-trace-base'

const exporter = new InMemorySpanExporter()
trace.setGlobalTracerProvider(
  new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(exporter)] }),
)
context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable())

const { service } = await import('./opentelemetry-example.ts')
await service.ready()

const tracer = trace.getTracer('test')
await tracer.startActiveSpan('proxy', async (span) => {
  for (const [method, path] of [
    ['GET', '/articles?q[title]=secret'],
    ['POST', '/articles'],
    ['BREW', '/nowhere'],
  ])
    await (await service(new Request(`http://localhost${path}`, { method }))).text()
  span.end()
})
// The proxy's, one for each request, and one for the call of the storage.
while (exporter.getFinishedSpans().length < 5) await new Promise((resolve) => setImmediate(resolve))

const spans = exporter.getFinishedSpans()
const nameOf = (id) => spans.find((span) => span.spanContext().spanId === id)?.name
console.log(
  JSON.stringify(
    spans
      .map(({ name, kind, status, attributes, parentSpanContext }) => {
        const { 'collection_service.request_id': id, ...shown } = attributes
        return {
          name,
          kind,
          status: status.code,
          parent: nameOf(parentSpanContext?.spanId),
          hasId: id !== undefined,
          shown,
        }
      })
      .filter(({ name }) => name !== 'proxy'),
  ),
)
process.exit(0)
