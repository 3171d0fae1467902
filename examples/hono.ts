// The service below /api, beside the routes of a Hono application. To run it: PORT=3000 npx tsx hono.ts
import { serve } from '@hono/node-server'
import { createCollectionService } from 'collection-service'
import { Hono } from 'hono'
import config from './config.json' with { type: 'json' }

// Hono hands on the whole URL, so the service has to know what stands before its own paths.
const service = createCollectionService(config, undefined, { basePath: '/api' })

export const app = new Hono()

app.get('/health', (context) => context.json({ healthy: true }))

// `all`: what the service does not allow, it answers itself, with `Allow`.
app.all('/api/*', (context) => service(context.req.raw))

// `app.fetch` runs as it is on Bun, Deno and workers; Node needs a server around it.
if (process.env.PORT !== undefined) serve({ fetch: app.fetch, port: Number(process.env.PORT) })
