import { setTimeout as wait } from 'node:timers/promises'
import type { AuthPlan, Collection, ServicePlan } from '../../../core/config/plan.js'
import { EVERYONE, rulesOf } from '../../../core/permissions/grants.js'
import { toPrintable } from '../../../core/start/printable.js'
import type { Deliver, Delivery, Hasher } from '../../../core/types/host.js'
import { createWorkerHasher, toNodeHandler } from '../../../mounts/node.js'
import { describePermissions } from '../../insight/matrix/permission-matrix.js'
import { printText, type TextOptions } from '../../insight/matrix/print-text.js'
import type { ArgumentsOf } from '../arguments/commands.js'
import { DEFAULT_CONFIG } from '../arguments/options.js'
import { explain } from '../explain.js'
import { importModule } from '../import-module.js'
import { EVERYWHERE, type Listening, listen } from '../listen.js'
import { createRequestLog } from '../log-requests.js'
import { createAddressReader } from '../read-address.js'
import { readConfig } from '../read-config.js'
import { FileError } from '../read-json-file.js'
import { type Started, startService } from '../start-service.js'
import { type Terminal, textFor } from '../terminal.js'
import { type FileStates, readStates, watchConfig } from '../watched-config.js'

/** The milliseconds between two checks of the watched files. */
const INTERVAL = 150

/** The running watch of some files. */
interface Watching {
  /** Stops the watch. Resolves when the callback is not running and will not be called again. */
  stop(): Promise<void>
}

/** The files to watch. */
interface WatchedFiles {
  /** The names of files that are always watched. */
  readonly files: readonly string[]
  /** The states of these files before they were read. */
  readonly before: FileStates
  /** Returns the names of the other files. `onChange` may change them. */
  readonly imports: () => readonly string[]
  /** Returns the files that were read last, with their states before they were read. */
  readonly loaded: () => FileStates
}

/**
 * Calls `onChange` when files have changed, one call at a time. It checks the files by name, because editors replace
 * the old file with a new one, and not every file system reports changes.
 */
function watchFiles(
  { files, before, imports, loaded }: WatchedFiles,
  onChange: () => Promise<void>,
): Watching {
  const ending = new AbortController()
  const { signal } = ending
  const look = async (): Promise<void> => {
    let known: FileStates = new Map([...before, ...loaded()])
    let seen = known
    while (!signal.aborted) {
      const states = await readStates([...new Set([...files, ...imports()])])
      // The states were the same in two consecutive checks, so a write in several steps is complete.
      if (!isEqual(states, known) && isEqual(states, seen)) {
        await onChange()
        known = new Map([...states, ...loaded()])
      }
      seen = states
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

/** Whether the files have the same states, apart from files of `known` that are not watched any more. */
const isEqual = (states: FileStates, known: FileStates): boolean =>
  [...states].every(([file, state]) => known.get(file) === state)

/** The facts about a running service that are printed. */
interface Running {
  readonly plan: ServicePlan
  /** The name of the configuration file. */
  readonly file: string
  /** The URL of the service on this machine. The paths of its routes follow it. */
  readonly base: string
  /** Whether tokens are delivered. */
  readonly delivers: boolean
}

/**
 * Describes a running service: its permissions, the routes in addition to those of its collections, and a command to
 * try.
 */
export function describeService({ plan, file, base, delivers }: Running, text: TextOptions = {}): string {
  const { collections, auth } = plan
  const all = [...collections.values()]
  const routes: readonly (readonly [path: string, about: string])[] = [
    ['/', 'GET lists the collections and operations that the caller may use'],
    ...all.flatMap(({ name, hasChanges }) =>
      hasChanges
        ? [[`/${name}/changes`, 'GET streams changes of documents that the caller may read'] as const]
        : [],
    ),
    ['/_batch', 'POST runs several operations: all of them or none'],
    ...(auth ? [['/auth', describeAccounts(auth, delivers)] as const] : []),
  ]
  const width = Math.max(...routes.map(([path]) => path.length))
  const lines = routes.map(([path, about]) => `${path.padEnd(width)}  ${about}`)
  const permitted = printText(describePermissions(plan), text)
  const more = `More about these tables: collection-service matrix${file === DEFAULT_CONFIG ? '' : ` ${file}`}`
  return [permitted, more, lines.join('\n'), `Try: ${exampleOf(all, base)}`].join('\n\n')
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

function exampleOf(collections: readonly Collection[], base: string): string {
  const open = collections.find(({ permissions }) => rulesOf(permissions.read, EVERYONE).length > 0)
  if (open) return `curl -g '${base}/${open.name}?sort[createdAt]=-1&limit=5'`
  return `curl ${base}/`
}

/** With this value of `--deliver`, tokens are printed on the terminal, for development. */
const CONSOLE = 'console'

/**
 * Returns the function that delivers tokens to the owners of accounts: `deliver` of the module `place`, or for
 * `console` a function that prints them. Throws `FileError`.
 */
export async function loadDeliver(place: string, print: (line: string) => void): Promise<Deliver> {
  if (place === CONSOLE) return (delivery) => print(describeDelivery(delivery))
  const { deliver } = await importModule({ place, failure: `${place} cannot be used for --deliver` })
  if (typeof deliver !== 'function') throw new FileError(`${place} exports no function "deliver"`)
  return deliver as Deliver
}

/**
 * Returns the lines that are printed for a delivery. Identifiers are untrusted text, so they are escaped to keep them
 * from moving the cursor.
 */
function describeDelivery(delivery: Delivery): string {
  const lines = [`Message for ${toPrintable(delivery.to)}: ${delivery.kind}`]
  if ('token' in delivery) lines.push(`  token ${delivery.token}`, `  valid until ${delivery.expiresAt}`)
  return lines.join('\n')
}

/** A server that is running. */
export interface Serving {
  readonly origin: string
  /** Stops the server after it has answered the running requests. */
  stop(): Promise<void>
}

/**
 * Receives the function that stops a server. It is called before the server listens, because clients may connect as soon
 * as it does.
 */
export type OnStart = (stop: (signal?: string) => Promise<void>) => void

/**
 * Serves a configuration, and with `watch` also each new version of it. Throws `FileError`, `ConfigError`,
 * `StorageError`, `SeedError` and `ListenError`.
 */
export async function serve(
  args: ArgumentsOf<'serve'>,
  terminal: Terminal,
  onStart: OnStart = () => {},
): Promise<Serving> {
  const { print, complain, announce = print, warn = complain, writeEntry } = terminal
  const deliver = args.deliver === undefined ? undefined : await loadDeliver(args.deliver, print)
  const config = args.watch ? watchConfig(args.config) : undefined
  const log = createRequestLog(
    (request, response) => current.answer(request, response),
    createAddressReader(args.proxies),
    terminal,
  )
  const lasting = {
    readConfig: config ? config.read : () => readConfig(args.config),
    createHasher: createHasherCache(),
    deliver,
    logging: log.options,
  }
  const start = async (): Promise<Service> => {
    const started = await startService(args, lasting)
    return { ...started, answer: toNodeHandler(started.handler) }
  }
  const files = filesOf(args)
  // The states are read before the files are, so that a change while they are read is noticed.
  const before = await readStates(files)
  let current = await start()
  let watching: ReturnType<typeof watchFiles> | undefined
  let listening: Promise<Listening> | undefined
  let isStopping = false
  const stop = async (signal?: string): Promise<void> => {
    isStopping = true
    if (signal !== undefined) announce(describeStop(signal))
    config?.stop()
    current.handler.drain()
    await watching?.stop()
    // A new version that was just starting serves by now.
    current.handler.drain()
    const server = await listening?.catch(() => undefined)
    await (server
      ? server.stop(() => close(current), { drain: args.drain, patience: current.plan.limits.requestSeconds })
      : close(current))
  }
  onStart(stop)
  listening = listen(args, log)
  const { origin, address } = await listening.catch(async (thrown) => {
    await close(current)
    throw thrown
  })
  const base = origin + current.handler.basePath
  const where = `${base}${describeAddress(args.host, address)}`
  announce(`Serving ${args.config} on ${where}, ${current.place}${describePlaces(args, base)}\n`)
  const describe = (say: typeof print): void => {
    const running = { ...current, file: args.config, base, delivers: deliver !== undefined }
    // Tables are for people, not for a log of JSON.
    if (!writeEntry) say(describeService(running, textFor(terminal)))
  }
  describe(announce)
  for (const warning of findWarnings(args, current)) warn(`Warning: ${warning}`)

  const startAnew = async (): Promise<void> => {
    const before = current
    // Two versions must not use documents while they are migrated.
    if (args.migrates) await close(before)
    try {
      current = await start()
    } catch (thrown) {
      if (isStopping) return
      const left = args.migrates
        ? 'Nothing is served until a version starts.'
        : 'The previous version continues to run.'
      return complain(`${explain(thrown)}\n\n${left}`)
    }
    print(`\nServing ${args.config} again on ${base}, ${current.place}${describeLoss(args)}\n`)
    describe(print)
    await close(before)
  }
  if (config && !isStopping) watching = watchFiles({ ...config, files, before }, startAnew)
  return { origin, stop }
}

/** Returns the line for a signal that ends the command. */
export const describeStop = (signal: string): string => `${signal}: finishing the running requests.`

/** Returns the part of the line of the start that follows a URL whose host does not say which addresses are served. */
function describeAddress(host: string, address: string): string {
  if (EVERYWHERE.includes(host)) return ' and every other address of this machine'
  return host === address ? '' : ` (${address})`
}

/** Returns the lines about other addresses, which follow the line with the address of the API. */
const describePlaces = ({ page, publicPath }: ArgumentsOf<'serve'>, base: string): string => {
  const prefix = `\nPaths in answers begin with ${publicPath}, which a proxy removes from requests.`
  const pages = {
    on: `\nOpen ${base}/_page to see and change the documents in a browser.`,
    off: '',
    unasked: '\nThe admin UI is off, because NODE_ENV is production: --page serves it.',
  }
  return `${publicPath === undefined ? '' : prefix}${pages[page]}`
}

/** Returns the warnings about the options of a start in production. */
const findWarnings = (
  { isProduction, page, seed }: ArgumentsOf<'serve'>,
  { seeded }: Started,
): readonly string[] =>
  isProduction
    ? [
        ...(page === 'on'
          ? ['The admin UI is on in production: anyone who can reach the service can open it.']
          : []),
        ...(seeded > 0
          ? [
              `${seed} contains ${seeded} ${seeded === 1 ? 'account' : 'accounts'}: everyone who reads the file can sign in.`,
            ]
          : []),
      ]
    : []

type Service = Started & { readonly answer: ReturnType<typeof toNodeHandler> }

/** Creates a cache with one hasher per cost, so that a restarted service reuses the threads of the hasher. */
function createHasherCache(): (cost: number) => Hasher {
  const hashers = new Map<number, Hasher>()
  return (cost) => {
    const hasher = hashers.get(cost) ?? createWorkerHasher({ cost })
    hashers.set(cost, hasher)
    return hasher
  }
}

const filesOf = ({ config, seed }: ArgumentsOf<'serve'>): readonly string[] =>
  seed === undefined ? [config] : [config, seed]

/** Returns a sentence about the documents that are lost in a restart because they are in memory. */
function describeLoss({ storage, seed }: ArgumentsOf<'serve'>): string {
  if (storage) return ''
  const rest = seed === undefined ? 'without documents' : `with ${seed}`
  return ` The documents in memory, accounts and sessions are deleted: it starts ${rest}.`
}

/** Closes a service. An error is ignored, so that it does not prevent the next steps. */
const close = ({ handler }: Service): Promise<void> => handler.close().catch(() => {})
