// The service in an application of SvelteKit. This file goes to src/routes/api/[...path]/+server.ts, so that SvelteKit
// hands every request below /api to it, and config.json to src/routes/api. To run it: npx vite dev
import { createCollectionService } from 'collection-service'
import config from '../config.json' with { type: 'json' }

// Pages keep their session in a cookie; programs use tokens.
const withCookies = { ...config, auth: { ...config.auth, cookie: true } }

// `vite build` loads this file too: creating a service opens nothing and starts nothing, the first request does.
// SvelteKit hands on the whole URL, so the service has to know what stands before its own paths.
const service = createCollectionService(withCookies, undefined, { basePath: '/api' })

// A program that is not a browser sends `Content-Type: application/json` with DELETE and logout too: SvelteKit takes what
// has neither an origin nor a type for a form of another site, and answers 403 itself.
//
// All methods: what the service does not allow, it answers itself, with `Allow`.
export const fallback = ({ request }: { readonly request: Request }): Promise<Response> => service(request)
