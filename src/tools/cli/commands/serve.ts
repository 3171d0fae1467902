import cluster from 'node:cluster'
import { stat } from 'node:fs/promises'
import { resolve } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { pathToFileURL } from 'node:url'
import type { AuthPlan, Collection, ServicePlan } from '../../../core/config/plan.js'
import { EVERYONE } from '../../../core/permissions/grants.js'
import { toPrintable } from '../../../core/start/printable.js'
import type { Deliver, Delivery, Hasher } from '../../../core/types/host.js'
import { createWorkerHasher, toNodeHandler } from '../../../mounts/node.js'
import { describePermissions } from '../../insight/matrix/permission-matrix.js'
import { printText, type TextOptions } from '../../insight/matrix/print-text.js'
import type { ServeArguments } from '../arguments/arguments.js'
import { DEFAULT_CONFIG } from '../arguments/read-options.js'
import { explain } from '../explain.js'
import { EVERYWHERE, type Listening, listen } from '../listen.js'
import { FileError } from '../read-json-file.js'
import { type Started, startService } from '../start-service.js'
import { type Terminal, textFor } from '../terminal.js'

/** The milliseconds between two polls of the files. */
const INTERVAL = 150

/** A watch that can be stopped. */
interface Watching {
  /** Resolves when no call is running, and none will follow. */
  stop(): Promise<void>
}

/** The state of files as text: it differs after one was written, replaced or removed. */
async function readState(files: readonly string[]): Promise<string> {
  const states = await Promise.all(
    files.map((file) =>
      stat(file, { bigint: true }).then(
        ({ ino, size, mtimeNs }) => `${ino} ${size} ${mtimeNs}`,
        () => 'none',
      ),
    ),
  )
  return states.join('\n')
}

/**
 * Calls back when files have changed, one call at a time. It polls the files by name: editors replace the old file by a
 * new one, and not every file system reports changes.
 */
function watchFiles(files: readonly string[], before: string, onChange: () => Promise<void>): Watching {
  const ending = new AbortController()
  const { signal } = ending
  const look = async (): Promise<void> => {
    let [known, seen] = [before, before]
    while (!signal.aborted) {
      const state = await readState(files)
      // Two equal polls in a row: a write in several steps is complete.
      if (state !== known && state === seen) {
        known = state
        await onChange()
      }
      seen = state
      await wait(INTERVAL, undefined, { signal }).catch(() => {})
    }
  }
  const looking = look()
  return {
    async stop() {
      ending.abort()
      await looking
    },
  }
}

/** A service that runs. */
interface Running {
  readonly plan: ServicePlan
  /** The source of the plan. */
  readonly config: unknown
  /** The name of its file. */
  readonly file: string
  readonly origin: string
  /** Whether tokens are delivered. */
  readonly delivers: boolean
}

/** Describes a running service: its permissions, the routes beside the collections', and a command to try. */
export function describeService(
  { plan, config, file, origin, delivers }: Running,
  text: TextOptions = {},
): string {
  const { collections, auth } = plan
  const all = [...collections.values()]
  const routes: readonly (readonly [path: string, about: string])[] = [
    ['/', 'GET lists the collections and operations that its caller may use'],
    ...all.flatMap(({ name, hasChanges }) =>
      hasChanges
        ? [[`/${name}/changes`, 'GET streams changes of documents that its caller may read'] as const]
        : [],
    ),
    ['/_batch', 'POST runs several operations, all or none'],
    ...(auth ? [['/auth', describeAccounts(auth, delivers)] as const] : []),
  ]
  const width = Math.max(...routes.map(([path]) => path.length))
  const lines = routes.map(([path, about]) => `${path.padEnd(width)}  ${about}`)
  const permitted = printText(describePermissions(plan, config), text)
  const more = `More about these tables: collection-service matrix${file === DEFAULT_CONFIG ? '' : ` ${file}`}`
  return [permitted, more, lines.join('\n'), `Try: ${exampleOf(all, origin)}`].join('\n\n')
}

function describeAccounts({ identifier, secret, register, verified }: AuthPlan, delivers: boolean): string {
  const routes = [
    ...(register ? ['register'] : []),
    ...['login', 'change-secret', 'logout', 'logout-all', 'me', 'sessions'],
    ...(delivers ? ['request-reset', 'reset'] : []),
    ...(delivers && verified ? ['request-verification', 'verify', 'change-identifier'] : []),
  ]
  return `${routes.join(', ')} · with ${identifier.name} and ${secret.name}`
}

function exampleOf(collections: readonly Collection[], origin: string): string {
  const open = collections.find(({ permissions }) => permissions.read.get(EVERYONE))
  if (open) return `curl -g '${origin}/${open.name}?sort[createdAt]=-1&limit=5'`
  return `curl ${origin}/`
}

/** The target that is not a file: the terminal, for development. */
const CONSOLE = 'console'

/**
 * The function that delivers tokens to the owners of accounts: `deliver` of a module, or one that prints them. Throws
 * `FileError`.
 */
export async function loadDeliver(place: string, print: (line: string) => void): Promise<Deliver> {
  if (place === CONSOLE) return (delivery) => print(describeDelivery(delivery))
  const { deliver } = await importModule(place)
  if (typeof deliver !== 'function') throw new FileError(`${place} exports no function "deliver"`)
  return deliver as Deliver
}

/** Identifiers are untrusted text: they must not move the cursor. */
function describeDelivery(delivery: Delivery): string {
  const lines = [`To deliver to ${toPrintable(delivery.to)}: ${delivery.kind}`]
  if ('token' in delivery) lines.push(`  token ${delivery.token}`, `  until ${delivery.expiresAt}`)
  return lines.join('\n')
}

/**
 * Resolves with the module; rejects if the event loop becomes empty first, when the process would end without a
 * message.
 */
async function loadOrEnd<T>(loading: Promise<T>): Promise<T> {
  let give: () => void = () => {}
  const empty = new Promise<never>((_, reject) => {
    give = () => reject(new Error('its top-level await never resolves'))
  })
  process.once('beforeExit', give)
  // The channel to the first process keeps the event loop alive.
  const channel = cluster.isWorker ? process.channel : undefined
  channel?.unref()
  try {
    return await Promise.race([loading, empty])
  } finally {
    channel?.ref()
    process.off('beforeExit', give)
  }
}

async function importModule(place: string): Promise<{ readonly [name: string]: unknown }> {
  const file = resolve(place)
  try {
    return await loadOrEnd(import(pathToFileURL(file).href))
  } catch (thrown) {
    const reason = thrown instanceof Error ? thrown.message : String(thrown)
    throw new FileError(`${place} cannot be used for --deliver: ${reason}`, { cause: thrown })
  }
}

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
