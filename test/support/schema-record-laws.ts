import { expect } from 'vitest'
import type { ConfigError, createCollectionService, StorageAdapter } from '../../src/index.js'
import { createTestService, type TestService } from './service.js'

/**
 * A configuration that does not fit what earlier ones have stored (CONTRACT.md §7, "Earlier configurations"), whatever
 * the storage. Mutants have to break one of these.
 */

/** How services are opened, one after another, over one storage. */
export interface Restarting {
  readonly connect: () => StorageAdapter
  readonly create?: typeof createCollectionService
  /** Takes the services that are to be closed. */
  readonly opened: TestService[]
}

type Law = readonly [what: string, check: (over: Restarting) => Promise<void>]

const text = { type: 'string' } as const
const number = { type: 'number' } as const
const hash = { type: 'hash' } as const
const object = (properties: object) => ({ type: 'object', properties })
const list = (items: object) => ({ type: 'array', items })

const start = ({ connect, create, opened }: Restarting, notes: object): TestService => {
  const service = createTestService(
    { collections: { notes: { permissions: { '*': true }, ...notes } } },
    { adapter: connect(), holdsOthers: true, ...(create ? { create } : {}) },
  )
  opened.push(service)
  return service
}

const open = async (over: Restarting, notes: object): Promise<TestService> => {
  const service = start(over, notes)
  await service.handler.ready()
  return service
}

/** Returns the faults of a start that is refused, and checks that it answers no request. */
async function refuse(over: Restarting, notes: object): Promise<readonly (readonly [string, string])[]> {
  const service = start(over, notes)
  const thrown = await service.handler.ready().then(
    () => undefined,
    (cause: unknown) => cause,
  )
  expect(thrown).toBeInstanceOf(Error)
  expect((thrown as Error).name).toBe('ConfigError')
  const { status, body } = await service.send('GET /notes', { mayFail: true })
  expect([status, body.code]).toEqual([503, 'storage_unavailable'])
  expect(Object.keys(body).sort()).toEqual(['code', 'detail', 'requestId', 'status', 'title'])
  return (thrown as ConfigError).faults.map(({ path, message }) => [path, message])
}

const add = async (service: TestService, body: object): Promise<string> => {
  const { status, body: made } = await service.send('POST /notes', { body })
  expect(status).toBe(201)
  return made._id
}

const TYPES: readonly (readonly [
  what: string,
  before: object,
  after: object,
  body: object,
  pointer: string,
  fitting?: object,
])[] = [
  ['a field', { a: text }, { a: number }, { a: '1' }, '/a'],
  [
    'a property of an object',
    { o: object({ a: text }) },
    { o: object({ a: number }) },
    { o: { a: '1' } },
    '/o/properties/a',
  ],
  ['the elements of an array', { l: list(text) }, { l: list(number) }, { l: ['1'] }, '/l/items'],
  [
    'a property of the objects of an array',
    { l: list(object({ a: text })) },
    { l: list(object({ a: number })) },
    { l: [{}, { a: '1' }] },
    '/l/items/properties/a',
  ],
  ['an object', { o: object({ a: text }) }, { o: list(text) }, { o: { a: '1' } }, '/o'],
  ['any JSON', { a: { type: 'json' } }, { a: text }, { a: 1 }, '/a', { a: 'x' }],
]

export const SCHEMA_RECORD_LAWS: readonly Law[] = [
  ...TYPES.map(
    ([what, before, after, body, pointer, fitting = {}]): Law => [
      `does not start where documents have values of the earlier type of ${what}`,
      async (over) => {
        const old = await open(over, { schema: { ...before, other: text } })
        await add(old, { other: 'x', ...fitting })
        const id = await add(old, body)
        const faults = await refuse(over, { schema: { ...after, other: text } })
        expect(faults).toEqual([
          [
            `/collections/notes/schema${pointer}`,
            expect.stringContaining(`1 stored document has a value of another type (${id})`),
          ],
        ])
        // The earlier configuration serves as before; without such values, the type may change.
        await (await open(over, { schema: { ...before, other: text } })).send(`DELETE /notes/${id}`)
        await open(over, { schema: { ...after, other: text } })
      },
    ],
  ),
  [
    'starts where a type changes that no document has a value of, and where any JSON is allowed',
    async (over) => {
      await add(await open(over, { schema: { a: text, b: text } }), { b: 'x' })
      const now = await open(over, { schema: { a: number, b: { type: 'json' } } })
      expect(await now.list('/notes', 'b')).toEqual(['x'])
    },
  ],
  ...(['value', 'secret'] as const).map(
    (kind): Law => [
      `does not start where the ${kind} of an earlier field would come back under its name`,
      async (over) => {
        const field = kind === 'secret' ? hash : text
        const [first, second] = [{ a: field, b: text }, { b: text }]
        const id = await add(await open(over, { schema: first }), { a: 'told', b: 'x' })
        await open(over, { schema: second })
        await open(over, { schema: { ...second, c: text } })
        const [fault] = await refuse(over, { schema: first })
        expect(fault?.[0]).toBe('/collections/notes/schema/a')
        expect(fault?.[1]).toContain(
          `1 stored document has a value of it (${id}): if its values are meant, write "stored": "a"`,
        )
        await open(over, { schema: { ...first, a: { ...field, stored: 'a' } } })
      },
    ],
  ),
  [
    'lets the configuration before the last one come back',
    async (over) => {
      const [first, second] = [{ a: text, b: text }, { b: text }]
      await add(await open(over, { schema: first }), { a: 'told' })
      await open(over, { schema: second })
      expect(await (await open(over, { schema: first })).list('/notes', 'a')).toEqual(['told'])
      await open(over, { schema: second })
      await open(over, { schema: first })
    },
  ],
  [
    'names a collection that comes back with its documents',
    async (over) => {
      const schema = { a: text }
      const service = (collections: object) => {
        const made = createTestService(
          { collections: collections as never },
          { adapter: over.connect(), ...(over.create ? { create: over.create } : {}) },
        )
        over.opened.push(made)
        return made
      }
      const others = (more: object) => ({ others: { schema: { ...schema, ...more } } })
      await add(await open(over, { schema }), { a: 'told' })
      await service(others({})).handler.ready()
      await service(others({ b: text })).handler.ready()
      expect(await refuse(over, { schema })).toEqual([
        ['/collections/notes', expect.stringContaining('an earlier collection, with 1 stored document (')],
      ])
      await open(over, { schema, stored: 'notes' })
    },
  ],
  [
    'shows no value of an earlier field as a free property',
    async (over) => {
      const free = { additionalProperties: true }
      const old = await open(over, {
        schema: { a: text, b: text },
        permissions: { '*': { read: { omit: ['a'] }, create: true, update: true } },
        ...free,
      })
      const id = await add(old, { a: 'hidden', b: 'x', c: 'free' })
      const now = await open(over, { schema: { b: text }, ...free })
      expect((await now.send(`GET /notes/${id}`)).body).toMatchObject({ b: 'x', c: 'free' })
      expect((await now.send(`GET /notes/${id}`)).text).not.toContain('hidden')
      for (const value of ['y', null])
        expect((await now.send(`PATCH /notes/${id}`, { body: { a: value } })).body.errors).toMatchObject([
          { path: '/a', code: 'unknown_property' },
        ])
      expect((await now.send(`PUT /notes/${id}`, { body: { b: 'z' } })).text).not.toContain('hidden')
      const back = await open(over, { schema: { a: { ...text, stored: 'a' }, b: text }, ...free })
      expect((await back.send(`GET /notes/${id}`)).body).toMatchObject({ a: 'hidden', b: 'z' })
    },
  ],
  [
    'warns at each start of what no configuration declares any more',
    async (over) => {
      const free = { additionalProperties: true }
      const droppedOf = ({ logged }: TestService): readonly unknown[] =>
        logged.flatMap(([line, details]) =>
          (details as { code?: string } | undefined)?.code === 'stored_dropped' ? [line] : [],
        )
      const old = await open(over, { schema: { a: text, b: number }, ...free })
      const id = await add(old, { a: 'told', b: 1 })
      expect(droppedOf(old)).toEqual([])
      const lines = [
        `/collections/notes/schema: "a" is no longer in the schema, so no response shows it (renamed to "c"? then it needs "stored": "a"); in 1 stored documents: ${id}`,
      ]
      const now = { schema: { c: text, b: number }, ...free }
      for (const _ of ['changed', 'unchanged']) expect(droppedOf(await open(over, now))).toEqual(lines)
      const others = createTestService(
        { collections: { others: { schema: {} } } },
        { adapter: over.connect(), ...(over.create ? { create: over.create } : {}) },
      )
      over.opened.push(others)
      await others.handler.ready()
      expect(droppedOf(others)).toEqual([
        '/collections: the storage has 1 documents of "notes", which no collection stores (renamed to "others"? then it needs "stored": "notes")',
      ])
    },
  ],
  [
    'renames without a word',
    async (over) => {
      await add(await open(over, { schema: { a: text } }), { a: 'told' })
      const now = await open(over, { schema: { b: { ...text, stored: 'a' } } })
      expect(await now.list('/notes', 'b')).toEqual(['told'])
      await open(over, { schema: { c: { ...text, stored: 'a' } } })
    },
  ],
]
