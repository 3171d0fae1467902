import { expect, test, vi } from 'vitest'
import { createClaimReader } from '../../../../src/core/claims/claims.js'
import type { Claim } from '../../../../src/core/config/plan.js'
import { everything } from '../../../../src/core/filter/filter.js'
import { bindVariables, fromHost } from '../../../../src/core/permissions/caller.js'
import type { Store } from '../../../../src/core/request/store.js'
import { useCaches } from '../../../support/caches.js'

useCaches()

const claim = {
  name: 'teams',
  from: 'members',
  where: { kind: 'bound', variables: ['$user._id'], bind: () => ({ kind: 'and', filters: [] }) },
  bases: [],
  take: (document: { readonly team?: string }) => document.team,
} as unknown as Claim

/** A store of some teams, which counts how often it is asked. */
function createStore(teams: readonly string[], state: () => string | undefined) {
  let count = 0
  const list = () => {
    count += 1
    return teams.map((team, i) => ({ _id: String(i), _version: 1, createdAt: '2026-01-01', team }))
  }
  return { store: { own: () => ({ list }), state } as unknown as Store, asked: () => count }
}

const bindingOf = (id: string) => bindVariables(fromHost({ id }), () => '2026-01-01T00:00:00.000Z')

test('a claim is read again once the state of the storage is another, and where there is none', async () => {
  const read = createClaimReader({ warn() {} }, new Map())
  let state: string | undefined = 'first'
  const { store, asked } = createStore(['a'], () => state)
  for (const _ of [1, 2, 3]) await read(claim, bindingOf('ann'), store)
  expect(asked()).toBe(1)
  await read(claim, bindingOf('ben'), store)
  expect(asked()).toBe(2)
  state = 'second'
  for (const _ of [1, 2]) await read(claim, bindingOf('ann'), store)
  expect(asked()).toBe(3)
  state = undefined
  for (const _ of [1, 2]) await read(claim, bindingOf('ann'), store)
  expect(asked()).toBe(5)
})

test('the text of what is kept of claims is bounded', async () => {
  const read = createClaimReader({ warn() {} }, new Map())
  const texts = Array.from({ length: 16 }, (_, i) => `${i} ${'x'.repeat(1_000_000)}`)
  const stores = texts.map((text) => createStore([text], () => 'always'))
  const readAll = async () => {
    for (const [i, { store }] of stores.entries()) await read(claim, bindingOf(`${i}`), store)
    return stores.reduce((sum, { asked }) => sum + asked(), 0)
  }
  expect(await readAll()).toBe(16)
  expect(await readAll()).toBe(32)
  const { store, asked } = createStore(['a'], () => 'always')
  for (const _ of [1, 2]) await read(claim, bindingOf('ann'), store)
  expect(asked()).toBe(1)
})

test('the log hears of a claim that is cut for each caller, also of one for whom nothing is read', async () => {
  const warn = vi.fn()
  const read = createClaimReader({ warn }, new Map())
  const { store, asked } = createStore(
    Array.from({ length: 1001 }, () => 'a'),
    () => 'always',
  )
  const common = { ...claim, where: { kind: 'fixed', filter: everything } } as Claim
  await read(common, bindingOf('ann'), store)
  const once = asked()
  for (const id of ['ben', 'ann', 'ben']) await read(common, bindingOf(id), store)
  expect(asked()).toBe(once)
  expect(warn.mock.calls.map(([, { caller }]) => caller)).toEqual(['ann', 'ben'])
})

test('a claim that depends on the time is read each time', async () => {
  const read = createClaimReader({ warn() {} }, new Map())
  const { store, asked } = createStore(['a'], () => 'always')
  const where = { ...claim.where, variables: ['$user._id', '$now'] } as Claim['where']
  for (const _ of [1, 2]) await read({ ...claim, where }, bindingOf('ann'), store)
  expect(asked()).toBe(2)
})
