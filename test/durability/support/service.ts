import { createHash } from 'node:crypto'
import { afterEach, beforeEach, expect } from 'vitest'
import {
  type Config,
  createCollectionService,
  type Handler,
  type StorageAdapter,
  type StoredDocument,
} from '../../../src/index.js'
import { createTestHasher } from '../../../src/tools/testing/index.js'
import { connect, type Store } from './stores.js'

export const config = {
  collections: {
    users: {
      schema: {
        email: { type: 'string', unique: true, required: true },
        password: { type: 'hash', required: true },
      },
      permissions: { owner: { read: true } },
    },
    things: {
      schema: {
        code: { type: 'string', unique: true },
        text: { type: 'string' },
        digest: { type: 'string' },
        round: { type: 'integer', index: true },
        n: { type: 'integer', default: 0 },
      },
      permissions: { '*': { read: true, create: true, update: true } },
    },
  },
} satisfies Config

export interface Answered {
  readonly status: number
  /** Of an error; else empty. */
  readonly code: string
  readonly retryAfter: string | null
  readonly etag: string | null
  // biome-ignore lint/suspicious/noExplicitAny: tests look into answers of every shape
  readonly body: any
}

export interface Service {
  readonly handler: Handler
  readonly logged: unknown[][]
  /** Opens the storage, and waits for the comparison of stored documents, which runs after a start. */
  ready(): Promise<void>
  send(line: string, body?: unknown): Promise<Answered>
}

/** A service of this process, without HTTP. */
export function openService(
  storage: Store | StorageAdapter,
  limits: { readonly requestSeconds?: number } = {},
  configured: Config = config,
): Service {
  const logged: unknown[][] = []
  const note = (...entry: unknown[]): void => void logged.push(entry)
  const adapter = 'engine' in storage ? connect(storage) : storage
  const background: Promise<void>[] = []
  const handler = createCollectionService({ ...configured, limits }, adapter, {
    background: (work) => void background.push(work),
    hasher: createTestHasher(),
    production: false,
    logger: { info: note, warn: note, error: note },
  })
  return {
    handler,
    logged,
    async ready() {
      await handler.ready()
      await Promise.all(background)
    },
    async send(line, body) {
      const [method = 'GET', path = '/'] = line.split(' ')
      const init = body === undefined ? {} : { body: JSON.stringify(body) }
      const headers = { 'content-type': 'application/json' }
      const response = await handler(new Request(`http://service.test${path}`, { method, headers, ...init }))
      const text = await response.text()
      const parsed = text === '' ? undefined : JSON.parse(text)
      return {
        status: response.status,
        code: response.status < 400 ? '' : parsed.code,
        retryAfter: response.headers.get('retry-after'),
        etag: response.headers.get('etag'),
        body: parsed,
      }
    },
  }
}

/** What a storage says itself of a collection, past every rule. */
export async function readStore(store: Store, collection: string): Promise<readonly StoredDocument[]> {
  const adapter = connect(store)
  await adapter.open([])
  try {
    return await adapter.list(collection, {
      filter: { kind: 'and', filters: [] },
      sort: [],
      skip: 0,
      limit: null,
    })
  } finally {
    await adapter.close()
  }
}

/** No test of a file may leave a fault that nobody catches: outside of a test it would end the process. */
export function expectNoFaults(): void {
  const faults: unknown[] = []
  const note = (thrown: unknown): void => void faults.push(thrown)
  beforeEach(() => {
    faults.length = 0
    process.on('uncaughtException', note)
    process.on('unhandledRejection', note)
  })
  afterEach(() => {
    process.off('uncaughtException', note)
    process.off('unhandledRejection', note)
    expect(faults).toEqual([])
  })
}

export const digestOf = (text: string): string => createHash('sha256').update(text).digest('hex')
