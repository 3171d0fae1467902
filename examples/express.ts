// The service below /api, beside the routes of an Express application. To run it: PORT=3000 npx tsx express.ts
import { createCollectionService, forwardedAddress } from 'collection-service'
import { toNodeHandler } from 'collection-service/node'
import express from 'express'
import config from './config.json' with { type: 'json' }

const service = createCollectionService(config, undefined, {
  // Failed logins are counted by the address of the client. A proxy on this machine says it in `X-Forwarded-For`; anyone
  // else who connects is the client. Behind one load balancer on another machine: `trust: 1`.
  clientAddress: forwardedAddress({ trust: ['loopback'] }),
})

export const app = express()

// For routes of your own. The service takes a body that was parsed here as it is, and reads the others itself.
app.use(express.json())

app.get('/health', (_request, response) => {
  response.json({ healthy: true })
})
app.post('/contact', (request, response) => {
  response.status(202).json({ thanks: request.body.name })
})

// Express says where the service is mounted, so that `Location` is right without a `basePath`.
app.use('/api', toNodeHandler(service))

if (process.env.PORT !== undefined) app.listen(Number(process.env.PORT))
