import { expect, test } from 'vitest'
import type * as Sessions from '../../src/core/accounts/sessions.js'
import type * as Pending from '../../src/core/batch/pending-writes.js'
import { createMemoryAdapter } from '../../src/index.js'
import { type Act, checkInterleaved, HELD } from '../support/interleaved.js'
import { choose } from './choose.js'
import { createMutant, fails, type Mutant } from './create-mutant.js'

/** What makes writes behave as if one came after another, broken on purpose. */

const SESSIONS = '../../src/core/accounts/sessions.js'
const PENDING = '../../src/core/batch/pending-writes.js'

const heldBy = (what: string): Act => HELD[what] ?? expect.fail(what)

const mutants: readonly (readonly [mutant: Mutant, held: string, hasHooks: boolean])[] = [
  [
    [
      'who writes is not looked at once that is judged',
      SESSIONS,
      async (original) => {
        const real = (await original()) as typeof Sessions
        return {
          ...real,
          resumeSession: (...asked: Parameters<typeof real.resumeSession>) => {
            const [, , , session] = asked
            return session.user ? { session, caller: {} } : real.resumeSession(...asked)
          },
        }
      },
    ],
    'a change of the own name',
    false,
  ],
  [
    [
      'a condition on referring documents counts as impossible whatever is stored',
      PENDING,
      async (original) => {
        const real = (await original()) as typeof Pending
        return {
          ...real,
          PendingWrites: class extends real.PendingWrites {
            override contradicts(): Promise<boolean> {
              return Promise.resolve(true)
            }
          },
        }
      },
    ],
    'a DELETE of what notes refer to',
    true,
  ],
]

const cases = mutants.map(([mutant, ...held]) => [mutant[0], mutant, ...held] as const)

test.each(choose(cases, ([, [, module]]) => module))('%s: found', async (_, mutant, held, hasHooks) => {
  const asked = { create: await createMutant(mutant), createAdapter: createMemoryAdapter, hasHooks }
  expect(await fails(checkInterleaved(asked, heldBy(held)))).toBe(true)
})

test('what is not broken passes', async () => {
  const asked = { createAdapter: createMemoryAdapter }
  expect(await fails(checkInterleaved(asked, heldBy('a change of the own name')))).toBe(false)
})
