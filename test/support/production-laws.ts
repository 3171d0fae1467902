import { expect } from 'vitest'
import type { checkConfig, checkSeed } from '../../src/tools/insight/index.js'

/** What production should not have (CONTRACT.md §8, "Check"). */

/** The parts of the library that the laws use. */
export interface Insight {
  readonly checkConfig: typeof checkConfig
  readonly checkSeed: typeof checkSeed
}

export const TEXT = { type: 'string' }
const TEXTS = { type: 'array', items: TEXT } as const

export const USERS = {
  schema: {
    email: { type: 'string', unique: true, lowercase: true },
    password: { type: 'hash' },
    team: TEXT,
  },
  permissions: { owner: { read: true, update: { pick: ['team'] } } },
} as const

export const configOf = (permissions: object, more: object = {}) => ({
  collections: {
    users: USERS,
    notes: { schema: { title: TEXT, state: { ...TEXT, index: true }, team: TEXT, tags: TEXTS }, permissions },
  },
  limits: { maxLimit: 100 },
  ...more,
})

/** A configuration without findings. */
export const SOUND = { user: { read: true, create: true } }

export const GRANT = '/collections/notes/permissions/*'
const create = `note anonymous_create ${GRANT}/create`
const change = (operation: string): string => `warning anonymous_change ${GRANT}/${operation}`
const OPEN = { state: 'open' }
const DONE = { state: 'done' }

/** Permissions, and what is found about the rights of anonymous callers. */
export const RIGHTS: readonly (readonly [what: string, permissions: object, found: readonly string[]])[] = [
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
    'all of it, in their order',
    { '*': { read: true, create: true, update: { omit: ['team'] }, delete: true } },
    [create, change('update'), change('delete')],
  ],
  ['changing what they may not read', { '*': { update: true, delete: true }, user: { read: true } }, []],
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
  [
    'changing other documents than they read',
    {
      '*': { read: { where: OPEN }, update: { where: DONE }, delete: { where: DONE } },
      user: { create: true },
    },
    [],
  ],
  [
    'updating to a state that they can neither read nor give',
    { '*': { read: { where: OPEN }, update: { pick: ['title'], check: DONE } }, user: { create: true } },
    [],
  ],
  [
    'updating to a list that the condition excludes',
    {
      '*': { read: true, update: { where: { tags: { $nin: ['shut'] } }, set: { tags: ['open', 'shut'] } } },
      user: { create: true },
    },
    [],
  ],
  [
    'updating to a list that the condition allows',
    {
      '*': { read: true, update: { where: { tags: { $nin: ['shut'] } }, set: { tags: ['open'] } } },
      user: { create: true },
    },
    [change('update')],
  ],
  [
    'updating to a value of the caller',
    { '*': { read: true, update: { check: { team: '$user.team' } } }, user: { create: true } },
    [],
  ],
]

/** Costs of hashes, and what is found about them. */
export const COSTS: readonly (readonly [cost: number, found: readonly string[]])[] = [
  [10, ['note low_cost /auth/cost']],
  [11, ['note low_cost /auth/cost']],
  [12, []],
  [13, []],
  [14, ['note high_cost /auth/cost']],
  [15, ['note high_cost /auth/cost']],
]

/** Seeds, and the pointers of the secrets in them. */
export const SEEDS: readonly (readonly [what: string, seed: unknown, found: readonly string[]])[] = [
  [
    'accounts',
    {
      notes: [{ title: 'x', password: 'y' }],
      users: [
        { email: 'ann@example.com', password: 'battery staple' },
        { email: 'bob@example.com' },
        { email: 'cyd@example.com', password: 'correct horse' },
      ],
    },
    ['/users/0/password', '/users/2/password'],
  ],
  [
    'accounts that are not valid',
    { users: [null, 'ann', { password: 5 }, { password: 'x', nosuch: 1 }] },
    ['/users/3/password'],
  ],
  ['no accounts', { notes: [{ title: 'x', password: 'y' }] }, []],
  ['another form', { users: { password: 'x' } }, []],
  ['no object', [{ password: 'x' }], []],
]

/** What is found in a configuration. */
export const find = (
  { checkConfig: check }: Pick<Insight, 'checkConfig'>,
  config: unknown,
  production = true,
): readonly string[] =>
  check(config, { production }).map(({ code, level, pointer }) => `${level} ${code} ${pointer}`)

/** What is found about the rights of anonymous callers. */
export const findRights = (
  insight: Pick<Insight, 'checkConfig'>,
  permissions: object,
  production = true,
): readonly string[] =>
  find(insight, configOf(permissions), production).filter((line) => line.includes('anonymous'))

/** Holds a build of the checks against all of it. Throws on a counterexample. */
export function checkProduction(insight: Insight): void {
  for (const [, permissions, found] of RIGHTS) {
    expect(findRights(insight, permissions)).toEqual(found)
    expect(findRights(insight, permissions, false)).toEqual([])
  }
  const registering = { ...USERS, permissions: { '*': { create: { pick: ['email', 'password'] } } } }
  const config = { ...configOf(SOUND), collections: { users: registering } }
  const codes = (authenticate: boolean): readonly string[] =>
    insight.checkConfig(config, { production: true, authenticate }).map(({ code }) => code)
  expect(codes(false)).not.toContain('anonymous_create')
  expect(codes(true)).toContain('anonymous_create')
  for (const [cost, found] of COSTS) {
    expect(find(insight, configOf(SOUND, { auth: { cost } }))).toEqual(found)
    expect(find(insight, configOf(SOUND, { auth: { cost } }), false)).toEqual([])
  }
  for (const [, seed, found] of SEEDS)
    expect(insight.checkSeed(configOf(SOUND), seed).map(({ pointer }) => pointer)).toEqual(found)
}
