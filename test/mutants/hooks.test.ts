import { describe, expect, test } from 'vitest'
import type * as PendingWrites from '../../src/core/batch/pending-writes.js'
import type * as Claims from '../../src/core/claims/claims.js'
import type * as CreateBulk from '../../src/core/documents/write/create-bulk.js'
import type * as Drop from '../../src/core/documents/write/stages/drop.js'
import type * as Written from '../../src/core/documents/write/written.js'
import { isServiceError, ServiceError } from '../../src/core/errors.js'
import { everything } from '../../src/core/filter/filter.js'
import type * as ApplySet from '../../src/core/hooks/apply-set.js'
import type * as OwnRight from '../../src/core/hooks/own-right.js'
import type * as Unchanged from '../../src/core/hooks/require-unchanged.js'
import type * as ReadOnly from '../../src/core/hooks/routes/read-only.js'
import type * as RunTogether from '../../src/core/hooks/run-together.js'
import type * as ShowChange from '../../src/core/hooks/show-change.js'
import type * as AskHook from '../../src/core/hooks/where-hooked.js'
import type { PlannedWrite } from '../../src/core/hooks/where-hooked.js'
import type * as FindCascade from '../../src/core/references/find-cascade.js'
import { Call } from '../../src/core/request/call.js'
import type { Store } from '../../src/core/request/store.js'
import { HOOK_LAWS, IN_MEMORY, opener } from '../support/hook-laws.js'
import { FILLED_WRITES, HOOKED_WRITES } from '../support/hooked-writes.js'
import { idOf } from '../support/stored.js'
import { checkWrites, type WriteSource } from '../support/write-laws.js'
import { choose } from './choose.js'
import { createMutant, fails, type Mutant } from './create-mutant.js'

/** Hooks broken on purpose: one of the laws has to notice each. */

const replacing =
  <T extends object>(replace: (real: T) => Partial<T>) =>
  async (original: () => Promise<unknown>) => {
    const real = (await original()) as T
    return { ...real, ...replace(real) }
  }

/** The hook of a collection is asked, where `isAsked` says so. */
const askWhere = (isAsked: (write: PlannedWrite, isBatch: boolean) => boolean) =>
  replacing<typeof AskHook>((real) => ({
    askHook: (call, write) =>
      isAsked(write, 'isInBatch' in call && call.isInBatch === true) ? real.askHook(call, write) : undefined,
  }))

/** A store whose writes take effect one by one. */
const oneByOne = (store: Store): Store => ({
  read: (access) => store.read(access),
  own: (collection) => store.own(collection),
  state: (collections) => store.state(collections),
  linked: (asked) => store.linked(asked),
  together: (lists) => store.together(lists),
  within: (deadline) => oneByOne(store.within(deadline)),
  by: (caller) => oneByOne(store.by(caller)),
  async write(attempt) {
    let behind: (() => Promise<void>) | undefined
    const done = await store.write(async () => {
      const { behind: later, ...planned } = await attempt()
      behind = later
      return planned
    })
    await behind?.()
    return done
  },
})

/** Claims are read in another way. */
const claiming = (break_: (read: Claims.ReadClaim) => Claims.ReadClaim) =>
  replacing<typeof Claims>((real) => ({
    createClaimReader: (...args) => break_(real.createClaimReader(...args)),
  }))

const mutants: readonly Mutant[] = [
  [
    'a hook reads with what its caller claimed before',
    '../../src/core/claims/claims.js',
    claiming((read) => {
      const kept = new Map<string, ReturnType<typeof read>>()
      return (claim, binding, store) => {
        const key = `${claim.name} ${binding.user?._id}`
        if (!kept.has(key)) kept.set(key, read(claim, binding, store))
        return kept.get(key)
      }
    }),
  ],
  [
    'a hook reads as if its caller claimed nothing',
    '../../src/core/claims/claims.js',
    claiming(() => () => ({ values: [], isWhole: true })),
  ],
  [
    'a hook is not asked in a batch',
    '../../src/core/hooks/where-hooked.js',
    askWhere((_, isBatch) => !isBatch),
  ],
  [
    'a hook is not asked about deletes',
    '../../src/core/hooks/where-hooked.js',
    askWhere(({ after }) => after !== null),
  ],
  [
    'a hook is not asked about what is deleted with another',
    '../../src/core/hooks/where-hooked.js',
    askWhere(({ collection, after }) => after !== null || collection.name === 'posts'),
  ],
  [
    'a hook is not asked about a bulk',
    '../../src/core/documents/write/create-bulk.js',
    replacing<typeof CreateBulk>((real) => ({
      createBulk: ({ service: { hooks, ...service }, ...call }, ...more) =>
        real.createBulk(new Call(service, call), ...more),
    })),
  ],
  [
    'a write is answered as it was before what belongs to it',
    '../../src/core/documents/write/written.js',
    replacing<typeof Written>(() => ({ tellOneAgain: async (_, written) => written })),
  ],
  [
    'what belongs to a write is done in another step',
    '../../src/core/hooks/run-together.js',
    replacing<typeof RunTogether>(() => ({
      runTogether: (call, run, asked = 1) =>
        run(
          call.shared
            ? call
            : call.amid(oneByOne(call.store), { cascaded: 0, asked, added: 0, chosen: new Set() }),
        ),
    })),
  ],
  [
    'what belongs to a write is forgotten',
    '../../src/core/hooks/own-right.js',
    replacing<typeof OwnRight>((real) => ({
      createOwnRight: (service) => {
        const inOwnRight = real.createOwnRight(service)
        return (call, blame) => {
          const own = inOwnRight(call, blame)
          const store: Store = { ...oneByOne(own.store), write: async (attempt) => (await attempt()).done }
          return own.amid(store, { cascaded: 0, asked: 1, added: 0, chosen: new Set() })
        }
      },
    })),
  ],
  [
    'what belongs to a write is done with the rights of the caller',
    '../../src/core/hooks/own-right.js',
    replacing<typeof OwnRight>(() => ({ createOwnRight: () => (call) => call })),
  ],
  [
    'what a hook sets is stored as it is',
    '../../src/core/hooks/apply-set.js',
    replacing<typeof ApplySet>(() => ({ applySet: async (_, { fields }, set) => ({ ...fields, ...set }) })),
  ],
  [
    'a hook is asked before the write is judged',
    '../../src/core/documents/write/stages/drop.js',
    replacing<typeof Drop>((real) => ({
      drop: {
        ...real.drop,
        async judge(draft) {
          const { call, collection, body: fields } = draft
          const system = { _id: idOf(99), createdAt: '', updatedAt: '', createdBy: null }
          const write = { collection, before: null, after: { fields, system } }
          if (call.service.hooks?.has(collection.name)) await call.service.hooks.ask(call, write)
          return real.drop.judge?.(draft)
        },
      },
    })),
  ],
  [
    'a hook sees what its caller sees',
    '../../src/core/hooks/show-change.js',
    replacing<typeof ShowChange>((real) => ({
      showChange(write) {
        const { before, ...change } = real.showChange(write)
        const { hidden, ...shown } = before ?? { _id: '' }
        return { ...change, before: before && Object.freeze(shown) }
      },
    })),
  ],
  [
    'a hook sees the writes of its request only once they have taken effect',
    '../../src/core/batch/pending-writes.js',
    replacing<typeof PendingWrites>(({ PendingWrites: Real }) => ({
      PendingWrites: class extends Real {
        override find(): undefined {
          return undefined
        }
      },
    })),
  ],
  [
    'what goes with a delete goes, wherever a hook has led it',
    '../../src/core/references/find-cascade.js',
    replacing<typeof FindCascade>(({ keyOf }) => ({
      findGoing: async (_, __, left) => new Set(left.map(keyOf)),
    })),
  ],
  [
    'a conflict is answered, though it was judged by what is overtaken',
    '../../src/core/batch/pending-writes.js',
    replacing<typeof PendingWrites>(({ PendingWrites: Real }) => ({
      PendingWrites: class extends Real {
        override findOvertaken(): Promise<undefined> {
          return Promise.resolve(undefined)
        }
      },
    })),
  ],
  [
    'the api has methods that write',
    '../../src/core/hooks/routes/read-only.js',
    replacing<typeof ReadOnly>(() => ({ readOnly: (routes) => routes })),
  ],
  [
    'a condition is not kept until the write takes effect',
    '../../src/core/hooks/require-unchanged.js',
    replacing<typeof Unchanged>(() => ({ requireUnchanged: async () => {} })),
  ],
]

/** What a document has that its caller may not read. */
const hiddenOf = (
  call: Parameters<typeof AskHook.askHook>[0],
  { collection, before }: PlannedWrite,
): unknown => {
  const access = (call as Call).access(collection)
  return Object.entries(before ?? {}).filter(([name]) => before && !access?.isShown(before, name))
}

/** Hooks that tell what is hidden, though they themselves do not know of it. */
const leaks: readonly Mutant[] = [
  [
    'a refusal by a hook shows the document',
    '../../src/core/hooks/where-hooked.js',
    replacing<typeof AskHook>((real) => ({
      askHook(call, write) {
        const asking = real.askHook(call, write)
        return asking?.catch((thrown: unknown) => {
          if (isServiceError(thrown) && thrown.code === 'refused') {
            const { code, message, errors, status } = thrown
            const detail = `${message} ${JSON.stringify(hiddenOf(call, write))}`
            throw new ServiceError(code, detail, { errors, ...(status === undefined ? {} : { status }) })
          }
          throw thrown
        })
      },
    })),
  ],
  [
    'a hook is not asked where something is hidden',
    '../../src/core/hooks/where-hooked.js',
    replacing<typeof AskHook>((real) => ({
      askHook: (call, write) =>
        /"[dnstu]"/.test(JSON.stringify(hiddenOf(call, write))) ? undefined : real.askHook(call, write),
    })),
  ],
  [
    'what a hook adds is as large as all that is stored',
    '../../src/core/hooks/own-right.js',
    replacing<typeof OwnRight>((real) => ({
      createOwnRight: (service) => {
        const inOwnRight = real.createOwnRight(service)
        return (reportTo, blame) => {
          const own = inOwnRight(reportTo, blame)
          const { deadline, store, caller, session, shared, isInBatch, binding } = own
          const parts = { deadline, store, caller, session, shared, isInBatch }
          return new Call(own.service, { ...parts, now: binding.now })
        }
      },
    })),
  ],
]

/** The same of what hooks fill. */
const fillingLeaks: readonly Mutant[] = [
  [
    'what a hook fills is asked for where another document has what its writer may not see',
    '../../src/core/hooks/where-hooked.js',
    replacing<typeof AskHook>((real) => ({
      async askHook(...[call, write]: Parameters<typeof real.askHook>) {
        const { collection, before, after } = write
        const isLacking = [...collection.fills].some((name) => !Object.hasOwn(after?.fields ?? {}, name))
        if (before === null && isLacking) {
          const own = call as unknown as Call
          const access = own.access(collection)
          const all = await own.store.own(collection.name).list({ filter: everything })
          if (all.some((one) => !access?.isReadable(one))) throw new ServiceError('forbidden', 'Not so.')
        }
        return (await real.askHook(call, write)) as never
      },
    })),
  ],
]

describe('what hooks say', () => {
  const cases: readonly (readonly [...Mutant, WriteSource])[] = [
    ...leaks.map((mutant) => [...mutant, HOOKED_WRITES] as const),
    ...fillingLeaks.map((mutant) => [...mutant, FILLED_WRITES] as const),
  ]
  test.each(choose(cases))('%s: noticed', async (what, module, replace, source) => {
    const create = await createMutant([what, module, replace])
    expect(await fails(checkWrites(100, { create }, source))).toBe(true)
  })
})

describe('hooks', () => {
  test.each(choose(mutants))('%s: noticed', async (...mutant) => {
    const create = await createMutant(mutant)
    const open = opener({ ...IN_MEMORY, create })
    let isNoticed = false
    for (const [, check] of HOOK_LAWS) isNoticed ||= await fails(check(open))
    expect(isNoticed).toBe(true)
  })
})

test('the real hooks, taken through the same hands, pass', async () => {
  const create = await createMutant([
    'nothing is broken',
    '../../src/core/hooks/where-hooked.js',
    askWhere(() => true),
  ])
  for (const [, check] of HOOK_LAWS) await check(opener({ ...IN_MEMORY, create }))
})
