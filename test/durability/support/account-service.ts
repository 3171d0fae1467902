import {
  type Config,
  createCollectionService,
  type Delivery,
  type Handler,
  type StorageAdapter,
} from '../../../src/index.js'
import { createTestHasher } from '../../../src/tools/testing/index.js'

/** Accounts with everything that delivers. */
export const config = {
  collections: {
    users: {
      schema: {
        email: { type: 'string', unique: true, required: true },
        password: { type: 'hash', required: true },
        since: { type: 'timestamp' },
      },
      permissions: { owner: { read: true } },
    },
  },
  auth: { verifiedField: 'since' },
} satisfies Config

/** The same, where nobody is there before being verified. */
export const strictConfig = {
  ...config,
  auth: { ...config.auth, requireVerified: true },
} satisfies Config

/** An answer in few words. */
export interface Answered {
  readonly status: number
  readonly code: string | undefined
  readonly token: string | undefined
}

/** A service of accounts in this process, and what it has sent out. */
export interface AccountService {
  readonly handler: Handler
  readonly messages: Delivery[]
  post(way: string, body?: object, token?: string): Promise<Answered>
  /** Whether a session counts. */
  isSignedIn(token: string | undefined): Promise<boolean>
  /** Until what goes on behind answers is done. */
  settle(): Promise<void>
  /** The token of the next message of a kind. */
  delivered(kind: Delivery['kind']): Promise<string>
}

interface Options {
  readonly config?: Config
  /** Default: the one of tests. */
  readonly hasher?: ReturnType<typeof createTestHasher>
  /** What the host does with a message, before it is noted here. */
  readonly deliver?: (delivery: Delivery) => void
}

export function openAccountService(adapter: StorageAdapter, options: Options = {}): AccountService {
  const messages: Delivery[] = []
  const works = new Set<Promise<void>>()
  const silent = (): void => {}
  const handler = createCollectionService(options.config ?? config, adapter, {
    hasher: options.hasher ?? createTestHasher(),
    production: false,
    logger: { info: silent, warn: silent, error: silent },
    deliver(delivery) {
      options.deliver?.(delivery)
      messages.push(delivery)
    },
    background(work) {
      works.add(work)
      void work.then(() => works.delete(work))
    },
  })
  const send = (method: string, path: string, token?: string, body?: object): Promise<Response> => {
    const headers = new Headers({ 'content-type': 'application/json' })
    if (token !== undefined) headers.set('authorization', `Bearer ${token}`)
    const init = body ? { body: JSON.stringify(body) } : {}
    return handler(new Request(`http://service.test${path}`, { method, headers, ...init }))
  }
  return {
    handler,
    messages,
    async post(way, body, token) {
      const response = await send('POST', `/auth/${way}`, token, body)
      const text = await response.text()
      const { code, token: issued } = text === '' ? {} : JSON.parse(text)
      return { status: response.status, code, token: issued }
    },
    async isSignedIn(token) {
      return token !== undefined && (await send('GET', '/auth/me', token)).status === 200
    },
    async settle() {
      await Promise.all(works)
    },
    async delivered(kind) {
      for (;;) {
        const place = messages.findIndex((message) => message.kind === kind)
        const [message] = place < 0 ? [] : messages.splice(place, 1)
        if (message && 'token' in message) return message.token
        await new Promise((resolve) => setTimeout(resolve, 0))
      }
    },
  }
}
