import { describe, expect, test } from 'vitest'
import { createMemoryAdapter, type Hasher, type StorageAdapter } from '../../src/index.js'
import { faultsOf } from '../support/service.js'
import { closeAfterEach, useStorages } from '../support/storages.js'
import { outcomeOf } from './support/accounts.js'
import { configOf, createStage } from './support/verified-accounts.js'

// CONTRACT.md §4, "Secrets", "Login", "Renewal"; RFC 8265

const opened = closeAfterEach()

const email = 'ann@example.org'
const COMPOSED = 'caf\u00e9 na\u00efve'
const DECOMPOSED = COMPOSED.normalize('NFD')

/** A hasher that shows what it was given, in the form in which an earlier service may have stored it. */
function createHasher(form: 'as it comes' | 'NFD' = 'as it comes') {
  const hashed: string[] = []
  const compared: string[] = []
  const hasher: Hasher = {
    async hash(secret) {
      hashed.push(secret)
      return `hash of ${form === 'NFD' ? secret.normalize('NFD') : secret}`
    },
    async verify(secret, hash) {
      compared.push(secret)
      return hash === `hash of ${secret}`
    },
  }
  return { hasher, hashed, compared }
}

function open(adapter: StorageAdapter = createMemoryAdapter(), form: 'as it comes' | 'NFD' = 'as it comes') {
  const calls = createHasher(form)
  const stage = createStage(configOf(), adapter, { hasher: calls.hasher })
  opened.push(stage.service)
  return { ...stage, ...calls }
}

describe.each(useStorages())('in %s, a secret', (_, create) => {
  test.each([
    ['composed', COMPOSED, DECOMPOSED],
    ['decomposed', DECOMPOSED, COMPOSED],
  ])('that is registered %s opens its account in either form', async (_, registered, other) => {
    const { post, hashed } = open(create())
    expect((await post('register', { email, password: registered })).status).toBe(201)
    expect(hashed).toContain(COMPOSED)
    expect(hashed).not.toContain(DECOMPOSED)
    for (const password of [registered, other])
      expect((await post('login', { email, password })).status).toBe(200)
  })

  test('that is changed or reset counts in NFC too', async () => {
    const { post, mail } = open(create())
    const { body } = await post('register', { email, password: 'first' })
    const changed = await post('change-secret', { current: 'first', new: DECOMPOSED }, body.token)
    expect(changed.status).toBe(200)
    const again = await post('change-secret', { current: COMPOSED, new: 'third' }, changed.body.token)
    expect(again.status).toBe(200)
    await mail.take()
    await post('request-reset', { email })
    expect((await post('reset', { token: await mail.token(), new: DECOMPOSED })).status).toBe(200)
    expect((await post('login', { email, password: COMPOSED })).status).toBe(200)
  })

  test('whose hash is older opens its account as it was typed, and then in NFC', async () => {
    const adapter = create()
    const before = open({ ...adapter, close: async () => {} }, 'NFD')
    await before.post('register', { email, password: DECOMPOSED })
    const { post, mail } = open(adapter)
    expect(outcomeOf(await post('login', { email, password: COMPOSED }))).toEqual([
      401,
      'invalid_credentials',
    ])
    expect((await post('login', { email, password: DECOMPOSED })).status).toBe(200)
    await mail.take()
    expect((await post('login', { email, password: COMPOSED })).status).toBe(200)
  })
})

test('a hash whose secret is too long in NFC is not renewed', async () => {
  // Excluded from composition: 24 characters of 3 bytes as typed, 6 in NFC.
  const typed = '\u0958'.repeat(24)
  expect(new TextEncoder().encode(typed.normalize('NFC'))).toHaveLength(144)
  const adapter = createMemoryAdapter()
  const { post } = open(adapter)
  expect(faultsOf(await post('register', { email, password: typed }))).toEqual({ '/password': 'too_long' })
  await post('register', { email, password: 'plain' })
  const { hasher, hashed } = createHasher()
  const legacy = createStage(configOf(), adapter, {
    hasher: { ...hasher, verify: async (secret: string) => secret === typed },
  })
  expect((await legacy.post('login', { email, password: typed })).status).toBe(200)
  await legacy.mail.take()
  // The one that nobody has is what unknown accounts are compared with.
  expect(hashed.filter((secret) => secret.includes('\u0915'))).toEqual([])
})

test.each<[title: string, password: string, comparisons: number]>([
  ['that NFC leaves alone', 'plain', 1],
  ['that NFC composes', DECOMPOSED, 2],
  ['that is composed already', COMPOSED, 1],
  ['that no form makes short enough', 'e\u0301'.repeat(200), 1],
])(
  'a secret %s is compared so often, whether or not the account exists',
  async (_, password, comparisons) => {
    const { post, compared } = open()
    await post('register', { email, password: 'another' })
    for (const named of [email, 'nobody@example.org']) {
      compared.length = 0
      expect(outcomeOf(await post('login', { email: named, password }))).toEqual([401, 'invalid_credentials'])
      expect(compared).toHaveLength(comparisons)
    }
  },
)

test.each<[title: string, password: string, status: number]>([
  ['72 bytes in NFC, more as typed', 'e\u0301'.repeat(36), 201],
  ['74 bytes in NFC', 'e\u0301'.repeat(37), 400],
  ['4 characters in NFC', 'e\u0301'.repeat(4), 201],
  ['3 characters in NFC, 6 as typed', 'e\u0301'.repeat(3), 400],
])('lengths count in NFC: %s', async (_, password, status) => {
  const { post } = open()
  expect((await post('register', { email, password })).status).toBe(status)
})
