// The service below /api, beside the routes of a Fastify application. To run it: PORT=3000 npx tsx fastify.ts
import { createCollectionService } from 'collection-service'
import { toNodeHandler } from 'collection-service/node'
import Fastify from 'fastify'
import config from './config.json' with { type: 'json' }

// Fastify hands on the whole path, so the service has to know what stands before its own paths.
const service = createCollectionService(config, undefined, { basePath: '/api' })
const handle = toNodeHandler(service)

export const app = Fastify()

app.get('/health', () => ({ healthy: true }))

app.all('/api/*', (request, reply) => {
  // The service answers by itself.
  reply.hijack()
  // Fastify has read the body: it goes where the service looks for it.
  return handle(Object.assign(request.raw, { body: request.body }), reply.raw)
})

app.addHook('onClose', () => service.close())

if (process.env.PORT !== undefined) await app.listen({ port: Number(process.env.PORT) })
