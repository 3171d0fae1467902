/** Runs the scenarios in the runtime that runs this file, on the package that is installed beside it. */
import { createCollectionService, createMemoryAdapter } from 'collection-service'
import { createClient } from 'collection-service/client'
import { run } from './scenarios.mjs'

const { passed, failed, failures } = await run(createCollectionService, createMemoryAdapter, createClient)

/** Serves a handler with the runtime's own server, where it has one; the port. */
function serve(fetch) {
  if (globalThis.Bun) return globalThis.Bun.serve({ port: 0, fetch }).port
  return globalThis.Deno?.serve({ port: 0, onListen() {} }, (request) => fetch(request)).addr.port
}

/** What the runtime's own server makes of HEAD: the length that GET has, where it is known, and never another. */
async function judgeServed() {
  const lines = Array.from({ length: 1600 }, (_, n) => ({ text: `é${n}`.padEnd(80, '.') }))
  const handler = createCollectionService(
    {
      collections: { lines: { schema: { text: { type: 'string' } }, permissions: { '*': { read: true } } } },
    },
    createMemoryAdapter({ documents: { lines } }),
    { production: false, logger: { info() {}, warn() {}, error() {} } },
  )
  const port = serve(handler)
  if (port === undefined) return
  const ask = (method, path) => fetch(`http://localhost:${port}${path}`, { method })
  for (const path of ['/lines?limit=3', '/lines/count', '/nothing']) {
    const { length } = new Uint8Array(await (await ask('GET', path)).arrayBuffer())
    const told = (await ask('HEAD', path)).headers.get('content-length')
    if (told !== String(length)) failures.push(`HEAD ${path} served › ${told} in place of ${length}`)
  }
  const told = (await ask('HEAD', '/lines')).headers.get('content-length')
  if (told !== null) failures.push(`HEAD of a stream served › ${told}`)
}

await judgeServed()
for (const failure of failures) console.log(`✗ ${failure}`)
const more = failures.length - failed
console.log(`${passed} passed, ${failed + more} failed`)
process.exit(failures.length > 0 ? 1 : 0)
