import { describe, expect, test } from 'vitest'
import type * as Past from '../../src/core/changes/standing/claim-over-history.js'
import type * as Watched from '../../src/core/changes/standing/watched-claims.js'
import type * as Claims from '../../src/core/claims/claims.js'
import type * as Judge from '../../src/core/claims/config/judge-bases.js'
import { everything } from '../../src/core/filter/filter.js'
import type * as ReadGate from '../../src/core/permissions/read-gate.js'
import type * as Promises from '../../src/core/promises.js'
import { claimIn } from '../../src/core/query/variable.js'
import { createMemoryAdapter, type StorageAdapter, type StoredDocument } from '../../src/index.js'
import { adapterCases, runCase } from '../../src/tools/testing/index.js'
import { useCaches } from '../support/caches.js'
import { checkHistories, type World } from '../support/change-laws.js'
import { checkBases, checkClaimsOver, checkOneAtATime } from '../support/claim-over-laws.js'
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
    'a base that is written twice in between counts as unchanged if its values are the same',
    CLAIMS,
    async (original) => {
      const real = (await original()) as typeof Claims
      return {
        ...real,
        createClaimReader: (...args: Parameters<typeof real.createClaimReader>): Read => {
          const read = real.createClaimReader(...args)
          return async (...asked) => {
            const values = await read(...asked)
            const documents = values?.documents?.map((one) => ({ ...one, version: 0 }))
            return values && documents ? { ...values, documents } : values
          }
        },
      }
    },
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
    'a claim is kept across the operations of a batch where it uses another',
    CLAIMS,
    async (original) => {
      const real = (await original()) as typeof Claims
      return {
        ...real,
        createClaimReader: (...args: Parameters<typeof real.createClaimReader>): Read => {
          const read = real.createClaimReader(...args)
          const known = new Map<string, ReturnType<Read>>()
          return (claim, binding, store) => {
            if (claim.bases.length === 0) return read(claim, binding, store)
            const key = `${claim.name} ${binding.now} ${binding.user?._id}`
            const values = known.get(key) ?? read(claim, binding, store)
            known.set(key, values)
            return values
          }
        },
      }
    },
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

/** Mutants of streams that use another module. */
const watchMutants: readonly Mutant[] = [
  [
    'a base counts where no rule uses it itself',
    '../../src/core/changes/standing/watched-claims.js',
    async (original) => {
      const real = (await original()) as typeof Watched
      const claimsToRead: typeof real.claimsToRead = (...args) => {
        const asked = real.claimsToRead(...args)
        return [...asked, ...asked.flatMap(({ bases }) => bases)]
      }
      return { ...real, claimsToRead }
    },
  ],
]

const sideBySide: Mutant = [
  'readings of several streams run side by side',
  '../../src/core/promises.js',
  async (original) => {
    const real = (await original()) as typeof Promises
    let made = 0
    return {
      ...real,
      // The first one is that of the reader of the log.
      createRunAlone: (): Promises.RunAlone => (made++ === 0 ? real.createRunAlone() : (work) => work()),
    }
  },
]

const JUDGE = '../../src/core/claims/config/judge-bases.js'

/** What is wrong with a base is not said where the text says something. */
const overlooking = (text: RegExp) => async (original: () => Promise<unknown>) => {
  const real = (await original()) as typeof Judge
  const createBaseJudge: typeof real.createBaseJudge = (...args) => {
    const judgeFor = real.createBaseJudge(...args)
    return (name) => {
      const judge = judgeFor(name)
      return (...asked) => {
        const message = judge(...asked)
        return message !== undefined && text.test(message) ? undefined : message
      }
    }
  }
  return { ...real, createBaseJudge }
}

const configMutants: readonly Mutant[] = [
  ['a claim that uses claims is used by one', JUDGE, overlooking(/the claim \w+, which uses/)],
  ['a claim uses itself', JUDGE, overlooking(/cannot use itself/)],
  ['a base of another type is compared', JUDGE, overlooking(/contains values of type string/)],
  ['ids of one collection are compared with those of another', JUDGE, overlooking(/contains _ids of agents/)],
]

type ListTogether = NonNullable<StorageAdapter['listTogether']>
type ListQueries = Parameters<ListTogether>[0]

/** A storage in memory that reads lists together; `change` gives what it reads, and in which way. */
const createTogether = (
  change: (
    list: (one: ListQueries[number]) => Promise<StoredDocument[]>,
    lists: ListQueries,
  ) => ReturnType<ListTogether>,
) => {
  const memory = createMemoryAdapter()
  const list = async ({ in: name, filter, limit }: ListQueries[number]) => [
    ...(await memory.list(name, { filter, sort: [], skip: 0, limit })),
  ]
  return { ...memory, listTogether: (lists: ListQueries) => change(list, lists) }
}

const togetherMutants: readonly (readonly [what: string, change: Parameters<typeof createTogether>[0]])[] = [
  ['the lists come in another order', async (list, lists) => (await Promise.all(lists.map(list))).reverse()],
  [
    'a list is longer than its limit',
    (list, lists) => Promise.all(lists.map((one) => list({ ...one, limit: one.limit + 1 }))),
  ],
  [
    'a list is shorter than its limit',
    (list, lists) => Promise.all(lists.map((one) => list({ ...one, limit: one.limit - 1 }))),
  ],
  [
    'a list has documents that do not match',
    (list, lists) => Promise.all(lists.map((one) => list({ ...one, filter: everything }))),
  ],
  [
    'the lists are of several moments',
    async (list, lists) => {
      const read: StoredDocument[][] = []
      for (const one of lists) {
        read.push(await list(one))
        await new Promise(setImmediate)
      }
      return read
    },
  ],
]

/** Runs the case of the kit for lists that are read together. */
async function checkTogether(change: Parameters<typeof createTogether>[0]): Promise<void> {
  const [one, ...more] = adapterCases.filter(({ name }) => name.startsWith('together:'))
  if (!one || more.length > 0) throw new Error('the kit has one such case')
  const adapter = createTogether(change)
  await runCase(one, async () => ({ connect: () => adapter }))
}

const HISTORIES = { pairs: 60, writes: 50, isWanted: ({ isOver }: World) => isOver }

test('the real ones pass, taken through the same hands', async () => {
  await checkClaimsOver(await createMutant(['nothing is broken', CLAIMS, breakReading((values) => values)]))
  const create = await createMutant(['nothing is broken', PAST, breakPast(() => ({}))])
  await checkHistories(HISTORIES, { create })
  checkBases(create)
  await checkOneAtATime(create)
})

describe('claims over claims', () => {
  test.each(choose(mutants))('%s: noticed', async (...mutant) => {
    expect(await fails(checkClaimsOver(await createMutant(mutant)))).toBe(true)
  })

  test.each(choose(configMutants))('in a configuration, %s: noticed', async (...mutant) => {
    const create = await createMutant(mutant)
    expect(() => checkBases(create)).toThrow()
  })

  test.each(choose([...streamMutants, ...watchMutants]))('in streams, %s: noticed', async (...mutant) => {
    expect(await fails(checkHistories(HISTORIES, { create: await createMutant(mutant) }))).toBe(true)
  })

  test.each(choose([sideBySide]))('in streams, %s: noticed', async (...mutant) => {
    expect(await fails(checkOneAtATime(await createMutant(mutant)))).toBe(true)
  })

  test('lists that are read together as they are stored pass', () =>
    checkTogether((list, lists) => Promise.all(lists.map(list))))

  test.each(choose(togetherMutants, () => 'src/tools/testing/'))(
    'read together, %s: noticed',
    async (_, change) => {
      expect(await fails(checkTogether(change))).toBe(true)
    },
  )
})
