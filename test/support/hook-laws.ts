import { expect } from 'vitest'
import { everything } from '../../src/core/filter/filter.js'
import {
  type Caller,
  type CollectionHooks,
  type createCollectionService,
  createMemoryAdapter,
  type HookChange,
  type HookResult,
  refuse,
  type StorageAdapter,
} from '../../src/index.js'
import { HOOKED } from './hooked-config.js'
import { faultsOf, type Sent, type TestService } from './service.js'
import { idOf, openStored } from './stored.js'

/** What holds for hooks, whatever the storage. Mutants have to break one of these. */

type Json = { readonly [name: string]: unknown }
type Hooks = { readonly [collection: string]: CollectionHooks['before'] }

export const ann: Caller = { id: 'ann', team: 'red' }

/** How a service with hooks is made. */
export interface HookWorld {
  readonly adapter: () => StorageAdapter
  /** Another build of the library: a mutant. */
  readonly create?: typeof createCollectionService
  /** Hears of each service that was opened. */
  readonly onOpen?: (service: TestService) => void
}

export const IN_MEMORY: HookWorld = { adapter: () => createMemoryAdapter() }

type Open = (
  hooks: Hooks,
  stored?: { [name: string]: readonly Json[] },
  wrap?: (adapter: StorageAdapter) => StorageAdapter,
) => Promise<TestService>

export const opener =
  ({ adapter, create, onOpen }: HookWorld): Open =>
  async (before, stored = {}, wrap = (real) => real) => {
    const hooks = Object.fromEntries(Object.entries(before).map(([name, hook]) => [name, { before: hook }]))
    const service = await openStored(HOOKED, stored, {
      authenticate: () => null,
      adapter: wrap(adapter()),
      hooks,
      ...(create ? { create } : {}),
    })
    onOpen?.(service)
    return service
  }

/** All documents of a collection, without system fields, in the order of `_id`. */
export async function dumpOf({ adapter }: TestService, name: string): Promise<readonly Json[]> {
  const documents = await adapter.list(name, { filter: everything, sort: [], skip: 0, limit: null })
  const ordered = [...documents].sort((a, b) => (a._id < b._id ? -1 : 1))
  return ordered.map(({ _id, _version, createdAt, updatedAt, createdBy, ...fields }) => fields)
}

export const as = (body?: unknown, headers?: { readonly [name: string]: string }) => ({
  caller: ann,
  ...(body === undefined ? {} : { body }),
  ...(headers ? { headers } : {}),
})

const refusalOf = ({ status, body }: Sent): unknown => [status, body?.code]
const statusesOf = ({ body }: Sent): unknown =>
  body.results?.map(({ status }: { status: number }) => status) ?? body

/** Asks the service that a hook is given. */
export const ask = ({ api }: HookChange, path: string, method = 'GET'): Promise<Response> =>
  api(new Request(`http://service.test${path}`, { method }))

export const POST = { _id: idOf(1), title: 'One', comments: 0, hidden: 'h' }
const ONE = `/posts/${idOf(1)}`
const COMMENTS = [
  { _id: idOf(11), post: idOf(1), text: 'a' },
  { _id: idOf(12), post: idOf(1), text: 'b' },
]

const post = (path: string, body: Json) => ({ method: 'POST', path, body }) as const
const patch = (path: string, body: Json, more: Json = {}) =>
  ({ method: 'PATCH', path, body, ...more }) as const
const remove = (path: string) => ({ method: 'DELETE', path }) as const

/** A counter on the post of each comment, kept by `also`. */
export const countComments = async (change: HookChange): Promise<HookResult | undefined> => {
  const { operation, before, after } = change
  const path = `/posts/${(after ?? before)?.post}`
  const read = await ask(change, path)
  if (read.status === 404) return undefined
  const { comments } = await read.json()
  const step = operation === 'create' ? 1 : operation === 'delete' ? -1 : 0
  return { also: [patch(path, { comments: comments + step })] }
}

type Law = readonly [what: string, check: (open: Open) => Promise<void>]

export const HOOK_LAWS: readonly Law[] = [
  [
    'is asked once for each document that a request writes, by every route',
    async (open) => {
      const heard: unknown[] = []
      const note = ({ operation, before, after }: HookChange): void => {
        heard.push([operation, before?.title ?? before?.text ?? null, after?.title ?? after?.text ?? null])
      }
      const service = await open({ posts: note, comments: note }, { posts: [POST], comments: COMMENTS })
      const take = (): unknown[] => heard.splice(0)
      const three = `/posts/${idOf(3)}`
      expect(take()).toEqual([])
      await service.send('POST /posts', as({ title: 'Two' }))
      expect(take()).toEqual([['create', null, 'Two']])
      await service.send(`PUT ${three}`, as({ title: 'Three' }, { 'if-none-match': '*' }))
      expect(take()).toEqual([['create', null, 'Three']])
      await service.send(`PATCH ${three}`, as({ title: ' Tri ' }))
      expect(take()).toEqual([['update', 'Three', 'Tri']])
      await service.send(`PUT ${three}`, as({ title: 'Drei' }))
      expect(take()).toEqual([['update', 'Tri', 'Drei']])
      const documents = [
        { post: idOf(1), text: 'c' },
        { post: idOf(1), text: 'd' },
      ]
      await service.send('POST /comments/bulk', as({ documents }))
      expect(take()).toEqual([
        ['create', null, 'c'],
        ['create', null, 'd'],
      ])
      const operations = [
        post('/posts', { title: 'C' }),
        patch(three, { title: 'Tre' }),
        { method: 'GET', path: three },
        remove(three),
      ]
      expect(statusesOf(await service.send('POST /_batch', as({ operations })))).toEqual([201, 200, 200, 204])
      expect(take()).toEqual([
        ['create', null, 'C'],
        ['update', 'Drei', 'Tre'],
        ['delete', 'Tre', null],
      ])
      expect((await service.send(`DELETE ${ONE}`, as())).status).toBe(204)
      const all = take()
      expect(all[0]).toEqual(['delete', 'One', null])
      expect(all.slice(1).map(String).sort()).toEqual(['delete,a,', 'delete,b,', 'delete,c,', 'delete,d,'])
      expect(await dumpOf(service, 'comments')).toEqual([])
    },
  ],
  [
    'is not asked about a write that is refused before it, or writes nothing',
    async (open) => {
      const heard: unknown[] = []
      const service = await open({ posts: ({ operation }) => void heard.push(operation) }, { posts: [POST] })
      const cases: readonly (readonly [line: string, body: Json, status: number])[] = [
        ['POST /posts', { title: 1 }, 400],
        [`PATCH ${ONE}`, { title: 'forbidden' }, 403],
        [`PATCH ${ONE}`, { unknown: 1 }, 200],
        [`PATCH /posts/${idOf(9)}`, { title: 'x' }, 404],
        ['POST /comments/bulk', { documents: [{ post: idOf(9) }] }, 400],
      ]
      for (const [line, body, status] of cases)
        expect([line, (await service.send(line, as(body))).status]).toEqual([line, status])
      expect((await service.send(`DELETE ${ONE}`, as(undefined, { 'if-match': '"x"' }))).status).toBe(412)
      expect(heard).toEqual([])
    },
  ],
  [
    'is given the whole documents, frozen, without secrets',
    async (open) => {
      const seen: HookChange[] = []
      const service = await open({ posts: (change) => void seen.push(change) }, { posts: [POST] })
      await service.send(`PATCH ${ONE}`, as({ note: 'n' }))
      await service.send('POST /posts', as({ title: 'Two', pin: 'secret' }))
      const [updated, created] = seen
      expect(updated?.before).toMatchObject({ _id: idOf(1), title: 'One', hidden: 'h', createdBy: null })
      expect(updated?.after).toMatchObject({ title: 'One', hidden: 'h', note: 'n' })
      expect(updated?.after?.updatedAt).not.toBe(updated?.before?.updatedAt)
      expect(Object.keys(updated?.before ?? {})).not.toContain('_version')
      expect(updated?.caller).toEqual({ id: 'ann', team: 'red', roles: [] })
      expect(updated?.signal.aborted).toBe(false)
      expect([updated, updated?.before, updated?.after, updated?.caller].every(Object.isFrozen)).toBe(true)
      const teams = ['red']
      await service.send(`PATCH ${ONE}`, { body: { note: 'm' }, caller: { id: 'ann', teams } })
      expect(Object.isFrozen(seen.at(-1)?.caller?.teams)).toBe(true)
      expect(Object.isFrozen(teams)).toBe(false)
      expect(created?.after).toMatchObject({ title: 'Two', comments: 0, createdBy: 'ann' })
      expect(Object.keys(created?.after ?? {})).not.toContain('pin')
    },
  ],
  [
    'puts properties over the document, whatever the rule says',
    async (open) => {
      const set = { hidden: 'set', slug: 'two', origin: 'hook', meta: {}, next: idOf(7) }
      const service = await open({ posts: () => ({ set }) }, { secrets: [{ _id: idOf(7), text: 's' }] })
      const { status, body } = await service.send('POST /posts', as({ title: 'Two' }))
      expect(status).toBe(201)
      expect(body).toMatchObject({ title: 'Two', slug: 'two', meta: { by: 'nobody' } })
      expect(body.hidden).toBeUndefined()
      expect(await dumpOf(service, 'posts')).toEqual([
        { title: 'Two', comments: 0, ...set, meta: { by: 'nobody' } },
      ])
      expect(refusalOf(await service.send('POST /posts', as({ title: 'Too' })))).toEqual([
        409,
        'unique_violation',
      ])
    },
  ],
  [
    'normalises what it puts, and removes what it sets to null',
    async (open) => {
      const service = await open(
        { posts: () => ({ set: { title: ' trimmed ', note: null, hidden: 'forbidden' } }) },
        { posts: [{ ...POST, note: 'n', title: 'Old' }] },
      )
      const { status } = await service.send(`PATCH ${ONE}`, as({ title: 'New' }))
      expect(status).toBe(200)
      expect(await dumpOf(service, 'posts')).toEqual([{ title: 'trimmed', comments: 0, hidden: 'forbidden' }])
    },
  ],
  [
    'does what belongs to a write in the same step, behind what came before',
    async (open) => {
      const service = await open({ comments: countComments }, { posts: [POST] })
      const count = async (): Promise<unknown> => (await service.send(`GET ${ONE}`, as())).body.comments
      await service.send('POST /comments', as({ post: idOf(1), text: 'a' }))
      expect(await count()).toBe(1)
      await service.send('POST /comments/bulk', as({ documents: [{ post: idOf(1) }, { post: idOf(1) }] }))
      expect(await count()).toBe(3)
      const [first, second] = (await service.send('GET /comments', as())).body
      const operations = [
        remove(`/comments/${first._id}`),
        post('/comments', { post: idOf(1) }),
        remove(`/comments/${second._id}`),
      ]
      expect((await service.send('POST /_batch', as({ operations }))).status).toBe(200)
      expect(await count()).toBe(2)
      await Promise.all(
        Array.from({ length: 4 }, () => service.send('POST /comments', as({ post: idOf(1) }))),
      )
      expect(await count()).toBe(6)
      expect((await service.send(`DELETE ${ONE}`, as())).status).toBe(204)
      expect(await dumpOf(service, 'comments')).toEqual([])
    },
  ],
  [
    'may change what is written, which is answered as it is read right after',
    async (open) => {
      const service = await open(
        {
          posts({ operation, before, after }) {
            if (after === null) return undefined
            const comments = Number(before?.comments ?? 0) + 1
            return { also: [patch(`/posts/${after._id}`, { comments, note: operation })] }
          },
          comments: ({ after }) =>
            after ? { also: [patch(`/comments/${after._id}`, { text: 'told' })] } : undefined,
        },
        { posts: [POST] },
      )
      const read = async (id: string): Promise<unknown> => {
        const { body, headers } = await service.send(`GET /posts/${id}`, as())
        return [body, headers.get('etag')]
      }
      for (const [line, body, headers] of [
        ['POST /posts', { title: 'Two' }, {}],
        [`PUT /posts/${idOf(3)}`, { title: 'Three' }, { 'if-none-match': '*' }],
        [`PATCH ${ONE}`, { title: 'A' }, {}],
        [`PUT ${ONE}`, { title: 'B' }, {}],
      ] as const) {
        const sent = await service.send(line, as(body, headers))
        expect(sent.body.comments).toBeGreaterThan(0)
        expect([line, [sent.body, sent.headers.get('etag')]]).toEqual([line, await read(sent.body._id)])
      }
      const operations = [post('/posts', { title: 'C' }), patch(ONE, { title: 'D' })]
      for (const { body, etag } of (await service.send('POST /_batch', as({ operations }))).body.results)
        expect([body, etag]).toEqual(await read(body._id))
      const documents = [{ post: idOf(1) }, { post: idOf(3) }]
      const bulk = await service.send('POST /comments/bulk', as({ documents }))
      expect(bulk.body.documents).toMatchObject(documents.map((one) => ({ ...one, text: 'told' })))
    },
  ],
  [
    'may not remove what is written',
    async (open) => {
      const service = await open(
        {
          posts: ({ after }) => (after ? { also: [remove(`/posts/${after._id}`)] } : undefined),
          comments: ({ after }) => (after ? { also: [remove(`/comments/${after._id}`)] } : undefined),
        },
        { posts: [POST] },
      )
      for (const [line, body] of [
        ['POST /posts', { title: 'Two' }],
        ['POST /comments/bulk', { documents: [{ post: idOf(1) }] }],
        [`PATCH ${ONE}`, { title: 'Two' }],
        ['POST /_batch', { operations: [patch(ONE, { title: 'Two' })] }],
      ] as const)
        expect([line, (await service.send(line, { ...as(body), mayFail: true })).status]).toEqual([line, 500])
      expect(await dumpOf(service, 'posts')).toEqual([{ title: 'One', comments: 0, hidden: 'h' }])
      expect((await service.send(`DELETE ${ONE}`, as())).status).toBe(204)
    },
  ],
  [
    'of a delete leads elsewhere what would go with it',
    async (open) => {
      const service = await open(
        {
          posts: ({ after }) =>
            after ? undefined : { also: [patch(`/comments/${idOf(11)}`, { post: idOf(2) })] },
        },
        { posts: [POST, { ...POST, _id: idOf(2) }], comments: COMMENTS },
      )
      expect((await service.send(`DELETE ${ONE}`, as())).status).toBe(204)
      expect(await dumpOf(service, 'comments')).toMatchObject([{ post: idOf(2) }])
    },
  ],
  [
    'goes by documents as they are, also where another write takes a unique value first',
    async (open) => {
      const number = async (change: HookChange): Promise<HookResult | undefined> => {
        if (change.operation !== 'create' || change.after?.title === 'Count') return undefined
        const { note = '' } = await (await ask(change, ONE)).json()
        return { set: { slug: `${note}1` }, also: [patch(ONE, { note: `${note}1` })] }
      }
      const service = await open({ posts: number }, { posts: [POST] })
      const all = await Promise.all(
        ['A', 'B', 'C'].map((title) => service.send('POST /posts', as({ title }))),
      )
      expect(all.map(({ status, body }) => `${status} ${body.slug}`).sort()).toEqual([
        '201 1',
        '201 11',
        '201 111',
      ])
    },
  ],
  [
    'is asked about documents that lose a reference, as they are by then',
    async (open) => {
      const heard: unknown[] = []
      const marks = [1, 2].map((n) => ({ _id: idOf(20 + n), post: idOf(1), text: `m${n}` }))
      const service = await open(
        {
          posts: () => ({ also: [patch(`/marks/${idOf(21)}`, { text: 'changed' })] }),
          marks: ({ operation, before, after }) => {
            heard.push([operation, before?.text, before?.post, after?.post])
            if (before?.text === 'stop') throw refuse(409, 'It stays.')
            return { set: { text: `${after?.text}, alone` } }
          },
        },
        {
          posts: [POST, { ...POST, _id: idOf(2) }],
          marks: [...marks, { _id: idOf(23), post: idOf(2), text: 'stop' }],
        },
      )
      expect((await service.send(`DELETE ${ONE}`, as())).status).toBe(204)
      expect(heard.splice(0)).toEqual([
        ['update', 'changed', idOf(1), undefined],
        ['update', 'm2', idOf(1), undefined],
      ])
      expect(await dumpOf(service, 'marks')).toEqual([
        { text: 'changed, alone' },
        { text: 'm2, alone' },
        { post: idOf(2), text: 'stop' },
      ])
      expect(refusalOf(await service.send(`DELETE /posts/${idOf(2)}`, as()))).toEqual([409, 'refused'])
      expect(await dumpOf(service, 'posts')).toHaveLength(1)
    },
  ],
  [
    'writes everything in one call of the storage, or nothing',
    async (open) => {
      let fails = false
      const writes: number[] = []
      const service = await open({ comments: countComments }, { posts: [POST] }, (adapter) => ({
        ...adapter,
        async write(steps, options) {
          writes.push(steps.length)
          if (fails) throw new Error('the disk is full')
          return adapter.write(steps, options)
        },
      }))
      writes.length = 0
      await service.send('POST /comments', as({ post: idOf(1) }))
      await service.send('POST /comments/bulk', as({ documents: [{ post: idOf(1) }, { post: idOf(1) }] }))
      expect(writes).toHaveLength(2)
      fails = true
      const before = [await dumpOf(service, 'comments'), await dumpOf(service, 'posts')]
      for (const [line, body] of [
        ['POST /comments', { post: idOf(1) }],
        ['POST /comments/bulk', { documents: [{ post: idOf(1) }] }],
        ['POST /_batch', { operations: [post('/comments', { post: idOf(1) })] }],
        [`DELETE ${ONE}`, undefined],
      ] as const)
        expect((await service.send(line, { ...as(body), mayFail: true })).status).toBe(500)
      expect([await dumpOf(service, 'comments'), await dumpOf(service, 'posts')]).toEqual(before)
    },
  ],
  [
    'acts in the right of the service, as the caller, and is not asked about that',
    async (open) => {
      const heard: unknown[] = []
      const service = await open({
        posts: ({ after }) => ({
          also: [post('/log', { what: 'created', post: after?._id, key: after?.title })],
        }),
        log: ({ operation }) => void heard.push(operation),
      })
      const { body } = await service.send('POST /posts', as({ title: 'Two' }))
      const [entry] = await service.adapter.list('log', {
        filter: everything,
        sort: [],
        skip: 0,
        limit: null,
      })
      expect(entry).toMatchObject({ what: 'created', key: 'Two', post: body._id, createdBy: 'ann' })
      expect(heard).toEqual([])
      const again = await service.send('POST /posts', as({ title: 'Two' }))
      expect(refusalOf(again)).toEqual([409, 'unique_violation'])
      expect(faultsOf(again)).toEqual({})
      expect(again.text).not.toMatch(/key|log/)
      expect(await dumpOf(service, 'posts')).toHaveLength(1)
    },
  ],
  [
    'reads as the caller, over what came before, and only reads',
    async (open) => {
      const read: unknown[] = []
      const service = await open(
        {
          comments: async (change) => {
            const found = await ask(change, ONE)
            const text = await found.text()
            const list = await (await ask(change, '/comments?project=["text"]&q[text][$exists]=true')).json()
            read.push([found.status, text.includes('hidden'), list.map(({ text }: Json) => text)])
            for (const [method, path] of [
              ['POST', '/comments'],
              ['PATCH', ONE],
              ['DELETE', ONE],
              ['POST', '/_batch'],
            ] as const)
              expect([method, path, (await ask(change, path, method)).status]).toEqual([method, path, 405])
            expect((await ask(change, ONE, 'HEAD')).status).toBe(200)
            expect((await ask(change, '/log')).status).toBe(403)
            expect((await ask(change, '/comments/count')).status).toBe(200)
          },
        },
        { posts: [POST] },
      )
      const operations = [
        post('/comments', { post: idOf(1), text: 'a' }),
        post('/comments', { post: idOf(1), text: 'b' }),
        patch(ONE, { title: 'Later' }),
      ]
      expect(statusesOf(await service.send('POST /_batch', as({ operations })))).toEqual([201, 201, 200])
      expect(read).toEqual([
        [200, false, []],
        [200, false, ['a']],
      ])
    },
  ],
  [
    'reads with what its caller claims by then',
    async (open) => {
      const read: unknown[] = []
      const board = `/boards/${idOf(31)}`
      const service = await open(
        {
          comments: async (change) => {
            const found = await ask(change, board)
            read.push([found.status, await (await ask(change, '/boards/count')).json()])
            if (found.status !== 200) return undefined
            return { also: [patch(board, { text: 'told' }, { ifMatch: found.headers.get('etag') })] }
          },
        },
        {
          posts: [POST],
          boards: [31, 32, 33].map((n) => ({ _id: idOf(n), crew: n === 33 ? 'blue' : 'red' })),
          crews: [{ _id: idOf(41), user: 'bob', crew: 'red' }],
        },
      )
      const comment = post('/comments', { post: idOf(1), text: 'a' })
      const join = (crew: string) => post('/crews', { crew })
      const operations = [comment, join('blue'), comment, join('red'), comment]
      expect(statusesOf(await service.send('POST /_batch', as({ operations })))).toEqual(Array(5).fill(201))
      expect((await service.send('POST /comments', as(comment.body))).status).toBe(201)
      expect(read).toEqual([
        [404, { total: 0 }],
        [404, { total: 1 }],
        [200, { total: 3 }],
        [200, { total: 3 }],
      ])
      expect((await dumpOf(service, 'boards'))[0]).toEqual({ crew: 'red', text: 'told' })
    },
  ],
  [
    'relies on documents as it has seen them',
    async (open) => {
      let meddle: (() => Promise<unknown>) | undefined
      const service = await open(
        {
          comments: async (change) => {
            const found = await ask(change, ONE)
            // As a proxy would have it.
            const ifMatch = `W/${found.headers.get('etag')}`.replace(/"$/, '-gzip"')
            const { title } = await found.json()
            await meddle?.()
            return title === 'stop'
              ? { also: [{ method: 'GET', path: ONE, ifMatch: '"other"' }] }
              : { set: { text: title }, also: [{ method: 'GET', path: ONE, ifMatch }] }
          },
        },
        { posts: [POST] },
      )
      const create = () => service.send('POST /comments', as({ post: idOf(1) }))
      expect((await create()).body.text).toBe('One')
      meddle = () => {
        meddle = undefined
        return service.send(`PATCH ${ONE}`, as({ title: 'Changed' }))
      }
      expect((await create()).body.text).toBe('Changed')
      await service.send(`PATCH ${ONE}`, as({ title: 'stop' }))
      expect(refusalOf(await create())).toEqual([412, 'precondition_failed'])
      expect(await dumpOf(service, 'comments')).toHaveLength(2)
    },
  ],
  [
    'refuses, with its own status and faults, wherever the write comes from',
    async (open) => {
      const errors = [{ path: '/text', code: 'rude', message: 'is rude' }]
      const service = await open(
        {
          comments: ({ after, before, operation }) => {
            if (operation === 'delete' ? before.text === 'b' : after?.text === 'rude')
              throw refuse(422, 'Be kind.', errors)
          },
        },
        { posts: [POST], comments: COMMENTS },
      )
      const rude = { post: idOf(1), text: 'rude' }
      const kind = { post: idOf(1), text: 'kind' }
      const alone = await service.send('POST /comments', as(rude))
      expect(refusalOf(alone)).toEqual([422, 'refused'])
      expect(alone.body).toMatchObject({ detail: 'Be kind.', errors })
      const bulk = await service.send('POST /comments/bulk', as({ documents: [kind, rude] }))
      expect([refusalOf(bulk), faultsOf(bulk)]).toEqual([[422, 'refused'], { '/documents/1/text': 'rude' }])
      const operations = [post('/comments', kind), patch(ONE, { title: 'x' }), post('/comments', rude)]
      const batch = await service.send('POST /_batch', as({ operations }))
      expect([refusalOf(batch), batch.body.operation]).toEqual([[422, 'refused'], 2])
      expect(faultsOf(batch)).toEqual({ '/operations/2/body/text': 'rude' })
      expect(refusalOf(await service.send(`DELETE ${ONE}`, as()))).toEqual([422, 'refused'])
      expect(await dumpOf(service, 'posts')).toEqual([{ title: 'One', comments: 0, hidden: 'h' }])
      expect(await dumpOf(service, 'comments')).toHaveLength(2)
    },
  ],
  [
    'adds operations up to limits.added to each write, beside those that were asked for',
    async (open) => {
      const service = await open({
        posts: ({ after }) => ({
          also: Array.from({ length: Number(after?.title) }, () => post('/log', { what: 'x' })),
        }),
      })
      const create = (title: string) => post('/posts', { title })
      expect((await service.send('POST /posts', as({ title: '4' }))).status).toBe(201)
      expect((await service.send('POST /posts', { ...as({ title: '5' }), mayFail: true })).status).toBe(500)
      const most = Array(6).fill(create('4'))
      expect(statusesOf(await service.send('POST /_batch', as({ operations: most })))).toEqual(
        Array(6).fill(201),
      )
      const others = as({ operations: [create('0'), create('5')] })
      expect((await service.send('POST /_batch', { ...others, mayFail: true })).status).toBe(500)
      expect(await dumpOf(service, 'log')).toHaveLength(28)
    },
  ],
  [
    'sets what counts for the size of a document',
    async (open) => {
      const service = await open({ posts: () => ({ set: { note: 'x'.repeat(5000) } }) })
      expect(refusalOf(await service.send('POST /posts', as({ title: 'Two' })))).toEqual([
        413,
        'document_too_large',
      ])
    },
  ],
]
