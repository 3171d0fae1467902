import { describe, expect, test } from 'vitest'
import { createBcryptHasher } from '../../src/core/accounts/auth/hasher.js'
import { ServiceError, type StorageAdapter } from '../../src/index.js'
import { createTestHasher } from '../../src/tools/testing/index.js'
import { closeAfterEach, useStorages } from '../support/storages.js'
import { outcomeOf } from './support/accounts.js'
import { ann, configOf, createStage, MINUTE } from './support/verified-accounts.js'

// CONTRACT.md §4, "Throttle", "Renewal", "Delivery"

const storages = useStorages()
const opened = closeAfterEach()

const LEDGERS = '_ledgers'
const everything = { kind: 'and', filters: [] } as const

describe.each(storages)('the throttle, in %s,', (_, create) => {
  /** Two services over one storage, which the first one closes. */
  async function openTwo() {
    const adapter = create()
    const shared: StorageAdapter = { ...adapter, close: async () => {} }
    const writes: string[] = []
    const watched: StorageAdapter = {
      ...shared,
      write(steps, options) {
        writes.push(...steps.map((step) => step.in))
        return adapter.write(steps, options)
      },
    }
    const one = createStage(configOf(), { ...adapter, write: watched.write })
    const other = createStage(configOf(), watched)
    opened.push(one.service)
    await one.register(ann)
    await one.mail.take()
    await other.handler.ready()
    const guess = async (stage: typeof one, client?: string, password = 'wrong') =>
      (await stage.post('login', { ...ann, password }, undefined, client)).status
    return { one, other, adapter, writes, guess }
  }

  test('counts over all processes, and nobody gets more places than there are', async () => {
    const { one, other, guess, writes } = await openTwo()
    const stages = [one, other]
    const guesses = Array.from({ length: 30 }, (_, i) => guess(stages[i % 2] ?? one, 'home'))
    const statuses = await Promise.all(guesses)
    expect(statuses.filter((status) => status === 401)).toHaveLength(10)
    expect(statuses.filter((status) => status === 429)).toHaveLength(20)
    writes.length = 0
    for (const stage of stages) expect(await guess(stage, 'home', ann.password)).toBe(429)
    expect(writes).toEqual([])
    expect(await guess(other, 'elsewhere', ann.password)).toBe(200)
    expect(await guess(one, 'home', ann.password)).toBe(429)
    for (const { clock } of stages) clock.time += 15 * MINUTE
    expect(await guess(one, 'home', ann.password)).toBe(200)
  })

  test('a success lifts what its own client used up, and no more', async () => {
    const { one, other, guess } = await openTwo()
    for (let i = 0; i < 90; i++) await guess(one, `client ${Math.floor(i / 9)}`)
    expect(await guess(other, 'client 0', ann.password)).toBe(200)
    // 81 of others, and 19 more.
    for (let i = 0; i < 19; i++) expect(await guess(one, `late ${i}`)).toBe(401)
    expect(await guess(one, 'client 0', ann.password)).toBe(429)
  })

  test('forgets in passing what is over', async () => {
    const { one, adapter } = await openTwo()
    for (let i = 0; i < 5; i++) await one.post('login', { email: `x${i}@x.org`, password: 'x' })
    const before = await adapter.count(LEDGERS, everything, {})
    one.clock.time += 61 * MINUTE
    await one.post('login', { email: 'last@x.org', password: 'x' })
    expect([before > 5, await adapter.count(LEDGERS, everything, {})]).toEqual([true, 1])
  })
})

describe('the throttle', () => {
  test('refuses while its ledgers cannot be written, with the right secret or a wrong one', async () => {
    const { createMemoryAdapter } = await import('../../src/index.js')
    const inner = createMemoryAdapter()
    let isLost = false
    const adapter: StorageAdapter = {
      ...inner,
      list(collection, query) {
        if (isLost && collection === LEDGERS) throw new ServiceError('storage_unavailable', 'lost')
        return inner.list(collection, query)
      },
    }
    const stage = createStage(configOf(), adapter)
    await stage.register(ann)
    isLost = true
    for (const password of ['wrong', ann.password]) {
      const sent = await stage.service.send('POST /auth/login', { body: { ...ann, password }, mayFail: true })
      expect(outcomeOf(sent)).toEqual([503, 'storage_unavailable'])
    }
  })
})

describe('a hash that is cheaper than those of today', () => {
  test('is renewed behind a login, with its sessions', async () => {
    const { createMemoryAdapter } = await import('../../src/index.js')
    const adapter = createMemoryAdapter()
    const before = createStage(configOf(), adapter, { hasher: createTestHasher() })
    const { token } = await before.register(ann)
    const after = createStage(configOf(), adapter, { hasher: createBcryptHasher(5) })
    const stored = async () =>
      JSON.stringify(await adapter.list('users', { filter: everything, sort: [], skip: 0, limit: 1 }))
    expect(await stored()).toContain('$2b$04$')
    expect((await after.post('login', { ...ann, password: 'wrong' })).status).toBe(401)
    await after.mail.take()
    expect(await stored()).toContain('$2b$04$')
    const [one, two] = await Promise.all([after.post('login', ann), after.post('login', ann)])
    await after.mail.take()
    expect(await stored()).toContain('$2b$05$')
    for (const valid of [token, one.body.token, two.body.token])
      expect((await after.send('GET /auth/me', { token: valid })).status).toBe(200)
    const renewed = await stored()
    expect((await after.post('login', ann)).status).toBe(200)
    await after.mail.take()
    expect(await stored()).toBe(renewed)
  })
})

describe('what goes on behind an answer', () => {
  test.each<[what: string, deliver: () => void | Promise<void>]>([
    [
      'throws',
      () => {
        throw new Error('no mail today')
      },
    ],
    [
      'rejects',
      async () => {
        throw new Error('no mail today')
      },
    ],
  ])('is logged where deliver %s', async (_, deliver) => {
    const stage = createStage(configOf(), undefined, { deliver })
    await stage.register(ann)
    await stage.mail.take()
    expect(stage.logged.map(([message]) => message)).toEqual(['options.deliver failed'])
    expect(JSON.stringify(stage.logged)).not.toMatch(/[A-Za-z0-9_-]{43}/)
  })

  test.each([
    [
      'throws',
      (): never => {
        throw new Error('no runtime')
      },
    ],
    ['rejects', () => Promise.reject(new Error('no runtime'))],
  ])('outlives a background that %s, and close waits for it', async (_, background) => {
    let isDelivered = false
    const deliver = async (): Promise<void> => {
      await new Promise((resolve) => setImmediate(resolve))
      isDelivered = true
    }
    const stage = createStage(configOf(), undefined, { deliver, background })
    await stage.register(ann)
    expect(isDelivered).toBe(false)
    await stage.handler.close()
    expect(isDelivered).toBe(true)
    expect(stage.logged.map(([message]) => message)).toEqual(['options.background failed'])
  })

  test('holds no more of an identifier than any account can have', async () => {
    const stage = createStage(configOf())
    const before = stage.mail
    for (const email of ['x'.repeat(100_000), `${' '.repeat(100_000)}${ann.email}`])
      expect((await stage.post('request-reset', { email })).status).toBe(202)
    expect(await before.take()).toEqual([])
  })
})
