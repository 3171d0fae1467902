// Documents in a SQLite file, in a server of Deno, which has SQLite. To run it: PORT=3000 deno run -A deno.ts
import process from 'node:process'
import { createCollectionService } from 'collection-service'
import { createSqliteAdapter } from 'collection-service/sqlite'
import config from './config.json' with { type: 'json' }

/** The part of Deno that is used here, for compilers that do not know it. */
declare const Deno: {
  serve(
    options: { port: number },
    handler: (
      request: Request,
      info: { readonly remoteAddr: { readonly hostname: string } },
    ) => Promise<Response>,
  ): { shutdown(): Promise<void> }
}

/** The other end of the connection of each request, which only Deno knows. */
const addresses = new WeakMap<Request, string>()

export const service = createCollectionService(
  config,
  createSqliteAdapter({ file: process.env.DATA_FILE ?? 'data.db' }),
  // Failed logins are counted by the address of the client.
  { clientAddress: (request) => addresses.get(request) ?? null },
)

if (process.env.PORT !== undefined) {
  // A file that cannot be opened is known now and not at the first request.
  await service.ready()
  const server = Deno.serve({ port: Number(process.env.PORT) }, (request, { remoteAddr }) => {
    addresses.set(request, remoteAddr.hostname)
    return service(request)
  })
  process.once('SIGTERM', async () => {
    const stopped = server.shutdown()
    // Ends streams of changes too, for which the server waits.
    await service.close()
    await stopped
  })
}
