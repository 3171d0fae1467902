import { expect } from 'vitest'
import type {
  createCollectionService,
  ServiceOptions,
  StorageAdapter,
  StoredDocument,
} from '../../src/index.js'
import type {
  dropUniqueIndex,
  MigrateDocument,
  MigrateOptions,
  MigrateStep,
  Migrations,
  migrateCollections,
} from '../../src/tools/migrate/index.js'
import { createTestService, type TestService } from './service.js'
import { idOf, LONG_AGO } from './stored.js'

/**
 * Runs that bring stored documents into the form of a configuration (CONTRACT.md §7, "Migrating"), whatever the storage.
 * Mutants have to break one of these.
 */

/** How a storage is opened, again and again. */
export interface Migrating {
  readonly connect: () => StorageAdapter
  readonly migrate: typeof migrateCollections
  /** Default: that of the package. */
  readonly drop?: typeof dropUniqueIndex
  readonly create?: typeof createCollectionService
  /** Takes the services that are to be closed. */
  readonly opened: TestService[]
}

export type Law = readonly [what: string, check: (over: Migrating) => Promise<void>]

type Json = { readonly [name: string]: unknown }

export const text = { type: 'string' } as const
const object = (properties: object) => ({ type: 'object', properties })
const list = (items: object) => ({ type: 'array', items })

export const configOf = (schema: object, settings: object = {}) => ({
  collections: { notes: { schema, permissions: { '*': true }, ...settings } },
})

/** Opens a service over the storage. */
export function open(
  { connect, create, opened }: Migrating,
  config: object,
  options: Pick<ServiceOptions, 'logger' | 'migrate' | 'migrations' | 'now'> = {},
): TestService {
  const adapter = connect()
  const service = createTestService(config as never, {
    adapter,
    holdsOthers: true,
    ...options,
    ...(create ? { create } : {}),
  })
  opened.push(service)
  return service
}

const everything = { kind: 'and', filters: [] } as const

/** Uses the storage itself, past every rule. */
export async function withStorage<T>(
  { connect }: Migrating,
  use: (adapter: StorageAdapter) => Promise<T>,
  wrap = (adapter: StorageAdapter) => adapter,
): Promise<T> {
  const adapter = connect()
  try {
    await adapter.open([])
    return await use(wrap(adapter))
  } finally {
    await adapter.close()
  }
}

export const listAll = (over: Migrating): Promise<readonly StoredDocument[]> =>
  withStorage(over, async (adapter) =>
    adapter.list('notes', { filter: everything, sort: [], skip: 0, limit: null }),
  )

/** Starts a service, and ends it, so that a migration does not wait for it. */
export async function closeAfter({ handler }: TestService): Promise<void> {
  await handler.ready()
  await handler.close()
}

/** Stores documents under the indexes of a configuration. */
export async function store(over: Migrating, config: object, documents: readonly Json[]): Promise<void> {
  await closeAfter(open(over, config))
  const system = { createdAt: LONG_AGO, updatedAt: LONG_AGO, createdBy: null, _version: 1 }
  const insert = (document: Json, i: number) =>
    ({ _id: idOf(i + 1), ...system, ...document }) as StoredDocument
  const steps = documents.map((document, i) => ({ in: 'notes', insert: insert(document, i) }))
  const written = await withStorage(over, async (adapter) => adapter.write(steps, {}))
  expect(written).toMatchObject({ ok: true })
}

/** Reads what is stored, without system fields. */
async function read(over: Migrating): Promise<readonly Json[]> {
  const found = await listAll(over)
  return [...found]
    .sort((a, b) => (a._id < b._id ? -1 : 1))
    .map(({ _id, _version, createdAt, updatedAt, createdBy, ...others }) => {
      expect([createdAt, updatedAt, createdBy]).toEqual([LONG_AGO, LONG_AGO, null])
      return others
    })
}

export const migrate = (
  over: Migrating,
  config: object,
  options: MigrateOptions = {},
  wrap?: (adapter: StorageAdapter) => StorageAdapter,
): ReturnType<typeof migrateCollections> =>
  withStorage(over, (adapter) => over.migrate(config, adapter, options), wrap)

/** Runs a migration, after a dry run that says the same and changes nothing. */
async function run(
  over: Migrating,
  config: object,
  migrations: Migrations = {},
): Promise<readonly MigrateStep[]> {
  const before = await listAll(over)
  const seen: Record<'dry' | 'real', string[]> = { dry: [], real: [] }
  const planned = await migrate(over, config, {
    dryRun: true,
    migrations,
    onFailed: ({ id, reason }) => seen.dry.push(`${id} ${reason}`),
  })
  expect(await listAll(over)).toEqual(before)
  const { steps } = await migrate(over, config, {
    migrations,
    onFailed: ({ id, reason }) => seen.real.push(`${id} ${reason}`),
  })
  expect(planned.steps).toEqual(steps)
  // A run writes several documents at once, so it learns later of those that the storage rejects.
  expect(seen.dry.sort()).toEqual(seen.real.sort())
  return steps
}

export const summary = (steps: readonly MigrateStep[]) =>
  steps.map(({ name, kind, done, failed, ids }) => [kind, name, done, failed, ...ids])

const FILLS: readonly (readonly [what: string, schema: object, before: Json, after: Json, field: string])[] =
  [
    ['a field', { a: { ...text, required: true, fill: 'x' } }, {}, { a: 'x' }, 'a'],
    [
      'a property of an object that exists',
      { o: object({ a: { ...text, required: true, fill: 'x' } }) },
      { o: {} },
      { o: { a: 'x' } },
      'o.a',
    ],
    [
      'each element of an array that lacks it',
      { l: list(object({ a: { ...text, required: true, fill: 'x' } })) },
      { l: [{}, { a: 'y' }, {}] },
      { l: [{ a: 'x' }, { a: 'y' }, { a: 'x' }] },
      'l.a',
    ],
    ['a list', { a: { ...list(text), required: true, fill: [] } }, {}, { a: [] }, 'a'],
    ['a renamed field', { b: { ...text, required: true, fill: 'x', stored: 'a' } }, {}, { a: 'x' }, 'b'],
  ]

const FORMS: readonly (readonly [what: string, schema: object, before: Json, after: Json, field: string])[] =
  [
    ['trim', { a: { ...text, trim: true } }, { a: ' x ' }, { a: 'x' }, 'a'],
    ['lowercase', { a: { ...text, lowercase: true } }, { a: 'X' }, { a: 'x' }, 'a'],
    [
      'timestamps',
      { a: { type: 'timestamp' } },
      { a: '2026-01-01T01:00:00+01:00' },
      { a: '2026-01-01T00:00:00.000Z' },
      'a',
    ],
    [
      'references',
      { a: { type: 'reference', collection: 'notes' } },
      { a: idOf(1).toUpperCase() },
      { a: idOf(1) },
      'a',
    ],
    ['elements', { l: list({ ...text, trim: true }) }, { l: ['a', ' b'] }, { l: ['a', 'b'] }, 'l'],
    [
      'properties of objects in arrays',
      { l: list(object({ b: { ...text, trim: true, stored: 'a' } })) },
      { l: [{ a: ' x' }, { c: ' y' }] },
      { l: [{ a: 'x' }, { c: ' y' }] },
      'l.b',
    ],
  ]

/** Adds the names of migrations to a configuration. */
export const migrating = (config: object, ...migrations: readonly string[]) => ({ ...config, migrations })

/** Returns the code of migrations of the collection `notes`. */
export const codeOf = (functions: { readonly [name: string]: MigrateDocument }): Migrations =>
  Object.fromEntries(Object.entries(functions).map(([name, notes]) => [name, { collections: { notes } }]))

/** Reads what is stored, without system fields and the documents' own ones. */
export const readAll = async (over: Migrating): Promise<readonly Json[]> =>
  [...(await listAll(over))]
    .sort((a, b) => (a._id < b._id ? -1 : 1))
    .map(({ _id, _version, createdAt, updatedAt, createdBy, ...others }) => others)

const isEqual = (before: Json, [after, ...others]: readonly Json[]): boolean =>
  others.length === 0 && JSON.stringify(before) === JSON.stringify(after)

interface Changing {
  readonly schema?: object
  readonly settings?: object
  readonly before: Json
  readonly after: readonly Json[]
}

const CHANGES: readonly (readonly [what: string, over: Changing, change: MigrateDocument])[] = [
  ['leave a document as it is', { before: { a: 'x' }, after: [{ a: 'x' }] }, () => undefined],
  ['set nothing', { before: { a: 'x' }, after: [{ a: 'x' }] }, () => ({ set: {} })],
  ['set a value', { before: { a: '7' }, after: [{ a: '7', n: 7 }] }, ({ a }) => ({ set: { n: Number(a) } })],
  ['wait', { before: {}, after: [{ a: 'x' }] }, async () => ({ set: { a: await 'x' } })],
  ['remove a value', { before: { a: 'x', n: 1 }, after: [{ n: 1 }] }, () => ({ set: { a: null } })],
  [
    'remove an undeclared value',
    { before: { a: 'x', gone: 1 }, after: [{ a: 'x' }] },
    () => ({ set: { gone: null } }),
  ],
  [
    'give undeclared values back unchanged',
    { before: { gone: { deep: [1] } }, after: [{ gone: { deep: [1] }, a: 'x' }] },
    ({ gone }) => ({ set: { gone, a: 'x' } }),
  ],
  [
    'set a free property',
    { settings: { additionalProperties: true }, before: {}, after: [{ free: [1] }] },
    () => ({ set: { free: [1] } }),
  ],
  [
    'set stored names, also inside objects',
    {
      schema: { b: { ...object({ d: { ...text, stored: 'c' } }), stored: 'a' } },
      before: {},
      after: [{ a: { c: 'x' } }],
    },
    () => ({ set: { a: { c: 'x' } } }),
  ],
  [
    'set values that are brought into their form',
    { schema: { a: { ...text, trim: true } }, before: {}, after: [{ a: 'x' }] },
    () => ({ set: { a: ' x ' } }),
  ],
  [
    'leave what is wrong in other fields',
    { before: { a: 5 }, after: [{ a: 5, n: 1 }] },
    () => ({ set: { n: 1 } }),
  ],
  [
    'remove an undeclared value under the name of a renamed field, and leave what is wrong in that field',
    {
      schema: { gone: { ...text, trim: true, stored: 'a' } },
      before: { a: [' x '], gone: 1 },
      after: [{ a: [' x '] }],
    },
    () => ({ set: { gone: null } }),
  ],
  ['remove a document', { before: { a: 'x' }, after: [] }, () => ({ remove: true })],
  [
    'pass a unique value on to a document that it makes',
    { schema: { a: { ...text, unique: true } }, before: { a: 'x' }, after: [{}, { a: 'x' }] },
    () => ({ set: { a: null }, also: [{ in: 'notes', document: { a: 'x' } }] }),
  ],
]

const FAILURES: readonly (readonly [what: string, change: MigrateDocument, reason: string])[] = [
  ['throws', () => Promise.reject(new Error('"n/a" is not a number')), '"n/a" is not a number'],
  ['returns something else', () => 5 as never, 'returned a number'],
  ['returns another property', () => ({ sets: {} }) as never, '"sets"'],
  ['sets and removes', () => ({ set: { a: 'x' }, remove: true }), 'exclude'],
  ['sets a system field', () => ({ set: { createdBy: 'x' } }), 'set.createdBy'],
  ['sets a name of the service', () => ({ set: { _version: 5 } }), 'set._version'],
  ['sets a hash', () => ({ set: { s: 'x' } }), 'set.s'],
  ['sets an unknown name', () => ({ set: { aa: 'x' } }), 'set.aa'],
  ['sets a declared name that is not the stored one', () => ({ set: { h: 'x' } }), 'set.h'],
  ['sets undefined', () => ({ set: { a: undefined } }), 'set.a is undefined'],
  ['sets a value of another type', () => ({ set: { a: 5 } }), 'a must be'],
  ['sets a value that breaks a rule', () => ({ set: { a: 'long' } }), 'a must'],
  ['removes a required value', () => ({ set: { l: null } }), 'l is required'],
  ['sets a unique value that is taken', () => ({ set: { u: '2' } }), 'u'],
  ['sets a reference without a target', () => ({ set: { r: idOf(9) } }), 'does not exist'],
  ['removes a document with referrers', () => ({ remove: true }), 'refer'],
  ['makes a document of an unknown collection', () => ({ also: [{ in: 'note', document: {} }] }), '"notes"'],
  ['makes no document', () => ({ also: [{ in: 'notes' }] }) as never, 'also[0]'],
  [
    'makes an invalid document',
    () => ({ also: [{ in: 'notes', document: { l: 5 } }] }),
    'also[0].document.l',
  ],
  [
    'makes a document with an _id in its own collection',
    () => ({ also: [{ in: 'notes', document: { _id: idOf(9), l: 'x' } }] }),
    '_id',
  ],
  [
    'makes two documents of which one is not possible',
    () => ({
      also: ['3', '2'].map((u) => ({ in: 'notes', document: { l: 'x', u } })),
    }),
    'u',
  ],
  [
    'makes too many documents',
    () => ({ also: Array.from({ length: 1000 }, () => ({ in: 'notes', document: { l: 'x' } })) }),
    '1000',
  ],
]

export const MIGRATE_LAWS: readonly Law[] = [
  ...FILLS.map(
    ([what, schema, before, after, field]): Law => [
      `gives ${what} its value, and the service then starts`,
      async (over) => {
        const plain = JSON.parse(
          JSON.stringify(schema, (name, value) => (name === 'fill' ? undefined : value)),
        )
        await store(over, configOf(plain), [before, after])
        const refused = open(over, configOf(schema))
        await expect(refused.handler.ready()).rejects.toMatchObject({
          name: 'ConfigError',
          faults: [
            {
              path: expect.stringMatching(/^\/collections\/notes\/schema\/.*\/fill$/),
              message: expect.stringContaining(`1 stored document lacks the field (${idOf(1)})`),
            },
          ],
        })
        expect(summary(await run(over, configOf(schema)))).toEqual([['fill', `notes.${field}`, 1, 0]])
        expect(await read(over)).toEqual([after, after])
        await open(over, configOf(schema)).handler.ready()
        expect(await run(over, configOf(schema))).toEqual([])
      },
    ],
  ),
  ...FORMS.map(
    ([what, schema, before, after, field]): Law => [
      `brings texts into their form: ${what}`,
      async (over) => {
        await store(over, configOf(schema), [before, after])
        expect(summary(await run(over, configOf(schema)))).toEqual([['form', `notes.${field}`, 1, 0]])
        expect(await read(over)).toEqual([after, after])
        expect(await run(over, configOf(schema))).toEqual([])
      },
    ],
  ),
  [
    'leaves documents that cannot be changed, and counts them',
    async (over) => {
      const schema = { a: { ...text, unique: true, lowercase: true }, at: { type: 'timestamp' } }
      const documents = [{ a: 'Ann' }, { a: 'aNN' }, { a: 'BOB', at: 'soon' }, { a: 'CY' }]
      await store(over, configOf(schema), documents)
      const failed = [
        ['form', 'notes.a', 2, 1, idOf(2)],
        ['form', 'notes.at', 0, 1, idOf(3)],
      ]
      expect(summary(await run(over, configOf(schema)))).toEqual(failed)
      expect(await read(over)).toEqual([{ a: 'ann' }, { a: 'aNN' }, { a: 'BOB', at: 'soon' }, { a: 'cy' }])
      expect(summary(await run(over, configOf(schema)))).toEqual(
        failed.map(([kind, name, , count, id]) => [kind, name, 0, count, id]),
      )
    },
  ],
  [
    'fills before it forms, in the order of the configuration',
    async (over) => {
      const schema = { b: { ...text, trim: true }, a: { ...text, required: true, fill: 'x', trim: true } }
      await store(over, configOf({ a: text, b: text }), [{ b: ' y' }, { a: ' z' }])
      expect(summary(await run(over, configOf(schema)))).toEqual([
        ['fill', 'notes.a', 1, 0],
        ['form', 'notes.b', 1, 0],
        ['form', 'notes.a', 1, 0],
      ])
    },
  ],
  [
    'writes 100 documents in small parts, and reports each',
    async (over) => {
      const schema = { a: { ...text, required: true, fill: 'x' } }
      await store(
        over,
        configOf({ a: text }),
        Array.from({ length: 100 }, () => ({})),
      )
      const seen: number[] = []
      const { steps } = await migrate(over, configOf(schema), {
        onProgress: ({ name, collection, done, of }) => {
          expect([name, collection, of]).toEqual(['notes.a', 'notes', 100])
          seen.push(done)
        },
      })
      expect(seen).toEqual([20, 40, 60, 80, 100])
      expect(summary(steps)).toEqual([['fill', 'notes.a', 100, 0]])
    },
  ],
  [
    'changes what no reader sees: neither updatedAt nor an ETag',
    async (over) => {
      const secret = { schema: { a: text, b: { ...text, trim: true } } }
      const permissions = { '*': { read: { pick: ['a', 'updatedAt'] } } }
      const config = configOf(secret.schema, { permissions })
      await store(over, config, [{ a: 'x', b: ' y' }])
      const reading = open(over, config)
      const etag = async () => (await reading.send(`GET /notes/${idOf(1)}`)).headers.get('etag')
      const before = await etag()
      expect(summary(await run(over, config))).toEqual([['form', 'notes.b', 1, 0]])
      expect(await etag()).toBe(before)
    },
  ],
  [
    'does not overwrite what others change meanwhile',
    async (over) => {
      const schema = { a: { ...text, required: true, fill: 'x' }, n: { type: 'integer' } } as const
      await store(over, configOf({ a: text, n: schema.n }), [{}, {}, {}])
      let isDone = false
      const interrupt = (inner: StorageAdapter): StorageAdapter => ({
        ...inner,
        async write(steps, options) {
          if (!isDone && steps.some((step) => step.in === 'notes')) {
            isDone = true
            const [first] = await inner.list('notes', { filter: everything, sort: [], skip: 0, limit: 1 })
            if (!first) return expect.fail()
            const replace = { ...first, a: 'mine', n: 1, _version: first._version + 1 }
            const taken = await inner.write([{ in: 'notes', replace, version: first._version }], options)
            expect(taken.ok).toBe(true)
          }
          return inner.write(steps, options)
        },
      })
      const { steps } = await migrate(over, configOf(schema), {}, interrupt)
      expect(summary(steps)).toEqual([['fill', 'notes.a', 2, 0]])
      expect((await read(over)).map(({ a }) => a).sort()).toEqual(['mine', 'x', 'x'])
    },
  ],
  [
    'ends when its signal aborts, and the next run goes on',
    async (over) => {
      const schema = { a: { ...text, required: true, fill: 'x' } }
      await store(
        over,
        configOf({ a: text }),
        Array.from({ length: 50 }, () => ({})),
      )
      const ending = new AbortController()
      const stopped = migrate(over, configOf(schema), {
        signal: ending.signal,
        onProgress: () => ending.abort(new Error('enough')),
      })
      await expect(stopped).rejects.toThrow('enough')
      await expect(open(over, configOf(schema)).handler.ready()).rejects.toMatchObject({
        name: 'ConfigError',
      })
      expect(summary(await run(over, configOf(schema)))).toEqual([['fill', 'notes.a', 30, 0]])
    },
  ],
  [
    'of two runs at once, each document is changed by one',
    async (over) => {
      const schema = { a: { ...text, required: true, fill: 'x' } }
      await store(
        over,
        configOf({ a: text }),
        Array.from({ length: 60 }, () => ({})),
      )
      const writers: number[] = []
      const watch =
        (writer: number) =>
        (inner: StorageAdapter): StorageAdapter => ({
          ...inner,
          write(steps, options) {
            if (steps.some((step) => step.in === 'notes')) writers.push(writer)
            return inner.write(steps, options)
          },
        })
      const both = await Promise.all(
        [1, 2].map((writer) => migrate(over, configOf(schema), {}, watch(writer))),
      )
      // The second run finds nothing to do when its turn comes; at most it tries what it had read before.
      expect(writers.filter((writer, i) => i > 0 && writer !== writers[i - 1]).length).toBeLessThan(2)
      const done = both.flatMap(({ steps }) => steps.map((step) => step.done))
      expect(done.reduce((sum, one) => sum + one, 0)).toBe(60)
      const versions = await listAll(over)
      expect(new Set(versions.map(({ _version }) => _version))).toEqual(new Set([2]))
    },
  ],
  [
    'a unique index that is new is made by the start after the run',
    async (over) => {
      const before = { a: { ...text } }
      const schema = { a: { ...text, unique: true, lowercase: true } }
      await store(over, configOf(before), [{ a: 'Ann' }, { a: 'BOB' }])
      expect(summary(await run(over, configOf(schema)))).toEqual([['form', 'notes.a', 2, 0]])
      const service = open(over, configOf(schema))
      expect((await service.send('POST /notes', { body: { a: 'ANN' } })).status).toBe(409)
    },
  ],
  [
    'a unique index that is new rejects no document of the run',
    async (over) => {
      const schema = { a: { ...text, unique: true, lowercase: true } }
      await store(over, configOf({ a: { ...text } }), [{ a: 'Ann' }, { a: 'ANN' }])
      expect(summary(await run(over, configOf(schema)))).toEqual([['form', 'notes.a', 2, 0]])
      await expect(open(over, configOf(schema)).handler.ready()).rejects.toThrow()
    },
  ],
  ...CHANGES.map(
    ([what, { schema = { a: text, n: { type: 'integer' } }, settings = {}, before, after }, change]): Law => [
      `a migration may ${what}`,
      async (over) => {
        await store(over, configOf(schema, settings), [before])
        const config = migrating(configOf(schema, settings), 'm1')
        const steps = await run(over, config, codeOf({ m1: change }))
        expect(summary(steps)).toEqual([['migration', 'm1', isEqual(before, after) ? 0 : 1, 0]])
        expect(await readAll(over)).toEqual(after)
        await open(over, config).handler.ready()
        expect(await run(over, config)).toEqual([])
      },
    ],
  ),
  ...FAILURES.map(
    ([what, change, reason]): Law => [
      `a document fails whose migration ${what}`,
      async (over) => {
        const schema = {
          a: { ...text, maxLength: 3 },
          u: { ...text, unique: true },
          r: { type: 'reference', collection: 'notes' },
          h: { ...text, stored: 'old' },
          l: { ...text, required: true },
          s: { type: 'hash' },
        } as const
        const documents = [
          { l: 'x', a: 'y', u: '1' },
          { l: 'x', u: '2', r: idOf(1) },
        ]
        await store(over, configOf(schema), documents)
        const config = migrating(configOf(schema), 'm1')
        const code = codeOf({
          m1: (document) => (document._id === idOf(1) ? change(document) : { set: { a: 'ok' } }),
        })
        const reasons: string[] = []
        const { steps } = await migrate(over, config, {
          migrations: code,
          onFailed: ({ reason: given }) => reasons.push(given),
        })
        expect(summary(steps)).toEqual([['migration', 'm1', 1, 1, idOf(1)]])
        expect(reasons).toEqual([expect.stringContaining(reason)])
        expect(await readAll(over)).toEqual([documents[0], { ...documents[1], a: 'ok' }])
        await expect(open(over, config).handler.ready()).rejects.toMatchObject({
          name: 'ConfigError',
          faults: [
            {
              path: '/migrations/0',
              message: expect.stringMatching(`${idOf(1)}.*migrate --migrations FOLDER$`),
            },
          ],
        })
        // The next run tries what is left, and nothing else.
        const tried: string[] = []
        const again = codeOf({
          m1({ _id }) {
            tried.push(_id)
            return { set: { a: 'now' } }
          },
        })
        expect(summary((await migrate(over, config, { migrations: again })).steps)).toEqual([
          ['migration', 'm1', 1, 0],
        ])
        expect(tried).toEqual([idOf(1)])
        await open(over, config).handler.ready()
      },
    ],
  ),
  [
    'a migration sees stored names, system fields and undeclared values, frozen, and no hashes',
    async (over) => {
      const schema = { b: { ...text, stored: 'a' }, s: { type: 'hash' } } as const
      await store(over, configOf(schema), [{ a: 'x', gone: { deep: [1] }, _hashes: { s: 'h' } }])
      const seen: unknown[] = []
      const code = codeOf({
        m1(document) {
          seen.push(document)
          expect(Object.isFrozen(document) && Object.isFrozen(document.gone)).toBe(true)
          return undefined
        },
      })
      expect(
        summary((await migrate(over, migrating(configOf(schema), 'm1'), { migrations: code })).steps),
      ).toEqual([['migration', 'm1', 0, 0]])
      const times = { createdAt: LONG_AGO, updatedAt: LONG_AGO, createdBy: null }
      expect(seen).toEqual([{ _id: idOf(1), ...times, a: 'x', gone: { deep: [1] } }])
    },
  ],
  [
    'migrations run in their order, each after the one before it is finished',
    async (over) => {
      await store(over, configOf({ a: text }), [{ a: '1' }, { a: '2' }])
      const config = migrating(configOf({ a: text }), 'm1', 'm2')
      const calls: string[] = []
      let isFailing = true
      const code = codeOf({
        m1({ a }) {
          calls.push(`m1 ${a}`)
          if (isFailing && a === '2') throw new Error('not yet')
          return { set: { a: `${a}!` } }
        },
        m2({ a }) {
          calls.push(`m2 ${a}`)
          return { set: { a: `${a}?` } }
        },
      })
      expect(summary((await migrate(over, config, { migrations: code })).steps)).toEqual([
        ['migration', 'm1', 1, 1, idOf(2)],
      ])
      isFailing = false
      expect(summary((await migrate(over, config, { migrations: code })).steps)).toEqual([
        ['migration', 'm1', 1, 0],
        ['migration', 'm2', 2, 0],
      ])
      expect(calls).toEqual(['m1 1', 'm1 2', 'm1 2', 'm2 1!', 'm2 2!'])
      // A name before finished ones runs all the same, and code of finished ones is not needed.
      const more = migrating(configOf({ a: text }), 'm0', 'm1', 'm2')
      const first = codeOf({ m0: () => ({ set: { a: 'z' } }) })
      expect(summary(await run(over, more, first))).toEqual([['migration', 'm0', 2, 0]])
    },
  ],
  [
    'a configuration without the migration that was finished last does not start',
    async (over) => {
      await store(over, configOf({ a: text }), [{}])
      await migrate(over, migrating(configOf({ a: text }), 'm1'), { migrations: codeOf({ m1() {} }) })
      await expect(open(over, configOf({ a: text })).handler.ready()).rejects.toMatchObject({
        name: 'ConfigError',
        faults: [{ path: '/migrations', message: expect.stringContaining('"m1"') }],
      })
      await migrate(over, migrating(configOf({ a: text }), 'm1', 'm2'), { migrations: codeOf({ m2() {} }) })
      // An earlier name may leave the list.
      await open(over, migrating(configOf({ a: text }), 'm2')).handler.ready()
    },
  ],
  [
    'a storage without documents takes the configuration with all its migrations',
    async (over) => {
      const config = migrating(configOf({ a: text }), 'm1')
      await open(over, config).handler.ready()
      expect(await run(over, config)).toEqual([])
    },
  ],
  [
    'a migration without code, and one of an unknown collection, are errors that change nothing',
    async (over) => {
      await store(over, configOf({ a: text }), [{ a: ' x' }])
      const config = migrating(configOf({ a: { ...text, trim: true } }), 'm1')
      for (const [migrations, message] of [
        [{}, 'its code is missing'],
        [{ m1: { collections: { note: () => undefined } } }, 'did you mean "notes"?'],
      ] as const)
        await expect(migrate(over, config, { migrations })).rejects.toMatchObject({
          name: 'ConfigError',
          faults: [{ path: '/migrations/0', message: expect.stringContaining(message) }],
        })
      expect(await readAll(over)).toEqual([{ a: ' x' }])
    },
  ],
  [
    'a migration that is stopped goes on where it was, and changes each document once',
    async (over) => {
      await store(
        over,
        configOf({ n: { type: 'integer' } }),
        Array.from({ length: 70 }, () => ({ n: 0 })),
      )
      const config = migrating(configOf({ n: { type: 'integer' } }), 'm1')
      const code = codeOf({ m1: ({ n }) => ({ set: { n: Number(n) + 1 } }) })
      // Each run ends after its first write of at most 20 documents, but the last one.
      for (let runs = 0; ; runs += 1) {
        expect(runs).toBeLessThan(10)
        const ending = new AbortController()
        const options = {
          migrations: code,
          signal: ending.signal,
          onProgress: () => ending.abort(new Error('enough')),
        }
        const ended = await migrate(over, config, options).then(
          () => true,
          () => false,
        )
        if (ended) break
      }
      expect((await readAll(over)).every(({ n }) => n === 1)).toBe(true)
      await open(over, config).handler.ready()
    },
  ],
  [
    'of two runs of a migration at once, each document is changed by one',
    async (over) => {
      await store(
        over,
        configOf({ n: { type: 'integer' } }),
        Array.from({ length: 60 }, () => ({ n: 0 })),
      )
      const config = migrating(configOf({ n: { type: 'integer' } }), 'm1')
      const code = codeOf({ m1: ({ n }) => ({ set: { n: Number(n) + 1 } }) })
      await Promise.all([1, 2].map(() => migrate(over, config, { migrations: code })))
      expect((await readAll(over)).every(({ n }) => n === 1)).toBe(true)
    },
  ],
  [
    'documents that a migration makes in its own collection are not migrated',
    async (over) => {
      // The walk reads 500 documents at once, so what it makes could come in the second half.
      const others = Array.from({ length: 500 }, () => ({ a: 'z' }))
      const highest = { a: 'y', _id: 'f0000000-0000-4000-8000-000000000000' }
      await store(over, configOf({ a: text }), [{ a: 'x' }, ...others, highest])
      const config = migrating(configOf({ a: text }), 'm1')
      const code = codeOf({
        m1: ({ a }) => (a === 'x' ? { also: [{ in: 'notes', document: { a: 'x' } }] } : undefined),
      })
      expect(summary(await run(over, config, code))).toEqual([['migration', 'm1', 1, 0]])
      expect((await listAll(over)).filter(({ a }) => a === 'x')).toHaveLength(2)
    },
  ],
  [
    'a migration is evaluated again if others change the document meanwhile',
    async (over) => {
      const schema = { n: { type: 'integer' } } as const
      await store(over, configOf(schema), [{ n: 1 }])
      let isDone = false
      const interrupt = (inner: StorageAdapter): StorageAdapter => ({
        ...inner,
        async write(steps, options) {
          if (!isDone && steps.some((step) => step.in === 'notes')) {
            isDone = true
            const [first] = await inner.list('notes', { filter: everything, sort: [], skip: 0, limit: 1 })
            if (!first) return expect.fail()
            const replace = { ...first, n: 10, _version: first._version + 1 }
            expect(
              await inner.write([{ in: 'notes', replace, version: first._version }], options),
            ).toMatchObject({
              ok: true,
            })
          }
          return inner.write(steps, options)
        },
      })
      const code = codeOf({ m1: ({ n }) => ({ set: { n: Number(n) + 1 } }) })
      const { steps } = await migrate(
        over,
        migrating(configOf(schema), 'm1'),
        { migrations: code },
        interrupt,
      )
      expect(summary(steps)).toEqual([['migration', 'm1', 1, 0]])
      expect(await readAll(over)).toEqual([{ n: 11 }])
    },
  ],
  [
    'a start with the option migrate runs what is needed, and another start does not',
    async (over) => {
      await store(over, configOf({ a: text }), [{}, { a: ' y' }])
      const schema = { a: { ...text, required: true, fill: 'x', trim: true } }
      const config = migrating(configOf(schema), 'm1')
      const migrations = codeOf({ m1: ({ a }) => ({ set: { a: `${a}!` } }) })
      await open(over, config, { migrate: true, migrations }).handler.ready()
      expect(await readAll(over)).toEqual([{ a: 'x!' }, { a: 'y!' }])
      await open(over, config).handler.ready()
    },
  ],
]
