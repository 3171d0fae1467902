import { expect } from 'vitest'
import {
  type createCollectionService,
  createMemoryAdapter,
  type StorageAdapter,
  type StoredDocument,
} from '../../src/index.js'
import { createTestService, type TestService } from './service.js'
import { idOf } from './stored.js'

type Create = typeof createCollectionService

const config = {
  collections: {
    members: {
      schema: { user: { type: 'string', index: true }, team: { type: 'string' } },
      permissions: { user: { create: { set: { user: '$user._id' } } } },
    },
    notes: {
      schema: {
        team: { type: 'string' },
        n: { type: 'integer' },
        list: { type: 'array', items: { type: 'string' } },
      },
      permissions: {
        user: {
          read: { where: { team: { $in: '$user.teams' } } },
          create: { check: { team: { $in: '$user.teams' } } },
          update: true,
        },
        outsider: { read: { where: { team: { $nin: '$user.teams' } } } },
        nameless: { read: { where: { team: { $nin: '$user.named' } } } },
        lister: { create: { set: { list: '$user.teams' } } },
      },
    },
  },
  auth: {
    claims: {
      teams: { from: 'members', where: { user: '$user._id' }, take: 'team' },
      named: { from: 'members', where: { user: '$user.name' }, take: 'team' },
    },
  },
}

const stored = (n: number, fields: object): StoredDocument => ({
  _id: idOf(n),
  _version: 1,
  createdAt: new Date(Date.UTC(2026, 0, 1) - n).toISOString(),
  updatedAt: '2026-01-01T00:00:00.000Z',
  createdBy: null,
  ...fields,
})

/** A service over memory, in which `between` runs once before the next write. */
async function open(create: Create | undefined) {
  const memory = createMemoryAdapter()
  let between: (() => unknown) | undefined
  const adapter: StorageAdapter = {
    ...memory,
    async write(steps, options) {
      const act = between
      between = undefined
      await act?.()
      return memory.write(steps, options)
    },
  }
  const options = { adapter, authenticate: () => null, ...(create ? { create } : {}) }
  const service = createTestService(config, options)
  await service.handler.ready()
  const put = (name: string, ...documents: readonly StoredDocument[]) =>
    memory.write(
      documents.map((insert) => ({ in: name, insert })),
      {},
    )
  const expel = (n: number) =>
    memory.write([{ in: 'members', remove: { kind: 'eq', field: ID, value: idOf(n) } }], {})
  const beforeWrite = (act: () => unknown): void => {
    between = act
  }
  return { ...service, put, expel, beforeWrite }
}

const ID = { path: '_id', type: 'string', each: false } as const

const ann = { id: 'ann' }
const as = (...roles: string[]) => ({ caller: { ...ann, roles } })
const total = async ({ send }: Pick<TestService, 'send'>, caller: object = ann) =>
  (await send('GET /notes/count', { caller: { ...ann, ...caller } })).body.total

/** What has to hold of claims (CONTRACT.md §5, "Claims"), in memory. Throws where it does not. */
export async function checkClaims(create?: Create): Promise<void> {
  const service = await open(create)
  const { send, put, expel, beforeWrite } = service
  await put('members', stored(1, { user: 'ann', team: 'a' }), stored(2, { user: 'ann', team: 'b' }))
  await put('notes', ...['a', 'b', 'c'].map((team, i) => stored(10 + i, { team })))
  expect(await total(service)).toBe(2)
  // What a host says does not stand in, nor does what was so before.
  expect(await total(service, { teams: ['a', 'b', 'c'] })).toBe(2)
  expect((await send('POST /notes', { ...as('lister'), body: {} })).status).toBe(201)
  expect(await total(service, { roles: ['nameless'] })).toBe(2)
  expect(await total(service, { roles: ['nameless'], name: 'ann' })).toBe(4)

  // The second attempt finds that what the first one relied on is over.
  beforeWrite(async () => {
    await expel(2)
    await put('notes')
    const note = stored(11, { team: 'b', n: 1 })
    return service.adapter.write([{ in: 'notes', replace: { ...note, _version: 2 }, version: 1 }], {})
  })
  expect((await send(`PATCH /notes/${idOf(11)}`, { ...as(), body: { n: 2 } })).status).toBe(404)
  expect(await total(service)).toBe(1)

  const join = { method: 'POST', path: '/members', body: { team: 'z' } }
  const write = (team: string) => ({ method: 'POST', path: '/notes', body: { team } })
  const batch = (...operations: object[]) => send('POST /_batch', { ...as(), body: { operations } })
  expect((await batch(write('a'), join, write('z'))).status).toBe(200)
  beforeWrite(() => expel(1))
  expect((await batch(write('a'))).status).toBe(403)

  const order = await open(create)
  // The later `_id` is the older document.
  await order.put('members', stored(1, { user: 'ann', team: 'new' }), stored(2, { user: 'ann', team: 'old' }))
  await order.send('POST /notes', { ...as('lister'), body: { team: 'x' } })
  const all = await order.adapter.list('notes', {
    filter: { kind: 'and', filters: [] },
    sort: [],
    skip: 0,
    limit: null,
  })
  expect(all.map(({ list }) => list)).toEqual([['old', 'new']])

  const many = Array.from({ length: 1001 }, (_, i) =>
    stored(100 + i, { user: 'ann', team: i === 0 ? 'c' : 'd' }),
  )
  await service.put('members', ...many)
  // The youngest of 1,002 does not count, and then nothing is outside.
  expect(await total(service, { roles: ['outsider'] })).toBe((await total(service, {})) as number)
}
