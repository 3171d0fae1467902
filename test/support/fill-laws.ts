import { expect } from 'vitest'
import {
  type Caller,
  type CollectionHooks,
  type createCollectionService,
  type HookChange,
  type HookResult,
  refuse,
} from '../../src/index.js'
import type { HookWorld } from './hook-laws.js'
import { dumpOf } from './hook-laws.js'
import { createTestService, faultsOf, type Sent, type TestService } from './service.js'
import { idOf } from './stored.js'

/** What holds of hooks that fill required fields, whatever the storage. Mutants have to break one of these. */

type Json = { readonly [name: string]: unknown }

/** Of a ticket its hook fills three fields: all read one of them, clerks write one, and only an auditor reads the third. */
export const FILLED = {
  collections: {
    users: {
      schema: {
        email: { type: 'string', unique: true, required: true },
        password: { type: 'hash', required: true },
        handle: { type: 'string', unique: true, required: true },
      },
      permissions: { owner: { read: true }, clerk: { create: true, read: true } },
    },
    tickets: {
      schema: {
        title: { type: 'string', required: true },
        number: { type: 'integer', required: true, unique: true },
        kind: { type: 'string', required: true, enum: ['plain', 'odd'] },
        mark: { type: 'string', required: true },
        note: { type: 'string' },
      },
      permissions: {
        user: {
          read: { omit: ['mark'] },
          create: { pick: ['title'], check: { number: { $exists: false } } },
          update: { pick: ['title', 'note'] },
          delete: true,
        },
        clerk: {
          read: { omit: ['mark'] },
          create: { pick: ['title', 'kind'] },
          update: { pick: ['title', 'kind'] },
        },
        auditor: { read: true, update: { pick: ['title', 'mark'] } },
      },
    },
    log: {
      schema: { what: { type: 'string', required: true }, by: { type: 'string', required: true } },
      permissions: { user: { create: { pick: ['what'] } } },
    },
  },
  auth: { identifier: 'email' },
  limits: { bulk: 6, added: 4 },
} as const

export const ann: Caller = { id: 'ann' }
export const clerk: Caller = { id: 'carl', roles: ['clerk'] }
export const auditor: Caller = { id: 'audrey', roles: ['auditor'] }

type Hooks = { readonly [collection: string]: Pick<CollectionHooks, 'before'> }

/** The fields that each hook fills. */
export const FILLS: { readonly [collection: string]: readonly string[] } = {
  users: ['handle'],
  tickets: ['number', 'kind', 'mark'],
  log: ['by'],
}

/** Numbers tickets, and says of what kind they are unless their writer did. */
export const fillTicket = async (change: HookChange): Promise<HookResult | undefined> => {
  const { operation, after, api } = change
  if (operation !== 'create') return undefined
  const { total } = await (await api(new Request('http://service.test/tickets/count'))).json()
  return { set: { number: total + 1, kind: after.kind ?? 'plain', mark: `mark of ${after.title}` } }
}

const fillUser = ({ operation, after }: HookChange): HookResult | undefined =>
  operation === 'create' ? { set: { handle: `@${after.email}` } } : undefined

const ALL: Hooks = { users: { before: fillUser }, tickets: { before: fillTicket } }

type Open = (hooks?: Hooks, documents?: { [name: string]: object[] }) => Promise<TestService>

export const opener =
  ({ adapter, create, onOpen }: HookWorld): Open =>
  async (hooks = ALL) => {
    const service = createTestService(FILLED, {
      adapter: adapter(),
      authenticate: () => null,
      accounts: true,
      openapi: true,
      ...(create ? { create: create as typeof createCollectionService } : {}),
      hooks: Object.fromEntries(
        Object.entries(hooks).map(([name, { before }]) => [name, { fills: FILLS[name] ?? [], before }]),
      ) as never,
    })
    onOpen?.(service)
    await service.handler.ready()
    service.logged.length = 0
    return service
  }

const refusalOf = ({ status, body }: Sent): unknown => [status, body?.code]

const post = (path: string, body: Json) => ({ method: 'POST', path, body }) as const

/** Creates of a ticket with these fields, by every route that there is for that. */
export const creates = (
  body: Json,
  id = 1,
): readonly (readonly [line: string, body: Json, headers: { readonly [name: string]: string }])[] => {
  const once = { 'if-none-match': '*' }
  const put = { method: 'PUT', path: `/tickets/${idOf(id + 1)}`, ifNoneMatch: '*', body }
  return [
    ['POST /tickets', body, {}],
    [`PUT /tickets/${idOf(id)}`, body, once],
    ['POST /tickets/bulk', { documents: [body] }, {}],
    ['POST /_batch', { operations: [post('/tickets', body)] }, {}],
    ['POST /_batch', { operations: [put] }, {}],
  ]
}

/** The new document in the answer to a create. */
const createdBy = ({ body }: Sent): Json => body.documents?.[0] ?? body.results?.[0]?.body ?? body

type Law = readonly [what: string, check: (open: Open) => Promise<void>]

export const FILL_LAWS: readonly Law[] = [
  [
    'gives a new document what its body need not, by every route',
    async (open) => {
      const service = await open()
      for (const [i, [line, body, headers]] of creates({ title: 'A' }).entries()) {
        const sent = await service.send(line, { caller: ann, body, headers })
        expect([line, sent.status < 300]).toEqual([line, true])
        expect(createdBy(sent)).toMatchObject({ title: 'A', number: i + 1, kind: 'plain' })
        expect(sent.text).not.toContain('mark')
      }
      const marks = (await dumpOf(service, 'tickets')).map(({ mark }) => mark)
      expect(marks).toEqual(Array(5).fill('mark of A'))
      const documents = ['B', 'C'].map((title) => ({ title }))
      const bulk = await service.send('POST /tickets/bulk', { caller: ann, body: { documents } })
      expect(bulk.body.documents.map(({ number }: Json) => number)).toEqual([6, 7])
    },
  ],
  [
    'gives an account what its registration need not',
    async (open) => {
      const service = await open()
      const body = { email: 'bob', password: 'a secret' }
      const registered = await service.send('POST /auth/register', { body })
      expect([registered.status, registered.body.user]).toMatchObject([201, { handle: '@bob' }])
      for (const lost of ['email', 'password']) {
        const { [lost]: _, ...others } = { email: 'eve', password: 'a secret' } as Json
        const sent = await service.send('POST /auth/register', { body: others })
        expect([sent.status, faultsOf(sent)]).toEqual([400, { [`/${lost}`]: 'required' }])
      }
    },
  ],
  [
    'is shown what a writer gives, who may, and may keep it',
    async (open) => {
      const seen: unknown[] = []
      const service = await open({
        tickets: {
          before(change) {
            if (change.operation === 'create') seen.push([change.after.kind, 'number' in change.after])
            return fillTicket(change)
          },
        },
      })
      const create = (caller: Caller, body: Json) => service.send('POST /tickets', { caller, body })
      expect((await create(clerk, { title: 'A', kind: 'odd' })).body).toMatchObject({
        kind: 'odd',
        number: 1,
      })
      expect((await create(clerk, { title: 'B' })).body).toMatchObject({ kind: 'plain', number: 2 })
      const dropped = await create(ann, { title: 'C', kind: 'odd', number: 9 })
      expect(dropped.body).toMatchObject({ kind: 'plain', number: 3 })
      expect(dropped.headers.get('ignored-properties')).toBe('"kind", "number"')
      expect(seen.splice(0)).toEqual([
        ['odd', false],
        [undefined, false],
        [undefined, false],
      ])
      const wrong = await create(clerk, { title: 'D', kind: 'square' })
      expect([wrong.status, faultsOf(wrong)]).toEqual([400, { '/kind': 'not_allowed' }])
      const none = await create(clerk, { kind: null })
      expect([none.status, faultsOf(none)]).toEqual([400, { '/title': 'required', '/kind': 'wrong_type' }])
      expect(seen).toEqual([])
    },
  ],
  [
    'leaves all else that is required to the body',
    async (open) => {
      const asked: unknown[] = []
      const service = await open({ tickets: { before: (change) => void asked.push(change.operation) } })
      for (const [line, body, headers] of creates({ note: 'x' })) {
        const sent = await service.send(line, { caller: ann, body, headers })
        expect([line, sent.status, Object.values(faultsOf(sent))]).toEqual([line, 400, ['required']])
      }
      expect(asked).toEqual([])
    },
  ],
  [
    'answers 500, and stores nothing, where it leaves one of them out, whoever may know of it',
    async (open) => {
      let set: Json | undefined
      const service = await open({ tickets: { before: () => (set ? { set } : undefined) as never } })
      const incomplete: readonly (Json | undefined)[] = [
        undefined,
        {},
        { number: 1, kind: 'plain' },
        { number: 1, kind: 'plain', mark: null },
        { mark: 'm' },
      ]
      for (const wish of incomplete) {
        set = wish
        for (const caller of [ann, clerk])
          for (const [line, body, headers] of creates({ title: 'A' })) {
            const sent = await service.send(line, { caller, body, headers, mayFail: true })
            expect([line, ...(refusalOf(sent) as unknown[])]).toEqual([line, 500, 'internal_error'])
            expect(faultsOf(sent)).toEqual({})
            expect(sent.text).not.toMatch(/mark|number|kind|hook/)
            const [[, details] = []] = service.logged.splice(0)
            expect(String((details as { cause?: unknown }).cause)).toContain('options.hooks.tickets.before')
          }
      }
      expect(await dumpOf(service, 'tickets')).toEqual([])
      set = { number: 1, kind: 'plain', mark: 'm' }
      expect((await service.send('POST /tickets', { caller: ann, body: { title: 'A' } })).status).toBe(201)
    },
  ],
  [
    'fills nothing of what is there: an update gives what it replaces',
    async (open) => {
      const asked: unknown[] = []
      const service = await open({
        tickets: {
          before(change) {
            asked.push(change.operation)
            return fillTicket(change)
          },
        },
      })
      const { body } = await service.send('POST /tickets', {
        caller: clerk,
        body: { title: 'A', kind: 'odd' },
      })
      const one = `/tickets/${body._id}`
      asked.length = 0
      // What her rule does not accept stays.
      const kept = await service.send(`PUT ${one}`, { caller: ann, body: { title: 'B' } })
      expect(kept.body).toMatchObject({ title: 'B', kind: 'odd', number: 1 })
      // What his rule accepts, and he reads, is removed.
      for (const [method, sent] of [
        ['PUT', { title: 'C' }],
        ['PATCH', { kind: null }],
      ] as const) {
        const refused = await service.send(`${method} ${one}`, { caller: clerk, body: sent })
        expect([method, refused.status, faultsOf(refused)]).toEqual([method, 400, { '/kind': 'required' }])
      }
      expect(asked).toEqual(['update'])
      expect(await dumpOf(service, 'tickets')).toMatchObject([{ title: 'B', kind: 'odd', mark: 'mark of A' }])
    },
  ],
  [
    'is not asked about what hooks add, which needs all of it',
    async (open) => {
      let body: Json = {}
      const service = await open({
        tickets: {
          async before(change) {
            return { ...(await fillTicket(change)), also: [post('/log', body)] }
          },
        },
        log: { before: () => ({ set: { by: 'a hook' } }) as never },
      })
      const create = () => service.send('POST /tickets', { caller: ann, body: { title: 'A' }, mayFail: true })
      for (const wrong of [{ what: 'x' }, { what: 'x', by: null }]) {
        body = wrong
        expect(refusalOf(await create())).toEqual([500, 'internal_error'])
      }
      body = { what: 'x', by: 'the ticket' }
      expect((await create()).status).toBe(201)
      expect(await dumpOf(service, 'log')).toEqual([{ what: 'x', by: 'the ticket' }])
      expect((await service.send('POST /log', { caller: ann, body: { what: 'y' } })).status).toBe(201)
      expect(await dumpOf(service, 'log')).toHaveLength(2)
    },
  ],
  [
    'refuses what it will not fill as it refuses all else',
    async (open) => {
      const errors = [{ path: '/title', code: 'rude', message: 'is rude' }]
      const service = await open({ tickets: { before: () => refuse(422, 'No more tickets.', errors) } })
      const sent = await service.send('POST /tickets', { caller: ann, body: { title: 'A' } })
      expect([refusalOf(sent), faultsOf(sent)]).toEqual([[422, 'refused'], { '/title': 'rude' }])
    },
  ],
  [
    'is described: a body need not give what it fills, and a reader hears of nothing that is hidden',
    async (open) => {
      const service = await open()
      const schemasOf = async (caller: Caller) => {
        const { body } = await service.send('GET /_openapi.json', { caller })
        return { schemas: body.components.schemas, text: JSON.stringify(body) }
      }
      const [hers, his] = [await schemasOf(ann), await schemasOf(clerk)]
      const shapeOf = ({ properties, required }: Json): unknown => [Object.keys(properties as Json), required]
      expect(shapeOf(hers.schemas['tickets.create'])).toEqual([['title'], ['title']])
      expect(shapeOf(his.schemas['tickets.create'])).toEqual([['title', 'kind'], ['title']])
      expect(shapeOf(his.schemas['tickets.replace'])).toEqual([
        ['title', 'kind'],
        ['title', 'kind'],
      ])
      expect(shapeOf(his.schemas['users.create'])).toEqual([
        ['email', 'password', 'handle'],
        ['email', 'password'],
      ])
      for (const { text } of [hers, his]) expect(text).not.toContain('mark')
    },
  ],
]
