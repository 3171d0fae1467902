// The service in an application of Astro. This file goes to src/pages/api/[...path].ts, so that Astro hands every
// request below /api to it, and config.json to src. It needs an adapter, like @astrojs/node. To run it: npx astro dev
import { createCollectionService } from 'collection-service'
import config from '../../config.json' with { type: 'json' }

// Answers are made when they are asked for, not by `astro build`.
export const prerender = false

// Astro hands on the whole URL, so the service has to know what stands before its own paths.
const service = createCollectionService(config, undefined, { basePath: '/api' })

// A program that is not a browser sends `Content-Type: application/json` with DELETE and logout too: Astro takes what
// has neither an origin nor a type for a form of another site, and answers 403 itself.
//
// All methods: what the service does not allow, it answers itself, with `Allow`.
export const ALL = ({ request }: { readonly request: Request }): Promise<Response> => service(request)
