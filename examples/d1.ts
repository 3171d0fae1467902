// The service on Cloudflare, with one D1 database for all Workers. The guide explains it: docs/cloudflare.md. To run it:
// npx wrangler dev --config wrangler.d1.json
import { AsyncLocalStorage } from 'node:async_hooks'
import { createCollectionService } from 'collection-service'
import { createD1Adapter, type D1Binding } from 'collection-service/d1'
import config from './config.json' with { type: 'json' }

/** The part of Workers that is used here; `npx wrangler types` writes all. */
interface Context {
  waitUntil(work: Promise<unknown>): void
}

/** Work that continues after a response belongs to the request that began it. */
const contexts = new AsyncLocalStorage<Context>()

const createService = (database: D1Binding): ((request: Request) => Promise<Response>) =>
  createCollectionService(config, createD1Adapter(database), {
    background: (work) => contexts.getStore()?.waitUntil(work),
    // Failed logins are counted by the address of the client. Cloudflare sets this header itself.
    clientAddress: (request) => request.headers.get('cf-connecting-ip'),
  })

/** The service of this isolate. Its caches and its queue for passwords serve all requests. */
let shared: ReturnType<typeof createService> | undefined

export default {
  fetch(request: Request, env: { readonly DB: D1Binding }, context: Context): Promise<Response> {
    // A service reads changes for all its streams at once, and Workers stop such a read when its own client leaves.
    const isStream = new URL(request.url).pathname.endsWith('/changes')
    shared ??= createService(env.DB)
    const response = contexts.run(context, isStream ? createService(env.DB) : shared, request)
    // Requests wait for each other. If a client leaves, what it began is still done for the others.
    context.waitUntil(response)
    return response
  },
}
