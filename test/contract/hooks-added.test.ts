import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { BatchStore } from '../../src/core/batch/batch-store.js'
import { type HookChange, refuse, type StorageAdapter } from '../../src/index.js'
import { scale, useSmallerBounds } from '../support/bounds.js'
import { type AnyConfig, createTestService } from '../support/service.js'
import { closeAfterEach, useStorages } from '../support/storages.js'

// CONTRACT.md §9, "Before a write": what hooks add, and the request that they add it to

const storages = useStorages()
const opened = closeAfterEach()

type Hooks = { readonly [collection: string]: { before(change: HookChange): unknown } }
type Operation = { readonly method: string; readonly path: string; readonly body?: unknown }

const post = (path: string, body: object): Operation => ({ method: 'POST', path, body })
const remove = (path: string): Operation => ({ method: 'DELETE', path })

/** What is added to the creation of a document. */
const adding =
  (add: (id: string, change: HookChange) => readonly Operation[]) =>
  (change: HookChange): unknown =>
    change.operation === 'create' ? { also: add(`${change.after?._id}`, change) } : undefined

const text = { type: 'string' } as const
const permissions = { '*': { read: true, create: true, update: true, delete: true } } as const
const users = {
  schema: {
    email: { type: 'string', unique: true, required: true, lowercase: true },
    password: { type: 'hash', required: true },
    role: text,
  },
  permissions: { owner: { read: true }, admin: true },
} as const
const refersTo = (collection: string, onDelete: 'cascade' | 'unset' | 'restrict') =>
  ({ type: 'reference', collection, onDelete }) as const

describe.each(storages)('in %s,', (_, create) => {
  function open(config: AnyConfig, hooks: Hooks, more: object = {}) {
    const adapter: StorageAdapter = create()
    const service = createTestService(config, { adapter, hooks, ...more } as never)
    opened.push(service)
    const make = async (line: string, body: object = {}): Promise<string> =>
      (await service.send(line, { body })).body._id
    return { ...service, make }
  }

  test.each([
    ['changed', 'PATCH', ['two']],
    ['removed', 'DELETE', ['b']],
  ])(
    'a page that its hook asks for behind what the batch has %s holds nobody up',
    async (_, method, titles) => {
      const seen: unknown[] = []
      const { send, make } = open(
        {
          collections: {
            pages: { schema: { title: text }, permissions },
            marks: { schema: {}, permissions },
          },
        },
        {
          marks: {
            async before({ api }) {
              const pages = await (await api(new Request('http://a.test/pages?limit=1'))).json()
              seen.push(pages.map(({ title }: { readonly title: string }) => title))
            },
          },
        },
      )
      const first = await make('POST /pages', { title: 'a' })
      for (const title of ['b', 'c', 'd']) await make('POST /pages', { title })
      const body = method === 'PATCH' ? { body: { title: 'two' } } : {}
      const operations = [{ method, path: `/pages/${first}`, ...body }, post('/marks', {})]
      expect((await send('POST /_batch', { body: { operations } })).status).toBe(200)
      expect(seen).toEqual([titles])
    },
  )

  test('is refused in a batch as it is alone, though more than one thing is wrong', async () => {
    const marks = { schema: { code: { ...text, unique: true } }, permissions }
    const pages = { schema: { title: text }, permissions }
    let path = ''
    const { send, make } = open(
      { collections: { pages, marks } },
      {
        marks: {
          before: () => (path ? { also: [{ method: 'PUT', path, body: {}, ifNoneMatch: '*' }] } : {}),
        },
      },
    )
    await make('POST /marks', { code: 'taken' })
    path = `/pages/${await make('POST /pages', { title: 'there' })}`
    const again = post('/marks', { code: 'taken' })
    const alone = await send('POST /marks', { body: again.body as object })
    expect([alone.status, alone.body.code]).toEqual([412, 'precondition_failed'])
    for (const operations of [[again], [post('/pages', {}), again]]) {
      const { status, body } = await send('POST /_batch', { body: { operations } })
      expect([status, body.code, body.operation]).toEqual([412, 'precondition_failed', operations.length - 1])
    }
  })

  test('has the time of the request that it is added to', async () => {
    let time = Date.parse('2026-01-01T00:00:00Z')
    const seen: unknown[] = []
    const { send, make } = open(
      {
        collections: {
          teams: { schema: { name: text }, permissions },
          plans: { schema: { team: refersTo('teams', 'unset') }, permissions },
          log: { schema: { of: text, at: { type: 'timestamp', default: '$now' } }, permissions },
          due: {
            schema: { at: { type: 'timestamp' } },
            permissions: { '*': { read: { where: { at: { $lte: '$now' } } }, create: true } },
          },
        },
      },
      {
        teams: {
          before: adding((of, { after }) => {
            return [post('/log', { of }), post('/due', { at: after?.createdAt })]
          }),
        },
        plans: {
          async before({ operation, after, api }) {
            if (operation !== 'update') return undefined
            const due = await api(new Request('http://a.test/due/count'))
            seen.push((await due.json()).total)
            return { also: [post('/log', { of: after?._id })] }
          },
        },
      },
      { now: () => (time += 1000) },
    )
    const team = await send('POST /teams', { body: { name: 'Red' } })
    const [added] = (await send('GET /log')).body
    expect([added.at, added.createdAt]).toEqual([team.body.createdAt, team.body.createdAt])
    const ids = [
      await make('POST /plans', { team: team.body._id }),
      await make('POST /plans', { team: team.body._id }),
    ]
    expect((await send(`DELETE /teams/${team.body._id}`)).status).toBe(204)
    const times = await Promise.all(ids.map(async (id) => (await send(`GET /plans/${id}`)).body.updatedAt))
    const logged = (await send('GET /log?sort[createdAt]=1&sort[_id]=1')).body.slice(1)
    const all = [...times, ...logged.map(({ createdAt }: { createdAt: string }) => createdAt)]
    expect(all).toEqual(Array.from({ length: 4 }, () => times[0]))
    expect(seen).toEqual([1, 1])
  })

  test('counts for the size of a document as who asks may read it', async () => {
    const { send } = open(
      {
        collections: {
          teams: {
            schema: { name: text, note: text, secret: { type: 'string', default: 'x'.repeat(1000) } },
            permissions: {
              '*': { read: { omit: ['secret'] }, create: { omit: ['secret'] }, update: { omit: ['secret'] } },
            },
          },
        },
        limits: { documentBytes: 600 },
      },
      {
        teams: {
          before: ({ operation, after }) =>
            operation === 'update'
              ? { also: [{ method: 'PATCH', path: `/teams/${after?._id}`, body: { note: after?.name } }] }
              : undefined,
        },
      },
    )
    const { _id } = (await send('POST /teams', { body: { name: 'Red' } })).body
    const blue = await send(`PATCH /teams/${_id}`, { body: { name: 'Blue' } })
    expect([blue.status, blue.body.note]).toEqual([200, 'Blue'])
    // Small enough by itself, too large with what is added.
    const large = await send(`PATCH /teams/${_id}`, { body: { name: 'x'.repeat(300) }, mayFail: true })
    expect(large.status).toBe(500)
    expect((await send(`GET /teams/${_id}`)).body.name).toBe('Blue')
  })

  test.each([
    ['loses', 'admin', null],
    ['gets', null, 'admin'],
  ])('shows in the answer where its caller %s a role by it', async (_, before, after) => {
    const { send, register } = open(
      {
        collections: {
          users,
          notes: {
            schema: { text },
            permissions: {
              user: { read: { where: { text: 'b' } }, create: true },
              admin: { read: true, create: true },
            },
          },
        },
        auth: { roleField: 'role', cost: 10 },
      },
      {
        notes: {
          before: adding((_, { caller }) => [
            { method: 'PATCH', path: `/users/${caller?.id}`, body: { role: after } },
          ]),
        },
      },
    )
    const { token, id } = await register({ email: 'ann@example.com', password: 'a secret' })
    if (before)
      await send(`PATCH /users/${id}`, { caller: { id: 'root', roles: ['admin'] }, body: { role: before } })
    const made = await send('POST /notes', { token, body: { text: 'a' } })
    const read = await send(`GET /notes/${made.body._id}`, { token })
    expect(read.status).toBe(after === 'admin' ? 200 : 404)
    expect([made.status, made.body]).toEqual([201, after === 'admin' ? read.body : { _id: made.body._id }])
  })

  test('is told as it is for nobody where its caller is deleted by it', async () => {
    const { send, register } = open(
      {
        collections: {
          users,
          notes: {
            schema: { text, open: text },
            permissions: { user: { read: true, create: true }, '*': { read: { pick: ['open'] } } },
          },
        },
        auth: { cost: 10 },
      },
      { notes: { before: adding((_, { caller }) => [remove(`/users/${caller?.id}`)]) } },
    )
    const { token } = await register({ email: 'ann@example.com', password: 'a secret' })
    const made = await send('POST /notes', { token, body: { text: 'a', open: 'b' } })
    expect([made.status, made.body]).toEqual([201, { _id: made.body._id, open: 'b' }])
    expect((await send('GET /auth/me', { token })).status).toBe(401)
  })

  test.each([
    ['it', 'people'],
    ['what goes along', 'links'],
  ])('is not blamed for a reference that keeps a document, beside one to %s', async (_what, other) => {
    const { send, make } = open(
      {
        collections: {
          people: { schema: { name: text }, permissions },
          links: { schema: { person: refersTo('people', 'cascade') }, permissions },
          things: {
            schema: { a: refersTo('people', 'restrict'), b: refersTo(other, 'unset') },
            permissions,
          },
        },
      },
      { things: { before: () => undefined } },
    )
    const person = await make('POST /people', { name: 'Ann' })
    const link = await make('POST /links', { person })
    const b = other === 'links' ? link : person
    const thing = await make('POST /things', { a: person, b })
    const alone = await send(`DELETE /people/${person}`)
    expect([alone.status, alone.body.code]).toEqual([409, 'reference_in_use'])
    expect((await send(`GET /things/${thing}`)).body).toMatchObject({ a: person, b })
  })

  test('to a delete spares what goes with a document that it leads elsewhere, and with that alone', async () => {
    const { send, make } = open(
      {
        collections: {
          // In this order tasks are looked at before what they hang on.
          tasks: {
            schema: {
              project: refersTo('projects', 'cascade'),
              milestone: refersTo('milestones', 'cascade'),
            },
            permissions,
          },
          milestones: {
            schema: { project: refersTo('projects', 'cascade'), self: refersTo('milestones', 'cascade') },
            permissions,
          },
          projects: { schema: {}, permissions },
        },
      },
      {
        projects: {
          async before({ operation, before, api }) {
            if (operation !== 'delete') return undefined
            const path = `http://a.test/milestones?q[project]=${before?._id}`
            const found = await (await api(new Request(path))).json()
            return {
              also: found.map(({ _id }: { _id: string }) => ({
                ...post(`/milestones/${_id}`, { project: other }),
                method: 'PATCH',
              })),
            }
          },
        },
      },
    )
    const [project, other] = [await make('POST /projects'), await make('POST /projects')]
    const milestone = await make('POST /milestones', { project })
    await send(`PATCH /milestones/${milestone}`, { body: { self: milestone } })
    const circle = await make('POST /milestones', { project, self: milestone })
    await send(`PATCH /milestones/${milestone}`, { body: { self: circle } })
    const below = await make('POST /tasks', { milestone })
    const [own, both] = [
      await make('POST /tasks', { project }),
      await make('POST /tasks', { project, milestone }),
    ]
    expect((await send(`DELETE /projects/${project}`)).status).toBe(204)
    const statuses = []
    for (const path of [`milestones/${milestone}`, `milestones/${circle}`, `tasks/${below}`])
      statuses.push((await send(`GET /${path}`)).status)
    for (const id of [own, both]) statuses.push((await send(`GET /tasks/${id}`)).status)
    expect(statuses).toEqual([200, 200, 200, 404, 404])
  })

  test('goes by documents as they are then, also where another write takes its unique value first', async () => {
    const { send, make } = open(
      {
        collections: {
          projects: { schema: { last: { type: 'integer', default: 0 } }, permissions },
          issues: {
            schema: { project: refersTo('projects', 'cascade'), number: { type: 'integer' } },
            indexes: [{ fields: ['project', 'number'], unique: true }],
            permissions,
          },
        },
      },
      {
        issues: {
          async before({ operation, after, api }) {
            if (operation !== 'create' || after?.number !== undefined) return undefined
            const path = `/projects/${after?.project}`
            const { last } = await (await api(new Request(`http://a.test${path}`))).json()
            const counted = { ...post(path, { last: last + 1 }), method: 'PATCH' }
            return { set: { number: last + 1 }, also: [counted] }
          },
        },
      },
    )
    const project = await make('POST /projects')
    const all = await Promise.all(
      Array.from({ length: 5 }, () => send('POST /issues', { body: { project } })),
    )
    expect(all.map(({ status }) => status)).toEqual(Array(5).fill(201))
    expect(all.map(({ body }) => body.number).sort()).toEqual([1, 2, 3, 4, 5])
    const taken = await send('POST /issues', { body: { project, number: 3 } })
    expect([taken.status, taken.body.code]).toEqual([409, 'unique_violation'])
  })

  test('that contradicts the request is a mistake of the hook, found at the first attempt', async () => {
    let asked = 0
    const { send, make } = open(
      {
        collections: {
          teams: { schema: { name: text }, permissions },
          notes: { schema: { text, team: refersTo('teams', 'restrict') }, permissions },
          parents: { schema: {}, permissions },
          children: { schema: { parent: refersTo('parents', 'cascade') }, permissions },
          grandchildren: { schema: { child: refersTo('children', 'cascade') }, permissions },
        },
      },
      {
        notes: {
          before: adding((_, { after }) => {
            asked += 1
            return after?.text === undefined ? [] : [remove(`/teams/${after.text}`)]
          }),
        },
        children: {
          async before({ operation, before, api }) {
            if (operation !== 'delete') return undefined
            asked += 1
            const all = await (await api(new Request('http://a.test/children'))).json()
            const other = all.find(({ _id }: { _id: string }) => _id !== before?._id)
            return other && { also: [post('/grandchildren', { child: other._id })] }
          },
        },
      },
    )
    const team = await make('POST /teams', { name: 'Red' })
    const body = { documents: [{ text: team }, { team }] }
    expect((await send('POST /notes/bulk', { body, mayFail: true })).status).toBe(500)
    expect([asked, (await send('GET /notes/count')).body.total]).toEqual([2, 0])
    const parent = await make('POST /parents')
    for (let i = 0; i < 2; i++) await make('POST /children', { parent })
    asked = 0
    expect((await send(`DELETE /parents/${parent}`, { mayFail: true })).status).toBe(500)
    expect([asked, (await send('GET /children/count')).body.total]).toEqual([2, 2])
  })

  describe('in smaller sizes,', () => {
    useSmallerBounds()

    test('is decided by whole lists, however large documents are, behind the writes before', async () => {
      const seen: unknown[] = []
      const list = vi.spyOn(BatchStore.prototype, 'list')
      onTestFinished(() => list.mockRestore())
      const { send } = open(
        { collections: { things: { schema: { n: { type: 'integer' }, text }, permissions } } },
        {
          things: {
            async before({ after, api }) {
              if (after?.text !== undefined) return
              const ask = async (path: string) =>
                (await api(new Request(`http://a.test/things${path}`))).json()
              const lists = await Promise.all(['', '?sort[n]=-1', '?sort[n]=1&limit=25&skip=20'].map(ask))
              seen.push([await ask('/count'), lists.map((list) => list.map(({ n }: { n: number }) => n))])
            },
          },
        },
      )
      const large = 'x'.repeat(scale(90_000))
      for (let first = 0; first < 40; first += 10) {
        const documents = Array.from({ length: 10 }, (_, i) => ({ n: 2 * (first + i), text: large }))
        expect((await send('POST /things/bulk', { body: { documents } })).status).toBe(201)
      }
      expect((await send('POST /things/bulk', { body: { documents: [{ n: 41 }, { n: 43 }] } })).status).toBe(
        201,
      )
      const stored = Array.from({ length: 40 }, (_, i) => 2 * i)
      const sorted = [...stored, 41].sort((a, b) => a - b)
      expect(seen[1]).toEqual([{ total: 41 }, [[...stored, 41], sorted.toReversed(), sorted.slice(20)]])
      // A count holds no documents.
      expect(list).toHaveBeenCalledWith('things', expect.objectContaining({ bytes: 1 }))
    })
  })

  test.each(['cascade', 'unset', 'restrict'] as const)(
    'to a delete stands: with %s, what was led elsewhere, and what took its place',
    async (how) => {
      const asked: unknown[] = []
      const { send, make } = open(
        {
          collections: {
            teams: { schema: { name: text }, permissions },
            notes: { schema: { team: refersTo('teams', how), up: refersTo('notes', how) }, permissions },
          },
        },
        {
          teams: {
            async before({ operation, before, api }) {
              if (operation !== 'delete') return undefined
              asked.push(before?.name)
              const notes = await (
                await api(new Request(`http://a.test/notes?q[team]=${before?._id}`))
              ).json()
              const put = {
                ...post(`/teams/${before?._id}`, { name: 'tomb' }),
                method: 'PUT',
                ifNoneMatch: '*',
              }
              const moved = notes.map(({ _id }: { _id: string }) => ({
                ...post(`/notes/${_id}`, { team: other }),
                method: 'PATCH',
              }))
              return { also: [put, ...moved] }
            },
          },
          notes: {
            before({ operation, before }) {
              if (operation === 'delete') asked.push(before?.team)
            },
          },
        },
      )
      const [team, other] = [await make('POST /teams', { name: 'Red' }), await make('POST /teams', {})]
      const note = await make('POST /notes', { team })
      const below = await make('POST /notes', { up: note })
      expect((await send(`DELETE /teams/${team}`)).status).toBe(204)
      expect((await send(`GET /teams/${team}`)).body).toMatchObject({ name: 'tomb' })
      expect((await send(`GET /notes/${note}`)).body).toMatchObject({ team: other })
      expect((await send(`GET /notes/${below}`)).body).toMatchObject({ up: note })
      expect(asked).toEqual(['Red'])
    },
  )

  test('is refused by its hook before what is in the way of a delete', async () => {
    const { send, make } = open(
      {
        collections: {
          teams: { schema: {}, permissions },
          notes: { schema: { team: refersTo('teams', 'restrict') }, permissions },
        },
      },
      {
        teams: {
          before({ operation }) {
            if (operation === 'delete') refuse(403, 'Teams stay.')
          },
        },
      },
    )
    const team = await make('POST /teams')
    await make('POST /notes', { team })
    const { status, body } = await send(`DELETE /teams/${team}`)
    expect([status, body.code]).toEqual([403, 'refused'])
  })

  describe('to many documents of one request', () => {
    const collections = {
      companies: { schema: { name: text }, permissions },
      tickets: {
        schema: { company: refersTo('companies', 'cascade'), entries: { type: 'integer' } },
        permissions,
      },
      audit: { schema: { what: text }, permissions },
    } as const
    /** Adds one entry, or as many as the ticket says. */
    const audited: Hooks = {
      tickets: {
        before: ({ operation, before, after }) => ({
          also: Array.from({ length: Number((after ?? before)?.entries ?? 1) }, () =>
            post('/audit', { what: operation }),
          ),
        }),
      },
    }
    const openAudited = (limits: object = {}) => open({ collections, limits }, audited)
    const ofAudit = async ({ send }: Pick<ReturnType<typeof open>, 'send'>): Promise<number> =>
      (await send('GET /audit/count')).body.total
    const tickets = (length: number, body: object = {}): readonly object[] =>
      Array.from({ length }, () => body)
    const bulk = (documents: readonly object[]) => ({ body: { documents } })
    const batch = (bodies: readonly object[]) => ({
      body: { operations: bodies.map((body) => post('/tickets', body)) },
    })

    test('is one entry for each document of a bulk, a batch and a cascade', async () => {
      const service = openAudited()
      const { send, make } = service
      const company = await make('POST /companies')
      expect((await send('POST /tickets/bulk', bulk(tickets(60, { company })))).status).toBe(201)
      expect((await send('POST /_batch', batch(tickets(60, { company })))).status).toBe(200)
      expect(await ofAudit(service)).toBe(120)
      expect((await send(`DELETE /companies/${company}`)).status).toBe(204)
      expect([await ofAudit(service), (await send('GET /tickets/count')).body.total]).toEqual([240, 0])
    })

    test.each([
      [undefined, 10],
      [2, 2],
    ])('is up to limits.added to each, which are %s', async (added, most) => {
      const service = openAudited({ bulk: 3, ...(added === undefined ? {} : { added }) })
      const { send } = service
      expect((await send('POST /tickets', { body: { entries: most } })).status).toBe(201)
      expect((await send('POST /tickets/bulk', bulk(tickets(3, { entries: most })))).status).toBe(201)
      expect((await send('POST /_batch', batch(tickets(3, { entries: most })))).status).toBe(200)
      const more = { entries: most + 1 }
      for (const [line, sent] of [
        ['POST /tickets', { body: more }],
        ['POST /tickets/bulk', bulk([{}, more])],
        ['POST /_batch', batch([{}, more])],
      ] as const)
        expect((await send(line, { ...sent, mayFail: true })).status).toBe(500)
      expect([await ofAudit(service), (await send('GET /tickets/count')).body.total]).toEqual([7 * most, 7])
    })

    test('is at most 1,000 in all', async () => {
      const service = openAudited({ bulk: 1000, added: 500 })
      const { send, make } = service
      const company = await make('POST /companies')
      const refused = async (line: string, sent: object = {}): Promise<unknown> => {
        const { status, body } = await send(line, sent)
        return [status, body.code, body.operation]
      }
      const beyond = [{ entries: 500 }, { entries: 500 }, {}]
      expect(await refused('POST /tickets/bulk', bulk(beyond))).toEqual([400, 'validation_failed', undefined])
      expect(await refused('POST /_batch', batch(beyond))).toEqual([400, 'validation_failed', 2])
      expect(await ofAudit(service)).toBe(0)
      for (const { entries = 1 } of beyond as { entries?: number }[])
        expect((await send('POST /tickets', { body: { company, entries } })).status).toBe(201)
      const inUse = [409, 'cascade_too_large']
      expect(await refused(`DELETE /companies/${company}`)).toEqual([...inUse, undefined])
      const operations = [remove(`/companies/${company}`)]
      expect(await refused('POST /_batch', { body: { operations } })).toEqual([...inUse, 0])
      const [{ _id }] = (await send('GET /tickets?q[entries]=1')).body
      await send(`DELETE /tickets/${_id}`)
      expect((await send(`DELETE /companies/${company}`)).status).toBe(204)
      expect(await ofAudit(service)).toBe(1001 + 1 + 1000)
    })
  })
})
