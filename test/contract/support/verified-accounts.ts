import { createMemoryAdapter, type Hasher, type StorageAdapter } from '../../../src/index.js'
import { createMailbox } from '../../support/mailbox.js'
import { type AnyConfig, createTestService, type TestService } from '../../support/service.js'

/** What the tests of delivered tokens have in common. */

export const SCHEMA = {
  email: { type: 'string', format: 'email', unique: true, required: true, trim: true, lowercase: true },
  password: { type: 'hash', required: true, minLength: 4 },
  name: { type: 'string' },
  role: { type: 'string' },
  verifiedAt: { type: 'timestamp' },
}

export const PERMISSIONS = {
  owner: { read: true, update: { pick: ['name'] }, delete: true },
  admin: true,
}

export interface Settings {
  readonly schema?: object
  readonly permissions?: object
  readonly auth?: object
}

export const configOf = ({
  schema = {},
  permissions = PERMISSIONS,
  auth = {},
}: Settings = {}): AnyConfig => ({
  collections: { users: { schema: { ...SCHEMA, ...schema }, permissions } },
  auth: { roleField: 'role', verifiedField: 'verifiedAt', ...auth },
})

export const ann = { email: 'ann@example.org', password: 'secret' }
export const bob = { email: 'bob@example.org', password: 'secret of bob' }
export const ADMIN = { id: 'an admin', roles: ['admin'] }

export const MINUTE = 60_000
export const HOUR = 60 * MINUTE

/** What it makes is of no worth, and costs nothing. */
const plain: Hasher = {
  hash: async (secret) => `hash of ${secret}`,
  verify: async (secret, hash) => hash === `hash of ${secret}`,
}

/** A service with a mailbox, whose clock stands until it is moved, and whose clients say who they are. */
export function createStage(
  config: AnyConfig,
  adapter: StorageAdapter = createMemoryAdapter(),
  more: object = {},
) {
  const clock = { time: Date.parse('2026-11-20T08:00:00.000Z') }
  const mail = createMailbox()
  const service = createTestService(config, {
    adapter,
    now: () => clock.time,
    clientAddress: (request) => request.headers.get('x-client'),
    hasher: plain,
    ...mail.options,
    ...more,
  })
  const post = (path: string, body: object, token?: string, client?: string) =>
    service.send(`POST /auth/${path}`, {
      body,
      ...(token === undefined ? {} : { token }),
      ...(client === undefined ? {} : { headers: { 'x-client': client } }),
    })
  return { ...service, service, clock, mail, post }
}

export type Stage = ReturnType<typeof createStage>

/** The account with an `_id`, as it is stored. */
export async function storedUser({ send }: Pick<TestService, 'send'>, id: string) {
  return (await send(`GET /users/${id}`, { caller: ADMIN })).body
}
