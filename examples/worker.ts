// The service as a worker of Cloudflare, from `compatibility_date = "2025-06-01"` on. To run it: npx wrangler dev worker.ts
import { createCollectionService, createMemoryAdapter } from 'collection-service'
import config from './config.json' with { type: 'json' }
import documents from './documents.json' with { type: 'json' }

// While the module loads: workers compile code then, and not when they answer. In memory, each isolate has documents
// of its own; durable-object.ts and d1.ts keep them.
const service = createCollectionService(config, createMemoryAdapter({ documents }), {
  // Failed logins are counted by the address of the client. Cloudflare sets this header itself, whatever a client sends,
  // so that it is better here than `X-Forwarded-For`.
  clientAddress: (request) => request.headers.get('cf-connecting-ip'),
})

// Workers are found by their default export.
export default { fetch: (request: Request): Promise<Response> => service(request) }
