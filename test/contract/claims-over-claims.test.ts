import { describe, expect, test } from 'vitest'
import { type Caller, createMemoryAdapter, type RequestEvent, type StorageAdapter } from '../../src/index.js'
import type { SendOptions, TestService } from '../support/service.js'
import { closeAfterEach, useStorages } from '../support/storages.js'
import { idOf, openStored } from '../support/stored.js'
import { until } from '../support/until.js'

// CONTRACT.md §5, "Claims over claims"

const by = (claim: string) => ({ by: { $in: `$user.${claim}` } })
const notBy = (claim: string) => ({ by: { $nin: `$user.${claim}` } })

const member = {
  user: { type: 'string', index: true },
  company: { type: 'reference', collection: 'companies' },
}

const config = {
  collections: {
    companies: { schema: { name: { type: 'string' } }, permissions: { user: { read: true }, root: true } },
    agents: {
      schema: { ...member, office: { type: 'string' } },
      indexes: [{ fields: ['office'] }],
      permissions: { user: { create: { set: { user: '$user._id' } } }, root: true },
    },
    memberships: { schema: member, permissions: { root: true } },
    notes: {
      schema: {
        text: { type: 'string' },
        by: { type: 'string', index: true },
        people: { type: 'array', items: { type: 'string' }, maxItems: 1000 },
      },
      permissions: {
        user: {
          read: { where: by('colleagues') },
          create: { omit: ['people'], check: by('colleagues') },
          update: { omit: ['people'], where: by('colleagues') },
        },
        stranger: { read: { where: notBy('colleagues') } },
        lister: { create: { set: { people: '$user.colleagues' } }, read: { where: { text: 'listed' } } },
        clerk: { read: { where: by('ofOffice') } },
        auditor: { read: { where: notBy('ofOffice') }, create: { set: { people: '$user.ofOffice' } } },
        rival: { read: { where: by('others') } },
        both: { read: { where: { $or: [by('colleagues'), { text: { $in: '$user.agentOf' } }] } } },
        root: true,
      },
    },
    news: {
      schema: { by: { type: 'string' } },
      permissions: { '*': { read: { where: by('insiders') } } },
    },
  },
  auth: {
    claims: {
      // The claim that uses another may come first.
      colleagues: { from: 'memberships', where: { company: { $in: '$user.agentOf' } }, take: 'user' },
      agentOf: { from: 'agents', where: { user: '$user._id' }, take: 'company' },
      officeOf: { from: 'agents', where: { office: '$user.office' }, take: 'company' },
      ofOffice: {
        from: 'memberships',
        where: { $or: [{ company: { $in: '$user.agentOf' } }, { company: { $in: '$user.officeOf' } }] },
        take: 'user',
      },
      others: {
        from: 'memberships',
        where: { $or: [{ company: { $nin: '$user.agentOf' } }, { user: 'everybody' }] },
        take: 'user',
      },
      public: { from: 'agents', where: { user: 'everybody' }, take: 'company' },
      insiders: { from: 'memberships', where: { company: { $in: '$user.public' } }, take: 'user' },
    },
  },
  limits: { bulk: 2000 },
}

const root: Caller = { id: 'root', roles: ['root'] }
const ann: Caller = { id: 'ann' }
const [A, B, C] = [idOf(1), idOf(2), idOf(3)] as const

type Json = { readonly [name: string]: unknown }

const opened = closeAfterEach()

async function open(
  adapter: StorageAdapter,
  agents: readonly Json[] = [{ user: 'ann', company: A, office: 'north' }],
  options: object = {},
): Promise<TestService> {
  const companies = [A, B, C].map((_id) => ({ _id }))
  const memberships = [
    { user: 'ben', company: A },
    { user: 'cleo', company: B },
    { user: 'dora', company: C },
  ]
  const notes = ['ben', 'cleo', 'dora', 'zoe'].map((name) => ({ text: `of ${name}`, by: name }))
  const stored = { companies, agents, memberships, notes, news: [{ by: 'ben' }, { by: 'cleo' }] }
  const service = await openStored(config, stored, { adapter, authenticate: () => null, ...options })
  opened.push(service)
  return service
}

const as = (caller: Caller, ...roles: string[]): SendOptions => ({ caller: { ...caller, roles } })

async function texts({ list, send }: TestService, options: SendOptions): Promise<readonly unknown[]> {
  const found = await list('/notes?sort[text]=1', 'text', options)
  expect((await send('GET /notes/count', options)).body).toEqual({ total: found.length })
  return found
}

const add = async ({ send }: TestService, path: string, body: object) => {
  const { status, body: created } = await send(`POST ${path}`, { caller: root, body })
  expect(status).toBe(201)
  return created
}

const storages = useStorages()

describe.each(storages)('on %s', (_, create) => {
  test('a claim is what the documents of another claim lead to', async () => {
    const service = await open(create())
    expect(await texts(service, as(ann))).toEqual(['of ben'])
    expect(await texts(service, as({ id: 'ben' }))).toEqual([])
    expect(await texts(service, as(ann, 'stranger'))).toEqual(['of ben', 'of cleo', 'of dora', 'of zoe'])
    const post = async (name: string) =>
      (await service.send('POST /notes', { ...as(ann), body: { text: 'new', by: name } })).status
    expect([await post('ben'), await post('cleo')]).toEqual([201, 403])
    const [note] = (await service.send('GET /notes?q[text]=of cleo', { caller: root })).body
    expect((await service.send(`GET /notes/${note._id}`, as(ann))).status).toBe(404)
    const agency = await add(service, '/agents', { user: 'ann', company: B })
    expect((await service.send(`GET /notes/${note._id}`, as(ann))).status).toBe(200)
    expect((await service.send(`PATCH /notes/${note._id}`, { ...as(ann), body: { text: 'x' } })).status).toBe(
      200,
    )
    expect((await service.send(`DELETE /agents/${agency._id}`, { caller: root })).status).toBe(204)
    expect((await service.send(`GET /notes/${note._id}`, as(ann))).status).toBe(404)
    await add(service, '/memberships', { user: 'zoe', company: A })
    expect(await texts(service, as(ann))).toEqual(['new', 'of ben', 'of zoe'])
  })

  test('a set holds each value once, that of the oldest document first', async () => {
    const service = await open(create())
    await add(service, '/agents', { user: 'ann', company: B })
    await add(service, '/memberships', { user: 'ben', company: B })
    await add(service, '/memberships', { user: 'adam', company: A })
    const { body } = await service.send('POST /notes', { ...as(ann, 'lister'), body: { text: 'listed' } })
    expect(body.people).toEqual(['ben', 'cleo', 'adam'])
  })

  test('where no document gives a base its values, the claim is empty, and `$nin` holds', async () => {
    const service = await open(create(), [])
    expect(await texts(service, as(ann))).toEqual([])
    expect(await texts(service, as(ann, 'stranger'))).toEqual(['of ben', 'of cleo', 'of dora', 'of zoe'])
    const { body } = await service.send('POST /notes', { ...as(ann, 'lister'), body: { text: 'listed' } })
    expect(body.people).toEqual([])
    expect(await texts(service, as(ann, 'rival'))).toEqual(['of ben', 'of cleo', 'of dora'])
  })

  test('a claim is lacking where one of its bases is, in any branch', async () => {
    const service = await open(create())
    const north = { ...ann, office: 'north' }
    expect(await texts(service, as(north, 'clerk'))).toEqual(['of ben'])
    expect(await texts(service, as(north, 'auditor'))).toEqual(['of ben', 'of cleo', 'of dora', 'of zoe'])
    // `user` alone reads those of colleagues.
    for (const office of [undefined, null, ['north'], 5]) {
      const caller = { id: 'ben', office }
      expect(await texts(service, as(caller, 'clerk'))).toEqual([])
      expect(await texts(service, as(caller, 'auditor'))).toEqual([])
      expect((await service.send('POST /notes', { ...as(caller, 'auditor'), body: {} })).status).toBe(403)
    }
  })

  test('an anonymous caller lacks it, even where it has the base', async () => {
    const service = await open(create(), [{ user: 'everybody', company: A }])
    const total = async (caller: Caller | null) => (await service.send('GET /news/count', { caller })).body
    expect([await total(null), await total(ann)]).toEqual([{ total: 0 }, { total: 1 }])
  })

  test('where a base is cut off, the claim is', async () => {
    const service = await open(create())
    const fill = async (count: number, company: string) => {
      const documents = Array.from({ length: count }, () => ({ user: 'ann', company }))
      const filled = await service.send('POST /agents/bulk', { caller: root, body: { documents } })
      expect(filled.status).toBe(201)
    }
    const listed = async () =>
      (await service.send('POST /notes', { ...as(ann, 'lister'), body: { text: 'listed' } })).status
    await fill(999, B)
    expect(await texts(service, as(ann, 'rival'))).toEqual(['of ben', 'of cleo', 'of dora'])
    expect(await texts(service, as(ann, 'stranger'))).toEqual(['of ben', 'of cleo', 'of dora', 'of zoe'])
    expect(await listed()).toBe(201)
    await fill(1, C)
    const warned = () =>
      service.logged.map(([text]) => String(text)).filter((text) => text.includes('has more than'))
    expect(warned()).toEqual([])
    expect(await texts(service, as(ann))).toEqual(['of ben', 'of cleo'])
    expect(await texts(service, as(ann, 'stranger'))).toEqual(['of ben', 'of cleo'])
    // No `$nin` of the base holds, so only the other branch gives a value.
    expect(await texts(service, as(ann, 'rival'))).toEqual(['of ben', 'of cleo'])
    expect(await listed()).toBe(403)
    // The warning names the claim with too many documents, not the one that builds on it.
    expect(warned()).toEqual([expect.stringContaining('the claim agentOf ')])
  })

  test('in a batch, it is what the operations before have left', async () => {
    const service = await open(create(), [])
    const note = { method: 'POST', path: '/notes', body: { text: 'first', by: 'cleo' } }
    const agent = { method: 'POST', path: '/agents', body: { company: B } }
    const run = (...operations: object[]) =>
      service.send('POST /_batch', { ...as(ann), body: { operations } })
    expect((await run(note, agent)).body).toMatchObject({ status: 403, operation: 0 })
    const { status, body } = await run(agent, note)
    expect([status, body.results?.map((one: { status: number }) => one.status)]).toEqual([200, [201, 201]])
  })
})

/** The calls of the storage for each request. */
function observed() {
  const events: RequestEvent[] = []
  const callsOf = async (sending: () => Promise<unknown>): Promise<readonly string[]> => {
    const { length } = events
    await sending()
    await until(() => events.length === length + 1)
    return (events.at(-1)?.storage ?? []).map(({ operation, collection }) => `${operation} ${collection}`)
  }
  return { observe: (event: RequestEvent) => void events.push(event), callsOf }
}

describe.each(storages)('the reads of a claim over a claim, on %s:', (name, create) => {
  test('one of the base and one of the claim, at one moment', async () => {
    const { observe, callsOf } = observed()
    const service = await open(create(), undefined, { observe })
    const list = () => service.send('GET /notes', as(ann, 'both'))
    // PostgreSQL reads the base again in the statement that reads the claim.
    const all = ['list agents', 'list memberships', 'list notes']
    expect(await callsOf(list)).toEqual(all)
    expect(await callsOf(list)).toEqual(name === 'PostgreSQL' ? all : ['list notes'])
  })

  test('the claim is not read where the base is empty', async () => {
    const { observe, callsOf } = observed()
    const service = await open(create(), [], { observe })
    expect(await callsOf(() => service.send('GET /notes', as(ann)))).toEqual(['list agents', 'list notes'])
  })

  test('nothing is read where a base is lacking, or the caller is anonymous', async () => {
    const { observe, callsOf } = observed()
    const service = await open(create(), undefined, { observe })
    expect(await callsOf(() => service.send('GET /news', { caller: null }))).toEqual(['list news'])
    const clerk = service.send('GET /notes/count', as(ann, 'clerk'))
    expect(await callsOf(() => clerk)).toEqual(['list agents', 'list memberships', 'count notes'])
  })
})

/** An adapter that says nothing of its state, and does something behind a read of a collection. */
function interrupted() {
  const { state: _, ...memory } = createMemoryAdapter()
  let behind: ((collection: string) => Promise<unknown> | undefined) | undefined
  const calls: string[] = []
  const adapter: StorageAdapter = {
    ...memory,
    async list(collection, query) {
      const listed = await memory.list(collection, query)
      if (!behind) return listed
      calls.push(collection)
      await behind(collection)
      return listed
    },
  }
  return {
    adapter,
    calls,
    during(act: (collection: string) => Promise<unknown> | undefined) {
      behind = act
    },
  }
}

describe('one moment, where the storage reads one collection after another:', () => {
  const moved = async (act: 'once' | 'always') => {
    const { adapter, calls, during } = interrupted()
    const service = await open(adapter)
    const [agency] = (await service.send('GET /agents', { caller: root })).body
    let moves = 0
    let isMoving = false
    during(async (collection) => {
      if (collection !== 'memberships' || isMoving || (act === 'once' && moves > 0)) return
      isMoving = true
      moves += 1
      const step = { ...agency, _version: moves + 1, company: moves % 2 === 1 ? B : A }
      await adapter.write([{ in: 'agents', replace: step, version: moves }], {})
      isMoving = false
    })
    const answer = await service.send('GET /notes', { ...as(ann), mayFail: true })
    return { answer, calls }
  }

  test('the base is read again after the claim', async () => {
    const { adapter, calls, during } = interrupted()
    const service = await open(adapter)
    during(() => undefined)
    expect((await service.send('GET /notes', as(ann))).body).toHaveLength(1)
    expect(calls).toEqual(['agents', 'memberships', 'agents', 'notes'])
  })

  test('where it has changed, both are read anew', async () => {
    const { answer, calls } = await moved('once')
    expect(answer.body.map(({ by }: { by: string }) => by)).toEqual(['cleo'])
    expect(calls).toEqual(['agents', 'memberships', 'agents', 'memberships', 'agents', 'notes'])
  })

  test('where it changes each time, the request is given up', async () => {
    const { answer, calls } = await moved('always')
    expect([answer.status, answer.body.code]).toEqual([503, 'overloaded'])
    expect(calls).toHaveLength(21)
  })

  test('a rule that uses both sees both of that moment', async () => {
    const { adapter, during } = interrupted()
    const service = await open(adapter)
    await add(service, '/notes', { text: A })
    await add(service, '/notes', { text: B })
    const [agency] = (await service.send('GET /agents', { caller: root })).body
    let isOver = false
    during(async (collection) => {
      if (collection !== 'memberships' || isOver) return
      isOver = true
      await adapter.write([{ in: 'agents', replace: { ...agency, _version: 2, company: B }, version: 1 }], {})
    })
    const { body } = await service.send('GET /notes?sort[text]=1', as(ann, 'both'))
    expect(body.map(({ text }: { text: string }) => text)).toEqual([B, 'of cleo'])
  })
})
