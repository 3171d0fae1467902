// The service in an application of Nuxt. This file goes to server/api/[...path].ts, so that Nuxt hands every request
// below /api to it, and config.json to server. To run it: npx nuxt dev
import { createCollectionService } from 'collection-service'
import { defineEventHandler, toWebRequest } from 'h3'
import config from '../config.json' with { type: 'json' }

// Nuxt hands on the whole URL, so the service has to know what stands before its own paths.
const service = createCollectionService(config, undefined, { basePath: '/api' })

// Without a method in the name of the file, all of them: what the service does not allow, it answers itself.
export default defineEventHandler((event) => service(toWebRequest(event)))
