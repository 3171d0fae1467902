/**
 * A worker that answers for the service. workerd compiles code and draws random values at other times: services are
 * made while this module loads, requests are answered later. The module `cases` is put in by workerd.mjs.
 */
import cases from 'cases'
import { createCollectionService, createMemoryAdapter } from 'collection-service'
import { createClient } from 'collection-service/client'
import { prepare } from './scenarios.mjs'

const logger = { info() {}, warn() {}, error() {} }
const start = prepare(createCollectionService, createMemoryAdapter, createClient)

/** Milliseconds in which what an answer leaves to be done is done: a hash, and `deliver`. */
const BEHIND = 1000

/** A service, or why there is none. */
const create = ({ config, options, deliver: isDelivering, clock }) => {
  const delivered = []
  const time = { now: Date.parse(clock) }
  const deliver = async (one) => void delivered.push(one)
  try {
    const all = {
      ...options,
      logger,
      ...(isDelivering ? { deliver } : {}),
      ...(clock ? { now: () => time.now } : {}),
    }
    return {
      handler: createCollectionService(config, createMemoryAdapter(), all),
      isDelivering,
      delivered,
      time,
    }
  } catch (error) {
    return { error: { name: error.name, message: error.message } }
  }
}
const services = cases.map(create)

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

const toBytes = (base64) => Uint8Array.from(atob(base64), (character) => character.charCodeAt(0))

/** Answers a request that comes in an envelope, so that this runtime makes it and not the client's. */
async function answer({ service, caller, now, url, method, headers, body }) {
  const { handler, isDelivering, delivered, time } = services[service]
  if (now !== undefined) time.now = now
  const request = new Request(url, { method, headers, ...(body === null ? {} : { body: toBytes(body) }) })
  const response = await (caller === undefined ? handler : handler.as(caller))(request)
  const text = await response.text()
  // What is handed over after an answer belongs to its request, which ends here.
  if (isDelivering) await new Promise((resolve) => setTimeout(resolve, BEHIND))
  const all = delivered.splice(0)
  return { status: response.status, headers: [...response.headers], text, delivered: all }
}

export default {
  async fetch(request) {
    const { pathname } = new URL(request.url)
    if (pathname.startsWith('/direct')) return direct(request)
    if (pathname === '/scenarios') return Response.json(await start())
    if (pathname === '/services') return Response.json(services.map(({ error }) => error ?? null))
    return Response.json(
      await answer(await request.json()).catch((error) => ({ thrown: String(error?.stack ?? error) })),
    )
  },
}
