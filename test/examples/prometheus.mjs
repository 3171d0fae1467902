/** Runs in a folder with the example and prom-client: asks for some things, and prints the metrics that came of it. */
const { registry, service } = await import('./prometheus-example.ts')
await service.ready()

const invented = Array.from({ length: 50 }, (_, i) => ['GET', `/invented-${i}`])
for (const [method, path] of [
  ['GET', '/articles?q[title]=secret'],
  ['POST', '/articles'],
  ['GET', '/articles/0189abcd-0000-7000-8000-000000000001'],
  ['BREW', '/articles'],
  ...invented,
])
  await (await service(new Request(`http://localhost${path}`, { method }))).text()
await new Promise((resolve) => setImmediate(resolve))
console.log(await registry.metrics())
process.exit(0)
