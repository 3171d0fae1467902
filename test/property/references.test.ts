import { afterAll, beforeAll, expect, test } from 'vitest'
import { createPostgresAdapter } from '../../src/adapters/postgres/postgres-adapter.js'
import { createSqliteAdapter } from '../../src/adapters/sqlite/sqlite-adapter.js'
import { everything } from '../../src/core/filter/filter.js'
import { createMemoryAdapter } from '../../src/index.js'
import fc from '../support/fast-check.js'
import { newSchema, usePostgres } from '../support/postgres.js'
import { createTestService, type TestService } from '../support/service.js'
import { idOf } from '../support/stored.js'
import { playUntilSeen, rounds, seedOf } from '../support/tier.js'

// CONTRACT.md §2, "References"

type Json = { readonly [name: string]: unknown }

const NAMES = ['a', 'b', 'c'] as const
type Name = (typeof NAMES)[number]

const to = (collection: Name, onDelete: 'restrict' | 'cascade'): Json => ({
  type: 'reference',
  collection,
  onDelete,
})
const permissions = { '*': true }

/** Circles of every kind: of one collection and of three, of those that hold on and of those that go along. */
const config = {
  collections: {
    a: { schema: { one: to('b', 'restrict'), up: to('a', 'cascade') }, permissions },
    b: {
      schema: {
        many: { type: 'array', items: to('a', 'restrict') },
        o: { type: 'object', properties: { c: to('c', 'cascade') } },
      },
      permissions,
    },
    c: {
      schema: {
        list: { type: 'array', items: { type: 'object', properties: { a: to('a', 'cascade') } } },
        one: to('b', 'restrict'),
      },
      permissions,
    },
  },
}

const IDS = Array.from({ length: 5 }, (_, i) => idOf(i + 1))
const id = fc.constantFrom(...IDS)

/** What a body may say: any ids, whether or not there are such. */
const bodies: { readonly [name in Name]: fc.Arbitrary<Json> } = {
  a: fc.record({ one: fc.option(id, { freq: 9 }), up: fc.option(id, { freq: 9 }) }, { requiredKeys: [] }),
  b: fc.record(
    {
      many: fc.option(fc.array(id, { maxLength: 3 })),
      o: fc.option(fc.record({ c: fc.option(id, { freq: 9 }) })),
    },
    { requiredKeys: [] },
  ),
  c: fc.record(
    { list: fc.option(fc.array(fc.record({ a: id }), { maxLength: 2 })), one: fc.option(id, { freq: 9 }) },
    { requiredKeys: [] },
  ),
}

type Step =
  | { readonly kind: 'create' | 'update'; readonly name: Name; readonly id: string; readonly body: Json }
  | { readonly kind: 'delete'; readonly name: Name; readonly id: string }

const name = fc.constantFrom(...NAMES)

const writing = (kind: 'create' | 'update') =>
  name.chain(
    (name): fc.Arbitrary<Step> =>
      fc.record({ kind: fc.constant(kind), name: fc.constant(name), id, body: bodies[name] }),
  )

const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 4, arbitrary: writing('create') },
  { weight: 3, arbitrary: writing('update') },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('delete' as const), name, id }) },
)

/** Some documents that refer to nothing, so that there is something to refer to. */
const beginnings = fc.subarray(
  NAMES.flatMap((name) => IDS.map((id): Step => ({ kind: 'create', name, id, body: {} }))),
  { minLength: 9 },
)

interface ModelReference {
  readonly field: string
  readonly to: Name
  readonly id: string
  readonly goesAlong: boolean
}

/** Every reference in a document, said once more by hand. */
function referencesOf(name: Name, document: Json): readonly ModelReference[] {
  const of = (field: string, to: Name, goesAlong: boolean, ids: readonly unknown[]): ModelReference[] =>
    ids.flatMap((id) => (typeof id === 'string' ? [{ field, to, id, goesAlong }] : []))
  const { one, up, many, o, list } = document as {
    readonly one?: unknown
    readonly up?: unknown
    readonly many?: readonly unknown[]
    readonly o?: Json
    readonly list?: readonly Json[]
  }
  switch (name) {
    case 'a':
      return [...of('one', 'b', false, [one]), ...of('up', 'a', true, [up])]
    case 'b':
      return [...of('many', 'a', false, many ?? []), ...of('o.c', 'c', true, [o?.c])]
    default:
      return [
        ...of(
          'list',
          'a',
          true,
          (list ?? []).map(({ a }) => a),
        ),
        ...of('one', 'b', false, [one]),
      ]
  }
}

/** The documents as plain maps. */
type Model = { readonly [name in Name]: Map<string, Json> }

const merge = (before: Json, patch: Json): Json => {
  const after = new Map(Object.entries(before))
  for (const [name, value] of Object.entries(patch)) {
    const isObject = typeof value === 'object' && value !== null && !Array.isArray(value)
    if (value === null) after.delete(name)
    else after.set(name, isObject ? merge((after.get(name) ?? {}) as Json, value as Json) : value)
  }
  return Object.fromEntries(after)
}

const exists = (model: Model, { to, id }: ModelReference): boolean => model[to].has(id)

/** What a document takes with it: pairs of a collection and an id. */
function doomedBy(model: Model, name: Name, id: string): ReadonlySet<string> {
  const doomed = new Set([`${name} ${id}`])
  for (let size = 0; size < doomed.size; ) {
    size = doomed.size
    for (const from of NAMES) {
      for (const [other, document] of model[from]) {
        const goes = referencesOf(from, document).some(
          (reference) => reference.goesAlong && doomed.has(`${reference.to} ${reference.id}`),
        )
        if (goes) doomed.add(`${from} ${other}`)
      }
    }
  }
  return doomed
}

/** Does a step and gives the status that it must have. */
function perform(model: Model, step: Step): number {
  const documents = model[step.name]
  const before = documents.get(step.id)
  if (step.kind === 'create') {
    if (before) return 412
    const document = step.body
    // A null in a new document is no reference.
    if (hasNull(document) || !referencesOf(step.name, document).every((one) => exists(model, one))) return 400
    documents.set(step.id, document)
    return 201
  }
  if (!before) return 404
  if (step.kind === 'update') {
    const after = merge(before, step.body)
    const old = referencesOf(step.name, before).map(({ field, id }) => `${field} ${id}`)
    const fresh = referencesOf(step.name, after).filter(({ field, id }) => !old.includes(`${field} ${id}`))
    if (!fresh.every((one) => exists(model, one))) return 400
    documents.set(step.id, after)
    return 200
  }
  const doomed = doomedBy(model, step.name, step.id)
  const isHeld = NAMES.some((from) =>
    [...model[from]].some(
      ([other, document]) =>
        !doomed.has(`${from} ${other}`) &&
        referencesOf(from, document).some(({ to, id }) => doomed.has(`${to} ${id}`)),
    ),
  )
  if (isHeld) return 409
  for (const one of doomed) {
    const [from, other = ''] = one.split(' ')
    model[from as Name].delete(other)
  }
  return 204
}

const hasNull = (value: unknown): boolean =>
  value === null || (typeof value === 'object' && Object.values(value as Json).some(hasNull))

async function send({ send }: TestService, step: Step): Promise<number> {
  const path = `/${step.name}/${step.id}`
  if (step.kind === 'delete') return (await send(`DELETE ${path}`)).status
  if (step.kind === 'update') return (await send(`PATCH ${path}`, { body: step.body })).status
  return (await send(`PUT ${path}`, { body: step.body, headers: { 'if-none-match': '*' } })).status
}

async function contentsOf({ adapter }: TestService): Promise<unknown> {
  const query = { filter: everything, sort: [], skip: 0, limit: null }
  const lists = await Promise.all(
    NAMES.map(async (name) => {
      const documents = await adapter.list(name, query)
      const fields = documents.map(({ _id, _version, createdAt, updatedAt, createdBy, ...rest }) => [
        _id,
        rest,
      ])
      return [name, Object.fromEntries(fields)]
    }),
  )
  return Object.fromEntries(lists)
}

const postgres = usePostgres()
let services: readonly TestService[] = []

beforeAll(async () => {
  const adapters = [
    createMemoryAdapter(),
    createSqliteAdapter({ file: ':memory:' }),
    createPostgresAdapter({ connectionString: postgres.url, schema: newSchema() }),
  ]
  services = adapters.map((adapter) => createTestService(config, { adapter, authenticate: () => null }))
  await Promise.all(services.map(({ handler }) => handler.ready()))
})

afterAll(async () => {
  await Promise.all(services.map(({ handler }) => handler.close()))
})

const RUNS = rounds(40, 300)

test('no sequence of writes leaves a reference to nothing, and all storages answer as a plain model does', async () => {
  const seen = new Map<string, number>()
  const property = fc.asyncProperty(
    beginnings,
    fc.array(step, { minLength: 15, maxLength: 40 }),
    async (first, more) => {
      const emptied = NAMES.map((name) => ({ in: name, remove: everything }))
      for (const { adapter } of services) expect(await adapter.write(emptied, {})).toMatchObject({ ok: true })
      const model: Model = { a: new Map(), b: new Map(), c: new Map() }
      for (const step of [...first, ...more]) {
        const sizes = () => NAMES.reduce((sum, name) => sum + model[name].size, 0)
        const before = sizes()
        const expected = perform(model, step)
        const what = `${step.kind} ${expected}${before - sizes() > 1 ? ' cascade' : ''}`
        seen.set(what, (seen.get(what) ?? 0) + 1)
        const answered = await Promise.all(services.map((service) => send(service, step)))
        expect(answered, JSON.stringify(step)).toEqual([expected, expected, expected])
      }
      for (const from of NAMES) {
        for (const [, document] of model[from]) {
          for (const reference of referencesOf(from, document)) expect(exists(model, reference)).toBe(true)
        }
      }
      const expected = Object.fromEntries(NAMES.map((name) => [name, Object.fromEntries(model[name])]))
      for (const service of services) expect(await contentsOf(service)).toEqual(expected)
    },
  )
  const wanted = [
    'create 201',
    'create 400',
    'create 412',
    'update 200',
    'update 400',
    'delete 204',
    'delete 204 cascade',
    'delete 409',
  ]
  await playUntilSeen(
    (part) => fc.assert(property, { numRuns: RUNS, seed: seedOf(12) + part }),
    () => wanted.filter((what) => (seen.get(what) ?? 0) <= 5),
  )
})
