import { createSqliteAdapter } from '../../../src/adapters/sqlite/sqlite-adapter.js'
import {
  type Caller,
  type Config,
  createCollectionService,
  createMemoryAdapter,
  type Handler,
  type OptionsFor,
  type StorageAdapter,
  type StoredDocument,
} from '../../../src/index.js'
import { createTestHasher } from '../../../src/tools/testing/index.js'
import { type OpenStream, readStream } from '../../support/event-streams.js'

export type Json = { readonly [name: string]: unknown }

/** A request and its answer. */
export interface Exchange {
  readonly scene: string
  readonly index: number
  readonly request: string
  readonly status: number
  readonly headers: readonly (readonly [string, string])[]
  readonly body: string
  /** Whether the body is the text of a whole stream of changes. */
  readonly stream: boolean
}

/** The process as scenes use it: its clock, its random numbers, and the receiver of exchanges. */
export interface Process {
  readonly clock: { now: number }
  readonly reseed: (text: string) => void
  /** Whether a thread computes something for this process. */
  readonly isBusy: () => boolean
  readonly tell: (exchange: Exchange) => void
}

/** A scene that is played: its name, the seed of its random worlds, and on which storage it plays. */
export interface Playing extends Process {
  readonly name: string
  readonly seed: number
  readonly storage: StorageName
}

export const STORAGES = {
  memory: () => createMemoryAdapter(),
  SQLite: () => createSqliteAdapter({ file: ':memory:' }),
} as const

export type StorageName = keyof typeof STORAGES

export interface Asked {
  /** Sent as JSON. */
  readonly body?: unknown
  /** Sent as it is. */
  readonly raw?: string | Uint8Array
  readonly headers?: { readonly [name: string]: string }
  readonly token?: string | undefined
  /** On the host's word. */
  readonly caller?: Caller | null
}

export interface Answered {
  readonly status: number
  readonly headers: Headers
  readonly text: string
  /** The body as JSON; `undefined` where it is something else. */
  // biome-ignore lint/suspicious/noExplicitAny: scenes go on from answers of every shape
  readonly body: any
  /** The stream of changes, where it is one. */
  readonly stream: OpenStream | undefined
}

export type ServiceSettings = OptionsFor<unknown>

/** A service that is asked. */
export interface Stage {
  readonly adapter: StorageAdapter
  ask(line: string, asked?: Asked): Promise<Answered>
  /** Records something beside answers, as a delivered token. */
  note(what: string, body: unknown): void
  /** Closes a stream, and records all its events. */
  leave(stream: OpenStream): Promise<void>
  close(): Promise<void>
}

/** The time at which a scene begins. */
export const START = Date.parse('2026-01-01T00:00:00.000Z')

const quiet = { info() {}, warn() {}, error() {} }

/** Opens the services of a scene, whose exchanges are numbered. */
export function openScene({ name: scene, clock, isBusy, reseed, tell, storage }: Playing) {
  clock.now = START
  let index = 0
  reseed(scene)
  const write = (exchange: Omit<Exchange, 'scene' | 'index'>): void => {
    tell({ scene, index, ...exchange })
    index += 1
    reseed(`${scene} ${index}`)
  }
  return {
    async open(
      config: unknown,
      options: ServiceSettings = {},
      wrap: (adapter: StorageAdapter) => StorageAdapter = (adapter) => adapter,
    ): Promise<Stage> {
      const adapter = wrap(STORAGES[storage]())
      const underWay: Promise<void>[] = []
      const handler: Handler = createCollectionService(config as Config, adapter, {
        hasher: createTestHasher(),
        logger: quiet,
        production: false,
        openapi: true,
        now: () => clock.now,
        background: (work: Promise<void>) => void underWay.push(work),
        ...options,
      } as OptionsFor<Config>)
      await handler.ready()
      const streams = new Map<OpenStream, Omit<Exchange, 'scene' | 'index' | 'body'>>()
      return {
        adapter,
        async ask(line, asked = {}) {
          const request = requestOf(line, asked)
          const target = asked.caller === undefined ? handler : handler.as(asked.caller)
          const response = await target(request)
          const { status, headers } = response
          const isStream = headers.get('content-type') === 'text/event-stream'
          const stream = isStream ? readStream(response) : undefined
          const text = stream ? '' : await response.text()
          // Work after an answer draws tokens too.
          while (underWay.length > 0) await underWay.shift()
          const told = { request: print(line, asked), status, headers: [...headers], stream: false }
          write({ ...told, body: text })
          if (stream) streams.set(stream, { ...told, request: `${told.request}, all of it`, stream: true })
          const isJson = /json/.test(headers.get('content-type') ?? '') && text !== ''
          return { status, headers, text, stream, body: isJson ? JSON.parse(text) : undefined }
        },
        note(what, body) {
          const request = `NOTE ${what}`
          write({ request, status: 0, headers: [], body: JSON.stringify(body), stream: false })
        },
        async leave(stream) {
          const told = streams.get(stream)
          streams.delete(stream)
          await arrived([stream], isBusy)
          await stream.close()
          if (told) write({ ...told, body: stream.text })
        },
        close: () => handler.close(),
      }
    },
  }
}

/** A stream that gives nothing for so many turns has given all. */
const TURNS = 4

/** Waits until the streams have given all events of the changes so far. */
export async function arrived(streams: readonly OpenStream[], isBusy: Process['isBusy']): Promise<void> {
  for (let [turns, length] = [0, -1]; turns < TURNS; turns++) {
    // Events wait for timers and for turns of the event loop.
    await new Promise((resolve) => setTimeout(resolve, 1))
    await new Promise((resolve) => setImmediate(resolve))
    const present = streams.reduce((sum, { text }) => sum + text.length, 0)
    if (isBusy() || present !== length) turns = 0
    length = present
  }
}

const UNSENDABLE = /[ "<>`{}|\\^#]|[^\x21-\x7e]/gu

function requestOf(line: string, { body, raw, headers: given, token }: Asked): Request {
  const space = line.indexOf(' ')
  const path = line.slice(space + 1).replace(UNSENDABLE, encodeOne)
  const headers = new Headers(given)
  if (token !== undefined) headers.set('authorization', `Bearer ${token}`)
  const sent = body === undefined ? raw : JSON.stringify(body)
  if (body !== undefined && !headers.has('content-type')) headers.set('content-type', 'application/json')
  const init: RequestInit = { method: line.slice(0, space), headers }
  return new Request(`http://service.test${path}`, {
    ...init,
    ...(sent === undefined ? {} : { body: sent as BodyInit }),
  })
}

/** A lone surrogate cannot be written in a URL. */
const encodeOne = (text: string): string => encodeURIComponent(text.toWellFormed())

/** A request as a message shows it. */
function print(line: string, { body, raw, headers, token, caller }: Asked): string {
  const sent = body === undefined ? raw : JSON.stringify(body)
  const parts = [
    ...(caller === undefined ? [] : [`as ${JSON.stringify(caller)}`]),
    ...(token === undefined ? [] : [`with the token ${token}`]),
    ...(Object.keys(headers ?? {}).length === 0 ? [] : [JSON.stringify(headers)]),
    ...(sent === undefined ? [] : [typeof sent === 'string' ? sent.slice(0, 2000) : `${sent.length} bytes`]),
  ]
  return [line, ...parts].join('\n    ')
}

/** Puts documents straight into a storage: some of them no body could bring in. */
export async function fill(
  adapter: StorageAdapter,
  stored: { readonly [collection: string]: readonly Json[] },
): Promise<void> {
  const steps = Object.entries(stored).flatMap(([name, documents]) =>
    documents.map((document) => ({
      in: name,
      insert: { ...document, _version: 1 } as unknown as StoredDocument,
    })),
  )
  const { ok } = await adapter.write(steps, {})
  if (!ok) throw new Error('the documents of a world were not stored')
}
