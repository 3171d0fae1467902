// The one service of an application of Next, for its routes and its pages. This file goes beside route.ts.
import { type CollectionService, createCollectionService, forwardedAddress } from 'collection-service'
import config from '../config.json' with { type: 'json' }

// Next bundles routes and pages apart and loads changed files anew, so a module is there more than once. What must be
// there once, as a store in memory must, is kept by the process.
const kept = globalThis as { collectionService?: CollectionService }

// Pages keep their session in a cookie; programs use tokens.
const withCookies = { ...config, auth: { ...config.auth, cookie: true } }

// `next build` loads this file too: creating a service opens nothing and starts nothing, the first request does.
// Next hands on the whole URL, so the service has to know what stands before its own paths.
kept.collectionService ??= createCollectionService(withCookies, undefined, {
  basePath: '/api',
  // Failed logins are counted by the address of the client, which one proxy, such as that of Vercel or an nginx, adds at
  // the end of `X-Forwarded-For`. Without any proxy leave this out, because clients could choose their address.
  clientAddress: forwardedAddress({ trust: 1 }),
})

export const service = kept.collectionService
