import { createServer, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { compileConfig } from '../config/compile-config.js'
import { isServiceError } from '../errors.js'
import { createCollectionService, createMemoryAdapter, type StorageAdapter } from '../index.js'
import { createWorkerHasher, toNodeHandler } from '../mounts/node.js'
import { seedWhenEmpty } from '../service/seed-when-empty.js'
import type { Handler, ServiceOptions } from '../types.js'
import { createStorage, nameStorage } from './create-storage.js'
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

/** Documents to begin with that cannot be stored; the message lists what is wrong with them. */
export class SeedError extends Error {}

/**
 * Serves a configuration. Throws `FileError`, `ConfigError`, `StorageError`, `SeedError`, and what keeps a port from
 * being taken.
 */
export async function serve(args: Arguments, print: Print): Promise<Serving> {
  const config = (await readJsonFile(args.config)) as Parameters<typeof createCollectionService>[0]
  const documents = args.seed === undefined ? undefined : ((await readJsonFile(args.seed)) as Documents)
  const { adapter, describe } = prepareStorage(args, documents)
  const plan = compileConfig(config, { production: false, hasAuthenticate: false })
  const options: ServiceOptions = {
    ...(args.cors.length > 0 ? { cors: { origins: args.cors.includes('*') ? '*' : args.cors } } : {}),
    ...(plan.auth ? { hasher: createWorkerHasher({ cost: plan.auth.cost }) } : {}),
  }
  const handler = createCollectionService(config, adapter, options)
  const open = new Set<ServerResponse>()
  try {
    await handler.ready().catch(explainSeed)
    const place = describe()
    const server = await listen(handler, args.port, print, open)
    const origin = `http://localhost:${(server.address() as AddressInfo).port}`
    print(`Serving ${args.config} on ${origin}, ${place}\n`)
    print(describeService(plan, origin))
    return { origin, stop: () => stop(server, open, handler) }
  } catch (thrown) {
    // Connections that stay open would keep the process.
    await handler.close().catch(() => {})
    throw thrown
  }
}

type Documents = NonNullable<StorageAdapter['seed']>

/** A storage, and how it is described once it is open. */
interface Prepared {
  readonly adapter: StorageAdapter
  /** To be asked once, before anybody is served. */
  describe(): string
}

function prepareStorage({ storage, seed }: Arguments, documents: Documents | undefined): Prepared {
  if (!storage) {
    return {
      adapter: createMemoryAdapter(documents === undefined ? {} : { documents }),
      describe: () => 'in memory: documents last as long as this process.',
    }
  }
  const adapter = createStorage(storage)
  const name = nameStorage(storage)
  if (documents === undefined) return { adapter, describe: () => `in ${name}.` }
  const seeding = seedWhenEmpty(adapter, documents)
  return {
    adapter: seeding.adapter,
    describe: () =>
      seeding.finish() === 'stored'
        ? `in ${name}, which begins with ${seed}.`
        : `in ${name}, which holds documents already: ${seed} was passed over.`,
  }
}

/** What a seed is refused for is about the file; a storage that fails meanwhile is not. */
function explainSeed(thrown: unknown): never {
  if (!isServiceError(thrown) || thrown.cause !== undefined) throw thrown
  const faults = thrown.errors.map(({ path, message }) => `  ${path || 'it'} ${message}`)
  const lines = ['The seed cannot be stored:', ...(faults.length > 0 ? faults : [thrown.message])]
  throw new SeedError(lines.join('\n'), { cause: thrown })
}

async function stop(server: Server, open: ReadonlySet<ServerResponse>, handler: Handler): Promise<void> {
  // Else a client that keeps its connection would keep the process.
  for (const response of open) if (!response.headersSent) response.setHeader('connection', 'close')
  server.closeIdleConnections()
  await new Promise((resolve) => server.close(resolve))
  await handler.close()
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
