import { describe, expect, test } from 'vitest'
import { checkConfig, checkSeed } from '../../../../../src/tools/insight/index.js'
import {
  COSTS,
  configOf,
  find,
  findRights,
  GRANT,
  RIGHTS,
  SEEDS,
  SOUND,
  TEXT,
  USERS,
} from '../../../../support/production-laws.js'

// CONTRACT.md §8, "Check"

const insight = { checkConfig, checkSeed }

describe('rights of anonymous callers', () => {
  test.each(RIGHTS)('%s', (_, permissions, found) => {
    expect(findRights(insight, permissions)).toEqual(found)
    expect(findRights(insight, permissions, false)).toEqual([])
  })

  test('registration is none of them, unless the host identifies callers', () => {
    const permissions = { '*': { create: { pick: ['email', 'password', 'team'] } }, owner: { read: true } }
    const config = { ...configOf({}), collections: { users: { ...USERS, permissions } } }
    const codes = (authenticate: boolean): readonly string[] =>
      checkConfig(config, { production: true, authenticate }).map(({ code }) => code)
    expect(codes(false)).not.toContain('anonymous_create')
    expect(codes(true)).toContain('anonymous_create')
  })
})

describe('auth.cost', () => {
  test.each(COSTS)('%d', (cost, found) => {
    const config = configOf(SOUND, { auth: { cost } })
    expect(find(insight, config)).toEqual(found)
    expect(find(insight, config, false)).toEqual([])
  })
})

test('a line of $ignore is not unused where its finding is not sought', () => {
  const permissions = { '*': { read: true, update: true }, user: { create: true } }
  const $ignore = [`anonymous_change ${GRANT}/update - a wiki`, 'seeded_secret /users/0/password']
  const config = configOf(permissions, { $ignore })
  expect([find(insight, config), find(insight, config, false)]).toEqual([[], []])
  const unneeded = configOf(SOUND, { $ignore: ['low_cost /auth/cost'] })
  expect(find(insight, unneeded)).toEqual(['warning unused_ignore /$ignore/0'])
})

describe('checkSeed', () => {
  const config = configOf(SOUND)
  const seed = {
    notes: [{ title: 'x', password: 'y' }],
    users: [{ email: 'ann@example.com', password: 'battery staple' }, { email: 'bob@example.com' }],
  }

  test('finds the secret of each account, with its line for a text', () => {
    const [found, ...others] = checkSeed(config, seed)
    expect([found, others]).toEqual([
      expect.objectContaining({ code: 'seeded_secret', level: 'warning', pointer: '/users/0/password' }),
      [],
    ])
    expect(found).not.toHaveProperty('line')
    const [placed] = checkSeed(config, `\ufeff${JSON.stringify(seed, null, 2)}`)
    expect(placed).toMatchObject({ pointer: '/users/0/password', line: 11 })
  })

  test('leaves out what $ignore of the configuration names', () => {
    const $ignore = ['seeded_secret /users/0/password - a demo']
    expect(checkSeed({ ...config, $ignore }, seed)).toEqual([])
  })

  test.each(SEEDS)('finds the secrets in a seed of %s', (_, given, found) => {
    expect(checkSeed(config, given).map(({ pointer }) => pointer)).toEqual(found)
  })

  test('finds nothing where accounts have no secrets', () => {
    expect(checkSeed({ collections: { users: { schema: { email: TEXT } } } }, seed)).toEqual([])
  })
})
