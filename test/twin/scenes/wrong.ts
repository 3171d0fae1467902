import fc from '../../support/fast-check.js'
import { PAGE } from '../../support/page.js'
import { type Asked, openScene, type Playing } from './stage.js'

type Json = { readonly [name: string]: unknown }

const CONFIG = {
  collections: {
    users: {
      schema: {
        email: { type: 'string', unique: true, required: true },
        password: { type: 'hash', required: true, minLength: 8 },
        age: { type: 'integer' },
      },
      permissions: { owner: { read: true }, admin: true },
    },
    items: {
      schema: {
        name: {
          type: 'string',
          required: true,
          minLength: 2,
          maxLength: 12,
          trim: true,
          description: 'for people',
        },
        slug: { type: 'string', unique: true, lowercase: true, pattern: '^[a-z0-9-]+$' },
        mail: { type: 'string', format: 'email' },
        day: { type: 'string', format: 'date' },
        state: { type: 'string', enum: ['draft', 'done'], default: 'draft', index: true },
        size: { type: 'number', minimum: 0, maximum: 100 },
        count: { type: 'integer', nullable: true },
        open: { type: 'boolean', default: false },
        at: { type: 'timestamp', default: '$now', minimum: '2000-01-01' },
        tags: { type: 'array', items: { type: 'string', maxLength: 5 }, minItems: 1, maxItems: 3 },
        place: {
          type: 'object',
          properties: { city: { type: 'string', required: true }, zip: { type: 'string', immutable: true } },
        },
        rows: { type: 'array', items: { type: 'object', properties: { n: { type: 'integer' } } } },
        any: { type: 'json' },
        parent: { type: 'reference', collection: 'items', onDelete: 'restrict' },
        kept: { type: 'string', immutable: true },
        hidden: { type: 'string' },
      },
      indexes: [{ fields: ['state', 'size'] }],
      permissions: {
        '*': { read: { omit: ['hidden'], where: { state: 'done' } } },
        user: { read: { omit: ['hidden'] }, create: { omit: ['hidden'] }, update: { omit: ['hidden'] } },
        owner: { delete: true },
        admin: true,
      },
    },
    loose: {
      schema: { n: { type: 'integer' }, pin: { type: 'hash' } },
      additionalProperties: true,
      permissions: { user: true },
    },
    closed: { schema: { n: { type: 'integer' } }, permissions: {} },
  },
  limits: {
    defaultLimit: 20,
    maxLimit: 50,
    bodyBytes: 4096,
    documentBytes: 1024,
    queryBytes: 512,
    conditions: 4,
    values: 5,
    patterns: 2,
    bulk: 3,
  },
}

const ORIGINS = ['https://app.example', 'https://other.example']

const CALLERS = [
  null,
  { id: 'ann', roles: [] },
  { id: 'ann', roles: [] },
  { id: 'bob', roles: ['admin'] },
  { id: 'cora', roles: ['admin', '*'], age: 5 },
]

const scalar = fc.constantFrom<unknown>(
  ...[
    'draft',
    'done',
    'a',
    'ab',
    ' ab ',
    'Ann',
    'x'.repeat(13),
    '',
    'é',
    'a\u0000b',
    '\ud800',
    'ann@example.com',
    '2026-01-01',
  ],
  ...[
    0,
    1,
    -1,
    2.5,
    99,
    101,
    2 ** 53,
    true,
    false,
    null,
    [],
    {},
    ['a'],
    ['a', 'b'],
    ['toolong'],
    { city: 'x' },
  ],
  ...[
    { city: 'x', zip: '1' },
    { city: 5 },
    { zip: 'y' },
    [{ n: 1 }],
    [{ n: 'x' }],
    [{ m: 1 }],
    { __proto__: 1 },
  ],
)

const FIELDS = Object.keys(CONFIG.collections.items.schema)

/** A valid body. */
const sound: fc.Arbitrary<Json> = fc.record(
  {
    name: fc.constantFrom('Ann', 'Bob', ' Cora '),
    slug: fc.nat(12).map((n) => `Slug-${n}`),
    mail: fc.constantFrom('ann@example.com', 'josé@example.org'),
    day: fc.constantFrom('2026-02-28', '2024-02-29'),
    state: fc.constantFrom('draft', 'done'),
    size: fc.constantFrom(0, 0.5, 99),
    count: fc.constantFrom(null, 3),
    open: fc.boolean(),
    at: fc.constantFrom('2026-01-01', '2026-01-01T01:02:03.4567+02:00'),
    tags: fc.subarray(['a', 'b', 'c'], { minLength: 1 }),
    place: fc.constantFrom<Json>({ city: 'x' }, { city: 'y', zip: '1' }),
    rows: fc.constantFrom<Json[]>([], [{ n: 1 }, {}]),
    any: fc.constantFrom<unknown>(1, { a: [null] }, 'x'.repeat(400)),
    kept: fc.constantFrom('a', 'b'),
    hidden: fc.constantFrom('x', 'y'),
  },
  { requiredKeys: ['name'] },
)

/** A body with a wrong value, or with a field that its caller may not write. */
const odd: fc.Arbitrary<Json> = fc
  .tuple(
    sound,
    fc.dictionary(
      fc.constantFrom(...FIELDS, 'more', '_id', '_x', 'createdAt', 'Name', 'constructor'),
      scalar,
      {
        minKeys: 1,
        maxKeys: 3,
      },
    ),
  )
  .map(([own, more]) => ({ ...own, ...more }))

const body = fc.oneof({ weight: 3, arbitrary: sound }, { weight: 2, arbitrary: odd })

const QUERIES = [
  ...[
    '',
    'q[state]=done',
    'q[size][$gte]=1&q[size][$lt]=50',
    'q[name][$regex]=^A&q[name][$options]=i',
    'q[tags]=a',
  ],
  ...[
    'q[state][$in]=["draft","done"]',
    'q[place.city]=x',
    'q[any][$exists]=true',
    'sort[size]=-1&sort[name]=1',
  ],
  ...[
    'limit=1',
    'skip=1&limit=2',
    'limit=2&total=true&sort[at]=desc',
    'project=["name","place.city"]',
    'q[count]=null',
  ],
  ...[
    'expand=["parent"]',
    'q[$or][0][state]=done&q[$or][1][size]=0',
    'project=name&project=tags',
    'q[createdBy]=ann',
  ],
  ...['limit=0', 'q[at][$gte]=2026-01-01', 'q[name]="Ann"&q[name]="Bob"', 'q[open]=true', 'q[_id][$nin]=[]'],
]

const PIECES = [
  'q',
  '[',
  ']',
  '$',
  '=',
  '&',
  '"',
  '%',
  '%zz',
  '+',
  '5',
  'x',
  '[]',
  '[0]',
  '$and',
  '$gt',
  'null',
  'limit=1',
  'after=x',
]

/** A query that is changed in a few places. */
const query = fc.oneof(
  { weight: 3, arbitrary: fc.constantFrom(...QUERIES) },
  {
    weight: 2,
    arbitrary: fc
      .tuple(
        fc.constantFrom(...QUERIES),
        fc.array(fc.tuple(fc.nat(60), fc.nat(3), fc.constantFrom('', ...PIECES)), {
          minLength: 1,
          maxLength: 2,
        }),
      )
      .map(([text, edits]) =>
        edits.reduce((now, [at, length, piece]) => now.slice(0, at) + piece + now.slice(at + length), text),
      ),
  },
)

type Request = readonly [line: string, asked?: Asked]

const long = 'x'.repeat(600)

/** Requests that are wrong in a way of their own, and some that are right in a rare way. */
const RARE: readonly Request[] = [
  ['GET /api'],
  ['GET /'],
  ['GET /apis'],
  ['GET /api/'],
  ['GET /%61pi/items'],
  ['GET /api/items/'],
  ['GET /api/Items'],
  ['GET /api/none'],
  ['GET /api/items/none'],
  ['GET /api/items/a%2Fb'],
  ['GET /api/items/%zz'],
  ['GET /api/items//count'],
  ['GET /api/items/count/x'],
  ['GET /api/items/count?limit=1'],
  ['GET /api/items/changes'],
  ['GET /api/closed'],
  ['POST /api/closed', { body: {} }],
  ['GET /api/_page'],
  ['HEAD /api/_page'],
  ['GET /api/_page', { headers: { 'if-none-match': PAGE.etag } }],
  ['GET /api/_page?x=1'],
  ['GET /api/_openapi.json'],
  ['HEAD /api/_openapi.json'],
  ['GET /api/_openapi.json?x=1'],
  ['POST /api/_openapi.json', { body: {} }],
  ['GET /api/auth/me'],
  ['GET /api/auth/none'],
  ['OPTIONS /api/items'],
  ['OPTIONS /api/items/x'],
  ['OPTIONS /api/none'],
  [
    'OPTIONS /api/items',
    { headers: { origin: 'https://app.example', 'access-control-request-method': 'PATCH' } },
  ],
  [
    'OPTIONS /api/items',
    { headers: { origin: 'https://evil.example', 'access-control-request-method': 'PUT' } },
  ],
  [
    'OPTIONS /api/items',
    {
      headers: {
        origin: 'https://other.example',
        'access-control-request-method': 'PUT',
        'access-control-request-headers': 'x-own, authorization',
      },
    },
  ],
  ['GET /api/items', { headers: { origin: 'https://app.example' } }],
  ['GET /api/items', { headers: { origin: 'null' } }],
  ['PURGE /api/items'],
  ['PUT /api/items', { body: {} }],
  ['DELETE /api/_batch'],
  ['PATCH /api/items/bulk', { body: {} }],
  ['HEAD /api/items?limit=1&total=true'],
  ['HEAD /api/items/count'],
  [`GET /api/items?q[name]=${long}`],
  ['GET /api/items?limit=51'],
  ['GET /api/items?limit=-1'],
  ['GET /api/items?limit=1&limit=2'],
  ['GET /api/items?skip=1.5'],
  ['GET /api/items?after=x'],
  ['GET /api/items?after=x&skip=1'],
  ['GET /api/items?total=yes'],
  ['GET /api/items?q[name][$regex]=('],
  ['GET /api/items?q[name][$regex]=(a%2B)%2B$'],
  ['GET /api/items?q[name][$options]=i'],
  ['GET /api/items?q[hidden]=x'],
  ['GET /api/items?q[nam]=x'],
  ['GET /api/items?q[size]=many'],
  ['GET /api/items?q[size][$in]=[1,2,3,4,5,6]'],
  ['GET /api/items?q[rows]=1'],
  ['GET /api/items?sort[tags]=1'],
  ['GET /api/items?sort[name]=up'],
  ['GET /api/items?project=["none"]'],
  ['GET /api/items?expand=["name"]'],
  ['GET /api/items?q=x'],
  ['GET /api/items?&'],
  ['GET /api/items?limit=1&'],
  ['GET /api/items?q[a][b][c][d][e]=1'],
  ['POST /api/items', { raw: '{"name":"Ann"', headers: { 'content-type': 'application/json' } }],
  ['POST /api/items', { raw: '{"name":"Ann"}', headers: { 'content-type': 'text/html' } }],
  ['POST /api/items', { raw: '{"name":"Ann"}', headers: { 'content-type': 'text/plain' } }],
  [
    'POST /api/items',
    { raw: '{"name":"Ann"}', headers: { 'content-type': 'application/json; charset=latin1' } },
  ],
  ['POST /api/items', { raw: '{"name":"Ann"}', headers: { 'content-type': 'application/vnd.api+json' } }],
  ['POST /api/items', { raw: '{"name":"Ann"}', headers: { 'content-encoding': 'gzip' } }],
  [
    'POST /api/items',
    { raw: '\ufeff{"name":"Ann","name":"Bob"}', headers: { 'content-type': 'application/json' } },
  ],
  [
    'POST /api/items',
    { raw: Uint8Array.of(123, 34, 255, 34, 125), headers: { 'content-type': 'application/json' } },
  ],
  ['POST /api/items', { raw: '[1]', headers: { 'content-type': 'application/json' } }],
  ['POST /api/items', { raw: '', headers: { 'content-type': 'application/json' } }],
  ['POST /api/items', { raw: '{"__proto__":{}}', headers: { 'content-type': 'application/json' } }],
  [
    'POST /api/items',
    { raw: `{"any":${'['.repeat(40)}${']'.repeat(40)}}`, headers: { 'content-type': 'application/json' } },
  ],
  ['POST /api/items', { body: { name: 'Ann', any: 'x'.repeat(5000) } }],
  ['POST /api/items', { body: { name: 'Ann', any: 'x'.repeat(1500) } }],
  ['POST /api/items?x=1', { body: { name: 'Ann' } }],
  ['POST /api/items/bulk', { body: { documents: [{ name: 'Ann' }, { name: 'Bob', size: 'x' }] } }],
  ['POST /api/items/bulk', { body: { documents: [{ name: 'Ann' }, { name: 'Bob' }] } }],
  ['POST /api/items/bulk', { body: { documents: [] } }],
  ['POST /api/items/bulk', { body: { documents: [{}, {}, {}, {}] } }],
  ['POST /api/items/bulk', { body: { documents: {}, more: 1 } }],
  ['POST /api/loose/bulk', { body: { documents: [{ n: 1 }] } }],
  ['POST /api/loose', { body: { n: 1, pin: '1234', other: { deep: [1] }, b: 1, a: 2, 10: 3 } }],
  ['POST /api/loose', { body: { n: 1, _x: 1, createdAt: 'x', _id: 'y' } }],
  [
    'PUT /api/items/0189abcd-0000-7000-8000-000000000001',
    { body: { name: 'Put' }, headers: { 'if-none-match': '*' } },
  ],
  ['PUT /api/items/none', { body: { name: 'Put' }, headers: { 'if-none-match': '*' } }],
  ['POST /api/_batch', { body: { operations: [] } }],
  ['POST /api/_batch', { body: { operations: [{ method: 'GET', path: '/items' }, { method: 'PUT' }, 5] } }],
  [
    'POST /api/_batch',
    {
      body: {
        operations: [
          { method: 'GET', path: '/items/x?y' },
          { method: 'POST', path: '/a%2fb' },
        ],
      },
    },
  ],
  [
    'POST /api/_batch',
    { body: { operations: [1, 2, 3, 4].map(() => ({ method: 'GET', path: '/items/x' })) } },
  ],
  ['POST /api/_batch', { body: { operations: [{ method: 'POST', path: '/loose', body: { pin: '1' } }] } }],
]

const requests = fc.array(
  fc.record({
    kind: fc.constantFrom(
      ...(['list', 'list', 'list', 'count', 'read', 'create', 'create', 'create', 'patch', 'patch'] as const),
      ...(['put', 'delete', 'batch', 'bulk'] as const),
    ),
    who: fc.constantFrom(...CALLERS),
    strict: fc.constantFrom({}, {}, {}, { prefer: 'handling=strict' }),
    salt: fc.nat(10_000),
    query,
    body,
    other: body,
  }),
  { minLength: 90, maxLength: 90 },
)

/** Requests of which many are wrong: queries, bodies, paths, methods, media types, and other origins. */
export async function playWrong(playing: Playing): Promise<void> {
  const { open } = openScene(playing)
  const [some = []] = fc.sample(requests, { seed: playing.seed, numRuns: 2 }).slice(1)
  const stage = await open(CONFIG, {
    basePath: '/api',
    page: PAGE,
    accounts: true,
    authenticate: () => null,
    cors: { origins: ORIGINS, headers: ['X-Own'] },
  })
  const { ask } = stage
  const made: string[] = []
  for (const { kind, who: caller, strict, salt, query, body, other } of some) {
    playing.clock.now += salt % 3
    const id = made[salt % Math.max(1, made.length)] ?? 'none'
    const as = { caller, headers: strict }
    const keep = (headers: Headers): void => {
      const location = headers.get('location')
      if (location !== null) made.push(location.slice(location.lastIndexOf('/') + 1))
    }
    switch (kind) {
      case 'list':
        await ask(`GET /api/items?${query}`, as)
        break
      case 'count':
        await ask(`GET /api/items/count?${query}`, as)
        break
      case 'read':
        await ask(`GET /api/items/${id}${salt % 3 ? '' : `?${query}`}`, as)
        break
      case 'create':
        keep(
          (await ask('POST /api/items', { ...as, body: salt % 3 ? { ...body, parent: id } : body })).headers,
        )
        break
      case 'patch':
        await ask(`PATCH /api/items/${id}`, { ...as, body })
        break
      case 'put':
        await ask(`PUT /api/items/${id}`, { ...as, body })
        break
      case 'delete':
        await ask(`DELETE /api/items/${id}`, as)
        break
      case 'bulk':
        await ask('POST /api/items/bulk', { ...as, body: { documents: [body, other] } })
        break
      case 'batch':
        await ask('POST /api/_batch', {
          ...as,
          body: {
            operations: [
              { method: 'POST', path: '/items', body },
              salt % 2
                ? { method: 'PATCH', path: `/items/${id}`, body: other }
                : { method: 'GET', path: `/items/${id}` },
            ],
          },
        })
        break
    }
  }
  for (const [i, [line, asked]] of RARE.entries()) {
    const caller = CALLERS[(i + playing.seed) % CALLERS.length] ?? null
    await ask(line, { ...asked, ...(line.includes('/auth') ? {} : { caller }) })
  }
  await stage.close()
}
