import type { ExplainedRequest } from '../../src/tools/insight/explain/explanation.js'
import fc from './fast-check.js'

type Json = { readonly [name: string]: unknown }

/** A configuration, and what somebody asks of a service of it: all at random. */
export interface Asked {
  readonly config: { readonly collections: { readonly [name: string]: Json }; readonly auth: Json }
  readonly request: ExplainedRequest & { readonly documents: { readonly [name: string]: readonly Json[] } }
}

const idOf = (n: number): string => `0190163d-8694-7000-8000-${n.toString(16).padStart(12, '0')}`

/** Documents that are there, and one that is not. */
const IDS = [1, 2, 3].map(idOf)
const PEOPLE = [11, 12].map(idOf)
const TEXTS = ['a', 'b', 'c']
const NUMBERS = [0, 0, 1, 1, 1, 2]
/** The time of all requests. */
const NOW = Date.parse('2026-11-20T08:00:00Z')

const FIELDS: { readonly [name: string]: Json } = {
  s: { type: 'string', enum: TEXTS },
  t: { type: 'string' },
  n: { type: 'integer', maximum: 1 },
  tags: { type: 'array', items: { type: 'string' } },
  o: { type: 'object', properties: { x: { type: 'string' } } },
  r: { type: 'reference', collection: 'people' },
  role: { type: 'string' },
}

const text = fc.constantFrom(...TEXTS)
const givenFor = (name: string): fc.Arbitrary<unknown> => {
  switch (name) {
    case 'n':
      return fc.constantFrom(...NUMBERS)
    case 'tags':
      return fc.array(text, { maxLength: 2 })
    case 'o':
      return fc.record({ x: text }, { requiredKeys: [] })
    case 'r':
      return fc.constantFrom(...PEOPLE)
    default:
      return text
  }
}

const rarely = <T>(arbitrary: fc.Arbitrary<T>, times: number): fc.Arbitrary<T | undefined> =>
  fc.oneof({ weight: times - 1, arbitrary: fc.constant(undefined) }, { weight: 1, arbitrary })

const often = <T>(arbitrary: fc.Arbitrary<T>): fc.Arbitrary<T | undefined> =>
  fc.oneof({ weight: 2, arbitrary }, { weight: 1, arbitrary: fc.constant(undefined) })

/** `undefined` is absence. */
const tidy = (value: Json): Json =>
  Object.fromEntries(Object.entries(value).filter(([, one]) => one !== undefined))

const condition: fc.Arbitrary<Json> = fc.oneof(
  text.map((s) => ({ s })),
  text.map(($ne) => ({ t: { $ne } })),
  fc.constantFrom<Json>(
    { n: { $gte: 1 } },
    { n: { $exists: false } },
    { n: { $gte: 1, $lte: 1 } },
    { tags: 'a' },
    { tags: { $nin: ['a', 'b'] } },
    { 'o.x': 'a' },
    { o: { $exists: true } },
    { s: '$user.team' },
    { t: { $in: '$user.teams' } },
    { t: { $in: '$user.held' } },
    { t: { $regex: '^A', $options: 'i' } },
    { createdBy: '$user._id' },
    { createdAt: { $lt: '$now' } },
  ),
)

const where: fc.Arbitrary<Json> = fc.oneof(
  { weight: 4, arbitrary: condition },
  { weight: 1, arbitrary: fc.array(condition, { minLength: 1, maxLength: 2 }).map(($or) => ({ $or })) },
  { weight: 1, arbitrary: fc.tuple(condition, condition).map(([a, b]) => ({ ...a, ...b })) },
)

const namesOf = (names: readonly string[]) => ({
  pick: rarely(fc.subarray([...names]), 3),
  omit: rarely(fc.subarray([...names], { maxLength: 2 }), 4),
})

const permissionsOf = (names: readonly string[]): fc.Arbitrary<Json> => {
  const flag = fc.boolean()
  const set = fc.constantFrom<Json>({ s: 'a' }, { t: '$user.team' }, { n: 1 })
  const ofNames = namesOf(names)
  const rule = (parts: { [name: string]: fc.Arbitrary<unknown> }): fc.Arbitrary<unknown> =>
    fc.oneof(
      { weight: 4, arbitrary: flag },
      { weight: 9, arbitrary: fc.record(parts).map(tidy) },
      { weight: 3, arbitrary: fc.array(fc.record(parts).map(tidy), { minLength: 1, maxLength: 3 }) },
    )
  const grant = fc
    .record({
      create: rarely(rule({ ...ofNames, check: rarely(where, 2), set: rarely(set, 6) }), 2),
      read: often(rule({ ...ofNames, where: rarely(where, 2) })),
      update: rarely(
        rule({ ...ofNames, where: rarely(where, 2), check: rarely(where, 3), set: rarely(set, 8) }),
        2,
      ),
      delete: rarely(rule({ where: rarely(where, 2) }), 2),
    })
    .map(tidy)
  const any = fc.oneof<fc.Arbitrary<unknown>[]>(
    { weight: 8, arbitrary: grant } as never,
    { weight: 1, arbitrary: flag } as never,
    { weight: 1, arbitrary: fc.record({ pick: fc.subarray([...names]) }) } as never,
  )
  const own = grant.map(({ create: _, ...others }) => others)
  return fc
    .record({
      '*': rarely(any, 3),
      user: rarely(any, 3),
      owner: rarely(fc.oneof(own, flag), 3),
      editor: rarely(any, 3),
      admin: rarely(any, 3),
    })
    .map(tidy)
}

const caller: ExplainedRequest['caller'][] = [
  null,
  { id: 'ann' },
  { id: 'bob', team: 'a', teams: ['b', 'c'] },
  { id: 'ann', roles: ['editor'], team: 'b' },
  { id: 'bob', roles: ['admin', 'editor', 'owner'], teams: 'a' },
  { id: 'ann', roles: ['clerk'] },
]

const documentOf = (names: readonly string[], _id: string | undefined): fc.Arbitrary<Json> =>
  fc
    .record(
      {
        ...Object.fromEntries(
          names.map((name) => [name, name === 'n' ? fc.constantFrom(0, 1) : givenFor(name)]),
        ),
        createdBy: fc.constantFrom('ann', 'bob', null),
      },
      { requiredKeys: ['createdBy'] },
    )
    .map((one) => ({ ...one, _id }))

/** What no rule keeps, and what every schema refuses, among what it takes. */
const bodyOf = (names: readonly string[]): fc.Arbitrary<Json> =>
  fc
    .tuple(
      fc.record(Object.fromEntries(names.map((name) => [name, givenFor(name)])), { requiredKeys: [] }),
      fc.constantFrom<Json>({}, {}, {}, {}, { odd: 1 }, { _id: 'x' }, { t: null }, { s: 'z' }),
    )
    .map(([one, more]) => ({ ...one, ...more }))

interface Sent {
  readonly method: string
  readonly path: string
  readonly body?: unknown
  readonly headers?: { readonly [name: string]: string }
}

/** A request for one document, as it may also stand in a batch. */
const operationOf = (name: string, names: readonly string[]): fc.Arbitrary<Sent> => {
  const path = fc.constantFrom(...IDS).map((id) => `/${name}/${id}`)
  const body = bodyOf(names)
  return fc.oneof(
    fc.record({ method: fc.constant('GET'), path }),
    fc.record({ method: fc.constant('DELETE'), path }),
    fc.record({ method: fc.constant('PATCH'), path, body }),
    fc.record({ method: fc.constantFrom('PATCH', 'PUT'), path, body }),
    fc.record({ method: fc.constant('POST'), path: fc.constant(`/${name}`), body }),
  )
}

const requestOf = (name: string, names: readonly string[]): fc.Arbitrary<Sent> => {
  const operation = operationOf(name, names)
  const person = fc.constantFrom(...PEOPLE).map((id) => ({ method: 'GET', path: `/people/${id}` }))
  const body = bodyOf(names)
  return fc.oneof(
    { weight: 12, arbitrary: operation },
    {
      weight: 3,
      arbitrary: fc
        .constantFrom(
          `/${name}`,
          `/${name}/`,
          `/${name}/count`,
          `/${name}?q[s]=a`,
          `/${name}?q[odd]=a`,
          '/',
          '/nothing',
        )
        .map((path) => ({ method: 'GET', path })),
    },
    {
      weight: 1,
      arbitrary: fc
        .record({
          method: fc.constantFrom('PUT', 'GET', 'PATCH'),
          path: fc.constantFrom(...IDS, 'x').map((id) => `/${name}/${id}`),
          headers: fc.constantFrom({ 'if-none-match': '*' }, { 'if-match': '"x"' }),
        })
        .chain((sent) =>
          sent.method === 'GET' ? fc.constant(sent) : body.map((one) => ({ ...sent, body: one })),
        ),
    },
    {
      weight: 1,
      arbitrary: fc.array(body, { minLength: 1, maxLength: 2 }).map((documents) => ({
        method: 'POST',
        path: `/${name}/bulk`,
        body: { documents },
      })),
    },
    {
      weight: 2,
      arbitrary: fc
        .array(fc.oneof({ weight: 4, arbitrary: operation }, { weight: 1, arbitrary: person }), {
          minLength: 1,
          maxLength: 3,
        })
        .map((operations) => ({ method: 'POST', path: '/_batch', body: { operations } })),
    },
  )
}

const CLAIMS = { held: { from: 'people', where: { name: '$user._id' }, take: 'tag' } }

/** Configurations and requests; now and then the documents are users, whose role few may write. */
export const askeds: fc.Arbitrary<Asked> = fc
  .tuple(
    fc.subarray(Object.keys(FIELDS), { minLength: 4 }),
    fc.constantFrom('things', 'things', 'users'),
    fc.boolean(),
  )
  .chain(([some, name, additionalProperties]) => {
    const names = [...new Set([...some, 's', 't', 'n', 'tags', 'o'])].filter(
      (one) => one !== 'role' || name === 'users',
    )
    const schema = Object.fromEntries(names.map((one) => [one, FIELDS[one]]))
    return fc
      .record({
        permissions: permissionsOf(names),
        people: fc.record({
          '*': often(
            fc.record({ read: fc.constantFrom(true, true, true, false, { where: { name: 'ann' } }) }),
          ),
        }),
        caller: fc.constantFrom(...caller),
        documents: fc.tuple(...IDS.slice(0, 2).map((id) => documentOf(names, id))),
        sent: requestOf(name, names),
        required: fc.boolean(),
      })
      .map(
        ({ permissions, people, caller: asker, documents, sent, required }): Asked => ({
          config: {
            collections: {
              [name]: {
                schema: { ...schema, ...(required ? { t: { type: 'string', default: 'a' } } : {}) },
                permissions,
                ...(additionalProperties ? { additionalProperties } : {}),
              },
              people: {
                schema: { name: { type: 'string', index: true }, tag: { type: 'string' } },
                permissions: tidy(people),
              },
            },
            auth: {
              claims: CLAIMS,
              ...(name === 'users' && names.includes('role') ? { roleField: 'role' } : {}),
            },
          },
          request: {
            ...sent,
            caller: asker,
            now: NOW,
            documents: {
              [name]: documents,
              people: [
                { _id: PEOPLE[0], name: 'ann', tag: 'b' },
                { _id: PEOPLE[1], name: 'bob', tag: 'c' },
              ],
            },
          },
        }),
      )
  })
