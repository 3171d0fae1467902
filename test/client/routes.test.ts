import { expect, test } from 'vitest'
import { createClient } from '../../src/client/client.js'
import { ROUTES } from '../../src/core/http/routes/table.js'
import type { LooseCollection } from '../../src/infer/collections.js'

// CONTRACT.md §7: the client has a method for each route of the table.

/** Of the table, what a client has no use for: it knows its collections by their types. */
const WITHOUT = ['GET /', 'GET /_health/live', 'GET /_health/ready', 'GET /_openapi.json', 'GET /_page']

const ID = '0189abcd-0000-7000-8000-000000000001'

test('the typed client asks every endpoint of the table, and nothing else', async () => {
  const asked = new Set<string>()
  const { auth, collection, batch } = createClient<{ readonly things: LooseCollection }>('http://x', {
    async fetch(url, { method = 'GET' }) {
      const path = new URL(url).pathname.replace(ID, ':id').replace('/things', '/:collection')
      asked.add(`${method} ${path}`)
      if (path.endsWith('/changes')) {
        const headers = { 'content-type': 'text/event-stream' }
        return new Response('id: 1\nevent: reset\ndata: {}\n\n', { headers })
      }
      const body =
        /:collection$|\/(?:aggregate|sessions)$/.test(path) && method === 'GET'
          ? []
          : { documents: [], results: [{}], total: 0, _id: ID, token: 't', expiresAt: '', user: { _id: ID } }
      if (method === 'DELETE' || path.includes('logout')) return new Response(null, { status: 204 })
      return Response.json(body, { status: /request-|verify|change-id/.test(path) ? 202 : 200 })
    },
  })
  const things = collection('things')
  await Promise.all([
    ...[auth.register({}), auth.login({}), auth.logout(), auth.logoutAll(), auth.me()],
    ...[auth.changeSecret({ current: '', new: '' }), auth.sessions(), auth.endSession(ID)],
    ...[auth.requestReset({ email: '' }), auth.requestVerification({ email: '' })],
    ...[auth.reset({ token: '', new: '' }), auth.verify({ token: '', current: '' })],
    auth.changeIdentifier({ current: '', new: '' }),
    ...[things.changes().next(), things.live().next()],
    ...[
      things.list(),
      things.page(),
      things.getMany([ID]),
      things.upsert(ID, {}),
      things.count(),
      things.aggregate(),
      things.get(ID),
      things.delete(ID),
    ],
    ...[things.create({}), things.create({}, { id: ID }), things.createMany([])],
    ...[things.update(ID, {}), things.replace(ID, {}), batch((b) => [b.things.delete(ID)])],
  ])
  const endpoints = ROUTES.flatMap(({ path, methods }) =>
    Object.keys(methods).map((name) => `${name} ${path}`),
  )
  expect([...asked].sort()).toEqual(endpoints.filter((endpoint) => !WITHOUT.includes(endpoint)).sort())
})
