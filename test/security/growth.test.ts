import { describe, expect, test } from 'vitest'
import { DELIVERIES } from '../../src/core/accounts/auth/deliveries.js'
import { LEDGERS } from '../../src/core/accounts/auth/ledger.js'
import { SESSIONS } from '../../src/core/accounts/auth/sessions.js'
import { everything } from '../../src/core/filter/filter.js'
import { createTestService } from '../support/service.js'
import { closeAfterEach, useAllStorages } from '../support/storages.js'

// CONTRACT.md §6, "Growth": what an anonymous caller adds to a storage, and when that goes

const HOUR = 60 * 60 * 1000
const DAY = 24 * HOUR

const opened = closeAfterEach()

const config = {
  collections: {
    users: {
      schema: {
        email: { type: 'string', format: 'email', unique: true, required: true, lowercase: true },
        password: { type: 'hash', required: true, minLength: 4 },
        verifiedAt: { type: 'timestamp' },
      },
      permissions: { owner: { read: true } },
    },
    notes: {
      changes: true,
      schema: { text: { type: 'string', index: true } },
      permissions: { '*': { read: true } },
    },
  },
  auth: { verifiedField: 'verifiedAt', sessions: 10, sessionDays: 2 },
}

describe.each(useAllStorages())('in %s, an anonymous caller', (_, create) => {
  function open() {
    let now = Date.parse('2026-01-01T00:00:00Z')
    const works: Promise<unknown>[] = []
    const adapter = create()
    const service = createTestService(config, {
      adapter,
      now: () => now,
      deliver: () => {},
      background: (work) => void works.push(work),
      clientAddress: (request) => request.headers.get('x-client') ?? '',
    })
    opened.push(service)
    const settle = async (): Promise<void> => {
      for (let work = works.shift(); work; work = works.shift()) await work
    }
    const post = async (path: string, body: object, client: string): Promise<number> => {
      const { status } = await service.send(`POST /auth/${path}`, { body, headers: { 'x-client': client } })
      await settle()
      return status
    }
    /** What is stored of accounts, beside accounts. */
    const counts = async () => {
      const [sessions = 0, ledgers = 0, tokens = 0] = await Promise.all(
        [SESSIONS, LEDGERS, DELIVERIES].map(async (name) => adapter.count(name, everything, {})),
      )
      return { sessions, ledgers, tokens }
    }
    /** Lets time pass, and asks for something that nobody refuses. */
    const pass = async (milliseconds: number) => {
      now += milliseconds
      expect((await service.send('GET /notes')).status).toBe(200)
      await settle()
      return counts()
    }
    return { service, post, counts, pass }
  }
  const mail = (i: number): string => `n${i}@example.org`
  const numbers = (count: number): readonly number[] => Array.from({ length: count }, (_, i) => i)

  test('adds a ledger for each identifier at which a login fails, until 15 minutes later', async () => {
    const { post, counts, pass } = open()
    await pass(0)
    for (const i of numbers(120))
      expect(await post('login', { email: mail(i), password: 'wrong' }, `192.0.2.${i}`)).toBe(401)
    for (const i of numbers(120))
      await post('login', { email: mail(0), password: 'wrong' }, `198.51.100.${i}`)
    expect(await counts()).toEqual({ sessions: 0, ledgers: 120, tokens: 0 })
    expect((await pass(HOUR)).ledgers).toBe(0)
  })

  test('adds a ledger for each address that asks for a token, or network of IPv6, until an hour later', async () => {
    const { post, counts, pass } = open()
    for (const i of numbers(120))
      expect(await post('request-reset', { email: mail(i) }, `192.0.2.${i}`)).toBe(202)
    for (const i of numbers(60))
      expect(await post('request-reset', { email: mail(i) }, `2001:db8:1:2::${i + 1}`)).toBe(
        i < 20 ? 202 : 429,
      )
    expect(await counts()).toEqual({ sessions: 0, ledgers: 121, tokens: 0 })
    expect((await pass(HOUR)).ledgers).toBe(0)
  })

  test('adds three tokens an hour for a kind and an account, whoever asks', async () => {
    const { service, post, counts, pass } = open()
    await post('register', { email: mail(0), password: 'secret' }, '192.0.2.1')
    for (let hour = 0; hour < 3; hour += 1) {
      for (const i of numbers(20)) {
        await post('request-reset', { email: mail(0) }, `198.51.100.${i}`)
        await post('request-verification', { email: mail(0) }, `203.0.113.${i}`)
      }
      const { tokens } = await counts()
      expect(tokens).toBeLessThanOrEqual(6 + 3 * hour)
      await pass(HOUR)
    }
    expect(await pass(DAY)).toEqual({ sessions: 1, ledgers: 0, tokens: 0 })
    expect(await pass(DAY)).toEqual({ sessions: 0, ledgers: 0, tokens: 0 })
    expect(await service.adapter.count('users', everything, {})).toBe(1)
  })

  test('adds as many sessions to an account as there may be', async () => {
    const { post, counts, pass } = open()
    const account = { email: mail(0), password: 'secret' }
    await post('register', account, '192.0.2.1')
    for (const i of numbers(40)) expect(await post('login', account, `192.0.2.${i}`)).toBe(200)
    expect((await counts()).sessions).toBe(10)
    expect((await pass(2 * DAY)).sessions).toBe(0)
  })

  test('adds nothing by reading, whatever the query, the path, the token and the headers, nor to the log', async () => {
    const { service, counts } = open()
    await service.handler.ready()
    const logged = service.logged.length
    for (const i of numbers(300)) {
      await service.send(`GET /notes?q[text]="${i}"&limit=${i}`)
      await service.send(`GET /notes/count?q[text][$regex]=a${i}`)
      await service.send(`GET /n${i}`)
      await service.send(`GET /notes/${crypto.randomUUID()}`)
      await service.send('GET /notes', { token: `${i}`.padStart(43, 'A') })
      await service.send('POST /notes', { body: { text: `${i}` }, headers: { 'x-client': `192.0.2.${i}` } })
    }
    expect(await counts()).toEqual({ sessions: 0, ledgers: 0, tokens: 0 })
    expect(service.logged.length).toBe(logged)
    expect((await service.adapter.changes?.('no position', { limit: 10 }))?.changes).toEqual([])
  })
})
