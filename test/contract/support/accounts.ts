import { createMemoryAdapter, type StorageAdapter } from '../../../src/index.js'
import type { AnyConfig, TestService } from '../../support/service.js'

/** What the tests of accounts have in common. */

export const schema = {
  email: { type: 'string', format: 'email', unique: true, required: true, trim: true, lowercase: true },
  password: { type: 'hash', required: true, minLength: 4 },
  name: { type: 'string', maxLength: 10 },
  role: { type: 'string' },
  note: { type: 'string' },
}

export interface Settings {
  readonly permissions?: object
  readonly auth?: object
  readonly schema?: object
}

export const configOf = ({
  permissions = {},
  auth = {},
  schema: own = schema,
}: Settings = {}): AnyConfig => ({
  collections: {
    users: { schema: own, permissions },
    notes: {
      schema: { text: { type: 'string' } },
      permissions: { user: { create: true }, owner: { read: true } },
    },
    news: { schema: { text: { type: 'string' } }, permissions: { '*': { read: true } } },
  },
  auth,
})

export const ann = { email: 'ann@example.org', password: 'secret' }
export const register = (service: TestService, body: object) => service.send('POST /auth/register', { body })
export const login = (service: TestService, body: object) => service.send('POST /auth/login', { body })

/** Status and code. */
export const outcomeOf = ({ status, body }: { status: number; body: { code?: string } | undefined }) => [
  status,
  body?.code,
]

/** An adapter that keeps what is written. */
export function watchWrites(): { readonly adapter: StorageAdapter; readonly written: string[] } {
  const written: string[] = []
  const memory = createMemoryAdapter()
  const adapter: StorageAdapter = {
    ...memory,
    write(steps, options) {
      written.push(JSON.stringify(steps))
      return memory.write(steps, options)
    },
  }
  return { adapter, written }
}
