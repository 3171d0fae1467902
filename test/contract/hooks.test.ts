import { describe, expect, test } from 'vitest'
import type { HookChange, HookResult } from '../../src/index.js'
import { HOOK_LAWS, opener } from '../support/hook-laws.js'
import { createTestService } from '../support/service.js'
import { closeAfterEach, useStorages } from '../support/storages.js'
import { idOf } from '../support/stored.js'

// CONTRACT.md §9, "Before a write"

const storages = useStorages()
const opened = closeAfterEach()

describe.each(storages)('a hook, in %s,', (_, adapter) => {
  test.each(HOOK_LAWS)('%s', (_what, check) =>
    check(opener({ adapter, onOpen: (service) => opened.push(service) })),
  )
})

const mine = { team: { $in: '$user.teams' } }

const TEAMS = {
  collections: {
    teams: { schema: { name: { type: 'string' } }, permissions: { user: { create: true, read: true } } },
    memberships: {
      schema: { user: { type: 'string' }, team: { type: 'string' } },
      permissions: { user: { read: true, delete: true } },
    },
    notes: {
      schema: { team: { type: 'string' }, text: { type: 'string' }, seen: { type: 'integer' } },
      permissions: {
        user: {
          create: { pick: ['team', 'text'], check: mine },
          read: { where: mine },
          update: { where: mine },
          delete: { where: mine },
        },
      },
    },
  },
  auth: {
    claims: { teams: { from: 'memberships', where: { user: '$user._id' }, take: 'team' } },
  },
} as const

/** Who creates a team is in it. */
const join = {
  before: ({ operation, after, caller }: HookChange): HookResult | undefined =>
    operation === 'create'
      ? {
          also: [{ method: 'POST', path: '/memberships', body: { user: caller?.id ?? '', team: after._id } }],
        }
      : undefined,
}

/** A note knows how many its writer could read. */
const count = {
  async before({ operation, api }: HookChange): Promise<HookResult | undefined> {
    const { total } = await (await api(new Request('http://service.test/notes/count'))).json()
    return operation === 'delete' ? undefined : { set: { seen: total } }
  },
}

test.each(storages)(
  'in %s, a write is answered as its caller may read it by what its hook has added',
  async (_, create) => {
    const service = createTestService(
      {
        ...TEAMS,
        collections: {
          ...TEAMS.collections,
          teams: {
            ...TEAMS.collections.teams,
            permissions: { user: { create: true, read: { where: { _id: { $in: '$user.teams' } } } } },
          },
        },
      },
      { adapter: create(), authenticate: () => null, hooks: { teams: join } },
    )
    opened.push(service)
    const caller = { id: 'ann' }
    const founded = await service.send('POST /teams', { caller, body: { name: 'Red' } })
    const read = await service.send(`GET /teams/${founded.body._id}`, { caller })
    expect([founded.body, founded.headers.get('etag')]).toEqual([read.body, read.headers.get('etag')])
    const documents = [{ name: 'Blue' }, { name: 'Green' }]
    const all = await service.send('POST /teams/bulk', { caller, body: { documents } })
    expect(all.body.documents).toMatchObject(documents)
  },
)

test('what a hook would set has a value: left out, what the client wrote would stay', async () => {
  const config = {
    collections: {
      notes: {
        schema: { state: { type: 'string' }, box: { type: 'json' } },
        permissions: { '*': { create: true } },
      },
    },
  } as const
  const answers: number[] = []
  for (const set of [{ state: undefined }, { box: { inner: undefined } }, { state: null }, undefined]) {
    const hooks = { notes: { before: () => ({ set }) as HookResult } }
    const service = createTestService(config, { hooks })
    opened.push(service)
    const body = { state: 'published' }
    answers.push((await service.send('POST /notes', { body, mayFail: true })).status)
  }
  expect(answers).toEqual([500, 500, 201, 201])
})

test('the api of a hook answers GET and HEAD alone', async () => {
  const seen: unknown[] = []
  const config = { collections: { notes: { schema: {}, permissions: { '*': true } } } } as const
  const service = createTestService(config, {
    cors: { origins: '*' },
    hooks: {
      notes: {
        async before({ api }) {
          for (const [method, path] of [
            ['GET', 'notes'],
            ['HEAD', 'notes'],
            ['OPTIONS', 'notes'],
            ['OPTIONS', '_batch'],
            ['POST', 'notes'],
            ['DELETE', `notes/${idOf(1)}`],
          ]) {
            const { status, headers } = await api(
              new Request(`http://service.test/${path}`, { method: String(method) }),
            )
            seen.push([method, status, headers.get('allow')])
          }
        },
      },
    },
  })
  opened.push(service)
  expect((await service.send('POST /notes', { body: {} })).status).toBe(201)
  expect(seen).toEqual([
    ['GET', 200, null],
    ['HEAD', 200, null],
    ['OPTIONS', 405, 'GET, HEAD'],
    ['OPTIONS', 405, ''],
    ['POST', 405, 'GET, HEAD'],
    ['DELETE', 405, 'GET, HEAD'],
  ])
})

test.each(storages)(
  'hooks and claims, in %s: each write knows what those before have added',
  async (_, create) => {
    const service = createTestService(TEAMS, {
      adapter: create(),
      authenticate: () => null,
      hooks: { teams: join, notes: count },
    })
    opened.push(service)
    const caller = { id: 'ann' }
    const team = idOf(1)
    const send = async (line: string, body?: unknown, as = caller) => {
      const sent = await service.send(line, { caller: as, ...(body === undefined ? {} : { body }) })
      return [sent.status, sent.body?.seen ?? sent.body?.documents?.map(({ seen }: { seen: number }) => seen)]
    }
    const note = { team, text: 'x' }
    expect(await send('POST /notes', note)).toEqual([403, undefined])
    const operations = [
      { method: 'PUT', path: `/teams/${team}`, ifNoneMatch: '*', body: { name: 'Red' } },
      { method: 'POST', path: '/notes', body: note },
      { method: 'POST', path: '/notes', body: note },
    ]
    const { status, body } = await service.send('POST /_batch', { caller, body: { operations } })
    expect([status, body.results?.map((one: { body: { seen?: number } }) => one.body.seen)]).toEqual([
      200,
      [undefined, 0, 1],
    ])
    expect(await send('POST /notes', note)).toEqual([201, 2])
    expect(await send('POST /notes/bulk', { documents: [note, note] })).toEqual([201, [3, 4]])
    const id = body.results[1].body._id
    expect(await send(`PATCH /notes/${id}`, { text: 'y' })).toEqual([200, 5])
    expect(await send(`PATCH /notes/${id}`, { text: 'z' }, { id: 'ben' })).toEqual([404, undefined])
    expect(await send(`DELETE /notes/${id}`)).toEqual([204, undefined])
    const [membership] = (await service.send('GET /memberships', { caller })).body
    expect(await send(`DELETE /memberships/${membership._id}`)).toEqual([204, undefined])
    expect(await send('POST /notes', note)).toEqual([403, undefined])
    expect(await send('POST /notes/bulk', { documents: [note] })).toEqual([403, undefined])
  },
)
