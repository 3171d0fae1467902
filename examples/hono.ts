// The service below /api, beside the routes of a Hono application. To run it: PORT=3000 npx tsx hono.ts
import { type HttpBindings, serve } from '@hono/node-server'
import { getConnInfo } from '@hono/node-server/conninfo'
import { createCollectionService, forwardedAddress } from 'collection-service'
import { Hono } from 'hono'
import config from './config.json' with { type: 'json' }

// Pages keep their session in a cookie; programs use tokens.
const withCookies = { ...config, auth: { ...config.auth, cookie: true } }

// Hono hands on the whole URL, so the service has to know what stands before its own paths.
const service = createCollectionService(withCookies, undefined, {
  basePath: '/api',
  // Failed logins are counted by the address of the client. Proxies on this machine and in its private network say it
  // in `X-Forwarded-For`; anyone else who connects is the client.
  clientAddress: forwardedAddress({
    trust: ['loopback', 'private'],
    address: (request) => addresses.get(request),
  }),
})

/** The other end of the connection of each request, which only Hono knows. */
const addresses = new WeakMap<Request, string | undefined>()

export const app = new Hono<{ Bindings: Partial<HttpBindings> }>()

app.get('/health', (context) => context.json({ healthy: true }))

// `all`: what the service does not allow, it answers itself, with `Allow`.
app.all('/api/*', (context) => {
  // Without a server, as in tests, there is no connection.
  if (context.env?.incoming) addresses.set(context.req.raw, getConnInfo(context).remote.address)
  return service(context.req.raw)
})

// `app.fetch` runs as it is on Bun, Deno and workers, which have a `getConnInfo` of their own (`hono/bun`, `hono/deno`,
// `hono/cloudflare-workers`); Node needs a server around it.
if (process.env.PORT !== undefined) serve({ fetch: app.fetch, port: Number(process.env.PORT) })
