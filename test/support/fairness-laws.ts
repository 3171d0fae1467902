import { expect } from 'vitest'
import { createHasherOn, createWorkQueue } from '../../src/core/accounts/auth/hasher.js'
import type { createCollectionService, Hasher, StorageAdapter } from '../../src/index.js'
import { createTestService, type Sent } from './service.js'
import { until } from './until.js'

/** What is asked: another build of the library can be a mutant. */
interface Asked {
  readonly adapter?: StorageAdapter
  readonly create?: typeof createCollectionService
  readonly hashing?: {
    readonly createHasherOn: typeof createHasherOn
    readonly createWorkQueue: typeof createWorkQueue
  }
}

const WAITING = 128
const config = {
  collections: {
    users: {
      schema: { email: { type: 'string', unique: true }, password: { type: 'hash' } },
      permissions: { user: { read: true } },
    },
  },
}

/** A service whose comparisons of secrets wait until they are let go, one by one. */
async function openHeld({ adapter, create, hashing = { createHasherOn, createWorkQueue } }: Asked) {
  const compared: string[] = []
  const waiting: string[] = []
  const held: (() => void)[] = []
  const engine = {
    hash: async (secret: string) => `$2b$04$${secret.padEnd(53, '.')}`,
    compare(secret: string, hash: string) {
      compared.push(secret)
      return new Promise<boolean>((resolve) => {
        held.push(() => resolve(hash.startsWith(`$2b$04$${secret}`)))
      })
    },
  }
  const real = hashing.createHasherOn(engine, 4, hashing.createWorkQueue(WAITING))
  const hasher: Hasher = {
    ...real,
    verify(...asked) {
      const verified = real.verify(...asked)
      waiting.push(asked[0])
      return verified
    },
  }
  const service = createTestService(config, {
    hasher,
    clientAddress: (request) => request.headers.get('x-client') ?? undefined,
    ...(adapter && { adapter }),
    ...(create && { create }),
  })
  let isFree = false
  const free = async (): Promise<void> => {
    while (!isFree) {
      held.shift()?.()
      await new Promise((resolve) => setImmediate(resolve))
    }
  }
  return {
    ...service,
    compared,
    waiting,
    login: (password: string, email: string, client: string, token?: string): Promise<Sent> =>
      service.send('POST /auth/login', {
        body: { email, password },
        headers: { 'x-client': client },
        mayFail: true,
        ...(token !== undefined && { token }),
      }),
    /** Lets all go on that wait, and those that come. */
    free: () => void free(),
    async close(): Promise<void> {
      void free()
      await service.handler.close()
      isFree = true
    },
  }
}

/** One address sends more logins than may wait; the login from another address is the next, and is not refused. */
export async function checkFloodOfLogins(asked: Asked): Promise<void> {
  const service = await openHeld(asked)
  const { login, compared, waiting } = service
  try {
    await service.register({ email: 'own', password: 'own' })
    const codes: unknown[] = []
    const flood = Array.from({ length: 150 }, async (_, i) => {
      const { status, body } = await login(`f${i}`, `unknown${i}`, '192.0.2.1')
      if (status !== 401) codes.push(body.code)
    })
    await until(() => waiting.length === 150)
    const own = login('own', 'own', '192.0.2.2')
    await until(() => waiting.length === 151)
    service.free()
    expect((await own).status).toBe(200)
    await Promise.all(flood)
    expect(codes).toEqual(Array(150 - WAITING).fill('overloaded'))
    expect(compared.indexOf('own')).toBe(1)
  } finally {
    await service.close()
  }
}

/** Those who are signed in are served by account, not by address. */
export async function checkAccountsAtOneAddress(asked: Asked): Promise<void> {
  const service = await openHeld(asked)
  const { login, compared, waiting, register } = service
  try {
    const [one, other] = [
      await register({ email: 'one', password: 'one' }),
      await register({ email: 'other', password: 'other' }),
    ]
    const tokens = [one, one, one, one, other]
    const all: Promise<Sent>[] = []
    for (const [i, { token }] of tokens.entries()) {
      all.push(login(`s${i}`, `unknown${i}`, '192.0.2.1', token))
      // Each waits before the next one comes.
      await until(() => waiting.length === i + 1)
    }
    service.free()
    await Promise.all(all)
    expect(compared).toEqual(['s0', 's4', 's1', 's2', 's3'])
  } finally {
    await service.close()
  }
}
