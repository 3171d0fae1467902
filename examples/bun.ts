// Documents in a SQLite file, in a server of Bun (1.4.5 or later), which has SQLite. To run it: PORT=3000 bun bun.ts
import { createCollectionService } from 'collection-service'
import { createSqliteAdapter } from 'collection-service/sqlite'
import config from './config.json' with { type: 'json' }

/** The part of Bun that is used here; the package @types/bun has all. */
declare const Bun: {
  serve(options: {
    port: number
    idleTimeout: number
    fetch(request: Request, server: BunServer): Promise<Response>
  }): BunServer
}
interface BunServer {
  requestIP(request: Request): { readonly address: string } | null
  stop(): Promise<void>
}

/** The other end of the connection of each request, which only Bun knows. */
const addresses = new WeakMap<Request, string | undefined>()

export const service = createCollectionService(
  config,
  createSqliteAdapter({ file: process.env.DATA_FILE ?? 'data.db' }),
  // Failed logins are counted by the address of the client.
  { clientAddress: (request) => addresses.get(request) ?? null },
)

if (process.env.PORT !== undefined) {
  // A file that cannot be opened is known now and not at the first request.
  await service.ready()
  const server = Bun.serve({
    port: Number(process.env.PORT),
    // In seconds. Streams of changes are silent for 15, which is longer than the default of Bun.
    idleTimeout: 75,
    fetch(request, server) {
      addresses.set(request, server.requestIP(request)?.address)
      return service(request)
    },
  })
  process.once('SIGTERM', async () => {
    const stopped = server.stop()
    // Ends streams of changes too, for which the server waits.
    await service.close()
    await stopped
  })
}
