import { describe, expect, test } from 'vitest'
import type * as BatchStore from '../../src/core/batch/batch-store.js'
import type * as KeptSessions from '../../src/core/request/kept-sessions.js'
import type { Linked, LinkedFound } from '../../src/core/storage.js'
import type { StorageAdapter } from '../../src/index.js'
import { checkKept } from '../support/kept-callers.js'
import { checkHistories, withoutState } from '../support/kept-histories.js'
import { checkNonInterference } from '../support/laws.js'
import { RICH } from '../support/rights-worlds.js'
import { useLastingStorages, useStorages } from '../support/storages.js'
import { choose } from './choose.js'
import { createMutant, fails, type Mutant } from './create-mutant.js'

/** What is kept of callers, broken on purpose. */

const SESSIONS = '../../src/core/request/kept-sessions.js'
const LATER = '9999-01-01T00:00:00.000Z'

/** States that stay the same though something was written, by the collections that they are of. */
const states: { readonly [what: string]: (names: readonly string[]) => boolean } = {
  'a session is kept behind its end': (names) => names.includes('_sessions'),
  'a claim is kept though its documents have changed': (names) => names.includes('members'),
}

const mutants: readonly Mutant[] = [
  [
    'a session that is kept does not expire',
    SESSIONS,
    async (original) => {
      const real = (await original()) as typeof KeptSessions
      return {
        ...real,
        createKeptSessions() {
          const kept = real.createKeptSessions()
          const set: typeof kept.set = (id, one) =>
            kept.set(id, { ...one, stored: { ...one.stored, expiresAt: LATER } })
          return { ...kept, set }
        },
      }
    },
  ],
]

const inBatches: Mutant = [
  'a batch keeps what was read before its operations',
  '../../src/core/batch/batch-store.js',
  async (original) => {
    const real = (await original()) as typeof BatchStore
    class Keeping extends real.BatchStore {
      override state(): undefined {
        return 'as it was' as never
      }
    }
    return { ...real, BatchStore: Keeping }
  },
]

describe.each(useStorages())('in %s,', (name, create) => {
  const isStill = (
    adapter: StorageAdapter,
    chosen: (names: readonly string[]) => boolean,
  ): StorageAdapter => ({
    ...adapter,
    state: (names) => (chosen(names) ? 'as it was' : adapter.state?.(names)),
  })

  test('the real ones pass', () => checkKept(() => ({ adapter: create() })))

  // What PostgreSQL reads at one moment is not kept.
  test.each(choose(Object.entries(states), () => SESSIONS).filter(() => name !== 'PostgreSQL'))(
    '%s: noticed',
    async (_, chosen) => {
      expect(await fails(checkKept(() => ({ adapter: isStill(create(), chosen) })))).toBe(true)
    },
  )

  test.each(choose([...mutants.filter(() => name !== 'PostgreSQL'), inBatches]))(
    '%s: noticed',
    async (...mutant) => {
      const service = await createMutant(mutant)
      expect(await fails(checkKept(() => ({ adapter: create(), create: service })))).toBe(true)
    },
  )
})

const OTHERS = 'what another adapter writes does not count'

/** Adapters of one place whose states leave something out. */
const forgetful: { readonly [what: string]: (adapter: StorageAdapter) => StorageAdapter } = {
  'an account is kept though it was written': (adapter) => ({
    ...adapter,
    state: (names) => adapter.state?.(names.filter((name) => name !== 'users')),
  }),
  [OTHERS](adapter) {
    let writes = 0
    return {
      ...adapter,
      state: () => String(writes),
      write(...asked) {
        writes += 1
        return adapter.write(...asked)
      },
    }
  },
  'a write counts with the next one'(adapter) {
    let seen: string | undefined
    return {
      ...adapter,
      state(names) {
        const now = adapter.state?.(names)
        if (!names.includes('members')) return now
        const before = seen ?? now
        seen = now
        return before
      },
    }
  },
}

/** Adapters that read linked documents in another way. */
const unlinked: { readonly [what: string]: (adapter: StorageAdapter) => StorageAdapter } = {
  'what was read with a session is found again': (adapter) => {
    const kept = new Map<string, LinkedFound>()
    return readingLinked(adapter, (linked, found) => {
      const known = kept.get(linked.id + linked.lists.length) ?? found
      kept.set(linked.id + linked.lists.length, known)
      return known
    })
  },
  'a claim that is read with a session is that of the first caller': (adapter) => {
    let first: LinkedFound['lists'] | undefined
    return readingLinked(adapter, (_, found) => {
      const [user, ...claims] = found.lists
      if (claims.length === 0) return found
      first ??= claims
      return { ...found, lists: [user, ...first] }
    })
  },
}

const readingLinked = (
  adapter: StorageAdapter,
  alter: (linked: Linked, found: LinkedFound) => LinkedFound,
): StorageAdapter => ({
  ...adapter,
  async readLinked(linked, options) {
    return alter(linked, (await adapter.readLinked?.(linked, options)) ?? { document: undefined, lists: [] })
  },
})

const histories = useLastingStorages().flatMap(([name, create]) =>
  Object.entries(name === 'PostgreSQL' ? unlinked : forgetful)
    .filter(([what]) => name !== 'SQLite' || what === OTHERS)
    .map(([what, alter]) => [name, what, create, alter] as const),
)

test.each(choose(histories, () => SESSIONS))('in %s, %s: noticed', async (_name, _what, create, alter) => {
  const open = () => {
    const connect = create()
    return { keeping: { adapter: alter(connect()) }, reading: { adapter: withoutState(connect()) } }
  }
  expect(await fails(checkHistories(8, open))).toBe(true)
})

test('a service over other documents than it has answered about is noticed where it keeps claims', async () => {
  const [[, create] = expect.fail()] = useStorages()
  const still = (): StorageAdapter => {
    const adapter = create()
    return {
      ...adapter,
      state: (names) => (names.includes('memberships') ? 'as it was' : adapter.state?.(names)),
    }
  }
  expect(await fails(checkNonInterference(60, undefined, still, RICH))).toBe(true)
})
