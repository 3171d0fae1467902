import bcrypt from 'bcryptjs'
import { beforeEach, describe, expect, test, vi } from 'vitest'
import { createBcryptHasher } from '../../src/core/accounts/auth/hasher.js'
import { createTestService } from '../support/service.js'

// CONTRACT.md §4, "Secrets"

/** The cost of every comparison. */
const costs = vi.hoisted((): number[] => [])

vi.mock('bcryptjs', async (importOriginal) => {
  const { default: original } = await importOriginal<{ default: typeof bcrypt }>()
  const compare: typeof original.compare = (secret, hash) => {
    costs.push(Number(hash.slice(4, 6)))
    return original.compare(secret, hash)
  }
  return { default: { ...original, compare } }
})

beforeEach(() => {
  costs.length = 0
})

const roundsSpent = (): number => costs.reduce((total, cost) => total + 2 ** cost, 0)

const SECRET = 'correct horse'
const hashAt = (cost: number): string => bcrypt.hashSync(SECRET, cost)
const rewritten = (cost: string): string => hashAt(4).replace('$04$', `$${cost}$`)

describe('a secret is compared in as many rounds as a new hash takes', () => {
  test.each([4, 5, 6, 7, 8])('whether right or wrong, where the stored hash is of cost %i', async (cost) => {
    const hasher = createBcryptHasher(8)
    expect(await hasher.verify(SECRET, hashAt(cost))).toBe(true)
    expect(roundsSpent()).toBe(2 ** 8)
    costs.length = 0
    expect(await hasher.verify('wrong horse', hashAt(cost))).toBe(false)
    expect(roundsSpent()).toBe(2 ** 8)
  })

  test('where there is no account', async () => {
    const hasher = createBcryptHasher(8)
    expect(await hasher.verify(SECRET, hasher.decoy)).toBe(false)
    expect(roundsSpent()).toBe(2 ** 8)
  })

  test('in those of the stored hash, where that is dearer', async () => {
    expect(await createBcryptHasher(5).verify(SECRET, hashAt(7))).toBe(true)
    expect(roundsSpent()).toBe(2 ** 7)
  })
})

const UNREADABLE: readonly (readonly [what: string, hash: string])[] = [
  ['cost 00', rewritten('00')],
  ['cost 03', rewritten('03')],
  ['cost 16', rewritten('16')],
  ['cost 31', rewritten('31')],
  ['cost 99', rewritten('99')],
  ['a cost that is no number', rewritten('xx')],
  ['another method', hashAt(4).replace('$2b$', '$1$')],
  ['a character too few', hashAt(4).slice(0, -1)],
  ['a line more', `${hashAt(4)}\n`],
  ['the secret itself', SECRET],
  ['nothing', ''],
]

describe('a stored hash that cannot be is a wrong secret, at the same price', () => {
  test.each(UNREADABLE)('%s', async (_, hash) => {
    expect(await createBcryptHasher(6).verify(SECRET, hash)).toBe(false)
    expect(costs).toEqual([6])
  })
})

describe('signing in', () => {
  const config = {
    collections: {
      users: {
        schema: { email: { type: 'string', unique: true, lowercase: true }, password: { type: 'hash' } },
        permissions: { owner: { read: true } },
      },
    },
  }
  const email = 'ann@example.com'

  /** A login with an account of this hash in the storage, and the rounds that it took. */
  async function signIn(hash: string, password: string): Promise<readonly [number, number]> {
    const { send, adapter, handler } = createTestService(config, { hasher: createBcryptHasher(6) })
    await handler.ready()
    const stored = {
      _id: '01900000-0000-7000-8000-000000000001',
      _version: 1,
      email,
      _hashes: { password: hash },
    }
    expect(await adapter.write([{ in: 'users', insert: stored }], {})).toMatchObject({ ok: true })
    costs.length = 0
    const { status } = await send('POST /auth/login', { body: { email, password } })
    return [status, roundsSpent()]
  }

  test.each([4, 5, 6])('takes the same rounds with a hash of cost %i', async (cost) => {
    expect(await signIn(hashAt(cost), SECRET)).toEqual([200, 2 ** 6])
    expect(await signIn(hashAt(cost), 'wrong horse')).toEqual([401, 2 ** 6])
  })

  test.each(UNREADABLE)('is refused where the stored hash cannot be: %s', async (_, hash) => {
    expect(await signIn(hash, SECRET)).toEqual([401, 2 ** 6])
  })
})
