import fc from './fast-check.js'
import {
  type OracleCaller,
  type OracleCollection,
  type OracleCondition,
  type OracleQuery,
  viewsOf,
} from './oracle.js'

/** A configuration, what is stored under it, and somebody who asks: all at random. */
export interface World {
  readonly collection: { readonly schema: Json; readonly permissions: Json }
  readonly documents: readonly Json[]
  /** Whom the documents refer to. */
  readonly people: { readonly collection: OracleCollection; readonly documents: readonly Json[] }
  readonly caller: OracleCaller | null
  /** The accounts, where the service keeps them, but for what signs them in. */
  readonly users?: World['people']
  /** `limits.expanded`. */
  readonly expanded?: number
  /** What claims are made of, where there are some. */
  readonly memberships?: World['people'] & { readonly claims: Json }
  /** The caller as the host names them, where claims say more. */
  readonly sent?: OracleCaller | null
  /** How the caller is signed in, where a cookie identifies them. */
  readonly signedIn?: SignedIn
}

/** A session in a cookie. */
export interface SignedIn {
  /** The headers of a request of its caller. */
  readonly headers: { readonly [name: string]: string }
  /** Those of a page of another site, with this cookie and with one that is no session. */
  readonly foreign: readonly SignedIn['headers'][]
  readonly sessions: readonly Json[]
}

type Json = { readonly [name: string]: unknown }

export const POOL: { readonly [name: string]: Json } = {
  s: { type: 'string' },
  t: { type: 'string', index: true },
  n: { type: 'number' },
  i: { type: 'integer', index: true },
  b: { type: 'boolean' },
  at: { type: 'timestamp' },
  tags: { type: 'array', items: { type: 'string' }, maxItems: 100, index: true },
  nums: { type: 'array', items: { type: 'integer' }, maxItems: 100 },
  o: {
    type: 'object',
    properties: {
      x: { type: 'string' },
      k: { type: 'integer' },
      r: { type: 'reference', collection: 'people' },
    },
  },
  ref: { type: 'reference', collection: 'people' },
  refs: { type: 'array', items: { type: 'reference', collection: 'people' }, maxItems: 100 },
  j: { type: 'json' },
  toString: { type: 'string' },
}

const NAMES = Object.keys(POOL)
const TEXTS = ['', 'a', 'B', 'ab', 'b', 'Ab', 'z', 'é', '\uffff', '😀', '10', '9', 'null', 'true']
const TIMES = ['2026-01-01T00:00:00.000Z', '2026-01-01T00:00:00.001Z', '1999-12-31T23:59:59.999Z']
const NUMBERS = [-1, 0, 1, 2, 2.5, 10]
export const PEOPLE = ['ann', 'bob']
const ROLES = ['editor', 'admin']

const id = (n: number): string => `0190163d-8694-7000-8000-${n.toString(16).padStart(12, '0')}`

/** Ids of people, whether or not there are such. */
export const PEOPLE_IDS = [1, 2, 3, 4, 5, 6, 7, 8].map((n) => id(2000 + n))

const text = fc.constantFrom(...TEXTS)
const scalarOf = (type: unknown): fc.Arbitrary<unknown> => {
  switch (type) {
    case 'string':
      return text
    case 'reference':
      return fc.constantFrom(...PEOPLE_IDS)
    case 'timestamp':
      return fc.constantFrom(...TIMES)
    case 'number':
      return fc.constantFrom(...NUMBERS)
    case 'integer':
      return fc.constantFrom(...NUMBERS.filter(Number.isInteger))
    default:
      return fc.boolean()
  }
}

/** Mostly of the declared type; now and then what an older configuration left behind. */
const storedOf = (definition: Json): fc.Arbitrary<unknown> => {
  const odd = fc.constantFrom<unknown>(5, 2.5, 'odd', true, ['a'], { x: 'a' }, null)
  const array = (type: unknown) =>
    fc.array(fc.oneof({ weight: 9, arbitrary: scalarOf(type) }, { weight: 1, arbitrary: odd }), {
      maxLength: 3,
    })
  const usual: fc.Arbitrary<unknown> =
    definition.type === 'array'
      ? array((definition.items as Json).type)
      : definition.type === 'object'
        ? fc.record({ x: text, k: scalarOf('integer'), r: scalarOf('reference') }, { requiredKeys: [] })
        : definition.type === 'json'
          ? fc.constantFrom<unknown>(1, 'x', [1], { a: null }, false)
          : scalarOf(definition.type)
  return fc.oneof({ weight: 9, arbitrary: usual }, { weight: 1, arbitrary: odd })
}

const documentOf = (schema: Json): fc.Arbitrary<Json> =>
  fc
    .record(
      {
        ...Object.fromEntries(
          Object.entries(schema).map(([name, definition]) => [name, storedOf(definition as Json)]),
        ),
        createdBy: fc.constantFrom<unknown>(...PEOPLE, null),
        createdAt: fc.constantFrom(...TIMES),
      },
      { requiredKeys: ['createdBy', 'createdAt'] },
    )
    .map((document) => ({ ...document, updatedAt: TIMES[0] }))

const subsetOf = (names: readonly string[], minLength = 0): fc.Arbitrary<string[]> =>
  fc.subarray([...names], { minLength })

const isScalar = (type: string): boolean => !['object', 'json', 'array'].includes(type)

const whereOf = (schema: Json): fc.Arbitrary<Json> => {
  const conditions = Object.entries(schema).flatMap(([name, definition]) => {
    const { type } = definition as Json
    if (!isScalar(String(type))) return []
    const value = scalarOf(type)
    const operators: fc.Arbitrary<unknown>[] = [
      value,
      value.map(($ne) => ({ $ne })),
      fc.array(value, { maxLength: 2 }).map(($in) => ({ $in })),
      fc.boolean().map(($exists) => ({ $exists })),
      ...(type === 'boolean' ? [] : [value.map(($gte) => ({ $gte }))]),
      ...(VARIABLES[String(type)] ?? []).map((condition) => fc.constant(condition)),
    ]
    return [fc.oneof(...operators).map((condition) => ({ [name]: condition }))]
  })
  const mine = fc.constantFrom(...PEOPLE, '$user._id').map((createdBy) => ({ createdBy }))
  const simple = fc.oneof(mine, ...conditions)
  const either = fc.array(simple, { minLength: 1, maxLength: 2 }).map(($or) => ({ $or }))
  const both = fc.array(simple, { minLength: 1, maxLength: 2 }).map(($and) => ({ $and }))
  return fc.oneof({ weight: 6, arbitrary: simple }, either, both)
}

/** Conditions with what the caller holds, or lacks, or holds in another form. */
const VARIABLES: { readonly [type: string]: readonly unknown[] } = {
  string: [
    '$user.team',
    { $ne: '$user.team' },
    { $in: '$user.teams' },
    { $nin: '$user.teams' },
    { $gt: '$user.age' },
  ],
  integer: [{ $lte: '$user.age' }, { $ne: '$user.age' }, { $gt: '$user.team' }],
  number: [{ $gte: '$user.age' }],
  timestamp: [{ $lte: '$now' }, { $gt: '$now' }],
}

const readRuleOf = (schema: Json): fc.Arbitrary<unknown> => {
  const names = [...Object.keys(schema), 'createdAt', 'createdBy']
  const rule = fc.record(
    {
      pick: subsetOf(names, Math.max(0, names.length - 2)),
      omit: fc.uniqueArray(fc.constantFrom(...names), { maxLength: 2 }),
      where: whereOf(schema),
    },
    { requiredKeys: [] },
  )
  return fc.oneof(
    { weight: 4, arbitrary: fc.boolean() },
    { weight: 8, arbitrary: rule },
    { weight: 4, arbitrary: fc.array(rule, { minLength: 1, maxLength: 3 }) },
  )
}

const permissionsOf = (schema: Json): fc.Arbitrary<Json> => {
  const grant = readRuleOf(schema).map((read) => ({ read }))
  return fc.record(
    { '*': grant, user: grant, owner: grant, editor: grant, admin: grant },
    { requiredKeys: [] },
  ) as fc.Arbitrary<Json>
}

export const callers: fc.Arbitrary<OracleCaller | null> = fc.option(
  fc.record(
    {
      id: fc.constantFrom(...PEOPLE),
      roles: subsetOf([...ROLES, '*', 'owner']),
      team: fc.oneof(text, fc.constantFrom<unknown>(null, 5, ['a'])),
      teams: fc.oneof(fc.array(text, { maxLength: 3 }), fc.constantFrom<unknown>('a', [1])),
      age: fc.constantFrom<unknown>(1, 2, 'a'),
    },
    { requiredKeys: ['id', 'roles'] },
  ),
  { freq: 4 },
)

export const schemaOf = (minLength: number): fc.Arbitrary<Json> =>
  fc
    .subarray(NAMES, { minLength })
    .map((names): Json => Object.fromEntries(names.map((name) => [name, POOL[name]])))

/** Indexes over some scalars, and at most one array of such. */
const indexesOf = (schema: Json): fc.Arbitrary<readonly Json[]> => {
  const isOf = (name: string, types: readonly string[]): boolean =>
    types.includes(String((POOL[name] as Json | undefined)?.type))
  const names = Object.keys(schema)
  const arrays = names.filter((name) => isOf(name, ['array']))
  const scalars = [...names.filter((name) => !isOf(name, ['array', 'object', 'json'])), 'createdAt']
  const fields = fc
    .tuple(
      fc.shuffledSubarray(scalars, { maxLength: Math.min(2, scalars.length) }),
      fc.subarray(arrays, { maxLength: Math.min(1, arrays.length) }),
      fc.nat(2),
    )
    .map(([some, array, place]) => [...some.slice(0, place), ...array, ...some.slice(place)])
    .filter((all) => all.length > 0)
  return fc.array(
    fields.map((all): Json => ({ fields: all })),
    { maxLength: 2 },
  )
}

/** A collection at random, and documents for it. */
export const filledOf = (schema: Json, ids: readonly string[], minLength = 0) =>
  fc.record({
    collection: fc.record({
      schema: fc.constant(schema),
      permissions: permissionsOf(schema),
      indexes: indexesOf(schema),
    }),
    documents: fc
      .array(documentOf(schema), { minLength, maxLength: ids.length })
      .map((documents) => documents.map((document, i): Json => ({ _id: ids[i], ...document }))),
  })

export const THING_IDS = Array.from({ length: 12 }, (_, i) => id(i + 1))

export const worlds: fc.Arbitrary<World> = fc.tuple(schemaOf(2), schemaOf(1)).chain(([things, people]) =>
  fc
    .record({
      things: filledOf(things, THING_IDS),
      people: filledOf(people, PEOPLE_IDS.slice(0, 5)),
      caller: callers,
    })
    .map(({ things, people, caller }) => ({ ...things, people, caller })),
)

interface Choice {
  readonly path: string
  readonly type: string
  readonly isArray: boolean
}

const choices: readonly Choice[] = NAMES.flatMap((path): Choice[] => {
  const definition = POOL[path] ?? {}
  if (definition.type === 'array')
    return [{ path, type: String((definition.items as Json).type), isArray: true }]
  if (definition.type !== 'object') return [{ path, type: String(definition.type), isArray: false }]
  return [
    { path, type: 'object', isArray: false },
    { path: 'o.x', type: 'string', isArray: false },
    { path: 'o.k', type: 'integer', isArray: false },
    { path: 'o.r', type: 'reference', isArray: false },
  ]
}).concat([
  { path: '_id', type: 'string', isArray: false },
  { path: 'createdBy', type: 'string', isArray: false },
  { path: 'createdAt', type: 'timestamp', isArray: false },
])

const conditionOf = ({ path, type }: Choice): fc.Arbitrary<OracleQuery['conditions'][number]> => {
  const make = (operator: string, values: fc.Arbitrary<readonly unknown[]>) =>
    values.map((some) => ({ path, operator, values: some }))
  const exists = make(
    '$exists',
    fc.boolean().map((flag) => [flag]),
  )
  if (!isScalar(type)) return exists
  const value = scalarOf(type)
  const nullable = fc.option(value, { freq: 6 })
  const several = fc.array(nullable, { minLength: 1, maxLength: 3 })
  const one = value.map((some) => [some])
  return fc.oneof(
    exists,
    make('$eq', several),
    make('$ne', several),
    make(
      '$in',
      fc.array(nullable, { maxLength: 3 }).map((list) => [list]),
    ),
    make(
      '$nin',
      fc.array(nullable, { maxLength: 3 }).map((list) => [list]),
    ),
    ...(type === 'boolean' ? [] : ['$gt', '$gte', '$lt', '$lte'].map((operator) => make(operator, one))),
    ...(type === 'string' || type === 'timestamp' || type === 'reference'
      ? [
          make(
            '$regex',
            fc.array(fc.constantFrom('a', 'B', '^.$', '[a-b]', 'é|z', '^$', '\\d', '^a?b'), {
              minLength: 1,
              maxLength: 2,
            }),
          ),
        ]
      : []),
  )
}

/**
 * Queries of a collection; now and then one that names a field that it does not have. What is expanded is one
 * reference after the other, unless `expand` says more.
 */
export function queriesOf(schema: Json, expand?: fc.Arbitrary<string[]>): fc.Arbitrary<OracleQuery> {
  const declared = choices.filter(({ path }) => Object.hasOwn(schema, path.split('.')[0] ?? ''))
  const pick = fc.oneof(
    { weight: 20, arbitrary: fc.constantFrom(...declared) },
    { weight: 1, arbitrary: fc.constantFrom(...choices) },
  )
  const references = declared.filter(({ type }) => type === 'reference')
  const oneByOne = fc.oneof(
    { weight: 20, arbitrary: fc.subarray(references.map(({ path }) => path)) },
    { weight: 1, arbitrary: fc.array(pick.map(({ path }) => path)) },
  )
  return queriesOver(pick, expand ?? oneByOne)
}

const queriesOver = (
  choice: fc.Arbitrary<Choice>,
  expand: fc.Arbitrary<string[]>,
): fc.Arbitrary<OracleQuery> =>
  fc
    .record(
      {
        conditions: fc.uniqueArray(choice.chain(conditionOf), {
          maxLength: 3,
          selector: ({ path, operator }) => `${path} ${operator}`,
        }),
        or: fc.array(
          fc.uniqueArray(choice.chain(conditionOf), {
            minLength: 1,
            maxLength: 2,
            selector: ({ path, operator }) => `${path} ${operator}`,
          }),
          { maxLength: 2 },
        ),
        sort: fc.uniqueArray(
          fc.record({
            path: choice.filter(({ type, isArray }) => isScalar(type) && !isArray).map(({ path }) => path),
            descending: fc.boolean(),
          }),
          { maxLength: 2, selector: ({ path }) => path },
        ),
        skip: fc.integer({ min: 0, max: 4 }),
        limit: fc.integer({ min: 0, max: 8 }),
        project: fc.uniqueArray(
          choice.map(({ path }) => path),
          { maxLength: 4 },
        ),
        expand,
      },
      { requiredKeys: ['conditions', 'sort'] },
    )
    .map((query) => {
      // `$options` belongs to every pattern on its field; here to all.
      const ignoreCase = query.conditions.length % 2 === 1
      return { ...query, ignoreCase }
    })

/** What else can be stored without a difference to the world's caller. */
export interface Disguise {
  readonly documents: readonly Json[]
  readonly people: readonly Json[]
  readonly users?: readonly Json[]
  readonly memberships?: readonly Json[]
  readonly _sessions?: readonly Json[]
}

/**
 * Other documents that show the world's caller exactly the same: what is hidden of a document is changed where that
 * changes nothing of what is shown, and documents that cannot be seen come, go and change, those among them that
 * others refer to.
 */
export const disguise = ({ collection, documents, people, caller }: World): fc.Arbitrary<Disguise> =>
  fc.record({
    documents: disguiseAll(collection, documents, caller, [1000, 1001, 1002, 1003, 1004, 1005].map(id)),
    people: disguiseAll(
      people.collection,
      people.documents,
      caller,
      PEOPLE_IDS.filter((free) => people.documents.every(({ _id }) => _id !== free)),
    ),
  })

/** The same of one collection; new documents have the free ids. */
export function disguiseAll(
  collection: OracleCollection,
  documents: readonly Json[],
  caller: OracleCaller | null,
  freeIds: readonly string[],
): fc.Arbitrary<readonly Json[]> {
  const seen = (document: Json): string => JSON.stringify(viewsOf(collection, [document], caller))
  const changed = documents.map((document) =>
    fc.array(documentOf(collection.schema), { minLength: 1, maxLength: 4 }).map((others): Json[] => {
      const isHidden = seen(document) === '[]'
      // Field by field, as far as the caller sees no difference.
      const disguised = others.reduce<Json>((present, other) => {
        const names = [...new Set([...Object.keys(present), ...Object.keys(other)])].filter(
          (name) => name !== '_id',
        )
        return names.reduce<Json>((before, name) => {
          const { [name]: _, ...rest } = before
          const after = Object.hasOwn(other, name) ? { ...rest, [name]: other[name] } : rest
          return seen(after) === seen(document) ? after : before
        }, present)
      }, document)
      // Of documents that cannot be seen every other one goes.
      return isHidden && others.length % 2 === 0 ? [] : [disguised]
    }),
  )
  const hidden = fc
    .array(documentOf(collection.schema), { maxLength: freeIds.length })
    .map((others) => others.map((document, i): Json => ({ _id: freeIds[i], ...document })))
    .map((others) => others.filter((document) => seen(document) === '[]'))
  return fc.tuple(fc.tuple(...changed), hidden).map(([kept, added]) => [...kept.flat(), ...added])
}

const UUIDS = /[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}/g

/** The same with every UUID in upper case, as some software writes them. */
export const raiseIds = (text: string): string => text.replace(UUIDS, (id) => id.toUpperCase())

/** Whether a field that holds strings reads a value as it is, without quotes. */
const isBare = (value: unknown): value is string =>
  typeof value === 'string' && value !== 'null' && !/^["[{]/.test(value)

/**
 * A query in the query language. Some are written as other software does: lists value by value, ids in upper case, an
 * empty pair before the rest.
 */
export function writeQuery(query: OracleQuery): string {
  const isLoose = (query.limit ?? query.conditions.length) % 2 === 1
  const parts: string[] = isLoose ? [''] : []
  const put = (name: string, text: string): void => {
    const value = isLoose && name.startsWith('q[') ? raiseIds(text) : text
    parts.push(`${name}=${encodeURIComponent(value).replaceAll('%20', '+')}`)
  }
  const putConditions = (at: string, conditions: readonly OracleCondition[]): void => {
    for (const { path, operator, values } of conditions) {
      const [list] = values
      const isSpread = isLoose && Array.isArray(list) && list.length > 0
      for (const value of isSpread ? list : values) {
        if (isSpread && isBare(value)) put(`${at}[${path}][${operator}]`, value)
        else put(`${at}[${path}][${operator}]`, operator === '$regex' ? String(value) : JSON.stringify(value))
      }
      if (operator === '$regex' && query.ignoreCase) put(`${at}[${path}][$options]`, 'i')
    }
  }
  putConditions('q', query.conditions)
  for (const [i, group] of (query.or ?? []).entries()) putConditions(`q[$or][${i}]`, group)
  for (const { path, descending } of query.sort) put(`sort[${path}]`, descending ? '-1' : '1')
  if (query.skip !== undefined) put('skip', String(query.skip))
  if (query.limit !== undefined) put('limit', String(query.limit))
  for (const name of ['project', 'expand'] as const) {
    const list = query[name]
    if (list && isLoose && list.length > 0) for (const one of list) put(name, one)
    else if (list) put(name, JSON.stringify(list))
  }
  return parts.join('&')
}
