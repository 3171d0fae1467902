import { createServer, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { compileConfig } from '../config/compile-config.js'
import { createCollectionService, createMemoryAdapter } from '../index.js'
import { toNodeHandler } from '../mounts/node.js'
import type { Handler, ServiceOptions } from '../types.js'
import { describeService } from './describe-service.js'
import type { Arguments } from './parse-arguments.js'
import { readJsonFile } from './read-json-file.js'

/** Writes a line for people. */
export type Print = (line: string) => void

/** A service that listens. */
export interface Serving {
  readonly origin: string
  /** Lets requests in flight end. */
  stop(): Promise<void>
}

/** Serves a configuration. Throws `FileError`, `ConfigError`, and what keeps a seed or a port from being taken. */
export async function serve(args: Arguments, print: Print): Promise<Serving> {
  const config = (await readJsonFile(args.config)) as Parameters<typeof createCollectionService>[0]
  const documents = args.seed === undefined ? undefined : await readJsonFile(args.seed)
  const adapter = createMemoryAdapter(
    documents === undefined ? {} : { documents: documents as { [collection: string]: readonly unknown[] } },
  )
  const cors: ServiceOptions =
    args.cors.length > 0 ? { cors: { origins: args.cors.includes('*') ? '*' : args.cors } } : {}
  const handler = createCollectionService(config, adapter, cors)
  await handler.ready()
  const open = new Set<ServerResponse>()
  const server = await listen(handler, args.port, print, open)
  const origin = `http://localhost:${(server.address() as AddressInfo).port}`
  print(`Serving ${args.config} on ${origin}, in memory: documents last as long as this process.\n`)
  print(describeService(compileConfig(config, { production: false, hasAuthenticate: false }), origin))
  return {
    origin,
    async stop() {
      // Else a client that keeps its connection would keep the process.
      for (const response of open) if (!response.headersSent) response.setHeader('connection', 'close')
      server.closeIdleConnections()
      await new Promise((resolve) => server.close(resolve))
      await handler.close()
    },
  }
}

async function listen(
  handler: Handler,
  port: number,
  print: Print,
  open: Set<ServerResponse>,
): Promise<Server> {
  const answer = toNodeHandler(handler)
  const server = createServer((request, response) => {
    const start = performance.now()
    open.add(response)
    response.on('close', () => {
      open.delete(response)
      // Without the query: what somebody searches for is nobody else's business.
      const [path] = (request.url ?? '').split('?')
      const status = response.writableFinished ? response.statusCode : 'gone'
      print(`${request.method} ${path} ${status} ${Math.round(performance.now() - start)} ms`)
    })
    void answer(request, response)
  })
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen(port, resolve)
  })
  return server
}
