import { once } from 'node:events'
import { createServer } from 'node:http'
import { createClient } from '../../../dist/client.js'
import { createCollectionService, createMemoryAdapter } from '../../../dist/index.js'
import { toNodeHandler } from '../../../dist/node.js'
import { installPackages } from '../../cluster/packages.mjs'
import { CHECKS, config } from './checks.mjs'

/** Runs one check: what it says, or why it failed. What never comes fails after 20 seconds. */
async function run(check, port) {
  const seen = []
  const signal = AbortSignal.timeout(20_000)
  const send = async (input, init) => {
    const response = await fetch(input, init)
    const { status, headers } = response
    seen.push({ status, tag: headers.get('etag'), coding: headers.get('content-encoding') })
    return response
  }
  const origin = `http://127.0.0.1:${port}`
  const ask = (path, init) => send(origin + path, init)
  const client = createClient(origin, { headers: { 'accept-encoding': 'gzip' }, fetch: send })
  const late = new Promise((_, reject) => {
    signal.addEventListener('abort', () => reject(new Error('nothing came for 20 seconds')))
  })
  try {
    const said = await Promise.race([check(client, { ask, seen, signal }), late])
    return { isRight: true, said, seen }
  } catch (thrown) {
    return { isRight: false, said: `${thrown.status ?? ''} ${thrown.message}`.trim(), seen }
  }
}

/** The answers of a check: statuses, whether one was compressed, and how its tags came. */
function describeAnswers(seen) {
  const statuses = [...new Set(seen.map(({ status }) => status))].join(', ')
  const tags = seen.flatMap(({ tag }) => (tag ? [tag.replace(/\w{32}/, '…')] : []))
  const codings = seen.flatMap(({ coding }) => coding ?? [])
  return [statuses, ...new Set(codings), ...new Set(tags.map((tag) => `\`${tag}\``))].join(' · ')
}

/**
 * The operation of a proxy: it installs Debian's `packages`, starts the proxy by `start(port)`, which gives `{ port, stop }`,
 * before a service, and does all checks through it.
 */
export const throughProxy =
  ({ packages, readVersion, about, start }) =>
  async () => {
    installPackages(packages)
    const handler = createCollectionService(config, createMemoryAdapter(), {
      production: false,
      logger: { warn() {} },
    })
    const server = createServer(toNodeHandler(handler)).listen(0, '127.0.0.1')
    await once(server, 'listening')
    const { port, stop } = await start(server.address().port)
    const rows = []
    for (const [what, check] of Object.entries(CHECKS)) {
      const { isRight, said, seen } = await run(check, port)
      rows.push({ isRight, cells: [what, said, describeAnswers(seen)] })
    }
    await stop()
    server.closeAllConnections()
    server.close()
    await handler.close()
    return { title: readVersion(), about, columns: ['check', 'result', 'answers'], rows }
  }
