import { createWorkerHasher, toNodeHandler } from '../../mounts/node.js'
import type { Hasher } from '../../types/host.js'
import type { ServeArguments } from '../arguments/arguments.js'
import { describeService } from '../describe-service.js'
import { explain } from '../explain.js'
import { EVERYWHERE, type Listening, listen } from '../listen.js'
import { loadDeliver } from '../load-deliver.js'
import { type Started, startService } from '../start-service.js'
import { type Terminal, textFor } from '../terminal.js'
import { readState, watchFiles } from '../watch-files.js'

/** A running server. */
export interface Serving {
  readonly origin: string
  /** Waits for requests in flight. */
  stop(): Promise<void>
}

/** Called with the function that stops a server, before it listens: a client may know its address at once. */
export type OnStart = (stop: Serving['stop']) => void

/**
 * Serves a configuration, and with `watch` each new version of it. Throws `FileError`, `ConfigError`,
 * `StorageError`, `SeedError` and `ListenError`.
 */
export async function serve(
  args: ServeArguments,
  terminal: Terminal,
  onStart: OnStart = () => {},
): Promise<Serving> {
  const { print, complain, announce = print } = terminal
  const deliver = args.deliver === undefined ? undefined : await loadDeliver(args.deliver, print)
  const lasting = { createHasher: createHasherCache(), deliver }
  const start = async (): Promise<Service> => {
    const started = await startService(args, lasting)
    return { ...started, answer: toNodeHandler(started.handler) }
  }
  const files = filesOf(args)
  // Before the files are read, so that a change while they are read counts.
  const state = await readState(files)
  let current = await start()
  let watching: ReturnType<typeof watchFiles> | undefined
  let listening: Promise<Listening> | undefined
  let isStopping = false
  const stop = async (): Promise<void> => {
    isStopping = true
    await watching?.stop()
    const server = await listening?.catch(() => undefined)
    await (server ? server.stop(() => close(current)) : close(current))
  }
  onStart(stop)
  listening = listen(args, (request, response) => current.answer(request, response), print)
  const { origin } = await listening.catch(async (thrown) => {
    await close(current)
    throw thrown
  })
  const others = EVERYWHERE.includes(args.host) ? ' and every other address of this machine' : ''
  announce(`Serving ${args.config} on ${origin}${others}, ${current.place}${describePage(args, origin)}\n`)
  const describe = (): string =>
    describeService(
      { ...current, file: args.config, origin, delivers: deliver !== undefined },
      textFor(terminal),
    )
  announce(describe())

  const startAnew = async (): Promise<void> => {
    const before = current
    try {
      current = await start()
    } catch (thrown) {
      return complain(`${explain(thrown)}\n\nThe previous version continues to run.`)
    }
    print(`\nServing ${args.config} again on ${origin}, ${current.place}${describeLoss(args)}\n`)
    print(describe())
    await close(before)
  }
  if (args.watch && !isStopping) watching = watchFiles(files, state, startAnew)
  return { origin, stop }
}

/** The address of the admin UI, on a line below that of the API. */
const describePage = ({ hidesPage }: ServeArguments, origin: string): string =>
  hidesPage ? '' : `\nOpen ${origin}/_page to see and change it in a browser.`

type Service = Started & { readonly answer: ReturnType<typeof toNodeHandler> }

/** Hashing threads outlast a service that restarts, so there is one hasher per cost. */
function createHasherCache(): (cost: number) => Hasher {
  const hashers = new Map<number, Hasher>()
  return (cost) => {
    const hasher = hashers.get(cost) ?? createWorkerHasher({ cost })
    hashers.set(cost, hasher)
    return hasher
  }
}

const filesOf = ({ config, seed }: ServeArguments): readonly string[] =>
  seed === undefined ? [config] : [config, seed]

/** The effect of a restart on documents in memory. */
function describeLoss({ storage, seed }: ServeArguments): string {
  if (storage) return ''
  const rest = seed === undefined ? 'nothing' : seed
  return ` The documents stored before are deleted, accounts and sessions too: it starts with ${rest}.`
}

/** A storage that fails to close must not prevent the next steps. */
const close = ({ handler }: Service): Promise<void> => handler.close().catch(() => {})
