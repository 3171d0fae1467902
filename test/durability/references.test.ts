import { describe, expect, test } from 'vitest'
import { everything } from '../../src/core/filter/filter.js'
import {
  type Config,
  createMemoryAdapter,
  type StorageAdapter,
  type StoredDocument,
} from '../../src/index.js'
import { idOf, LONG_AGO } from '../support/stored.js'
import { rounds } from '../support/tier.js'
import {
  patch,
  post,
  type Send,
  type Sending,
  startHere,
  startProcess,
  useProcesses,
} from './support/sending.js'
import { connect, engines } from './support/stores.js'
import { createUnsteadyAdapter } from './support/unsteady-adapter.js'

// CONTRACT.md §2, "References"

/** References that are made while what they name is deleted. */

const ROUNDS = rounds(50, 1000)

/** After so many that nobody but one has come first each time there was no race. */
const MOST_ROUNDS = 1000

const permissions = { '*': true } as const

const config = {
  collections: {
    people: { schema: { name: { type: 'string' } }, permissions },
    held: {
      schema: { r: { type: 'reference', collection: 'people' }, n: { type: 'integer' } },
      permissions,
    },
    bound: {
      schema: {
        list: {
          type: 'array',
          items: {
            type: 'object',
            properties: { r: { type: 'reference', collection: 'people', onDelete: 'cascade' } },
          },
        },
      },
      permissions,
    },
    /** What goes along with what goes along. */
    leaves: {
      schema: { r: { type: 'reference', collection: 'bound', onDelete: 'cascade' } },
      permissions,
    },
  },
} satisfies Config

useProcesses()

type Documents = readonly StoredDocument[]

const readAll = async (adapter: StorageAdapter, name: string): Promise<Documents> =>
  adapter.list(name, { filter: everything, sort: [], skip: 0, limit: null })

/** People to be deleted, one a round, and documents that will be made to refer to them. */
async function fill(adapter: StorageAdapter): Promise<void> {
  const system = { _version: 1, createdAt: LONG_AGO, updatedAt: LONG_AGO, createdBy: null }
  const steps = ['people', 'held', 'bound'].flatMap((name) =>
    Array.from({ length: MOST_ROUNDS }, (_, i) => ({ in: name, insert: { _id: idOf(i), ...system } })),
  )
  expect(await adapter.write(steps, {})).toMatchObject({ ok: true })
}

interface Race {
  readonly what: string
  /** What refers to the one to be deleted, all at once. */
  readonly refer: (id: string) => readonly Sending[]
  readonly outcomes: readonly string[]
}

const races: readonly Race[] = [
  {
    what: 'that holds on to it',
    refer: (id) => [
      post('/held', { r: id }),
      patch(`/held/${id}`, { r: id }),
      post('/held/bulk', { documents: [{ n: 1 }, { r: id }, { r: id }] }),
    ],
    outcomes: ['200', '201', '204', '400 validation_failed', '409 reference_in_use'],
  },
  {
    what: 'that goes along with it',
    refer: (id) => [
      post('/bound', { list: [{ r: id }] }),
      patch(`/bound/${id}`, { list: [{}, { r: id }] }),
      post('/bound/bulk', { documents: [{}, { list: [{ r: id }] }] }),
    ],
    // What is to be changed may be gone with it.
    outcomes: ['200', '201', '204', '400 validation_failed', '404 not_found'],
  },
  {
    what: 'to what goes along with it',
    refer: (id) => [patch(`/bound/${id}`, { list: [{ r: id }] }), post('/leaves', { r: id })],
    outcomes: ['200', '201', '204', '400 validation_failed', '404 not_found'],
  },
]

const idsIn = (documents: Documents): ReadonlySet<string> => new Set(documents.map(({ _id }) => _id))

async function check(send: readonly [Send, Send], adapter: StorageAdapter, race: Race): Promise<void> {
  const [referring, deleting] = send
  const seen = new Set<string>()
  const deleted = new Set<string>()
  // Both must have come first now and then.
  const isRace = (): boolean => deleted.size > 0 && seen.has('201')
  for (let round = 0; round < ROUNDS || (!isRace() && round < MOST_ROUNDS); round++) {
    const id = idOf(round)
    const remove = { method: 'DELETE', path: `/people/${id}` }
    // Either may be sent first.
    const requests = [() => referring(race.refer(id)), () => deleting([remove])]
    const answers = (round % 2 === 0 ? requests : requests.reverse()).map((start) => start())
    const [first = [], second = []] = await Promise.all(answers)
    for (const outcome of [...first, ...second]) seen.add(outcome)
    if ([...first, ...second].includes('204')) deleted.add(id)
  }
  expect([...seen].filter((outcome) => !race.outcomes.includes(outcome))).toEqual([])

  const [people, held, bound, leaves] = await Promise.all(
    ['people', 'held', 'bound', 'leaves'].map((name) => readAll(adapter, name)),
  )
  if (!people || !held || !bound || !leaves) throw new Error('a collection is missing')
  const left = idsIn(people)
  expect([...deleted].filter((id) => left.has(id))).toEqual([])
  expect(left.size).toBe(MOST_ROUNDS - deleted.size)
  const named = [
    ...held.map(({ r }) => r),
    ...bound.flatMap(({ list }) => ((list ?? []) as { r?: unknown }[]).map(({ r }) => r)),
  ].filter((id) => typeof id === 'string')
  expect(named.filter((id) => !left.has(id))).toEqual([])
  const boundIds = idsIn(bound)
  expect(leaves.map(({ r }) => String(r)).filter((id) => !boundIds.has(id))).toEqual([])
  expect(isRace()).toBe(true)
}

describe.each(races)(
  'a reference $what, made while it is deleted, leads to something or is not made',
  (race) => {
    test('in memory', async () => {
      const adapter = createUnsteadyAdapter(createMemoryAdapter(), 1)
      const send = startHere(adapter, config)
      await send([{ method: 'GET', path: '/people' }])
      await fill(adapter)
      await check([send, send], adapter, race)
    })
  },
)

describe.each(engines)('%s, from two processes', (_, useStores) => {
  const stores = useStores()

  test.each(races)(
    'a reference $what, made while it is deleted, leads to something or is not made',
    async (race) => {
      const store = stores.create()
      const processes = await Promise.all([startProcess(store, config), startProcess(store, config)])
      const [one, other] = processes
      if (!one || !other) throw new Error('a process is missing')
      const adapter = connect(store)
      await adapter.open([])
      try {
        await fill(adapter)
        await check([one, other], adapter, race)
      } finally {
        await adapter.close()
      }
    },
  )
})
