// The service below /api, beside the routes of an Express application. To run it: PORT=3000 npx tsx express.ts
import { createCollectionService } from 'collection-service'
import { toNodeHandler } from 'collection-service/node'
import express from 'express'
import config from './config.json' with { type: 'json' }

const service = createCollectionService(config)

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
