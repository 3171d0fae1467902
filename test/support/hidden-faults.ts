import { expect } from 'vitest'
import type { createCollectionService, StorageAdapter } from '../../src/index.js'
import { faultsOf, type Sent } from './service.js'
import { idOf, openStored } from './stored.js'

/** Writes with faults in what their caller may not see: how many these are is not told, and takes no room from others. */

type Json = { readonly [name: string]: unknown }

const whole = { type: 'integer' }
const text = { type: 'string' }
const listOf = (items: Json): Json => ({ type: 'array', items })
const matched = listOf({ type: 'reference', collection: 'teams', match: { k: 'k' } })

const USER = { id: 'ann', roles: ['writer'] }
const TARGETS = 60
const teams = Array.from({ length: TARGETS }, (_, i) => ({ _id: idOf(100 + i), k: 1 }))
const references = (count: number): readonly string[] => teams.slice(0, count).map(({ _id }) => _id)

/** What a user writes to items that have so many hidden faults. */
export interface Case {
  readonly items: Json
  readonly claims?: Json
  /** What is stored, by the number of hidden faults. */
  readonly stored: (count: number) => { readonly [collection: string]: readonly Json[] }
  readonly line: string
  readonly body: Json
  /** The faults of all that are told. */
  readonly faults: (sent: Sent) => void
}

const many = Array(49).fill('x')
const peers = { peers: { from: 'members', where: { user: '$user._id' }, take: 'tag' } }
const members = (count: number): readonly Json[] =>
  Array.from({ length: count }, (_, i) => ({ user: 'ann', tag: `long ${i}` }))
const ONE = `/items/${idOf(1)}`

export const hiddenFaults: readonly (readonly [what: string, one: Case])[] = [
  [
    'references that nobody lets the caller see',
    {
      items: {
        schema: { k: whole, hidden: matched, list: listOf(whole) },
        permissions: { writer: { read: { omit: ['hidden'] }, update: { pick: ['k', 'list'] } } },
      },
      stored: (count) => ({ teams, items: [{ k: 1, hidden: references(count) }] }),
      line: `PATCH ${ONE}`,
      body: { k: 2, list: many },
      faults: (sent) => {
        expect(Object.keys(faultsOf(sent))).toHaveLength(50)
        expect(faultsOf(sent)).toMatchObject({
          '/list/0': 'wrong_type',
          '/list/48': 'wrong_type',
          '': 'unknown_reference',
        })
      },
    },
  ],
  [
    'references that are shown on other documents',
    {
      items: {
        schema: { k: whole, refs: matched },
        permissions: { writer: { read: { omit: ['refs'] }, update: { pick: ['k'] } }, owner: { read: true } },
      },
      stored: (count) => ({ teams, items: [{ k: 1, refs: references(count) }] }),
      line: `PATCH ${ONE}`,
      body: { k: 2 },
      faults: (sent) => expect(faultsOf(sent)).toEqual({ '/refs': 'unknown_reference' }),
    },
  ],
  [
    'references that are shown on other documents, in a batch',
    {
      items: {
        schema: { k: whole, refs: matched },
        permissions: { writer: { read: { omit: ['refs'] }, update: { pick: ['k'] } }, owner: { read: true } },
      },
      stored: (count) => ({ teams, items: [{ k: 1, refs: references(count) }] }),
      line: 'POST /_batch',
      body: { operations: [{ method: 'PATCH', path: ONE, body: { k: 2 } }] },
      faults: (sent) => expect(faultsOf(sent)).toEqual({ '/operations/0/body/refs': 'unknown_reference' }),
    },
  ],
  [
    'references beside those that the body names, in a batch',
    {
      items: {
        schema: { k: whole, refs: matched },
        permissions: {
          writer: { read: { omit: ['refs'] }, update: { pick: ['k', 'refs'] } },
          owner: { read: true },
        },
      },
      stored: (count) => ({ teams, items: [{ k: 1, refs: references(count) }] }),
      line: 'POST /_batch',
      body: { operations: [{ method: 'PATCH', path: ONE, body: { k: 2, refs: [idOf(100)] } }] },
      faults: (sent) => expect(faultsOf(sent)).toEqual({ '/operations/0/body/refs/0': 'unknown_reference' }),
    },
  ],
  [
    'which collection a hidden reference leads to',
    {
      items: {
        schema: {
          k: whole,
          o: {
            type: 'object',
            properties: {
              a: { type: 'reference', collection: 'teams', match: { k: 'k' } },
              b: { type: 'reference', collection: 'others', match: { k: 'k' } },
            },
          },
        },
        permissions: { writer: { read: { omit: ['o'] }, update: { pick: ['k'] } }, owner: { read: true } },
      },
      stored: (count) => ({
        teams,
        others: [{ _id: idOf(90), k: 1 }],
        items: [{ k: 1, o: count === 1 ? { a: idOf(100) } : { b: idOf(90) } }],
      }),
      line: `PATCH ${ONE}`,
      body: { k: 2 },
      faults: (sent) => expect(faultsOf(sent)).toEqual({ '/o': 'unknown_reference' }),
    },
  ],
  [
    'values of a set, in an update',
    {
      items: {
        schema: { tags: listOf({ ...text, maxLength: 3 }), nums: listOf(whole) },
        permissions: {
          writer: { read: { omit: ['tags'] }, update: { pick: ['nums'], set: { tags: '$user.peers' } } },
        },
      },
      claims: peers,
      stored: (count) => ({ members: members(count), items: [{}] }),
      line: `PATCH ${ONE}`,
      body: { nums: ['x'] },
      faults: (sent) => expect(faultsOf(sent)).toEqual({ '/nums/0': 'wrong_type' }),
    },
  ],
  [
    'values of a set, in a create',
    {
      items: {
        schema: { tags: listOf({ ...text, maxLength: 3 }), nums: listOf(whole) },
        permissions: {
          writer: { read: { omit: ['tags'] }, create: { pick: ['nums'], set: { tags: '$user.peers' } } },
        },
      },
      claims: peers,
      stored: (count) => ({ members: members(count) }),
      line: 'POST /items',
      body: { nums: ['x'] },
      faults: (sent) => expect(faultsOf(sent)).toEqual({ '/nums/0': 'wrong_type' }),
    },
  ],
  [
    'references of a set, in a create',
    {
      items: {
        schema: { refs: listOf({ type: 'reference', collection: 'teams' }), nums: listOf(whole) },
        permissions: {
          writer: { read: { omit: ['refs'] }, create: { pick: ['nums'], set: { refs: '$user.peers' } } },
        },
      },
      claims: peers,
      stored: (count) => ({ members: members(count) }),
      line: 'POST /items',
      body: { nums: many },
      faults: (sent) => expect(Object.keys(faultsOf(sent))).toHaveLength(49),
    },
  ],
]

interface Checked {
  readonly create?: typeof createCollectionService
  readonly createAdapter: () => StorageAdapter
}

/** Checks that a write is answered alike with one hidden fault and with many. */
export async function checkHiddenFaults(
  { createAdapter, ...options }: Checked,
  { items, claims, stored, line, body, faults }: Case,
): Promise<void> {
  const answer = async (count: number): Promise<Sent> => {
    const { handler, send } = await openStored(
      {
        collections: {
          teams: { schema: { k: whole }, permissions: { '*': { read: true } } },
          others: { schema: { k: whole }, permissions: { '*': { read: true } } },
          members: { schema: { user: text, tag: text }, permissions: {} },
          items,
        },
        ...(claims ? { auth: { claims } } : {}),
      },
      stored(count),
      { ...options, adapter: createAdapter(), authenticate: () => null },
    )
    try {
      return await send(line, { body, caller: USER })
    } finally {
      await handler.close()
    }
  }
  const [one, many] = [await answer(1), await answer(TARGETS)]
  faults(one)
  expect([many.status, many.body.detail, many.body.errors]).toEqual([
    one.status,
    one.body.detail,
    one.body.errors,
  ])
}
