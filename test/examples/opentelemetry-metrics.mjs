/** Runs in a folder with the example and OpenTelemetry: asks for some things, and prints the metrics that came of it. */
import { metrics } from '@opentelemetry/api'
import {
  AggregationTemporality,
  InMemoryMetricExporter,
  MeterProvider,
  PeriodicExportingMetricReader,
} from '@opentelemetry/sdk-metrics'

const exporter = new InMemoryMetricExporter(AggregationTemporality.CUMULATIVE)
const reader = new PeriodicExportingMetricReader({ exporter })
metrics.setGlobalMeterProvider(new MeterProvider({ readers: [reader] }))

const { service } = await import('./opentelemetry-metrics-example.ts')
await service.ready()

const invented = Array.from({ length: 50 }, (_, i) => [`BREW${i}`, `/invented-${i}`])
for (const [method, path] of [
  ['GET', '/articles?q[title]=secret'],
  ['POST', '/articles'],
  ['GET', '/articles/0189abcd-0000-7000-8000-000000000001'],
  ...invented,
])
  await (await service(new Request(`http://localhost${path}`, { method }))).text()
await new Promise((resolve) => setImmediate(resolve))
await reader.forceFlush()

const [{ scopeMetrics }] = exporter.getMetrics()
const points = scopeMetrics.flatMap(({ metrics: all }) =>
  all.flatMap(({ descriptor, dataPoints }) =>
    dataPoints.map(({ attributes, value }) => [descriptor.name, attributes, value.count ?? value]),
  ),
)
console.log(JSON.stringify(points))
process.exit(0)
