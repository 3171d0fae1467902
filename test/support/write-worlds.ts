import type { CollectionHooks } from '../../src/index.js'
import fc from './fast-check.js'
import { type OracleCaller, type OracleCollection, viewsOf } from './oracle.js'

type Json = { readonly [name: string]: unknown }

/** What is stored, by collection. */
export interface Store {
  readonly things: readonly Json[]
  readonly people: readonly Json[]
  readonly [name: string]: readonly Json[]
}

export interface WriteRequest {
  readonly line: string
  readonly body?: Json
  readonly headers?: { readonly [name: string]: string }
  /** Of a batch: the requests that it holds. */
  readonly operations?: readonly WriteRequest[]
}

/** Two stores that show somebody the same under one configuration, and what that somebody writes. */
export interface WriteWorld {
  readonly config: {
    readonly collections: {
      readonly things: OracleCollection
      readonly people: OracleCollection
      readonly [name: string]: OracleCollection
    }
    readonly limits: Json
    readonly auth?: Json
  }
  readonly caller: OracleCaller
  /** What a store makes of the caller; absent where it makes no difference. */
  readonly callerIn?: (store: Store) => OracleCaller
  readonly hooks?: { readonly [collection: string]: CollectionHooks }
  readonly pair: readonly [Store, Store]
  readonly requests: readonly WriteRequest[]
}

export const TEXTS = ['a', 'b', 'long', 'x'.repeat(120)]
const WHOLES = [0, 1, 9]
export const THINGS = [1, 2, 3].map((n) => idOf(n))
export const PEOPLE = [11, 12, 13].map((n) => idOf(n))

function idOf(n: number): string {
  return `0190163d-8694-7000-8000-${n.toString(16).padStart(12, '0')}`
}

/** Absent but for one time in `times`. */
export const rarely = <T>(arbitrary: fc.Arbitrary<T>, times = 4): fc.Arbitrary<T | undefined> =>
  fc.oneof({ weight: times - 1, arbitrary: fc.constant(undefined) }, { weight: 1, arbitrary })

/** `undefined` is absence. */
export const tidy = (value: Json): Json =>
  Object.fromEntries(Object.entries(value).filter(([, one]) => one !== undefined))

const attributed = (definition: fc.Arbitrary<Json>): fc.Arbitrary<Json> =>
  fc
    .tuple(
      definition,
      fc.constantFrom<Json>({}, {}, {}, {}, { required: true }, { nullable: true }),
      rarely(fc.constant(true)),
    )
    .map(([one, presence, immutable]) => tidy({ ...one, ...presence, immutable }))

const shortText = rarely(fc.constant(2), 2).map((maxLength) => tidy({ type: 'string', maxLength }))
const smallWhole = rarely(fc.constant(5), 2).map((maximum) => tidy({ type: 'integer', maximum }))

const objectOf = (properties: { [name: string]: fc.Arbitrary<Json> }): fc.Arbitrary<Json> =>
  fc.record(properties).map((some) => ({ type: 'object', properties: some }))

const mutable = (definition: fc.Arbitrary<Json>): fc.Arbitrary<Json> =>
  attributed(definition).map(({ immutable: _, ...rest }) => rest)

const inner = objectOf({ q: attributed(shortText), z: attributed(smallWhole) })
/** What things hold; `t` is in all of them, for rules to judge. */
export const thingSchemas: fc.Arbitrary<Json> = fc
  .record(
    {
      s: attributed(shortText),
      n: attributed(smallWhole),
      d: attributed(shortText).map((one) => ({ ...one, default: 'a' })),
      u: fc.constant<Json>({ type: 'string', unique: true }),
      o: attributed(
        objectOf({ a: attributed(shortText), b: shortText, k: attributed(smallWhole), p: inner }),
      ),
      m: attributed(
        objectOf({ a: mutable(shortText), b: shortText, p: mutable(objectOf({ q: mutable(shortText) })) }),
      ),
      list: attributed(
        fc
          .tuple(objectOf({ a: mutable(shortText) }), rarely(fc.constant(2), 2))
          .map(([items, minItems]) => tidy({ type: 'array', items, minItems })),
      ),
      j: attributed(fc.constant<Json>({ type: 'json' })),
      pin: fc.constantFrom<Json>({ type: 'hash', minLength: 3 }, { type: 'hash', required: true }),
      r: attributed(
        fc
          .constantFrom('restrict', 'cascade')
          .map((onDelete) => ({ type: 'reference', collection: 'people', onDelete })),
      ),
    },
    { requiredKeys: [] },
  )
  .map((some): Json => ({ ...some, t: { type: 'string' } }))

/** Where a value occurs: with nulls in an update, with what is no longer declared where it is stored. */
type Use = 'stored' | 'create' | 'update'

/** A value as somebody may send it, or may have stored it when the schema was another. */
function givenOf(definition: Json, use: Use): fc.Arbitrary<unknown> {
  const odd = fc.constantFrom<unknown>(
    5,
    'a',
    [],
    { old: 1 },
    ...(use === 'update' ? [null, null, null] : []),
  )
  return fc.oneof({ weight: 7, arbitrary: usualOf(definition, use) }, { weight: 1, arbitrary: odd })
}

function usualOf(definition: Json, use: Use): fc.Arbitrary<unknown> {
  switch (definition.type) {
    case 'string':
      return fc.constantFrom(...((definition.enum as string[] | undefined) ?? TEXTS))
    case 'integer':
      return fc.constantFrom(...WHOLES)
    case 'object':
      return fc.record(
        {
          ...Object.fromEntries(
            Object.entries(definition.properties as Json).map(([name, one]) => [
              name,
              givenOf(one as Json, use),
            ]),
          ),
          ...(use === 'stored' ? { old: fc.constantFrom(...WHOLES) } : {}),
        },
        { requiredKeys: [] },
      )
    case 'array':
      return fc.array(givenOf(definition.items as Json, use), { maxLength: 2 })
    case 'reference':
      return fc.constantFrom(...(definition.collection === 'things' ? THINGS : PEOPLE))
    case 'hash':
      return fc.constantFrom('a', 'long')
    default:
      return fc.constantFrom<unknown>(1, 'a', { x: 1 }, { x: { y: 'a' } }, [1], 'x'.repeat(120))
  }
}

const undeclared = fc.record({ gone: fc.constantFrom<unknown>(1, 'a', { x: 1 }) }, { requiredKeys: [] })

/** All that is stored of a document but its `_id`; nobody has the same `u` as another. */
const storedOf = (fields: Json, slot: number): fc.Arbitrary<Json> =>
  fc
    .tuple(
      fc.record(
        Object.fromEntries(
          Object.entries(fields).map(([name, definition]) => [name, givenOf(definition as Json, 'stored')]),
        ),
        { requiredKeys: [] },
      ),
      undeclared,
      fc.constantFrom('ann', 'bob'),
      fc.constantFrom(...WHOLES),
    )
    .map(([known, unknown, createdBy, later]) => ({
      ...Object.fromEntries(Object.entries(known).filter(([name]) => name !== 'pin' || later === 1)),
      ...(typeof known.u === 'string' ? { u: `${known.u}${slot}` } : {}),
      ...unknown,
      createdBy,
      createdAt: '2025-01-01T00:00:00.000Z',
      updatedAt: '2025-01-01T00:00:00.000Z',
      _later: later,
    }))

const simpleWhere = fc.constantFrom<Json>(
  { t: 'a' },
  { t: { $ne: 'a' } },
  { createdBy: '$user._id' },
  { $or: [{ t: 'b' }, { t: { $exists: false } }] },
)

const permissionsOf = (names: readonly string[]): fc.Arbitrary<Json> => {
  const some = fc.subarray([...names])
  const read = fc.tuple(some, rarely(simpleWhere)).map(([omit, where]) => tidy({ omit, where }))
  const sets: readonly Json[] = [
    { s: 'a' },
    { n: 1 },
    { o: { a: 'a', k: 1, p: { q: 'a', z: 1 } } },
    { m: { a: 'a', p: { q: 'a' } } },
    { u: 'a1' },
  ]
  const set = fc.constantFrom(...sets)
  const fits = (one: Json): boolean => Object.keys(one).every((name) => names.includes(name))
  const rule = fc
    .tuple(
      rarely(fc.subarray([...names], { minLength: 1 }), 4),
      // A filter that holds for none of its values would look for ever.
      sets.some(fits) ? rarely(set.filter(fits), 6) : fc.constant(undefined),
      rarely(simpleWhere, 8),
      rarely(simpleWhere, 8),
    )
    .map(([pick, values, where, check]) => tidy({ pick, set: values, where, check }))
  const several = (one: fc.Arbitrary<Json>): fc.Arbitrary<unknown> =>
    fc.oneof(
      { weight: 2, arbitrary: one },
      { weight: 1, arbitrary: fc.array(one, { minLength: 1, maxLength: 3 }) },
    )
  return fc
    .record({
      user: fc.record({
        read: several(read),
        update: fc.oneof(fc.constant(true), several(rule)),
        create: fc.oneof(fc.constant(true), several(rule.map(({ where: _, ...one }) => one))),
      }),
      editor: rarely(fc.record({ update: several(rule) }), 4),
      clerk: rarely(fc.record({ update: several(rule) }), 4),
      owner: rarely(
        fc.record({ read: fc.oneof(fc.constant(true), several(read)), update: several(rule) }),
        4,
      ),
      remover: fc.constant({ delete: true }),
    })
    .map(tidy)
}

/** Whom things refer to, and which of them the stores of a pair hold; who is no `a` cannot be seen. */
export interface People {
  readonly collection: OracleCollection
  readonly documents: fc.Arbitrary<readonly [readonly Json[], readonly Json[]]>
}

export const PLAIN_PEOPLE: People = {
  collection: {
    schema: { name: { type: 'string' } },
    permissions: { user: { read: { where: { name: 'a' } }, delete: true } },
  },
  documents: fc
    .tuple(...PEOPLE.map(() => fc.tuple(fc.constantFrom('a', 'b'), fc.boolean())))
    .map((persons) => {
      const peopleOf = (isOther: boolean): readonly Json[] =>
        persons.flatMap(([name, goes], i) =>
          // Who cannot be seen comes and goes.
          name === 'b' && goes === isOther ? [] : [{ _id: PEOPLE[i], name, createdBy: null }],
        )
      return [peopleOf(false), peopleOf(true)]
    }),
}

/** A variant of a document, or `undefined`, that its reader cannot tell from it. */
function disguise(
  collection: OracleCollection,
  caller: OracleCaller,
  document: Json,
  others: readonly Json[],
): Json | undefined {
  const viewOf = (one: Json): string => JSON.stringify(viewsOf(collection, [one], caller))
  const seen = viewOf(document)
  const [first] = others
  if (seen === '[]' && first && first._later === 0) return undefined
  let present = document
  const attempt = (variant: Json): void => {
    if (viewOf(variant) === seen) present = variant
  }
  for (const other of others) {
    for (const name of new Set([...Object.keys(document), ...Object.keys(other)])) {
      if (name === '_id') continue
      const { [name]: _, ...rest } = present
      attempt(Object.hasOwn(other, name) ? { ...rest, [name]: other[name] } : rest)
      // Inside what is seen only what is no longer declared may differ.
      if (Object.hasOwn(present, name))
        attempt({ ...present, [name]: withLeftovers(present[name], other._later) })
    }
  }
  return present
}

function withLeftovers(value: unknown, old: unknown): unknown {
  if (Array.isArray(value)) return value.map((element) => withLeftovers(element, old))
  if (typeof value !== 'object' || value === null) return value
  const { old: _, ...rest } = value as Json
  const inside = Object.entries(rest).map(([name, one]) => [name, withLeftovers(one, old)])
  return { ...Object.fromEntries(inside), ...(old === 0 ? {} : { old }) }
}

const storesOf = (
  config: WriteWorld['config'],
  caller: OracleCaller,
  people: People,
): fc.Arbitrary<readonly [Store, Store]> => {
  const { things } = config.collections
  const thing = (i: number) => storedOf(things.schema, i)
  return fc
    .tuple(
      fc.tuple(
        ...THINGS.map((_, i) => fc.tuple(thing(i), fc.array(thing(i), { minLength: 1, maxLength: 3 }))),
      ),
      people.documents,
    )
    .map(([some, [here, there]]): readonly [Store, Store] => {
      const documents = some.map(([one, others], i) => ({ one: { _id: THINGS[i], ...one } as Json, others }))
      return [
        { things: documents.map(({ one }) => one), people: here },
        {
          things: documents.flatMap(({ one, others }): readonly Json[] => {
            const other = disguise(things, caller, one, others)
            return other ? [{ ...other, _id: one._id }] : []
          }),
          people: there,
        },
      ]
    })
}

export const bodyOf = (fields: Json, use: Use): fc.Arbitrary<Json> => {
  const names = Object.keys(fields)
  return fc
    .tuple(fc.subarray(names, { minLength: 1, maxLength: Math.min(3, names.length) }), rarely(undeclared, 8))
    .chain(([some, more]) =>
      fc
        .record(Object.fromEntries(some.map((name) => [name, givenOf(fields[name] as Json, use)])))
        .map((body) => ({ ...body, ...(typeof body.u === 'string' ? { u: `${body.u}1` } : {}), ...more })),
    )
}

/** What is stored, or a part of it, as one who may read everything would send it back. */
const echoOf = ({ config, pair }: Omit<WriteWorld, 'requests'>): fc.Arbitrary<WriteRequest> => {
  const { things } = config.collections
  const everything = { ...things, permissions: { '*': true } }
  const views = pair.flatMap((store) => viewsOf(everything, store.things, null))
  return fc.constantFrom(...views).chain(({ _id, createdAt, updatedAt, createdBy, ...fields }) =>
    fc.tuple(fc.constantFrom('PATCH', 'PUT'), fc.subarray(Object.entries(fields))).map(([method, some]) => ({
      line: `${method} /things/${_id}`,
      body: Object.fromEntries(some),
    })),
  )
}

/** A request for one document. */
export const operationOf = (world: Omit<WriteWorld, 'requests'>): fc.Arbitrary<WriteRequest> => {
  const fields = world.config.collections.things.schema
  const id = fc.constantFrom(...THINGS)
  const put = fc.tuple(id, bodyOf(fields, 'update'))
  return fc.oneof(
    { weight: 8, arbitrary: put.map(([_id, body]) => ({ line: `PATCH /things/${_id}`, body })) },
    { weight: 5, arbitrary: put.map(([_id, body]) => ({ line: `PUT /things/${_id}`, body })) },
    { weight: 4, arbitrary: echoOf(world) },
    { weight: 2, arbitrary: bodyOf(fields, 'create').map((body) => ({ line: 'POST /things', body })) },
    {
      weight: 1,
      arbitrary: put.map(([_id, body]) => ({
        line: `PUT /things/${_id}`,
        body,
        headers: { 'if-none-match': '*' },
      })),
    },
    { weight: 1, arbitrary: id.map((_id) => ({ line: `DELETE /things/${_id}` })) },
    { weight: 1, arbitrary: fc.constantFrom(...PEOPLE).map((_id) => ({ line: `DELETE /people/${_id}` })) },
  )
}

/** A request that reads a document, perhaps on a condition. */
export const readOf = (): fc.Arbitrary<WriteRequest> =>
  fc
    .tuple(
      fc.constantFrom(...THINGS.map((id) => `/things/${id}`), ...PEOPLE.map((id) => `/people/${id}`)),
      fc.constantFrom<WriteRequest['headers']>(
        undefined,
        undefined,
        { 'if-match': '*' },
        { 'if-match': '"a"' },
        { 'if-match': 'W/"a-gzip"' },
      ),
    )
    .map(([path, headers]) => ({ line: `GET ${path}`, ...(headers ? { headers } : {}) }))

/** Requests as the operations of one batch. */
export const batchOf = (operations: readonly WriteRequest[]): WriteRequest => ({
  line: 'POST /_batch',
  body: {
    operations: operations.map(({ line, body, headers }) => {
      const [method, path] = line.split(' ')
      const [ifMatch, ifNoneMatch] = [headers?.['if-match'], headers?.['if-none-match']]
      return tidy({ method, path, body, ifMatch, ifNoneMatch })
    }),
  },
  operations,
})

/** What may be asked of a world. */
type OperationOf = (world: Omit<WriteWorld, 'requests'>) => fc.Arbitrary<WriteRequest>

const requestOf = (
  world: Omit<WriteWorld, 'requests'>,
  operationIn: OperationOf,
): fc.Arbitrary<WriteRequest> => {
  const operation = operationIn(world)
  return fc.oneof(
    { weight: 17, arbitrary: operation },
    {
      weight: 1,
      arbitrary: fc
        .array(bodyOf(world.config.collections.things.schema, 'create'), { minLength: 1, maxLength: 2 })
        .map((documents) => ({ line: 'POST /things/bulk', body: { documents } })),
    },
    {
      weight: 3,
      arbitrary: fc
        .array(fc.oneof({ weight: 4, arbitrary: operation }, { weight: 1, arbitrary: readOf() }), {
          minLength: 1,
          maxLength: 4,
        })
        .map(batchOf),
    },
  )
}

/** How many requests are sent to each pair. */
export const REQUESTS = 30

/** Random requests of a world. */
export const withRequests = <T extends Omit<WriteWorld, 'requests'>>(
  world: T,
  operationIn: OperationOf = operationOf,
): fc.Arbitrary<T & Pick<WriteWorld, 'requests'>> =>
  fc
    .array(requestOf(world, operationIn), { minLength: REQUESTS, maxLength: REQUESTS })
    .map((requests) => ({ ...world, requests }))

/** What random rules become, and what the caller is beside id and roles. */
export interface Standing {
  readonly rules: (permissions: Json) => Json
  readonly fields: Json
}

/** Pairs of stores that show their caller the same, under random rules. */
export const pairsOf = (
  schema: fc.Arbitrary<Json>,
  people: People,
  { rules, fields: own }: Standing = { rules: (permissions) => permissions, fields: {} },
): fc.Arbitrary<Omit<WriteWorld, 'requests'>> =>
  fc
    .tuple(
      schema.chain((fields) => fc.tuple(fc.constant(fields), permissionsOf(Object.keys(fields)))),
      fc.boolean(),
      fc.constantFrom(300, 2_000_000),
      fc.subarray(['editor', 'clerk', 'remover']),
    )
    .chain(([[fields, permissions], additionalProperties, documentBytes, roles]) => {
      const things = { schema: fields, permissions: rules(permissions), additionalProperties }
      const config = { collections: { things, people: people.collection }, limits: { documentBytes } }
      const caller: OracleCaller = { ...own, id: 'ann', roles }
      return storesOf(config, caller, people).map((pair) => ({ config, caller, pair }))
    })

export const writeWorlds: fc.Arbitrary<WriteWorld> = pairsOf(thingSchemas, PLAIN_PEOPLE).chain((world) =>
  withRequests(world),
)
