import { createServer, type IncomingMessage } from 'node:http'
import connect from 'connect'
import express from 'express'
import { Hono } from 'hono'
import { expectTypeOf } from 'vitest'
import { createCollectionService, type Handler } from '../../src/index.js'
import { toNodeHandler } from '../../src/mounts/node.js'

const handler = createCollectionService({ collections: { notes: { schema: {} } } })
const one = handler.as(null)

// node's request and response: only through toNodeHandler
expectTypeOf<IncomingMessage>().not.toExtend<Parameters<Handler>[0]>()
expectTypeOf<express.Request>().not.toExtend<Parameters<Handler>[0]>()
expectTypeOf<Handler>().not.toExtend<express.RequestHandler>()
expectTypeOf<Handler>().not.toExtend<express.ErrorRequestHandler>()
expectTypeOf<Handler>().not.toExtend<connect.HandleFunction>()
// @ts-expect-error
createServer(handler)
// @ts-expect-error
express().use(handler)
// @ts-expect-error
express().use('/api', handler)
// @ts-expect-error
express().use('/api', express.json(), handler)
// @ts-expect-error
express().use('/api', [handler])
// @ts-expect-error
express().use('/api', one)
// @ts-expect-error
express().all('/api', handler)
// @ts-expect-error
express.Router().use(handler)
// @ts-expect-error
express.Router().use('/api', handler)
// @ts-expect-error
connect().use(handler)
// @ts-expect-error
connect().use('/api', handler)
createServer(toNodeHandler(handler))
express().use(toNodeHandler(handler)).use('/api', toNodeHandler(one)).all('/x', toNodeHandler(handler))
express.Router().use('/api', toNodeHandler(handler))
connect().use(toNodeHandler(handler)).use('/api', toNodeHandler(handler))

// Hono
new Hono().mount('/api', handler).mount('/one', one)
new Hono().mount('/api', handler, (context) => [context.env, context.executionCtx])
new Hono().all('*', (context) => handler(context.req.raw))
new Hono().all('*', (context) => handler(context.req.raw, context.env, context.executionCtx))

// Next: what it checks of a route's exports, and what it calls them with
interface NextRequest extends Request {
  readonly nextUrl: URL
}
type NextRoute = (
  request: NextRequest,
  context: { params: Promise<{ path: string[] }> },
) => undefined | Response | Promise<undefined | Response>
expectTypeOf<Handler>().toExtend<NextRoute>()
expectTypeOf<{ GET: Handler; POST: Handler }>().toExtend<{ GET?: NextRoute; POST?: NextRoute }>()

// Deno
interface Info {
  readonly remoteAddr: { readonly hostname: string }
  readonly completed: Promise<void>
}
interface Deno {
  serve(handle: (request: Request, info: Info) => Response | Promise<Response>): unknown
  serve(
    options: { port?: number },
    handle: (request: Request, info: Info) => Response | Promise<Response>,
  ): unknown
}
declare const deno: Deno
expectTypeOf<Handler>().toExtend<Parameters<Deno['serve']>[1]>()
export const onDeno = () => [deno.serve(handler), deno.serve({ port: 1 }, handler)]

// Bun
interface BunServer {
  readonly port: number
  requestIP(request: Request): unknown
}
interface BunOptions {
  fetch(
    this: BunServer,
    request: Request,
    server: BunServer,
  ): Response | undefined | Promise<Response | undefined>
  routes?: { readonly [path: string]: (request: Request, server: BunServer) => Response | Promise<Response> }
}
expectTypeOf({ fetch: handler, routes: { '/api/*': handler } }).toExtend<BunOptions>()

// workers
interface ExportedHandler<E> {
  fetch?: (
    request: Request,
    env: E,
    context: { waitUntil(promise: Promise<unknown>): void },
  ) => Response | Promise<Response>
}
expectTypeOf({ fetch: handler }).toExtend<ExportedHandler<{ readonly DB: object }>>()

// whatever takes any further arguments
// biome-ignore lint/suspicious/noExplicitAny: as frameworks write it
expectTypeOf<Handler>().toExtend<(request: Request, ...others: any[]) => Response | Promise<Response>>()
expectTypeOf<Handler>().toExtend<(request: Request) => Promise<Response>>()
