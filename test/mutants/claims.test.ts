import { describe, expect, test } from 'vitest'
import type * as Conditions from '../../src/core/batch/conditions.js'
import type * as Pending from '../../src/core/batch/pending-writes.js'
import type * as Claims from '../../src/core/claims/claims.js'
import type * as ReadGate from '../../src/core/permissions/read-gate.js'
import type * as Authorize from '../../src/core/request/authorize.js'
import { checkClaims } from '../support/claim-laws.js'
import { choose } from './choose.js'
import { createMutant, fails, type Mutant } from './create-mutant.js'

/** Claims broken on purpose: what guards the real ones has to notice each of them. */

const AUTHORIZE = '../../src/core/request/authorize.js'
const CLAIMS = '../../src/core/claims/claims.js'

type Read = ReturnType<typeof Claims.createClaimReader>

const breakReading = (break_: (read: Read) => Read) => async (original: () => Promise<unknown>) => {
  const real = (await original()) as typeof Claims
  return {
    ...real,
    createClaimReader: (...args: Parameters<typeof real.createClaimReader>) =>
      break_(real.createClaimReader(...args)),
  }
}

/** Changes what was read, where the caller does not lack it. */
const change = (break_: (values: NonNullable<Awaited<ReturnType<Read>>>) => Awaited<ReturnType<Read>>) =>
  breakReading((read) => async (...args) => {
    const values = await read(...args)
    return values && break_(values)
  })

const mutants: readonly Mutant[] = [
  [
    'claims are kept across attempts',
    AUTHORIZE,
    async (original) => {
      const real = (await original()) as typeof Authorize
      const attempt: typeof real.attempt = async (call, permit, plan) => {
        await call.learn(permit.rules)
        await call.learnToRead(permit.collection)
        return plan(call, permit)
      }
      return { ...real, attempt }
    },
  ],
  [
    'claims are kept across the operations of a batch',
    CLAIMS,
    breakReading((read) => {
      const known = new Map<string, ReturnType<Read>>()
      return (claim, binding, store) => {
        const key = `${claim.name} ${binding.now} ${binding.user?._id}`
        const values = known.get(key) ?? read(claim, binding, store)
        known.set(key, values)
        return values
      }
    }),
  ],
  ['more documents than count are all', CLAIMS, change(({ values }) => ({ values, isWhole: true }))],
  [
    'the order of values is another',
    CLAIMS,
    change(({ values, isWhole }) => ({ values: [...values].reverse(), isWhole })),
  ],
  [
    'a claim that is lacking is an empty one',
    CLAIMS,
    breakReading(
      (read) =>
        async (...args) =>
          (await read(...args)) ?? { values: [], isWhole: true },
    ),
  ],
  [
    'a field of a host’s caller stands in',
    CLAIMS,
    async (original) => {
      const real = (await original()) as typeof Claims
      class Trusting extends real.ReadClaims {
        override has(): boolean {
          return false
        }
      }
      return { ...real, ReadClaims: Trusting }
    },
  ],
  [
    'what a caller may read is kept, whatever they are by now',
    '../../src/core/permissions/read-gate.js',
    async (original) => {
      const real = (await original()) as typeof ReadGate
      return {
        ...real,
        createReadGate(...args: Parameters<typeof real.createReadGate>): ReadGate.ReadGate {
          const gate = real.createReadGate(...args)
          const kept = new Map<string, ReadGate.ReadAccess | null>()
          return (asking) => {
            const key = JSON.stringify([asking.caller?.id, asking.caller?.roles])
            const access = kept.get(key) ?? gate(asking)
            kept.set(key, access)
            return access
          }
        },
      }
    },
  ],
  [
    'what gave a claim its values may change before a batch takes effect',
    '../../src/core/batch/conditions.js',
    async (original) => {
      const real = (await original()) as typeof Conditions
      class Careless extends real.Conditions {
        override steps(pending: Pending.PendingWrites) {
          return super.steps(pending).filter((step) => step.in !== 'members')
        }
      }
      return { ...real, Conditions: Careless }
    },
  ],
  [
    'a caller stays what it was, whatever an operation of its batch has written',
    '../../src/core/batch/pending-writes.js',
    async (original) => {
      const real = (await original()) as typeof Pending
      class Forgetful extends real.PendingWrites {
        override lastIn() {
          return -1
        }
      }
      return { ...real, PendingWrites: Forgetful }
    },
  ],
]

test('the real ones pass, taken through the same hands', async () => {
  await checkClaims(await createMutant(['nothing is broken', CLAIMS, breakReading((read) => read)]))
})

describe('claims', () => {
  test.each(choose(mutants))('%s: noticed', async (...mutant) => {
    expect(await fails(checkClaims(await createMutant(mutant)))).toBe(true)
  })
})
