/**
 * A worker that answers for services in memory. workerd compiles code and draws random values at other times: services are
 * made while this module loads, requests are answered later. The module `cases` is put in by workerd.mjs.
 */
import cases from 'cases'
import { createCollectionService, createMemoryAdapter } from 'collection-service'
import { createClient } from 'collection-service/client'
import { answer, createCase } from './cases-in-worker.mjs'
import { prepare } from './scenarios.mjs'

const start = prepare(createCollectionService, createMemoryAdapter, createClient)
const services = cases.map((one) => createCase(one, createMemoryAdapter()))

const lines = Array.from({ length: 1600 }, (_, n) => ({ n }))
const direct = createCollectionService(
  {
    collections: {
      users: {
        schema: {
          email: { type: 'string', unique: true, required: true, lowercase: true },
          password: { type: 'hash', required: true },
        },
      },
      lines: { schema: { n: { type: 'integer' } }, permissions: { '*': { read: true } } },
    },
    auth: { cost: 10 },
  },
  createMemoryAdapter({ documents: { lines } }),
  { basePath: '/direct' },
)

export default {
  async fetch(request) {
    const { pathname } = new URL(request.url)
    if (pathname.startsWith('/direct')) return direct(request)
    if (pathname === '/scenarios') return Response.json(await start())
    if (pathname === '/services') return Response.json(services.map(({ error }) => error ?? null))
    const envelope = await request.json()
    return answer(services[envelope.service], envelope)
  },
}
