import { expect, test } from 'vitest'
import type * as BurstsModule from '../../src/core/changes/bursts.js'
import type * as JudgeChanges from '../../src/core/changes/judge-changes.js'
import type * as SealedIds from '../../src/core/changes/sealed-ids.js'
import type * as CheckStandings from '../../src/core/changes/standing/check-standings.js'
import type * as ClaimHistory from '../../src/core/changes/standing/claim-history.js'
import type * as WatchedClaims from '../../src/core/changes/standing/watched-claims.js'
import type * as Subscribers from '../../src/core/changes/subscriber.js'
import type * as Tell from '../../src/core/changes/tell.js'
import type * as WatchedList from '../../src/core/changes/watched-list.js'
import { checkHistories } from '../support/change-laws.js'
import { choose } from './choose.js'
import { createMutant, fails, type Mutant } from './create-mutant.js'

/** Streams of changes broken on purpose: each is a way in which such streams have leaked elsewhere. */

const BURSTS = '../../src/core/changes/bursts.js'
const JUDGE_CHANGES = '../../src/core/changes/judge-changes.js'
const CHECK_STANDINGS = '../../src/core/changes/standing/check-standings.js'
const SUBSCRIBER = '../../src/core/changes/subscriber.js'
const CLAIM_HISTORY = '../../src/core/changes/standing/claim-history.js'
const SEALED_IDS = '../../src/core/changes/sealed-ids.js'
const TELL = '../../src/core/changes/tell.js'
const WATCHED_CLAIMS = '../../src/core/changes/standing/watched-claims.js'
const WATCHED_LIST = '../../src/core/changes/watched-list.js'

type Judge = typeof JudgeChanges.judgeChanges

/** Changes the events of a list. */
const breakEvents =
  (
    break_: (
      events: readonly JudgeChanges.ListEvent[],
      ...args: Parameters<Judge>
    ) => readonly JudgeChanges.ListEvent[],
  ) =>
  async (original: () => Promise<unknown>) => {
    const real = (await original()) as typeof JudgeChanges
    return {
      ...real,
      judgeChanges: async (...args: Parameters<Judge>) => break_(await real.judgeChanges(...args), ...args),
    }
  }

/** Judges changes by other rights. */
const breakAccess =
  (break_: (reading: Awaited<ReturnType<WatchedList.WatchedList['at']>>) => object) =>
  async (original: () => Promise<unknown>) => {
    const real = (await original()) as typeof WatchedList
    return {
      ...real,
      watchList: async (...args: Parameters<typeof real.watchList>): Promise<WatchedList.WatchedList> => {
        const list = await real.watchList(...args)
        return {
          ...list,
          at: async (now) => {
            const reading = await list.at(now)
            return { ...reading, access: { ...reading.access, ...break_(reading) } }
          },
        }
      },
    }
  }

type History = typeof ClaimHistory.ClaimHistory

/** Looks back in another way at what a claim was. */
const breakHistory = (break_: (real: History) => History) => async (original: () => Promise<unknown>) => {
  const real = (await original()) as typeof ClaimHistory
  return { ...real, ClaimHistory: break_(real.ClaimHistory) }
}

const mutants: readonly Mutant[] = [
  [
    'a change of a hidden field is told',
    JUDGE_CHANGES,
    breakEvents((events, list, _, changes) => {
      const told = new Set(events.map(({ change }) => change))
      const silent = changes.filter((change) => change.in === list.collection && !told.has(change))
      return [
        ...events,
        ...silent.map((change) => ({ name: 'leave' as const, data: `{"_id":"${change.id}"}`, change })),
      ]
    }),
  ],
  [
    'a leave tells what was deleted from what is hidden',
    JUDGE_CHANGES,
    breakEvents((events) =>
      events.map((event) =>
        event.name === 'leave' && event.change.after === null
          ? { ...event, data: event.data.replace('}', ',"deleted":true}') }
          : event,
      ),
    ),
  ],
  [
    'an event tells who has written',
    JUDGE_CHANGES,
    breakEvents((events) =>
      events.map((event) => ({
        ...event,
        data: event.data.replace(/\}$/, `,"by":${JSON.stringify(event.change.by)}}`),
      })),
    ),
  ],
  [
    'an enter tells what was made from what was hidden',
    JUDGE_CHANGES,
    breakEvents((events) =>
      events.map((event) =>
        event.name === 'enter' && event.change.before !== null ? { ...event, name: 'change' } : event,
      ),
    ),
  ],
  [
    'a condition on a field sees what is hidden of it',
    WATCHED_LIST,
    async (original) => {
      const real = (await original()) as typeof WatchedList
      return {
        ...real,
        watchList: (...[sources, subscription, ...others]: Parameters<typeof real.watchList>) =>
          real.watchList(
            sources,
            {
              ...subscription,
              readQuery: (access) =>
                subscription.readQuery(
                  Object.create(access, { guard: { value: (leaf: unknown) => leaf }, key: {} }),
                ),
            },
            ...others,
          ),
      }
    },
  ],
  [
    'documents are told that may not be read',
    WATCHED_LIST,
    breakAccess(() => ({ restrict: (asked: unknown) => asked })),
  ],
  [
    'each page of the log is judged by itself',
    BURSTS,
    async (original) => {
      const real = (await original()) as typeof BurstsModule
      const { tellChanges } = await import('../../src/core/changes/tell.js')
      return {
        ...real,
        Bursts: class extends real.Bursts {
          override tell(...[telling, subscribers, page]: Parameters<BurstsModule.Bursts['tell']>) {
            return tellChanges(telling, subscribers, page, () => false)
          }
        },
      }
    },
  ],
  [
    'the rights are those of yesterday',
    CHECK_STANDINGS,
    async (original) => {
      const real = (await original()) as typeof CheckStandings
      return {
        ...real,
        checkStandings: async (...[, asked]: Parameters<typeof real.checkStandings>) =>
          new Map(Array.from(asked.keys(), (subscriber) => [subscriber, { kind: 'same' }])),
      }
    },
  ],
  [
    'any change of the own account is told',
    CHECK_STANDINGS,
    async (original) => {
      const real = (await original()) as typeof CheckStandings
      return {
        ...real,
        checkStandings: async (...args: Parameters<typeof real.checkStandings>) => {
          const verdicts = await real.checkStandings(...args)
          return new Map(
            Array.from(args[1], ([subscriber, { own }]) => {
              const { list, caller, version } = subscriber
              const another = { kind: 'another', as: { list, caller, version } }
              return [subscriber, own.length > 0 ? another : verdicts.get(subscriber)]
            }),
          )
        },
      }
    },
  ],
  [
    'the claims are those of yesterday',
    WATCHED_CLAIMS,
    async (original) => {
      const real = (await original()) as typeof WatchedClaims
      const kept = new Map<string, WatchedClaims.WatchedClaim>()
      return {
        ...real,
        readClaims: async (...args: Parameters<typeof real.readClaims>) => {
          const read = await real.readClaims(...args)
          for (const one of read) if (!kept.has(one.asked)) kept.set(one.asked, one)
          return read.map((one) => kept.get(one.asked) ?? one)
        },
      }
    },
  ],
  [
    'nobody looks at what a claim is made of',
    CLAIM_HISTORY,
    breakHistory(
      (Real) =>
        class extends Real {
          override get isTouched(): boolean {
            return false
          }
        },
    ),
  ],
  [
    'a claim that was another one briefly is not noticed',
    CLAIM_HISTORY,
    breakHistory(
      (Real) =>
        class extends Real {
          override wasAnother = async () => false
        },
    ),
  ],
  [
    'whatever is done to what a claim is made of is told',
    CLAIM_HISTORY,
    breakHistory(
      (Real) =>
        class extends Real {
          override wasAnother = async () => true
        },
    ),
  ],
  [
    'what a claim is between two changes of one write is told',
    CLAIM_HISTORY,
    breakHistory(
      (Real) =>
        class extends Real {
          override read: History['prototype']['read'] = (sources, { changes, position }, askings) => {
            const first = (write: number): number => changes.findIndex((change) => change.write === write)
            const apart = changes.map((change, i) => ({
              ...change,
              write: change.write + (i - first(change.write)) / 1000,
            }))
            return super.read(sources, { changes: apart, position }, askings)
          }
        },
    ),
  ],
  [
    'of a claim only the number of its documents counts',
    CLAIM_HISTORY,
    breakHistory(
      (Real) =>
        class extends Real {
          #isOther = false
          override read: History['prototype']['read'] = (sources, part, askings) => {
            this.#isOther ||= part.changes.some(({ before, after }) => !before !== !after)
            return super.read(sources, part, askings)
          }
          override wasAnother = async () => this.#isOther
        },
    ),
  ],
  [
    'a claim asks on for what it asked for before its caller changed',
    CLAIM_HISTORY,
    breakHistory(
      (Real) =>
        class extends Real {
          override read: History['prototype']['read'] = (sources, part) => super.read(sources, part, [])
        },
    ),
  ],
  [
    'who changes without another standing is followed as before',
    SUBSCRIBER,
    async (original) => {
      const real = (await original()) as typeof Subscribers
      return {
        ...real,
        Subscriber: class extends real.Subscriber {
          override tell: typeof real.Subscriber.prototype.tell = (outcome, patience) =>
            super.tell(outcome.kind === 'on' ? { ...outcome, as: undefined } : outcome, patience)
        },
      }
    },
  ],
  [
    'an id is a counter of all that is written',
    SEALED_IDS,
    async (original) => {
      const real = (await original()) as typeof SealedIds
      return {
        ...real,
        createSealedIds: (...args: Parameters<typeof real.createSealedIds>): SealedIds.SealedIds => ({
          ...real.createSealedIds(...args),
          seal: async ({ position }) => btoa(position).replaceAll('=', '').padStart(567, '0'),
        }),
      }
    },
  ],
  [
    'an id is as long as what it holds',
    SEALED_IDS,
    async (original) => {
      const real = (await original()) as typeof SealedIds
      return {
        ...real,
        createSealedIds: (...args: Parameters<typeof real.createSealedIds>): SealedIds.SealedIds => {
          const ids = real.createSealedIds(...args)
          return {
            ...ids,
            seal: async (mark) => (await ids.seal(mark)) + 'x'.repeat(mark.position.length % 5),
          }
        },
      }
    },
  ],
  [
    'what cannot be seen gives an empty event',
    TELL,
    async (original) => {
      const real = (await original()) as typeof Tell
      return {
        ...real,
        tellChanges: async (...args: Parameters<typeof real.tellChanges>) => {
          const outcomes = new Map(await real.tellChanges(...args))
          const [telling, subscribers, part] = args
          for (const subscriber of subscribers) {
            if (outcomes.has(subscriber)) continue
            const text = await real.writeReset(telling, subscriber.list, part.position)
            outcomes.set(subscriber, { kind: 'on', texts: [text] })
          }
          return outcomes
        },
      }
    },
  ],
]

const PAIRS = { pairs: 150, writes: 40, first: 60 }

test.each(choose(mutants).map((mutant) => [mutant[0], mutant] as const))('%s: found', async (_, mutant) => {
  expect(await fails(checkHistories(PAIRS, { create: await createMutant(mutant) }))).toBe(true)
})

test('what is not broken passes', async () => {
  expect(await fails(checkHistories({ pairs: 5, writes: 40 }))).toBe(false)
})
