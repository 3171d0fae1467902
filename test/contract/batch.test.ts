import { describe, expect, test } from 'vitest'
import { everything } from '../../src/core/filter/filter.js'
import type { Caller, ServiceOptions, StorageAdapter, WriteStep } from '../../src/index.js'
import { scale, useSmallerBounds } from '../support/bounds.js'
import { createTestService, faultsOf, type Sent, type TestService } from '../support/service.js'
import { closeAfterEach, useStorages } from '../support/storages.js'
import { idOf, openStored, replaceMethods } from '../support/stored.js'

// CONTRACT.md §2, "Batch"

type Json = { readonly [name: string]: unknown }

const storages = useStorages()
const opened = closeAfterEach()

const ann: Caller = { id: 'ann' }
const BATCH = 'POST /_batch'

const config = {
  collections: {
    teams: {
      schema: { name: { type: 'string', unique: true, required: true }, size: { type: 'integer' } },
      permissions: { user: true },
    },
    members: {
      schema: {
        team: { type: 'reference', collection: 'teams', onDelete: 'cascade' },
        role: { type: 'string', enum: ['admin', 'guest'] },
        hidden: { type: 'string' },
      },
      permissions: {
        user: {
          read: { omit: ['hidden'] },
          create: { omit: ['hidden'] },
          update: { where: { role: 'guest' } },
          delete: true,
        },
      },
    },
    plans: {
      schema: { team: { type: 'reference', collection: 'teams' } },
      permissions: { user: true },
    },
  },
} as const

async function open(
  adapter: StorageAdapter,
  stored: { [name: string]: readonly Json[] } = {},
  options: ServiceOptions & { config?: Json } = {},
): Promise<TestService> {
  const { config: other = config, ...rest } = options
  const service = await openStored(other, stored, { authenticate: () => null, adapter, ...rest })
  opened.push(service)
  return service
}

const post = (path: string, body: Json) => ({ method: 'POST', path, body })
const patch = (path: string, body: Json, more: Json = {}) => ({ method: 'PATCH', path, body, ...more })
const get = (path: string, more: Json = {}) => ({ method: 'GET', path, ...more })
const remove = (path: string) => ({ method: 'DELETE', path })
const claim = (path: string, body: Json) => ({ method: 'PUT', path, ifNoneMatch: '*', body })

const run = ({ send }: TestService, ...operations: readonly Json[]): Promise<Sent> =>
  send(BATCH, { caller: ann, body: { operations } })

const statuses = ({ body }: Sent): unknown =>
  body.results?.map(({ status }: { status: number }) => status) ?? body

const refusalOf = ({ status, body }: Sent): unknown => [status, body.code, body.operation]

const storedIn = async ({ adapter }: TestService, name: string): Promise<number> =>
  adapter.count(name, everything, {})

const TEAM = `/teams/${idOf(1)}`

describe.each(storages)('a batch, in %s,', (_, create) => {
  test('sees in each operation what the earlier ones did', async () => {
    const service = await open(create())
    const sent = await run(
      service,
      claim(TEAM, { name: 'one' }),
      post('/members', { team: idOf(1), role: 'admin' }),
      patch(TEAM, { size: 1 }),
      get(TEAM),
      claim(`/teams/${idOf(2)}`, { name: 'two' }),
      patch(TEAM, { name: 'other' }),
      patch(`/teams/${idOf(2)}`, { name: 'one' }),
      remove(TEAM),
      claim(TEAM, { name: 'again' }),
    )
    expect(statuses(sent)).toEqual([201, 201, 200, 200, 201, 200, 200, 204, 201])
    expect(sent.body.results[3].body).toMatchObject({ name: 'one', size: 1 })
    // The member went with its team, which is there anew.
    expect(await service.list('/teams?sort[name]=1', 'name', { caller: ann })).toEqual(['again', 'one'])
    expect(await storedIn(service, 'members')).toBe(0)
  })

  test('has one time', async () => {
    let time = Date.parse('2026-11-20T08:00:00.000Z')
    const service = await open(create(), {}, { now: () => time++ })
    const { body } = await run(service, ...[1, 2, 3].map((n) => post('/teams', { name: `${n}` })))
    const times = body.results.flatMap(({ body: { createdAt, updatedAt } }: { body: Json }) => [
      createdAt,
      updatedAt,
    ])
    expect(new Set(times).size).toBe(1)
  })

  test.each<[what: string, last: Json, refusal: readonly unknown[]]>([
    ['a fault', post('/teams', {}), [400, 'validation_failed', 2]],
    [
      'a value that is taken in the storage',
      post('/teams', { name: 'stored' }),
      [409, 'unique_violation', 2],
    ],
    ['a value that an operation took', post('/teams', { name: 'new' }), [409, 'unique_violation', 2]],
    [
      'a value that is taken, under an _id of the client',
      claim(`/teams/${idOf(8)}`, { name: 'stored' }),
      [409, 'unique_violation', 2],
    ],
    ['a document that is not there', get(`/teams/${idOf(9)}`), [404, 'not_found', 2]],
    ['a document of a long name', get(`/teams/${'x'.repeat(10_000)}`), [404, 'not_found', 2]],
    ['a condition', patch(TEAM, { size: 2 }, { ifMatch: '"no"' }), [412, 'precondition_failed', 2]],
    ['the condition of a read', get(TEAM, { ifMatch: '"no"' }), [412, 'precondition_failed', 2]],
    ['a rule', patch(`/members/${idOf(3)}`, { role: 'guest' }), [403, 'forbidden', 2]],
    ['a reference', post('/members', { team: idOf(9) }), [400, 'validation_failed', 2]],
    ['a document in use', remove(TEAM), [409, 'reference_in_use', 2]],
  ])('that is refused by %s leaves nothing', async (_what, last, refusal) => {
    const service = await open(create(), {
      teams: [{ _id: idOf(1), name: 'stored' }],
      members: [{ _id: idOf(3), role: 'admin' }],
      plans: [{ _id: idOf(6) }],
    })
    const before = [post('/teams', { name: 'new' }), post('/plans', { team: idOf(1) })]
    const sent = await run(service, ...before, last, get(`/plans/${idOf(6)}`))
    expect(refusalOf(sent)).toEqual(refusal)
    for (const { path } of sent.body.errors ?? []) expect(path).toMatch(/^\/operations\/2\/body/)
    expect([await storedIn(service, 'teams'), await storedIn(service, 'plans')]).toEqual([1, 1])
  })

  test('answers for the first operation that is refused, then for the first whose condition is not met', async () => {
    const service = await open(create(), { teams: [{ _id: idOf(1), name: 'stored' }] })
    const [plan, taken] = [post('/plans', { team: idOf(1) }), post('/teams', { name: 'stored' })]
    const invalid = post('/teams', {})
    expect(refusalOf(await run(service, plan, taken, invalid))).toEqual([400, 'validation_failed', 2])
    expect(refusalOf(await run(service, plan, remove(TEAM), invalid))).toEqual([400, 'validation_failed', 2])
    expect(refusalOf(await run(service, plan, remove(TEAM)))).toEqual([409, 'reference_in_use', 1])
    expect(refusalOf(await run(service, taken, plan, remove(TEAM)))).toEqual([409, 'reference_in_use', 2])
    expect(refusalOf(await run(service, taken, plan, taken))).toEqual([409, 'unique_violation', 0])
    // A document that is created under its `_id` for the second time.
    const twice = await run(service, claim(TEAM, { name: 'x' }), invalid)
    expect(refusalOf(twice)).toEqual([412, 'precondition_failed', 0])
  })

  test('frees what its operations free', async () => {
    const service = await open(create(), {
      teams: [{ _id: idOf(1), name: 'one' }],
      plans: [{ _id: idOf(5), team: idOf(1) }],
    })
    expect(
      statuses(
        await run(service, remove(`/plans/${idOf(5)}`), remove(TEAM), post('/teams', { name: 'one' })),
      ),
    ).toEqual([204, 204, 201])
    expect(await storedIn(service, 'teams')).toBe(1)
  })

  test('reads what was written in it with the eyes of its caller', async () => {
    const service = await open(create())
    const { body } = await run(
      service,
      { method: 'PUT', path: `/members/${idOf(4)}`, ifNoneMatch: '*', body: { role: 'guest', hidden: 'x' } },
      get(`/members/${idOf(4)}`),
    )
    expect(body.results[0].ignored).toEqual(['hidden'])
    expect(Object.keys(body.results[1].body)).toEqual(['_id', 'role', 'createdAt', 'updatedAt', 'createdBy'])
  })

  test('counts its cascades together', async () => {
    const members = Array.from({ length: 1001 }, (__, i) => ({
      _id: idOf(i + 10),
      team: idOf(i < 600 ? 1 : 2),
    }))
    const teams = [1, 2].map((n) => ({ _id: idOf(n), name: `${n}` }))
    const service = await open(create(), { teams, members })
    const removals = [remove(TEAM), remove(`/teams/${idOf(2)}`)]
    expect(refusalOf(await run(service, ...removals))).toEqual([409, 'cascade_too_large', 1])
    expect(await storedIn(service, 'members')).toBe(1001)
    expect(statuses(await run(service, remove(`/members/${idOf(10)}`), ...removals))).toEqual([204, 204, 204])
    expect([await storedIn(service, 'members'), await storedIn(service, 'teams')]).toEqual([0, 0])
  })

  describe('in smaller sizes,', () => {
    useSmallerBounds()

    test('takes 16 MiB together', async () => {
      const text = 'x'.repeat(scale(900_000))
      const notes = Array.from({ length: 17 }, (__, i) => ({ _id: idOf(i + 1), text }))
      const service = await open(
        create(),
        { notes },
        {
          config: {
            collections: { notes: { schema: { text: { type: 'string' } }, permissions: { user: true } } },
          },
        },
      )
      const reads = notes.map(({ _id }) => get(`/notes/${_id}`))
      // Each is read, and answered.
      expect(statuses(await run(service, ...reads.slice(0, 9)))).toHaveLength(9)
      expect(refusalOf(await run(service, ...reads))).toEqual([413, 'document_too_large', 9])
    })
  })
})

/** Slips a write in before each of the first writes of a batch. */
function slipIn(adapter: StorageAdapter, times: number, write: () => Promise<unknown>): StorageAdapter {
  let left = times
  return replaceMethods(adapter, {
    async write(steps: readonly WriteStep[], options) {
      const isBatch = steps.some(
        (step) => ('require' in step && step.version !== undefined) || 'remove' in step || 'refuse' in step,
      )
      if (isBatch && left > 0) {
        left -= 1
        await write()
      }
      return adapter.write(steps, options)
    },
  })
}

describe.each(storages)('while others write, a batch in %s', (_, create) => {
  const stored = {
    teams: [
      { _id: idOf(1), name: 'one', size: 0 },
      { _id: idOf(2), name: 'two', size: 0 },
    ],
  }

  /** A service over whose storage a write slips in. */
  async function openUnder(times: number, write: (service: TestService) => Promise<unknown>) {
    const adapter = create()
    const service: TestService = await open(
      slipIn(adapter, times, () => write(other)),
      stored,
    )
    const other = createTestService(config, { adapter, authenticate: () => null })
    return service
  }
  const grow = ({ send }: TestService) => send(`PATCH ${TEAM}`, { caller: ann, body: { size: 7 } })

  test('judges everything again where what it read has changed', async () => {
    const service = await openUnder(1, grow)
    const sent = await run(service, get(TEAM), patch(`/teams/${idOf(2)}`, { size: 1 }))
    expect(statuses(sent)).toEqual([200, 200])
    expect(sent.body.results[0].body.size).toBe(7)
  })

  const reading = { operations: [get(TEAM), patch(`/teams/${idOf(2)}`, { size: 1 })] }

  test('succeeds where what it only reads has changed many times', async () => {
    const service = await openUnder(50, grow)
    const sent = await service.send(BATCH, { caller: ann, body: reading })
    expect(statuses(sent)).toEqual([200, 200])
  })

  test('gives up after a hundred attempts, or ten where it writes what has changed', async () => {
    const service = await openUnder(120, grow)
    const send = () => service.send(BATCH, { caller: ann, mayFail: true, body: reading })
    expect(refusalOf(await send())).toEqual([503, 'overloaded', undefined])
    expect(statuses(await send())).toEqual([200, 200])
    const written = await openUnder(11, grow)
    const sent = await written.send(BATCH, {
      caller: ann,
      mayFail: true,
      body: { operations: [patch(TEAM, { name: 'another' })] },
    })
    expect(refusalOf(sent)).toEqual([503, 'overloaded', undefined])
    expect(sent.headers.get('retry-after')).not.toBeNull()
  })

  test('is refused as things stand when it would take effect', async () => {
    const service = await openUnder(1, ({ send }) => send(`DELETE ${TEAM}`, { caller: ann }))
    const sent = await run(service, patch(`/teams/${idOf(2)}`, { size: 1 }), get(TEAM))
    expect(refusalOf(sent)).toEqual([404, 'not_found', 1])
  })

  test('is no longer refused where the reason has gone', async () => {
    const service = await openUnder(1, ({ send }) => send(`DELETE ${TEAM}`, { caller: ann }))
    const sent = await run(
      service,
      get(`/teams/${idOf(2)}`),
      post('/teams', { name: 'one' }),
      get(`/teams/${idOf(2)}`),
    )
    expect(statuses(sent)).toEqual([200, 201, 200])
  })

  test('answers as before all of another batch, or as after it', async () => {
    const service = await openUnder(1, (other) =>
      run(other, patch(TEAM, { name: 'renamed' }), claim(`/teams/${idOf(9)}`, { name: 'nine' })),
    )
    const sent = await run(service, post('/teams', { name: 'one' }), get(`/teams/${idOf(9)}`))
    expect(statuses(sent)).toEqual([201, 200])
  })

  test('needs what it replaces as it was when it was first read', async () => {
    const service = await openUnder(1, (other) =>
      run(other, remove(TEAM), patch(`/teams/${idOf(2)}`, { name: 'x' })),
    )
    const sent = await run(
      service,
      post('/members', { team: idOf(1) }),
      post('/teams', { name: 'x' }),
      patch(TEAM, { size: 1 }),
    )
    expect(refusalOf(sent)).toEqual([404, 'not_found', 2])
  })

  test('needs its references as they were read', async () => {
    const service = await openUnder(1, grow)
    const sent = await run(service, post('/members', { team: idOf(1), role: 'guest' }), get(TEAM))
    expect(sent.body.results[1].body.size).toBe(7)
  })
})

const whole = {
  collections: {
    cards: {
      schema: {
        place: { type: 'integer', unique: true },
        name: { type: 'string' },
        next: { type: 'reference', collection: 'cards' },
        code: { type: 'string' },
        shelf: { type: 'integer' },
        secret: { type: 'reference', collection: 'secrets' },
      },
      indexes: [{ fields: ['shelf', 'code'], unique: true }],
      permissions: { user: true },
    },
    heads: {
      schema: { first: { type: 'reference', collection: 'nodes', required: true } },
      permissions: { user: true },
    },
    nodes: {
      schema: { head: { type: 'reference', collection: 'heads', required: true } },
      permissions: { user: true },
    },
    secrets: {
      schema: { text: { type: 'string' } },
      permissions: { user: { create: true }, owner: { delete: true } },
    },
  },
}

describe.each(storages)('the conditions of a batch, in %s,', (_, create) => {
  const at = (n: number) => `/cards/${idOf(n)}`
  const head = `/heads/${idOf(11)}`
  const node = `/nodes/${idOf(12)}`
  const cycle = [claim(head, { first: idOf(12) }), claim(node, { head: idOf(11) })]
  const openCards = (places: readonly number[]) =>
    open(create(), { cards: places.map((place, i) => ({ _id: idOf(i + 1), place })) }, { config: whole })
  const places = (service: TestService) => service.list('/cards?sort[_id]=1', 'place', { caller: ann })

  test('let two documents exchange unique values', async () => {
    const service = await openCards([1, 2])
    const sent = await run(service, patch(at(1), { place: 2 }), get(at(1)), patch(at(2), { place: 1 }))
    expect(statuses(sent)).toEqual([200, 200, 200])
    expect(sent.body.results[1].body.place).toBe(2)
    expect(await places(service)).toEqual([2, 1])
  })

  test('let documents move along, in a circle, and to the place of a deleted or moved one', async () => {
    const service = await openCards([1, 2, 3])
    const move = (...to: readonly number[]) => to.map((place, i) => patch(at(i + 1), { place }))
    expect(statuses(await run(service, ...move(2, 3, 4)))).toEqual([200, 200, 200])
    expect(statuses(await run(service, ...move(3, 4, 2)))).toEqual([200, 200, 200])
    expect(await places(service)).toEqual([3, 4, 2])
    const moved = [claim(at(4), { place: 3 }), patch(at(1), { place: 4 }), remove(at(2))]
    expect(statuses(await run(service, ...moved))).toEqual([201, 200, 204])
    expect(await places(service)).toEqual([4, 2, 3])
  })

  test('let documents exchange the values of several indexes at once', async () => {
    const cards = [1, 2, 3].map((n) => ({ _id: idOf(n), place: n, shelf: 1, code: `c${n}` }))
    const service = await open(create(), { cards }, { config: whole })
    const sent = await run(
      service,
      patch(at(1), { place: 2, code: 'c3' }),
      patch(at(2), { place: 3, code: 'c1' }),
      patch(at(3), { place: 1, code: 'c2' }),
    )
    expect(statuses(sent)).toEqual([200, 200, 200])
    expect(await places(service)).toEqual([2, 3, 1])
  })

  test('let documents refer to each other, and go together', async () => {
    const service = await open(create(), {}, { config: whole })
    expect(statuses(await run(service, ...cycle))).toEqual([201, 201])
    expect(refusalOf(await run(service, remove(head)))).toEqual([409, 'reference_in_use', 0])
    expect(statuses(await run(service, remove(head), remove(node)))).toEqual([204, 204])
    expect([await storedIn(service, 'heads'), await storedIn(service, 'nodes')]).toEqual([0, 0])
  })

  test('let a document that others need be replaced under its _id', async () => {
    const service = await open(create(), {}, { config: whole })
    await run(service, ...cycle)
    expect(statuses(await run(service, remove(head), ...cycle.slice(0, 1)))).toEqual([204, 201])
  })

  test.each<[what: string, operations: readonly Json[], refusal: readonly unknown[], path: string]>([
    [
      'a value that two documents keep',
      [patch(at(1), { place: 2 }), get(at(2))],
      [409, 'unique_violation', 0],
      '/operations/0/body/place',
    ],
    [
      'the later of two documents with one value',
      [patch(at(1), { place: 7 }), patch(at(2), { place: 7 })],
      [409, 'unique_violation', 1],
      '/operations/1/body/place',
    ],
    [
      'the last write of a document',
      [patch(at(1), { place: 7 }), patch(at(2), { place: 7 }), patch(at(1), { name: 'x' })],
      [409, 'unique_violation', 2],
      '/operations/2/body/place',
    ],
    [
      'a reference before a value that is taken',
      [patch(at(1), { place: 2, next: idOf(8) })],
      [400, 'validation_failed', 0],
      '/operations/0/body/next',
    ],
    [
      'a reference whose target never comes',
      [patch(at(1), { next: idOf(8) }), claim(at(9), { place: 9 })],
      [400, 'validation_failed', 0],
      '/operations/0/body/next',
    ],
    [
      'a reference to a document that is deleted before',
      [remove(at(2)), patch(at(1), { next: idOf(2) })],
      [400, 'validation_failed', 1],
      '/operations/1/body/next',
    ],
    [
      'a reference whose target comes, but may not be read',
      [patch(at(1), { secret: idOf(7) }), claim(`/secrets/${idOf(7)}`, { text: 'x' })],
      [400, 'validation_failed', 0],
      '/operations/0/body/secret',
    ],
  ])('name %s', async (_what, operations, refusal, path) => {
    const service = await openCards([1, 2])
    const sent = await run(service, ...operations)
    expect(refusalOf(sent)).toEqual(refusal)
    expect(Object.keys(faultsOf(sent))).toEqual([path])
    expect(await places(service)).toEqual([1, 2])
  })

  test('name a delete after the reference that it breaks', async () => {
    const service = await openCards([1, 2])
    const sent = await run(service, patch(at(1), { next: idOf(2) }), remove(at(2)))
    expect(refusalOf(sent)).toEqual([409, 'reference_in_use', 1])
  })

  test('leave one change of each document in the log', async () => {
    const adapter = create()
    const cards = [1, 2].map((place) => ({ _id: idOf(place), place }))
    const config = {
      ...whole,
      collections: { ...whole.collections, cards: { ...whole.collections.cards, changes: true } },
    }
    const service = await open(adapter, { cards }, { config })
    const after = (await adapter.changes?.(null, { limit: 1 }))?.position ?? null
    await run(service, patch(at(1), { place: 2 }), patch(at(2), { place: 1 }))
    const { changes = [] } = (await adapter.changes?.(after, { limit: 10 })) ?? {}
    expect(changes.map(({ id, before, after }) => [id, before?.place, after?.place])).toEqual([
      [idOf(1), 1, 2],
      [idOf(2), 2, 1],
    ])
    expect(new Set(changes.map(({ write }) => write)).size).toBe(1)
  })
})

const several = {
  collections: {
    people: {
      schema: {
        name: { type: 'string', unique: true },
        email: { type: 'string', unique: true },
      },
      permissions: { user: true },
    },
    secrets: { schema: { text: { type: 'string' } }, permissions: { owner: { read: true, delete: true } } },
    own: {
      schema: { text: { type: 'string' }, about: { type: 'reference', collection: 'secrets' } },
      permissions: { user: true },
    },
  },
}

describe.each(storages)('what a refusal names, in %s:', (_, create) => {
  const people = [
    { _id: idOf(1), name: 'x', email: 'a' },
    { _id: idOf(2), name: 'z', email: 'taken' },
  ]
  const both = { name: 'x', email: 'taken' }
  const at = (n: number) => `/people/${idOf(n)}`

  test.each<[what: string, operations: readonly Json[], index: number]>([
    ['a value that was freed', [patch(at(1), { name: 'y' }), post('/people', both)], 1],
    ['an _id that was freed', [remove(at(1)), claim(at(1), both)], 1],
    [
      'a value that was freed and taken',
      [patch(at(1), { name: 'y' }), patch(at(2), { name: 'x' }), patch(at(1), { name: 'q', email: 'taken' })],
      2,
    ],
  ])('not %s', async (_what, operations, index) => {
    const service = await open(create(), { people }, { config: several })
    const sent = await run(service, ...operations)
    expect(refusalOf(sent)).toEqual([409, 'unique_violation', index])
    expect(faultsOf(sent)).toEqual({ [`/operations/${index}/body/email`]: 'taken' })
  })

  describe('in smaller sizes,', () => {
    useSmallerBounds()

    test('nothing of what may not be read, though a batch has but 16 MiB', async () => {
      const fill = { _id: idOf(5), text: 'x'.repeat(scale(1_000_000)) }
      const reads = Array<Json>(15).fill(get(`/own/${idOf(5)}`))
      for (const last of [get, remove])
        for (const secrets of [[], [{ _id: idOf(6), text: 'x'.repeat(scale(900_000)), createdBy: 'ben' }]]) {
          const service = await open(create(), { own: [fill], secrets }, { config: several })
          const sent = await run(service, ...reads, last(`/secrets/${idOf(6)}`))
          expect(refusalOf(sent)).toEqual([404, 'not_found', 15])
          expect(refusalOf(await run(service, ...reads, post('/own', { about: idOf(6) })))).toEqual([
            400,
            'validation_failed',
            15,
          ])
        }
    })
  })
})

test('a batch runs the rule that runs alone', async () => {
  const config = {
    collections: {
      users: {
        schema: {
          email: { type: 'string', unique: true },
          password: { type: 'hash' },
          tag: { type: 'string' },
          x: { type: 'string' },
        },
        permissions: {
          a: { create: { check: { tag: 'a' } }, read: true },
          b: { create: { set: { password: 'literal-secret', tag: 'b' } } },
          c: { create: { set: { tag: 'c' } } },
        },
      },
    },
  }
  const { send } = createTestService(config, { authenticate: () => null })
  for (const roles of [
    ['a', 'b', 'c'],
    ['a', 'b'],
  ]) {
    const caller = { id: 'eve', roles }
    const operation = post('/users', { x: '1' })
    const alone = await send('POST /users', { caller, body: operation.body })
    expect([alone.status, alone.body.tag]).toEqual([201, 'b'])
    const sent = await send(BATCH, { caller, body: { operations: [operation] } })
    expect([...(refusalOf(sent) as unknown[]), faultsOf(sent)]).toEqual([
      400,
      'validation_failed',
      0,
      { '/operations/0/body/password': 'not_in_batch' },
    ])
  }
})

describe('the shape of a batch', () => {
  const shape = async (body: unknown): Promise<Sent> => {
    const service = createTestService(config, { authenticate: () => null })
    opened.push(service)
    return service.send(BATCH, { caller: ann, body })
  }
  const good = get(TEAM)

  test.each<[what: string, operation: unknown, path: string, code: string]>([
    ['no object', 7, '', 'wrong_type'],
    ['no method', { path: TEAM }, '/method', 'required'],
    ['no path', { method: 'GET' }, '/path', 'required'],
    ['an unknown method', { method: 'HEAD', path: TEAM }, '/method', 'not_allowed'],
    ['a method in lower case', { method: 'get', path: TEAM }, '/method', 'not_allowed'],
    ['an unknown member', { ...good, query: 'x' }, '/query', 'unknown_property'],
    ['a path that is no text', { method: 'GET', path: 1 }, '/path', 'wrong_type'],
    ...[
      '/articles',
      '//teams',
      '/',
      '',
      'teams',
      '/teams//',
      '/_batch',
      '/auth/login',
      '/base/teams',
      '/../teams',
    ].map((path): [string, unknown, string, string] => [
      `the path ${JSON.stringify(path)}`,
      { method: 'POST', path, body: {} },
      '/path',
      /^\/(articles|_batch)$/.test(path) ? 'not_allowed' : expect.any(String),
    ]),
    ...['?limit=1', '#x', '%2f', '%zz', '/x/y', '/%2e%2e', '/.'].map(
      (end): [string, unknown, string, string] => [
        `a path that ends in ${end}`,
        get(`/teams${end}`),
        '/path',
        'wrong_format',
      ],
    ),
    ...['bulk', 'count', 'changes'].map((id): [string, unknown, string, string] => [
      `${id} as an id`,
      get(`/teams/${id}`),
      '/path',
      'not_allowed',
    ]),
    ['a list', get('/teams'), '/path', 'not_allowed'],
    ['a create with an id', post(TEAM, {}), '/path', 'not_allowed'],
    ['no body', { method: 'PATCH', path: TEAM }, '/body', 'required'],
    ['a body that is no object', { method: 'PATCH', path: TEAM, body: [] }, '/body', 'wrong_type'],
    ['the body of a GET', { ...good, body: {} }, '/body', 'not_allowed'],
    ['the body of a DELETE', { ...remove(TEAM), body: {} }, '/body', 'not_allowed'],
    ['a tag that is none', get(TEAM, { ifMatch: 'x' }), '/ifMatch', 'wrong_format'],
    ['an empty tag', get(TEAM, { ifNoneMatch: '' }), '/ifNoneMatch', 'wrong_format'],
    ['a tag that is no text', get(TEAM, { ifMatch: null }), '/ifMatch', 'wrong_type'],
    ['a tag beside a POST', { ...post('/teams', {}), ifMatch: '*' }, '/ifMatch', 'not_allowed'],
  ])('%s is a fault', async (_what, operation, path, code) => {
    const sent = await shape({ operations: [good, operation] })
    expect(refusalOf(sent)).toEqual([400, 'validation_failed', undefined])
    expect(faultsOf(sent)).toEqual({ [`/operations/1${path}`]: code })
  })

  test.each([
    [
      'in a body',
      '{"operations":[{"method":"POST","path":"/teams","body":{"a":[{"__proto__":1}]}}]}',
      '/body/a/0/__proto__',
    ],
    [
      'in an operation',
      '{"operations":[{"method":"POST","path":"/teams","body":{},"__proto__":1}]}',
      '/__proto__',
    ],
  ])('__proto__ %s is a fault', async (_what, raw, path) => {
    const service = createTestService(config, { authenticate: () => null })
    opened.push(service)
    const headers = { 'content-type': 'application/json' }
    const sent = await service.send(BATCH, { caller: ann, raw, headers })
    expect([sent.status, Object.keys(faultsOf(sent))]).toEqual([400, [`/operations/0${path}`]])
  })

  test.each<[what: string, body: unknown, faults: Json]>([
    ['no operations', {}, { '/operations': 'required' }],
    ['none of them', { operations: [] }, { '/operations': 'too_few' }],
    ['too many', { operations: Array(101).fill(good) }, { '/operations': 'too_many' }],
    ['another member', { operations: [good], atomic: true }, { '/atomic': 'unknown_property' }],
  ])('%s is a fault', async (_what, body, faults) => {
    expect(faultsOf(await shape(body))).toEqual(faults)
  })

  test('all faults are named, up to 50', async () => {
    const sent = await shape({
      operations: Array(40).fill({ method: 'GET', path: '/nothing', body: 1, ifMatch: 'x' }),
    })
    expect(sent.body.errors).toHaveLength(50)
  })

  test('each body may be nested as deeply as one that comes alone', async () => {
    const nest = (depth: number): unknown => (depth === 1 ? {} : { a: nest(depth - 1) })
    const deep = (depth: number) =>
      shape({ operations: [{ method: 'POST', path: '/teams', body: nest(depth) }] })
    expect(refusalOf(await deep(33))).toEqual([400, 'invalid_json', undefined])
    expect(refusalOf(await deep(32))).toEqual([400, 'validation_failed', 0])
  })

  test('it takes no query, and no other method', async () => {
    const service = createTestService(config, { authenticate: () => null })
    opened.push(service)
    const body = { operations: [good] }
    expect((await service.send(`${BATCH}?limit=1`, { caller: ann, body })).status).toBe(400)
    const other = await service.send('GET /_batch', { caller: ann })
    expect([other.status, other.headers.get('allow')]).toEqual([405, 'POST, OPTIONS'])
  })
})

describe.each(storages)('accounts and batches, in %s:', (_, create) => {
  const accounts = {
    collections: {
      users: {
        schema: {
          email: { type: 'string', unique: true },
          password: { type: 'hash' },
          role: { type: 'string' },
          team: { type: 'string' },
        },
        permissions: {
          owner: { read: true, update: { pick: ['team', 'password', 'email'] }, delete: true },
          user: { create: true },
          admin: { read: true, create: true, update: true, delete: true },
        },
      },
      notes: {
        schema: { text: { type: 'string' }, team: { type: 'string' } },
        permissions: { user: { read: true, create: { check: { team: '$user.team' } } }, admin: true },
      },
    },
    auth: { roleField: 'role' },
  }

  async function openAccounts() {
    const service = createTestService(accounts, { adapter: create() })
    opened.push(service)
    const { token, id } = await service.register({ email: 'ann@example.com', password: 'a secret' })
    const batch = (...operations: readonly Json[]) => service.send(BATCH, { token, body: { operations } })
    return { service, token, id, batch, me: `/users/${id}` }
  }

  test('what the caller is sees what the earlier operations did', async () => {
    const { batch, me, service } = await openAccounts()
    const note = post('/notes', { team: 'red' })
    expect(refusalOf(await batch(note))).toEqual([403, 'forbidden', 0])
    expect(statuses(await batch(patch(me, { team: 'red' }), note))).toEqual([200, 201])
    expect(refusalOf(await batch(patch(me, { team: 'blue' }), note))).toEqual([403, 'forbidden', 1])
    expect(await storedIn(service, 'notes')).toBe(1)
    const [blue, other] = [post('/notes', { team: 'blue' }), post('/users', { email: 'bob@example.com' })]
    const asBlue = [patch(me, { team: 'blue' }), blue, get(me), other, blue]
    expect(statuses(await batch(note, note, ...asBlue))).toEqual([201, 201, 200, 201, 200, 201, 201])
    expect(refusalOf(await batch(blue, patch(me, { team: 'red' }), note, get(me), blue))).toEqual([
      403,
      'forbidden',
      4,
    ])
  })

  test('who deletes the own account is nobody afterwards', async () => {
    const { batch, me, token, service } = await openAccounts()
    const refused = await batch(remove(me), post('/notes', {}))
    expect(refusalOf(refused)).toEqual([401, 'invalid_token', 1])
    expect(refused.headers.get('www-authenticate')).toBe('Bearer error="invalid_token"')
    expect(statuses(await batch(get(me)))).toEqual([200])
    expect(statuses(await batch(remove(me)))).toEqual([204])
    expect((await service.send('GET /auth/me', { token })).status).toBe(401)
    expect(await storedIn(service, '_sessions')).toBe(0)
  })

  test('a secret cannot be set in a batch', async () => {
    const { batch, me } = await openAccounts()
    for (const [i, operation] of [
      post('/users', { email: 'bob@example.com', password: 'another' }),
      patch(me, { password: 'another' }),
    ].entries()) {
      const sent = await batch(...Array(i).fill(get(me)), operation)
      expect(refusalOf(sent)).toEqual([400, 'validation_failed', i])
      expect(faultsOf(sent)).toEqual({ [`/operations/${i}/body/password`]: 'not_in_batch' })
    }
    expect(statuses(await batch(post('/users', { email: 'bob@example.com' })))).toEqual([201])
  })

  test('it ends with the session', async () => {
    const { batch, token, service, me } = await openAccounts()
    await service.send('POST /auth/logout', { token })
    expect((await batch(get(me))).body).toMatchObject({ status: 401, code: 'invalid_token' })
  })
})
