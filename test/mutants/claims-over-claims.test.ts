import { describe, expect, test } from 'vitest'
import type * as Past from '../../src/core/changes/standing/claim-over-history.js'
import type * as Claims from '../../src/core/claims/claims.js'
import type * as ReadGate from '../../src/core/permissions/read-gate.js'
import { claimIn } from '../../src/core/query/variable.js'
import { useCaches } from '../support/caches.js'
import { checkHistories } from '../support/change-laws.js'
import { checkClaimsOver } from '../support/claim-over-laws.js'
import { choose } from './choose.js'
import { createMutant, fails, type Mutant } from './create-mutant.js'

useCaches()

/** Claims over claims broken on purpose: what guards the real ones has to notice each of them. */

const CLAIMS = '../../src/core/claims/claims.js'
const PAST = '../../src/core/changes/standing/claim-over-history.js'

type Read = ReturnType<typeof Claims.createClaimReader>
type Asked = Parameters<Read>

/** Changes what is read of a claim that uses claims. */
const breakReading =
  (break_: (values: Awaited<ReturnType<Read>>, asked: Asked) => Awaited<ReturnType<Read>>) =>
  async (original: () => Promise<unknown>) => {
    const real = (await original()) as typeof Claims
    return {
      ...real,
      createClaimReader: (...args: Parameters<typeof real.createClaimReader>) => {
        const read = real.createClaimReader(...args)
        return async (...asked: Asked) => {
          const values = await read(...asked)
          return asked[0].bases.length > 0 ? break_(values, asked) : values
        }
      },
    }
  }

const mutants: readonly Mutant[] = [
  [
    'the base is not read again',
    CLAIMS,
    breakReading(
      (values, [{ bases }, { claims }]) =>
        values && {
          ...values,
          bases: new Map(bases.flatMap((name) => [[name, claims?.get(name)]])) as never,
        },
    ),
  ],
  [
    'a claim is empty where its base is lacking',
    CLAIMS,
    breakReading((values) => values ?? { values: [], isWhole: true }),
  ],
  [
    'a claim is whole where its base is cut off',
    CLAIMS,
    breakReading((values) => values && { ...values, isWhole: true }),
  ],
  [
    'a claim is lacking where its base is empty',
    CLAIMS,
    breakReading((values) => (values?.values.length ? values : undefined)),
  ],
  [
    'what was read for one value of a base is kept for all',
    '../../src/core/permissions/read-gate.js',
    async (original) => {
      const real = (await original()) as typeof ReadGate
      const writeValues: typeof real.writeValues = (variables, binding) =>
        real.writeValues(
          variables.filter((one) => !binding.claims || claimIn(binding.claims, one) === undefined),
          binding,
        )
      return { ...real, writeValues }
    },
  ],
]

/** Changes the past of a claim that uses claims. */
const breakPast =
  (
    change: (
      past: ReturnType<typeof Past.createPast>,
      watched: Parameters<typeof Past.createPast>[2],
    ) => object,
  ) =>
  async (original: () => Promise<unknown>) => {
    const real = (await original()) as typeof Past
    const createPast: typeof real.createPast = (...args) => {
      const past = real.createPast(...args)
      if (args[2].bases.length === 0) return past
      const own: typeof past = {
        get isTouched() {
          return past.isTouched
        },
        read: (...asked) => past.read(...asked),
        wasAnother: (...asked) => past.wasAnother(...asked),
        at: (...asked) => past.at(...asked),
      }
      return Object.defineProperties(own, Object.getOwnPropertyDescriptors(change(past, args[2])))
    }
    return { ...real, createPast }
  }

const streamMutants: readonly Mutant[] = [
  ['nobody looks at what a base is made of', PAST, breakPast(() => ({ isTouched: false }))],
  [
    'a change of a base that changes nothing is told',
    PAST,
    breakPast(() => ({ wasAnother: async () => true })),
  ],
  [
    'a claim that was another one briefly is not noticed',
    PAST,
    breakPast(() => ({ wasAnother: async () => false })),
  ],
  [
    'a claim asks on for the values that its base had',
    PAST,
    breakPast((_, watched) => ({ at: () => watched })),
  ],
]

const HISTORIES = { pairs: 60, writes: 50 }

test('the real ones pass, taken through the same hands', async () => {
  await checkClaimsOver(await createMutant(['nothing is broken', CLAIMS, breakReading((values) => values)]))
  const create = await createMutant(['nothing is broken', PAST, breakPast(() => ({}))])
  await checkHistories(HISTORIES, { create })
})

describe('claims over claims', () => {
  test.each(choose(mutants))('%s: noticed', async (...mutant) => {
    expect(await fails(checkClaimsOver(await createMutant(mutant)))).toBe(true)
  })

  test.each(choose(streamMutants))('in streams, %s: noticed', async (...mutant) => {
    expect(await fails(checkHistories(HISTORIES, { create: await createMutant(mutant) }))).toBe(true)
  })
})
