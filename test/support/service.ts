import { expect } from 'vitest'
import {
  type Caller,
  type CollectionService,
  type Config,
  createCollectionService,
  createMemoryAdapter,
  type OptionsFor,
  type StorageAdapter,
  type SystemOptions,
} from '../../src/index.js'
import { createTestHasher } from '../../src/tools/testing/index.js'
import { holdOthers, takeFaults } from './judged.js'

/** A configuration as a test writes it down, or a wrong one. */
export type AnyConfig = Config | { readonly [key: string]: unknown }

export interface Sent {
  readonly status: number
  readonly headers: Headers
  readonly text: string
  /** The body as JSON; `undefined` where there is none. */
  // biome-ignore lint/suspicious/noExplicitAny: tests look into answers of every shape
  readonly body: any
}

export interface SendOptions {
  /** Sent as JSON. */
  readonly body?: unknown
  /** Sent as it is. */
  readonly raw?: BodyInit
  readonly headers?: { readonly [name: string]: string }
  readonly token?: string
  /** On the host's word. */
  readonly caller?: Caller | null
  /** With full rights. */
  readonly system?: SystemOptions
  /** This case is allowed to answer 5xx. */
  readonly mayFail?: boolean
}

export interface TestService {
  readonly handler: CollectionService
  readonly adapter: StorageAdapter
  readonly logged: unknown[][]
  send(line: string, options?: SendOptions): Promise<Sent>
  /** The answer's documents, as what one of their fields holds. */
  list(path: string, field: string, options?: SendOptions): Promise<unknown[]>
  /** Registers and returns the token and the id. */
  register(credentials: object): Promise<{ readonly token: string; readonly id: string }>
}

/** Only what a URL cannot carry is encoded, so that query strings stay readable. */
export const encodePath = (path: string): string =>
  path.replace(/[ "<>`{}|\\^#]|[^\x21-\x7e]/gu, encodeURIComponent)

/** A service with a cheap hasher and a log that tests can read. */
export function createTestService(
  config: AnyConfig,
  options: OptionsFor<unknown> & {
    /** Another build of the library: a mutant. */
    readonly create?: typeof createCollectionService
    readonly adapter?: StorageAdapter
    readonly documents?: { [name: string]: object[] }
    /** Whether the storage holds, or throws, what this service would not: then no description fits its answers. */
    readonly holdsOthers?: boolean
  } = {},
): TestService {
  const { adapter: given, documents, holdsOthers: isOthers, create, ...service } = options
  const adapter = given ?? createMemoryAdapter(documents ? { documents } : {})
  const logged: unknown[][] = []
  const note = (...entry: unknown[]): void => void logged.push(entry)
  const whole = {
    hasher: createTestHasher(),
    production: false,
    logger: { info: note, warn: note, error: note },
    // What hooks are told of does not depend on the type of the configuration.
    ...(service as OptionsFor<AnyConfig>),
  }
  const handler = (create ?? createCollectionService)(config, adapter, isOthers ? holdOthers(whole) : whole)
  const send = async (line: string, sent: SendOptions = {}): Promise<Sent> => {
    const [method = 'GET', ...path] = line.split(' ')
    const headers = new Headers(sent.headers)
    if (sent.token !== undefined) headers.set('authorization', `Bearer ${sent.token}`)
    const init: RequestInit & { duplex?: 'half' } = { method, headers }
    if (sent.body !== undefined) {
      init.body = JSON.stringify(sent.body)
      if (!headers.has('content-type')) headers.set('content-type', 'application/json')
    } else if (sent.raw !== undefined) {
      init.body = sent.raw
      init.duplex = 'half'
    }
    const asCaller = sent.caller === undefined ? handler : handler.as(sent.caller)
    const target = sent.system ? handler.system(sent.system) : asCaller
    const url = encodePath(path.join(' '))
    const answer = await checkAnswer(
      await target(new Request(`http://service.test${url}`, init)),
      sent.mayFail ?? false,
    )
    const [fault] = takeFaults()
    if (fault !== undefined) expect.fail(fault)
    return answer
  }
  return {
    handler,
    adapter,
    logged,
    send,
    async list(path, field, sent) {
      const { status, body } = await send(`GET ${path}`, sent)
      expect(status, `GET ${path}: ${JSON.stringify(body)}`).toBe(200)
      return body.map((document: { [name: string]: unknown }) => document[field])
    },
    async register(credentials) {
      const { status, body } = await send('POST /auth/register', { body: credentials })
      expect(status).toBe(201)
      return { token: body.token, id: body.user._id }
    },
  }
}

const isProblemOf = (status: number, headers: Headers, body: { readonly [name: string]: unknown }): boolean =>
  headers.get('content-type') === 'application/problem+json' &&
  body.status === status &&
  ['title', 'code', 'requestId'].every((name) => typeof body[name] === 'string')

/** What holds for every answer, whatever the case is about. */
async function checkAnswer(response: Response, mayFail: boolean): Promise<Sent> {
  const { status, headers } = response
  const text = await response.text()
  const isPage = headers.get('content-type') === 'text/html; charset=utf-8'
  const body = text === '' || (isPage && status === 200) ? undefined : JSON.parse(text)
  const isProblem = status >= 400 && text !== ''
  const rules: readonly (readonly [rule: string, holds: boolean])[] = [
    ['is no failure', mayFail || status < 500],
    ['is not sniffed', headers.get('x-content-type-options') === 'nosniff'],
    ['varies with who asks', headers.get('vary')?.includes('Authorization') ?? false],
    ['is a problem document', !isProblem || isProblemOf(status, headers, body)],
    ['tells nothing of the code', !isProblem || !/\bat .*\.[jt]s:\d+|node_modules|lokijs|ajv/.test(text)],
    // A body must never reach a prototype.
    ['leaves prototypes alone', Object.keys(Object.prototype).length === 0],
  ]
  // Hundreds of thousands of answers are looked at: what holds is not worth an assertion each.
  const broken = rules.flatMap(([rule, holds]) => (holds ? [] : [rule]))
  if (broken.length > 0) expect(broken, `${status} ${text}`).toEqual([])
  return { status, headers, text, body }
}

/** The codes of an answer's errors by path. */
export const faultsOf = ({ body }: Sent): { [path: string]: string } =>
  Object.fromEntries(
    (body.errors ?? []).map(({ path, code }: { path: string; code: string }) => [path, code]),
  )
