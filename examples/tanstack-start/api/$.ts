// The service in an application of TanStack Start. This file goes to src/routes/api/$.ts, so that every request below
// /api comes to it, and config.json to src. To run it: npx vite dev
import { createFileRoute } from '@tanstack/react-router'
import { createCollectionService } from 'collection-service'
import config from '../../config.json' with { type: 'json' }

// The whole URL is handed on, so the service has to know what stands before its own paths.
const service = createCollectionService(config, undefined, { basePath: '/api' })

// All methods: what the service does not allow, it answers itself, with `Allow`.
export const Route = createFileRoute('/api/$')({
  server: { handlers: { ANY: ({ request }) => service(request) } },
})
