import { createClient } from '../../../src/client/client.js'
import {
  createCollectionService,
  createMemoryAdapter,
  defineConfig,
  type ServiceOptions,
} from '../../../src/index.js'
import { createTestHasher } from '../../../src/tools/testing/index.js'

/** A configuration with everything that a client meets. */
export const config = defineConfig({
  collections: {
    users: {
      schema: {
        email: { type: 'string', unique: true, required: true },
        password: { type: 'hash', required: true, minLength: 4 },
        name: { type: 'string' },
      },
      permissions: { '*': { create: { pick: ['name'] } }, user: { read: true }, owner: { update: true } },
    },
    notes: {
      schema: {
        title: { type: 'string', required: true },
        status: { type: 'string', enum: ['draft', 'published'], default: 'draft' },
        views: { type: 'integer', minimum: 0, default: 0 },
        tags: { type: 'array', items: { type: 'string' } },
        address: {
          type: 'object',
          properties: {
            city: { type: 'string', required: true },
            zip: { type: 'string' },
            visited: { type: 'timestamp' },
          },
        },
        more: { type: 'json' },
        author: { type: 'reference', collection: 'users' },
      },
      permissions: { '*': { create: true, read: true, update: true, delete: true } },
    },
    hidden: { schema: { text: { type: 'string' } } },
  },
  limits: { bulk: 3 },
})

/** A service of it, in memory, that says nothing. */
export const createService = (options: ServiceOptions = {}) =>
  createCollectionService(config, createMemoryAdapter(), {
    hasher: createTestHasher(),
    production: false,
    logger: { info() {}, warn() {}, error() {} },
    ...options,
  })

/** What a target was asked. */
export interface Seen {
  readonly line: string
  readonly headers: Headers
  readonly body: unknown
}

/** A client of a service in this process, and what it sends. */
export function createSpiedClient(handler = createService()) {
  const seen: Seen[] = []
  const spy = async (request: Request): Promise<Response> => {
    const { pathname, search } = new URL(request.url)
    const text = await request.clone().text()
    seen.push({
      line: `${request.method} ${pathname}${search}`,
      headers: request.headers,
      body: text && JSON.parse(text),
    })
    return handler(request)
  }
  return { client: createClient<typeof config>(spy), seen, handler }
}

/** What a call rejects with. */
export const caught = (call: Promise<unknown>): Promise<unknown> =>
  call.then(
    () => undefined,
    (thrown: unknown) => thrown,
  )
