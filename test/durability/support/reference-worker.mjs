/**
 * A process of its own that uses the built package over a store that others use too. It is told what to serve, then
 * answers each list of requests, all of them sent at once, with their outcomes.
 */
import { createCollectionService } from '../../../dist/index.js'
import { createPostgresAdapter } from '../../../dist/postgres.js'
import { createSqliteAdapter } from '../../../dist/sqlite.js'

const adapters = { sqlite: createSqliteAdapter, postgres: createPostgresAdapter }

const silent = { info() {}, warn() {}, error() {} }

async function send(handler, { method, path, body }) {
  const init = body === undefined ? {} : { body: JSON.stringify(body) }
  const headers = { 'content-type': 'application/json' }
  const response = await handler(new Request(`http://service.test${path}`, { method, headers, ...init }))
  const text = await response.text()
  return response.status < 400 ? String(response.status) : `${response.status} ${JSON.parse(text).code}`
}

let handler

process.on('message', async ({ serve, requests }) => {
  if (serve) {
    const { config, store } = serve
    handler = createCollectionService(config, adapters[store.engine](store.options), {
      production: false,
      logger: silent,
    })
    await handler.ready()
    process.send([])
  } else if (requests) process.send(await Promise.all(requests.map((request) => send(handler, request))))
  else {
    await handler.close()
    process.disconnect()
  }
})
