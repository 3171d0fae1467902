import { describe, expect, test } from 'vitest'
import type { StorageAdapter, WriteStep } from '../../src/index.js'
import { checkAccountsAtOneAddress, checkFloodOfLogins } from '../support/fairness-laws.js'
import { createTestService } from '../support/service.js'
import { closeAfterEach, useAllStorages } from '../support/storages.js'

// CONTRACT.md §6, "Scheduling": one caller with many requests, and another one with a single request

const MANY = 40
const storages = useAllStorages()
const opened = closeAfterEach()
const [attacker, other] = [{ id: 'attacker' }, { id: 'other' }]
const numbers = Array.from({ length: MANY }, (_, i) => i)
const collections = {
  counters: {
    schema: { n: { type: 'integer', index: true }, text: { type: 'string' } },
    permissions: { '*': true },
  },
} as const

const isReplace = (step: WriteStep): boolean => step.in === 'counters' && 'replace' in step

/** The same storage; each write that changes a counter is told with its caller. */
const telling = (adapter: StorageAdapter, tell: (by: unknown) => void): StorageAdapter => ({
  ...adapter,
  async write(steps, options) {
    const result = await adapter.write(steps, options)
    if (result.ok && steps.some(isReplace)) tell(options.by)
    return result
  },
})

describe.each(storages)('in %s', (name, create) => {
  test('a flood of logins from one address neither refuses nor delays a login from another', async () => {
    await checkFloodOfLogins({ adapter: create() })
  })

  test('accounts at one address are served in turn', async () => {
    await checkAccountsAtOneAddress({ adapter: create() })
  })

  test('a flood of changes of one document delays that of another caller by a few', async () => {
    const written: unknown[] = []
    let before = 0
    let late: Promise<unknown> | undefined
    const adapter = telling(create(), (by) => {
      written.push(by)
      if (written.length !== 5) return
      before = written.length
      late = send(`PATCH ${path}`, { body: { n: -1 }, caller: other })
    })
    const service = createTestService({ collections }, { adapter })
    opened.push(service)
    const { send } = service
    const path = `/counters/${(await send('POST /counters', { body: { n: 0 } })).body._id}`
    const flood = numbers.map((i) => send(`PATCH ${path}`, { body: { n: i }, caller: attacker }))
    for (const { status } of await Promise.all(flood)) expect(status).toBe(200)
    await late
    expect(written).toHaveLength(MANY + 1)
    // A memory adapter that is not alone in its turn answers many before the other one has begun.
    if (name !== 'memory') expect(written.indexOf('other') - before).toBeLessThanOrEqual(5)
  })

  test('a batch reads a document that others keep changing', async () => {
    const service = createTestService({ collections }, { adapter: create() })
    opened.push(service)
    const { send } = service
    const path = `/counters/${(await send('POST /counters', { body: { n: 0 } })).body._id}`
    let isOver = false
    const changing = numbers.slice(0, 20).map(async (i) => {
      while (!isOver) {
        await send(`PATCH ${path}`, { body: { n: i }, caller: attacker })
        await new Promise((resolve) => setImmediate(resolve))
      }
    })
    const operations = [{ method: 'GET', path }]
    for (let i = 0; i < 6; i++)
      expect((await send('POST /_batch', { body: { operations }, caller: other })).status).toBe(200)
    // With a write besides, of another document.
    const more = [...operations, { method: 'POST', path: '/counters', body: { n: 1 } }]
    expect((await send('POST /_batch', { body: { operations: more }, caller: other })).status).toBe(200)
    isOver = true
    await Promise.all(changing)
  })
})

/** How many documents a search reads, so that it takes much longer than a search with an index. */
const READ: { readonly [storage: string]: number } = { SQLite: 60, PostgreSQL: 400 }

// In memory and in Workers, nothing waits for a connection.
describe.each(storages.filter(([name]) => READ[name] !== undefined))('in %s', (name, create) => {
  test('a flood of searches does not keep waiting that of another caller', async () => {
    const adapter = create()
    // On a busy machine the whole flood may take long.
    const service = createTestService({ collections, limits: { requestSeconds: 120 } }, { adapter })
    opened.push(service)
    const { send, handler } = service
    await handler.ready()
    const text = 'ab'.repeat(2000)
    const system = {
      createdAt: '2026-01-01T00:00:00.000Z',
      updatedAt: '2026-01-01T00:00:00.000Z',
      createdBy: null,
    }
    const count = READ[name] ?? 0
    const steps = Array.from({ length: count }, (_, i) => ({
      in: 'counters',
      insert: {
        _id: `0199b0f0-0000-7000-8000-${String(i).padStart(12, '0')}`,
        _version: 1,
        n: i,
        text,
        ...system,
      },
    }))
    expect((await adapter.write(steps, {})).ok).toBe(true)
    const search = '/counters/count?q[text][$regex]=a[ab]{40}c'
    const answered: string[] = []
    const ask = async (caller: { readonly id: string }, path = search): Promise<void> => {
      expect((await send(`GET ${path}`, { caller })).status).toBe(200)
      answered.push(caller.id)
    }
    const flood = numbers.map(() => ask(attacker))
    await ask({ id: 'indexed' }, `/counters/count?q[n][$gte]=${count - 4}`)
    await Promise.all([...flood, ask(other)])
    expect(answered.indexOf('indexed')).toBeLessThanOrEqual(5)
    expect(answered.indexOf('other')).toBeLessThanOrEqual(20)
  })
})
