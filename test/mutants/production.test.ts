import { expect, test } from 'vitest'
import type * as Production from '../../src/tools/insight/check/findings/production.js'
import type * as Satisfy from '../../src/tools/insight/check/satisfy.js'
import type * as Scope from '../../src/tools/insight/check/scope.js'
import type { Check, CheckScope } from '../../src/tools/insight/check/scope.js'
import { checkProduction } from '../support/production-laws.js'
import { choose } from './choose.js'
import { fails, loadMutant, type Mutant } from './create-mutant.js'

/** Checks for production that overlook something, or find what is not there. */

const FINDINGS = '../../src/tools/insight/check/findings/production.js'

/** The finders in their order. */
type Finders = readonly [creates: Check, changes: Check, cost: Check]

const brokenFinders = (what: string, change: (finders: Finders) => readonly Check[]): Mutant => [
  what,
  FINDINGS,
  async (original) => {
    const real = (await original()) as typeof Production
    return { ...real, PRODUCTION_FINDERS: change(real.PRODUCTION_FINDERS as unknown as Finders) }
  },
]

/** A finder that sees another configuration. */
const seeing =
  (find: Check, see: (scope: CheckScope) => Partial<CheckScope>): Check =>
  (scope, report) =>
    find({ ...scope, ...see(scope) }, report)

/** A cost is taken for another one. */
const takenFor = (cost: number, other: number): Mutant =>
  brokenFinders(`a cost of ${cost} is found as ${other} is`, ([creates, changes, find]) => [
    creates,
    changes,
    seeing(find, ({ plan }) => ({
      plan: { ...plan, auth: plan.auth?.cost === cost ? { ...plan.auth, cost: other } : plan.auth },
    })),
  ])

/** The same rules, but for parts of each. */
const withRules =
  (change: (rule: CheckScope['rules'][number]['rule']) => object) =>
  ({ rules }: CheckScope): Partial<CheckScope> => ({
    rules: rules.map((placed) => ({ ...placed, rule: { ...placed.rule, ...change(placed.rule) } })),
  })

const onlyOf =
  (operation: string) =>
  ({ rules }: CheckScope): Partial<CheckScope> => ({
    rules: rules.filter((placed) => placed.operation === operation),
  })

const brokenSeeds = (
  what: string,
  find: (real: typeof Production.findSeededSecrets) => typeof Production.findSeededSecrets,
): Mutant => [
  what,
  FINDINGS,
  async (original) => {
    const real = (await original()) as typeof Production
    return { ...real, findSeededSecrets: find(real.findSeededSecrets) }
  },
]

const MUTANTS: readonly Mutant[] = [
  brokenFinders('creates of anonymous callers are overlooked', ([, ...others]) => others),
  brokenFinders('changes of anonymous callers are overlooked', ([creates, , cost]) => [creates, cost]),
  brokenFinders('costs are overlooked', ([creates, changes]) => [creates, changes]),
  brokenFinders('deletes are overlooked', ([creates, changes, cost]) => [
    creates,
    seeing(changes, onlyOf('update')),
    cost,
  ]),
  brokenFinders('updates are overlooked', ([creates, changes, cost]) => [
    creates,
    seeing(changes, onlyOf('delete')),
    cost,
  ]),
  brokenFinders('a registration is a right to create', ([creates, ...others]) => [
    seeing(creates, () => ({ hasAuthenticate: true })),
    ...others,
  ]),
  brokenFinders('accounts are never created by strangers', ([creates, ...others]) => [
    seeing(creates, () => ({ hasAuthenticate: false })),
    ...others,
  ]),
  brokenFinders('a value that a stranger lacks may be set', ([creates, ...others]) => [
    seeing(
      creates,
      withRules(() => ({ set: [] })),
    ),
    ...others,
  ]),
  brokenFinders('what strangers may not read may be changed', ([creates, changes, cost]) => [
    creates,
    seeing(changes, ({ rules }) => ({
      rules: rules.map((placed) => ({
        ...placed,
        collection: {
          ...placed.collection,
          permissions: {
            ...placed.collection.permissions,
            read: new Map([...placed.collection.permissions.read, ['*', [placed.rule]]]),
          },
        },
      })),
    })),
    cost,
  ]),
  takenFor(12, 11),
  takenFor(11, 12),
  takenFor(14, 13),
  takenFor(13, 14),
  [
    'a value of the caller is one that a stranger has too',
    '../../src/tools/insight/check/scope.js',
    async (original) => ({ ...((await original()) as typeof Scope), isOfCaller: () => false }),
  ],
  [
    'everything is sought in every environment',
    '../../src/tools/insight/check/findings/all.js',
    async (original) => {
      const { FINDERS } = (await original()) as { readonly FINDERS: readonly Check[] }
      const { PRODUCTION_FINDERS } = await import('../../src/tools/insight/check/findings/production.js')
      return { FINDERS: [...FINDERS, ...PRODUCTION_FINDERS] }
    },
  ],
  [
    'every condition may be met',
    '../../src/tools/insight/check/satisfy.js',
    async (original) => ({ ...((await original()) as typeof Satisfy), isPossible: () => true }),
  ],
  brokenSeeds(
    'only the first account counts',
    (real) =>
      (...args) =>
        real(...args).slice(0, 1),
  ),
  brokenSeeds('an account without a secret counts', (real) => (plan, seed) => {
    const users = (seed as { readonly users?: readonly object[] })?.users
    const all = Array.isArray(users) ? users.map((user) => ({ password: '', ...user })) : users
    return real(plan, { ...(seed as object), users: all })
  }),
  brokenSeeds('secrets in other collections count', (real) => (plan, seed) => {
    const { notes = [] } = (seed ?? {}) as { readonly notes?: readonly object[] }
    return [...real(plan, seed), ...real(plan, { users: notes })]
  }),
]

const load = () => import('../../src/tools/insight/index.js')

test.each(choose(MUTANTS))('%s: noticed', async (...mutant) => {
  const insight = await loadMutant(mutant, load)
  expect(await fails((async () => checkProduction(insight))())).toBe(true)
})

test('the checks themselves pass', async () => checkProduction(await load()))
