import { expect, test } from 'vitest'
import type { Caller, HookChange } from '../../src/index.js'
import { type ApiDocument, describeApi } from '../../src/tools/insight/index.js'
import fc from '../support/fast-check.js'
import { createFromSchema } from '../support/from-schema.js'
import { createTestService } from '../support/service.js'
import { isLong, playUntilSeen, rounds, seedOf } from '../support/tier.js'

// CONTRACT.md §8, "OpenAPI": a request that the document calls valid is not a 400

type Json = { readonly [name: string]: unknown }

const often = <T>(value: T, times: number): fc.Arbitrary<T | undefined> =>
  fc.option(fc.constant(value), { nil: undefined, freq: times })

const tidy = (value: Json): Json =>
  Object.fromEntries(Object.entries(value).filter(([, inner]) => inner !== undefined))

const scalar: fc.Arbitrary<Json> = fc.oneof(
  fc
    .record({
      type: fc.constant('string'),
      minLength: fc.constantFrom(undefined, undefined, 1, 3),
      maxLength: fc.constantFrom(undefined, undefined, 5, 300),
      trim: often(true, 2),
      lowercase: often(true, 2),
    })
    .map(tidy),
  fc.constantFrom('email', 'uri', 'uuid', 'date', 'time', 'ipv4', 'ipv6', 'hostname').map((format) => ({
    type: 'string',
    format,
  })),
  fc.constantFrom<Json>(
    { type: 'string', enum: ['draft', 'done'] },
    { type: 'string', index: true },
    { type: 'string', lowercase: true, pattern: '^[^x]*$' },
    { type: 'string', lowercase: true, trim: true, pattern: '[^\\d]' },
    { type: 'string', unique: true, maxLength: 500, lowercase: true },
    { type: 'integer' },
    { type: 'integer', minimum: 0, maximum: 5 },
    { type: 'integer', enum: [1, 2] },
    { type: 'number', minimum: 0.5 },
    { type: 'number' },
    { type: 'boolean' },
    { type: 'timestamp' },
    { type: 'timestamp', minimum: '2020-01-01', maximum: '2029-12-31T23:59:59Z' },
    { type: 'json' },
  ),
)

const inArray = (definition: Json): Json => {
  const { unique: _, index: __, ...rest } = definition
  return rest
}

const DEFAULTS: { readonly [type: string]: unknown } = { boolean: false, timestamp: '$now', json: [] }

const attributed = (definition: fc.Arbitrary<Json>): fc.Arbitrary<Json> =>
  fc
    .tuple(
      definition,
      fc.constantFrom<Json>({}, {}, {}, { required: true }, { nullable: true }),
      often(true, 5),
      fc.boolean(),
    )
    .map(([own, presence, immutable, isFilled]) => {
      const fallback = Object.keys(own).length === 1 ? DEFAULTS[String(own.type)] : undefined
      return tidy({ ...own, ...presence, immutable, default: isFilled ? fallback : undefined })
    })

const mutable = (definition: Json): Json => {
  const { immutable: _, ...rest } = inArray(definition)
  return rest
}

const object: fc.Arbitrary<Json> = fc
  .record(
    {
      p: attributed(scalar).map(mutable),
      q: attributed(scalar).map(mutable),
      deep: fc
        .tuple(
          attributed(scalar).map(mutable),
          attributed(fc.constant<Json>({ type: 'array', items: { type: 'integer' } })).map(mutable),
        )
        .map(([one, list]) => ({
          type: 'object',
          properties: { one, inner: { type: 'object', properties: { list } } },
        })),
    },
    { requiredKeys: ['p', 'q'] },
  )
  .map((properties) => ({ type: 'object', properties }))

/** Bodies leave references out, so none of these is required. */
const referring = fc.constantFrom<Json>(
  { type: 'reference', collection: 'dens' },
  { type: 'reference', collection: 'dens', onDelete: 'unset', index: true },
  { type: 'array', items: { type: 'reference', collection: 'dens' } },
  {
    type: 'object',
    properties: { den: { type: 'reference', collection: 'dens' }, at: { type: 'timestamp' } },
  },
)

const plain = attributed(
  fc.oneof(
    { weight: 4, arbitrary: scalar },
    { weight: 1, arbitrary: object },
    {
      weight: 1,
      arbitrary: fc
        .tuple(fc.oneof(scalar, object), fc.constantFrom<Json>({}, { minItems: 1 }, { maxItems: 2 }))
        .map(([items, bounds]) => ({ type: 'array', items: inArray(items), ...bounds })),
    },
  ),
)

const field = fc.oneof({ weight: 5, arbitrary: plain }, { weight: 1, arbitrary: referring })

const NAMES = ['a', 'b', 'c', 'd', 'e', 'den', 'kept']

const rule = fc
  .record({
    pick: fc.option(fc.subarray([...NAMES, 'extra']), { nil: undefined, freq: 2 }),
    omit: fc.option(fc.subarray(NAMES), { nil: undefined, freq: 3 }),
  })
  .map(tidy)

/** What may be forced: a text, or who asks. */
const written = fc
  .tuple(rule, fc.constantFrom(undefined, undefined, 'forced', '$user._id'))
  .map(([own, kept]) => (kept === undefined ? own : { ...own, set: { kept } }))

const grant = fc.record({
  read: fc.oneof(fc.constant(true), rule),
  create: fc.oneof(fc.constant(true), written),
  update: fc.oneof(fc.constant(true), written),
  delete: fc.boolean(),
})

const DENS = {
  schema: {
    name: { type: 'string', maxLength: 20 },
    home: { type: 'object', properties: { up: { type: 'reference', collection: 'dens' } } },
  },
  permissions: { user: { read: true, create: { set: { home: {} } }, update: { pick: ['name'] } } },
}

/** Accounts: who may change them may name the role, or not. */
const usersOf = (updates: { readonly [subject: string]: { readonly pick?: readonly string[] } }) => ({
  schema: {
    email: { type: 'string', format: 'email', required: true, unique: true },
    password: { type: 'hash', required: true },
    role: { type: 'string', enum: ['editor', 'admin'] },
    a: { type: 'integer', default: 3 },
  },
  permissions: Object.fromEntries(
    Object.entries(updates).map(([subject, { pick }]) => [
      subject,
      { read: true, update: pick ? { pick: ['email', ...(pick.includes('a') ? ['role'] : ['a'])] } : true },
    ]),
  ),
})

const configs = fc
  .record({
    fields: fc.tuple(
      ...NAMES.slice(0, 5).map(() => field),
      referring,
      fc.constantFrom<Json>({ type: 'string' }, { type: 'string', required: true }),
    ),
    changes: fc.boolean(),
    ofAccounts: fc.record({ user: rule, editor: rule, owner: rule }),
    permissions: fc.record({
      user: grant,
      editor: grant,
      admin: grant,
      owner: grant.map(({ create: _, ...own }) => own),
    }),
    additionalProperties: fc.boolean(),
  })
  .map(({ fields, changes, ofAccounts, permissions, additionalProperties }) => {
    const schema = Object.fromEntries(NAMES.map((name, i) => [name, fields[i]]))
    const known = additionalProperties ? [...NAMES, 'extra'] : NAMES
    const cut = (own: unknown): unknown =>
      typeof own !== 'object' || own === null || !('pick' in own)
        ? own
        : { ...own, pick: (own.pick as string[]).filter((name) => known.includes(name)) }
    const granted = Object.entries(permissions).map(([subject, operations]) => [
      subject,
      Object.fromEntries(Object.entries(operations).map(([operation, own]) => [operation, cut(own)])),
    ])
    const things = { schema, additionalProperties, changes, permissions: Object.fromEntries(granted) }
    return {
      collections: { things, dens: { ...DENS, changes }, users: usersOf(ofAccounts) },
      auth: { roleField: 'role' },
    }
  })

type Operation = {
  readonly parameters?: readonly Json[]
  readonly requestBody?: { readonly content: { readonly [type: string]: { readonly schema: Json } } }
}

/** A parameter of a query, with the schema of its value. */
interface Parameter {
  readonly name: string
  readonly schema: Json
  readonly isJson: boolean
}

function parametersOf({ components }: ApiDocument, { parameters = [] }: Operation): readonly Parameter[] {
  return parameters.flatMap((written): readonly Parameter[] => {
    const name = String(written.$ref ?? '').replace('#/components/parameters/', '')
    const found = (name === '' ? written : components.parameters?.[name]) as Json
    if (found.in !== 'query') return []
    const content = found.content as { readonly [type: string]: { readonly schema: Json } } | undefined
    const schema = (content?.['application/json']?.schema ?? found.schema) as Json
    return [{ name: String(found.name), schema, isJson: content !== undefined }]
  })
}

/** What a schema does not say enough of: patterns and their options, and a place, which an answer gives. */
const isLeftOut = ({ name }: Parameter): boolean => /\$(?:options|regex)\]$|^after$/.test(name)

/** What no schema says of an aggregate: its order names what it asks for, and it has one array and ten measures. */
const isFitOn =
  (path: string) =>
  (parameter: Parameter, i: number, all: readonly Parameter[]): boolean =>
    !path.endsWith('/aggregate') || isFit(parameter, i, all)

function isFit({ name, schema }: Parameter, i: number, all: readonly Parameter[]): boolean {
  const isFirst = (isLike: (other: Parameter) => boolean): boolean => all.findIndex(isLike) === i
  const isByValue = (one: Parameter): boolean =>
    one.name.startsWith('by[') && JSON.stringify(one.schema.enum) === '["value"]'
  const isList = (one: Parameter): boolean => /^(?:sum|avg|min|max)$/.test(one.name)
  if (isByValue({ name, schema, isJson: false })) return isFirst(isByValue)
  if (isList({ name, schema, isJson: false })) return isFirst(isList)
  const path = /^sort\[(.*)\]$/.exec(name)?.[1]
  return path === undefined || path === '$count' || all.some((one) => one.name === `by[${path}]`)
}

const CALLERS: readonly Caller[] = [
  { id: 'ann' },
  { id: 'ann', roles: ['editor'] },
  { id: 'ann', roles: ['admin', 'editor'] },
]

const IDS = [1, 2, 3].map((n) => `0190163d-8694-7000-8000-00000000000${n}`)

const [ONE = '', TWO = '', THREE = ''] = IDS
const DOCUMENTS = {
  dens: [
    { _id: ONE, name: 'upper' },
    { _id: TWO, name: 'lower', home: { up: ONE } },
  ],
  users: [{ _id: THREE, email: 'ann@example.com', password: 'correct horse', a: 1 }],
}

/** What fields may be given by a hook, where nothing else bounds them. */
const FILLINGS: Json = {
  string: 'a',
  integer: 1,
  number: 1,
  boolean: true,
  timestamp: '2026-01-01T00:00:00Z',
  json: 1,
}

/** A hook that fills every required thing which it knows a value for. */
function hooksOf({
  collections: { things },
}: {
  readonly collections: { readonly things: { readonly schema: object } }
}) {
  const fillings = Object.entries(things.schema as { [name: string]: Json }).flatMap(([name, definition]) => {
    const { type, required, immutable: _, unique: __, index: ___, ...bounds } = definition
    const filling = FILLINGS[String(type)]
    return required === true && Object.keys(bounds).length === 0 && filling !== undefined
      ? [[name, filling] as const]
      : []
  })
  const lacking = (after: Json | null) => fillings.filter(([name]) => !Object.hasOwn(after ?? {}, name))
  return {
    things: {
      fills: fillings.map(([name]) => name),
      before: ({ operation, after }: HookChange) =>
        operation === 'create' ? { set: Object.fromEntries(lacking(after)) } : undefined,
    },
  }
}

/** Secrets are left out: nothing can be asked that needs one. Nor is a stream asked for, which does not end. */
const isAskable = (document: ApiDocument, path: string, { requestBody }: Operation): boolean => {
  const schema = requestBody?.content['application/json']?.schema
  const name =
    String(schema?.$ref ?? '')
      .split('/')
      .at(-1) ?? ''
  const { required = [], properties = {} } = (document.components.schemas?.[name] ?? {}) as Json
  const isSecret = (one: string): boolean => (properties as { [name: string]: Json })[one]?.writeOnly === true
  return !path.endsWith('/changes') && !(required as readonly string[]).some(isSecret)
}

const RUNS = rounds(40, 3000)

test('a request that the document calls valid is not a 400', async () => {
  const seen = new Set<string>()
  let filled = 0
  const property = fc.asyncProperty(
    configs,
    fc.constantFrom(...CALLERS),
    fc.gen(),
    async (config, caller, gen) => {
      const own = hooksOf(config)
      const service = createTestService(config, {
        authenticate: () => null,
        documents: DOCUMENTS,
        hooks: own as never,
      })
      filled += own.things.fills.length
      const document = describeApi(config, { caller, authenticate: true, hooks: own })
      const valuesOf = createFromSchema(document, IDS)
      const known = new Map(Object.entries({ things: [...IDS], dens: [ONE, TWO], users: [THREE] }))
      const operations = Object.entries(document.paths)
        .flatMap(([path, methods]) =>
          Object.entries(methods).map(
            ([method, operation]) => [method.toUpperCase(), path, operation as Operation] as const,
          ),
        )
        .filter(([, path, operation]) => isAskable(document, path, operation))
      const weighted = operations.flatMap((one) => (one[1].startsWith('/things') ? [one, one, one] : [one]))
      for (let i = 0; i < 12; i++) {
        const [method, path, operation] = gen(fc.constantFrom, ...weighted)
        const [, name = ''] = path.split('/')
        const parameters = parametersOf(document, operation).filter((one) => !isLeftOut(one))
        const [conditions, others] = [true, false].map((isQ) =>
          parameters.filter(({ name }) => name.startsWith('q[') === isQ),
        )
        const asked = [
          ...(conditions?.length
            ? gen(fc.subarray, [...conditions], { maxLength: Math.min(1, conditions.length) })
            : []),
          ...(others?.length ? gen(fc.subarray, [...others], { maxLength: Math.min(3, others.length) }) : []),
        ]
        const query = asked.filter(isFitOn(path)).flatMap(({ name, schema, isJson }) => {
          const value = gen(valuesOf, schema)
          // A list is exploded.
          const texts = isJson ? [JSON.stringify(value)] : [value].flat().map(String)
          return texts.map((text) => `${encodeURIComponent(name)}=${encodeURIComponent(text)}`)
        })
        const schema = operation.requestBody?.content['application/json']?.schema
        const body = schema === undefined ? undefined : gen(valuesOf, schema)
        const claims = (operation.parameters ?? []).some(
          ({ name, required }: Json) => name === 'If-None-Match' && required,
        )
        const at = path.replace('{id}', gen(fc.constantFrom, ...(known.get(name) ?? IDS)))
        const line = `${method} ${at}${query.length > 0 ? `?${query.join('&')}` : ''}`
        const answer = await service.send(line, {
          caller,
          ...(schema === undefined ? {} : { body }),
          ...(claims ? { headers: { 'if-none-match': '*' } } : {}),
        })
        if (answer.status === 400)
          expect.fail(`${line} ${JSON.stringify(body)}: ${answer.text} under ${JSON.stringify(config)}`)
        if (answer.status === 201 && answer.body._id) known.get(name)?.push(answer.body._id)
        seen.add(`${method} ${path} ${answer.status}`)
      }
    },
  )
  const often = ['GET /things 200', 'POST /things 201', 'GET /dens 200']
  // Few valid bodies of these are accepted.
  const rare = ['PATCH /things/{id} 200', 'PUT /things/{id} 200', 'POST /_batch 200', 'PATCH /users/{id} 200']
  const wanted = isLong ? [...often, ...rare] : often
  await playUntilSeen(
    (part) => fc.assert(property, { numRuns: RUNS, seed: seedOf(12) + part, endOnFailure: true }),
    () => [
      ...wanted.filter((kind) => !seen.has(kind)),
      ...(filled > 0 ? [] : ['a required field that a hook fills']),
    ],
  )
})
