// The service below /api, beside the rest of a Koa application. To run it: PORT=3000 npx tsx koa.ts
import { createCollectionService } from 'collection-service'
import { toNodeHandler } from 'collection-service/node'
import Koa from 'koa'
import bodyParser from 'koa-bodyparser'
import config from './config.json' with { type: 'json' }

// Koa hands on the whole path, so the service has to know what stands before its own paths.
const service = createCollectionService(config, undefined, { basePath: '/api' })
const handle = toNodeHandler(service)

export const app = new Koa()

// For routes of your own. The service needs no parser, and works behind one.
app.use(bodyParser())

app.use(async (context, next) => {
  if (!/^\/api(?:\/|$)/.test(context.path)) return next()
  // The service answers by itself.
  context.respond = false
  // What a parser has read goes where the service looks for it.
  await handle(Object.assign(context.req, { body: context.request.body }), context.res)
})

app.use((context) => {
  if (context.path === '/health') context.body = { healthy: true }
})

if (process.env.PORT !== undefined) app.listen(Number(process.env.PORT))
