import { describe, expect, test } from 'vitest'
import { checkConfig, checkSeed } from '../../../../../src/tools/insight/index.js'

// CONTRACT.md §8, "Check"

const TEXT = { type: 'string' } as const
const users = {
  schema: {
    email: { type: 'string', unique: true, lowercase: true },
    password: { type: 'hash' },
    team: TEXT,
  },
  permissions: { owner: { read: true, update: { pick: ['team'] } } },
}

const configOf = (permissions: object, more: object = {}) => ({
  collections: {
    users,
    notes: { schema: { title: TEXT, state: { ...TEXT, index: true }, team: TEXT }, permissions },
  },
  limits: { maxLimit: 100 },
  ...more,
})

const find = (config: unknown, production = true): readonly string[] =>
  checkConfig(config, { production }).map(({ code, level, pointer }) => `${level} ${code} ${pointer}`)

const GRANT = '/collections/notes/permissions/*'
const create = `note anonymous_create ${GRANT}/create`
const change = (operation: string): string => `warning anonymous_change ${GRANT}/${operation}`
const OPEN = { state: 'open' }

describe('rights of anonymous callers', () => {
  test.each<[what: string, permissions: object, found: readonly string[]]>([
    ['none', { user: { read: true, create: true, update: true, delete: true } }, []],
    ['reading', { '*': { read: true }, user: { create: true } }, []],
    ['creating', { '*': { create: true } }, [create]],
    [
      'creating what a caller may own only',
      { '*': { read: true, create: { check: { team: '$user.team' } } } },
      [],
    ],
    ['creating with a value of the caller', { '*': { create: { set: { team: '$user.team' } } } }, []],
    ['updating', { '*': { read: true, update: true }, user: { create: true } }, [change('update')]],
    ['deleting', { '*': { read: true, delete: true }, user: { create: true } }, [change('delete')]],
    [
      'updating under a condition',
      { '*': { read: true, update: { where: OPEN } }, user: { create: true } },
      [change('update')],
    ],
    [
      'updating under a condition on the caller',
      { '*': { read: true, update: { where: { team: '$user.team' } } }, user: { create: true } },
      [],
    ],
  ])('%s', (_, permissions, found) => {
    expect(find(configOf(permissions)).filter((line) => line.includes('anonymous'))).toEqual(found)
    expect(find(configOf(permissions), false).filter((line) => line.includes('anonymous'))).toEqual([])
  })

  test('registration is none of them, unless the host identifies callers', () => {
    const permissions = { '*': { create: { pick: ['email', 'password', 'team'] } }, owner: { read: true } }
    const config = { ...configOf({}), collections: { users: { ...users, permissions } } }
    const codes = (authenticate: boolean): readonly string[] =>
      checkConfig(config, { production: true, authenticate }).map(({ code }) => code)
    expect(codes(false)).not.toContain('anonymous_create')
    expect(codes(true)).toContain('anonymous_create')
  })
})

describe('auth.cost', () => {
  test.each([
    [10, ['note low_cost /auth/cost']],
    [11, ['note low_cost /auth/cost']],
    [12, []],
    [13, []],
    [14, ['note high_cost /auth/cost']],
    [15, ['note high_cost /auth/cost']],
  ])('%d', (cost, found) => {
    const config = configOf({ user: { read: true, create: true } }, { auth: { cost } })
    expect(find(config)).toEqual(found)
    expect(find(config, false)).toEqual([])
  })
})

test('a line of $ignore is not unused where its finding is not sought', () => {
  const permissions = { '*': { read: true, update: true }, user: { create: true } }
  const $ignore = [`anonymous_change ${GRANT}/update - a wiki`, 'seeded_secret /users/0/password']
  const config = configOf(permissions, { $ignore })
  expect([find(config), find(config, false)]).toEqual([[], []])
  const unneeded = configOf({ user: { read: true, create: true } }, { $ignore: ['low_cost /auth/cost'] })
  expect(find(unneeded)).toEqual(['warning unused_ignore /$ignore/0'])
})

describe('checkSeed', () => {
  const config = configOf({ user: { read: true, create: true } })
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

  test.each([
    ['a seed without accounts', config, { notes: [] }],
    ['a seed of another form', config, { users: {} }],
    ['no object', config, []],
    ['users without secrets', { collections: { users: { schema: { email: TEXT } } } }, seed],
  ])('finds nothing in %s', (_, configuration, documents) => {
    expect(checkSeed(configuration, documents)).toEqual([])
  })
})
