import { describe, expect, test } from 'vitest'
import { createMemoryAdapter, type StorageAdapter } from '../../src/index.js'
import { createTestService, faultsOf, type TestService } from '../support/service.js'
import { closeAfterEach, type Storage, useStorages } from '../support/storages.js'
import { idOf, openStored } from '../support/stored.js'

// CONTRACT.md §2, "Aggregates"

const text = { type: 'string' }

const schema = {
  status: text,
  code: { type: 'string', lowercase: true, trim: true },
  amount: { type: 'number' },
  pieces: { type: 'integer' },
  isPaid: { type: 'boolean' },
  at: { type: 'timestamp' },
  tags: { type: 'array', items: text },
  lists: { type: 'array', items: { type: 'array', items: text } },
  lines: { type: 'array', items: { type: 'object', properties: { sku: text } } },
  address: {
    type: 'object',
    properties: { city: text, geo: { type: 'object', properties: { lat: { type: 'number' } } } },
  },
  extra: { type: 'json' },
  secret: text,
  cost: { type: 'number' },
  words: { type: 'array', items: text },
  other: { type: 'reference', collection: 'orders' },
}

const HIDDEN = ['secret', 'cost', 'words']

const config = {
  collections: {
    orders: {
      schema,
      permissions: {
        '*': { read: { where: { status: 'paid' }, omit: [...HIDDEN, 'amount'] } },
        owner: { read: { omit: HIDDEN } },
        user: { create: true, update: true },
        auditor: { read: true },
      },
    },
  },
  limits: { groups: 5, maxLimit: 100 },
}

const ann = { id: 'ann' }
const auditor = { id: 'eve', roles: ['auditor'] }

const ORDERS: readonly { readonly [name: string]: unknown }[] = [
  {
    status: 'paid',
    amount: 0.1,
    pieces: 1,
    tags: ['a', 'b'],
    at: '2026-03-28T23:30:00.000Z',
    createdBy: 'ann',
  },
  {
    status: 'paid',
    amount: 0.2,
    pieces: 2,
    tags: ['b', 'b', 5],
    at: '2026-03-29T00:10:00.000Z',
    createdBy: 'ann',
  },
  { status: 'paid', amount: 19.99, tags: [], at: '2026-03-29T21:59:00.000Z', createdBy: 'bob', secret: 'x' },
  { status: 'open', amount: 5, tags: ['a'], at: '2026-03-29T22:05:00.000Z', createdBy: 'ann', isPaid: false },
  { status: 'open', amount: 7, at: '2026-03-30T10:00:00.000Z', createdBy: 'bob', isPaid: true },
  // What only programs that filled the storage can have written.
  { status: 7, amount: '3', pieces: 2.5, tags: 'a', at: '2026', createdBy: 'ann', address: { city: 'Oslo' } },
]

/** An adapter that cannot group, so that the service reads its documents. */
function withoutGroups(): StorageAdapter {
  const { aggregate: _, ...others } = createMemoryAdapter()
  return others
}

const storages: readonly Storage[] = [...useStorages(), ['a storage without groups', withoutGroups]]

interface Groups {
  readonly status: number
  readonly body: { readonly [name: string]: unknown }[]
  readonly headers: Headers
}

const ask = async (service: TestService, query: string, caller: object | null = auditor): Promise<Groups> => {
  const { status, body, headers } = await service.send(`GET /orders/aggregate?${query}`, {
    caller: caller as typeof auditor | null,
  })
  return { status, body, headers }
}

describe.each(storages)('on %s', (_, createStorage) => {
  const opened = closeAfterEach()
  const open = async (settings: object = {}): Promise<TestService> => {
    const service = await openStored(
      { ...config, ...settings },
      { orders: ORDERS },
      { adapter: createStorage() },
    )
    opened.push(service)
    return service
  }
  const groups = async (service: TestService, query: string, caller?: object | null) => {
    const { status, body } = await ask(service, query, caller)
    expect(status, `${query}: ${JSON.stringify(body)}`).toBe(200)
    return body
  }

  test('groups, their counts and their exact sums, in the order of their keys', async () => {
    const service = await open()
    expect(
      await groups(service, 'by[status]=value&sum=["amount"]&avg=["amount"]&min=["amount"]&max=["amount"]'),
    ).toEqual([
      {
        key: { status: null },
        count: 1,
        sum: { amount: 0 },
        avg: { amount: null },
        min: { amount: null },
        max: { amount: null },
      },
      {
        key: { status: 'open' },
        count: 2,
        sum: { amount: 12 },
        avg: { amount: 6 },
        min: { amount: 5 },
        max: { amount: 7 },
      },
      {
        key: { status: 'paid' },
        count: 3,
        sum: { amount: 20.29 },
        avg: { amount: 6.763333333333334 },
        min: { amount: 0.1 },
        max: { amount: 19.99 },
      },
    ])
  })

  test('each caller groups what it sees', async () => {
    const service = await open()
    expect(await groups(service, 'by[status]=value&sum=["amount"]', ann)).toEqual([
      { key: { status: null }, count: 1, sum: { amount: 0 } },
      { key: { status: 'open' }, count: 1, sum: { amount: 5 } },
      { key: { status: 'paid' }, count: 3, sum: { amount: 0.3 } },
    ])
    expect(await groups(service, 'by[amount]=value', ann)).toEqual([
      { key: { amount: null }, count: 2 },
      { key: { amount: 0.1 }, count: 1 },
      { key: { amount: 0.2 }, count: 1 },
      { key: { amount: 5 }, count: 1 },
    ])
    expect(await groups(service, 'by[status]=value', null)).toEqual([{ key: { status: 'paid' }, count: 3 }])
  })

  test('an array has each document once in the group of each element', async () => {
    const service = await open()
    expect(await groups(service, 'by[tags]=value&sort[$count]=-1')).toEqual([
      { key: { tags: null }, count: 2 },
      { key: { tags: 'a' }, count: 2 },
      { key: { tags: 'b' }, count: 2 },
    ])
    expect(await groups(service, 'by[tags]=value&by[status]=value&q[status]=paid&sum=["pieces"]')).toEqual([
      { key: { tags: 'a', status: 'paid' }, count: 1, sum: { pieces: 1 } },
      { key: { tags: 'b', status: 'paid' }, count: 2, sum: { pieces: 3 } },
    ])
  })

  test.each([
    ['hour', ['2026-03-28T23:00:00.000Z', '2026-03-29T00:00:00.000Z']],
    ['day', ['2026-03-28T00:00:00.000Z', '2026-03-29T00:00:00.000Z']],
    ['week', ['2026-03-23T00:00:00.000Z']],
    ['month', ['2026-03-01T00:00:00.000Z']],
    ['year', ['2026-01-01T00:00:00.000Z']],
  ])('by %s, in UTC', async (unit, keys) => {
    const service = await open()
    const found = await groups(service, `by[at]=${unit}&q[pieces][$lte]=2`)
    expect(found.map(({ key }) => (key as { at: string }).at)).toEqual(keys)
  })

  test('between edges: the last one that is not above the value; null below the first, and for what is missing', async () => {
    const service = await open()
    expect(await groups(service, 'by[amount]=[0.2,7]')).toEqual([
      { key: { amount: null }, count: 2 },
      { key: { amount: 0.2 }, count: 2 },
      { key: { amount: 7 }, count: 2 },
    ])
    // Edges are normalised as the field declares.
    expect(await groups(service, 'by[code]=[" A "]')).toEqual([{ key: { code: null }, count: 6 }])
    expect(await groups(service, 'by[at]=["2026-03-29"]&sort[at]=-1')).toEqual([
      { key: { at: '2026-03-29T00:00:00.000Z' }, count: 4 },
      { key: { at: null }, count: 2 },
    ])
  })

  test('the law: the count of a group is what a count says of its condition', async () => {
    const service = await open()
    const count = async (query: string): Promise<number> =>
      (await service.send(`GET /orders/count?${query}`, { caller: auditor })).body.total
    for (const { key, count: size } of await groups(service, 'by[status]=value'))
      expect(await count(`q[status]=${JSON.stringify((key as { status: unknown }).status)}`)).toBe(size)
    const edges = await groups(service, 'by[amount]=[0.2,7]')
    const conditions = [
      'q[$or][0][amount][$lt]=0.2&q[$or][1][amount]=null',
      'q[amount][$gte]=0.2&q[amount][$lt]=7',
      'q[amount][$gte]=7',
    ]
    for (const [i, condition] of conditions.entries()) expect(await count(condition)).toBe(edges[i]?.count)
  })

  test('without by there is one group, also of nothing', async () => {
    const service = await open()
    expect(await groups(service, 'sum=["amount"]&avg=["amount"]&max=["status"]')).toEqual([
      { key: {}, count: 6, sum: { amount: 32.29 }, avg: { amount: 6.458 }, max: { status: 'paid' } },
    ])
    expect(await groups(service, 'q[status]=lost&sum=["amount"]&min=["at"]')).toEqual([
      { key: {}, count: 0, sum: { amount: 0 }, min: { at: null } },
    ])
    expect(await groups(service, 'by[status]=value&q[status]=lost')).toEqual([])
  })

  test('a minimum and a maximum of booleans, timestamps and nested fields', async () => {
    const service = await open()
    expect(
      await groups(service, 'min=["isPaid","at","address.city","createdBy"]&max=["isPaid","at"]'),
    ).toEqual([
      {
        key: {},
        count: 6,
        min: { isPaid: false, at: '2026-03-28T23:30:00.000Z', 'address.city': 'Oslo', createdBy: 'ann' },
        max: { isPaid: true, at: '2026-03-30T10:00:00.000Z' },
      },
    ])
  })

  test('pages of groups', async () => {
    const service = await open()
    const first = await ask(
      service,
      'by[status]=value&sort[$sum.amount]=-1&sum=["amount"]&limit=1&total=true',
    )
    expect(first.body).toEqual([{ key: { status: 'paid' }, count: 3, sum: { amount: 20.29 } }])
    expect(first.headers.get('x-total-count')).toBe('3')
    expect(first.headers.get('next-skip')).toBe('1')
    const link = /<([^>]*)>; rel="next"/.exec(first.headers.get('link') ?? '')?.[1] ?? ''
    expect(link).toMatch(/&skip=1$/)
    const second = await service.send(`GET ${link}`, { caller: auditor })
    expect(second.body).toEqual([{ key: { status: 'open' }, count: 2, sum: { amount: 12 } }])
    const last = await ask(service, 'by[status]=value&limit=2&skip=2')
    expect(last.body).toHaveLength(1)
    expect(last.headers.get('link')).toBeNull()
    const none = await ask(service, 'by[status]=value&limit=0&total=true')
    expect([none.body, none.headers.get('x-total-count'), none.headers.get('link')]).toEqual([[], '3', null])
    expect(first.headers.get('etag')).toBeNull()
  })

  test('more groups than limits.groups are a 400, whatever the page', async () => {
    const service = await open()
    expect(await groups(service, 'by[at]=value&q[isPaid]=null')).toHaveLength(4)
    for (const page of ['', '&limit=0', '&limit=1&skip=1', '&sort[$count]=-1&limit=1']) {
      const { status, body } = await ask(service, `by[at]=value${page}`)
      expect([status, faultsOf({ body } as never)]).toEqual([400, { by: 'too_many' }])
    }
    // Days that are one week are one group.
    expect(await groups(service, 'by[at]=week&by[status]=value')).toHaveLength(4)
  })

  test('values of several types and edges at the boundaries of the type', async () => {
    const service = await open()
    expect(await groups(service, 'by[pieces]=value&sort[pieces]=desc')).toEqual([
      { key: { pieces: 2 }, count: 1 },
      { key: { pieces: 1 }, count: 1 },
      { key: { pieces: null }, count: 4 },
    ])
    expect(await groups(service, 'by[isPaid]=value&by[_id]=value&q[isPaid][$exists]=true')).toEqual([
      { key: { isPaid: false, _id: idOf(4) }, count: 1 },
      { key: { isPaid: true, _id: idOf(5) }, count: 1 },
    ])
  })
})

describe.each(storages)('on %s, beside other features', (_, createStorage) => {
  const opened = closeAfterEach()

  test('fields and collections that are stored under other names', async () => {
    const integer = { type: 'integer', stored: 'b' }
    const renamed = createTestService(
      {
        collections: {
          sales: {
            stored: 'orders',
            schema: {
              a: { ...text, stored: 'c' },
              b: { type: 'object', stored: 'a', properties: { n: integer } },
              tags: { type: 'array', items: text, stored: 'words' },
            },
            permissions: {
              '*': { read: { where: { a: 'x' }, omit: ['b'] } },
              user: { create: true },
              owner: { read: true },
            },
          },
        },
      },
      { adapter: createStorage() },
    )
    opened.push(renamed)
    const documents = [
      { a: 'x', b: { n: 1 }, tags: ['p', 'q'] },
      { a: 'y', b: { n: 2 }, tags: ['q'] },
    ]
    for (const [i, body] of documents.entries())
      expect((await renamed.send('POST /sales', { body, caller: { id: `u${i}` } })).status).toBe(201)
    const { body } = await renamed.send('GET /sales/aggregate?by[tags]=value&by[a]=value&sum=["b.n"]', {
      caller: { id: 'u1' },
    })
    expect(body).toEqual([
      { key: { tags: 'p', a: 'x' }, count: 1, sum: { 'b.n': 0 } },
      { key: { tags: 'q', a: 'x' }, count: 1, sum: { 'b.n': 0 } },
      { key: { tags: 'q', a: 'y' }, count: 1, sum: { 'b.n': 2 } },
    ])
  })

  test('a hook groups what the writes before it did', async () => {
    const seen: unknown[] = []
    const hooked = createTestService(
      {
        collections: {
          orders: {
            schema: { amount: { type: 'number' } },
            permissions: { '*': { read: true }, user: { create: true } },
          },
        },
      },
      {
        adapter: createStorage(),
        authenticate: () => null,
        hooks: {
          orders: {
            async before({ api }: { api: (request: Request) => Promise<Response> }) {
              const response = await api(new Request('http://service.test/orders/aggregate?sum=["amount"]'))
              seen.push((await response.json())[0])
            },
          },
        } as never,
      },
    )
    opened.push(hooked)
    const operations = [0.1, 0.2, 5].map((amount) => ({ method: 'POST', path: '/orders', body: { amount } }))
    expect((await hooked.send('POST /_batch', { body: { operations }, caller: ann })).status).toBe(200)
    expect(seen.slice(-3)).toEqual([
      { key: {}, count: 0, sum: { amount: 0 } },
      { key: {}, count: 1, sum: { amount: 0.1 } },
      { key: {}, count: 2, sum: { amount: 0.3 } },
    ])
  })
})

describe('requests', () => {
  const service = createTestService(config)
  const faults = async (query: string, caller: object | null = auditor) => {
    const { status, body } = await ask(service, query, caller)
    expect(status, query).toBe(400)
    return faultsOf({ body } as never)
  }

  test.each([
    ['by[status]=day', [['by[status]', 'wrong_operator']]],
    ['by[at]=decade', [['by[at]', 'malformed']]],
    ['by[status]', [['by[status]', 'malformed']]],
    ['by[status][x]=value', [['by[status][x]', 'malformed']]],
    ['by=status', [['by', 'malformed']]],
    ['by[tags]=["a"]', [['by[tags]', 'wrong_operator']]],
    ['by[lists]=value', [['by[lists]', 'wrong_operator']]],
    ['by[lines]=value', [['by[lines]', 'wrong_operator']]],
    ['by[address]=value', [['by[address]', 'wrong_operator']]],
    ['by[extra]=value', [['by[extra]', 'wrong_operator']]],
    ['by[isPaid]=[false]', [['by[isPaid]', 'wrong_operator']]],
    ['by[amount]=[]', [['by[amount]', 'malformed']]],
    ['by[amount]=[1', [['by[amount]', 'malformed']]],
    ['by[amount]=[2,1]', [['by[amount]', 'malformed']]],
    ['by[amount]=[1,1.0]', [['by[amount]', 'malformed']]],
    ['by[code]=["a","A"]', [['by[code]', 'malformed']]],
    ['by[amount]=["1"]', [['by[amount]', 'wrong_type']]],
    ['by[pieces]=[1.5]', [['by[pieces]', 'wrong_type']]],
    ['by[amount]=[null]', [['by[amount]', 'wrong_type']]],
    ['by[amount]=[1e-400]', [['by[amount]', 'out_of_range']]],
    ['by[at]=["soon"]', [['by[at]', 'wrong_type']]],
    ['by[status]=value&by[status]=value', [['by[status]', 'repeated']]],
    ['by[status]=value&by[code]=value&by[at]=day&by[pieces]=value', [['by', 'too_many']]],
    ['by[tags]=value&by[words]=value', [['by', 'too_many']]],
    [`by[amount]=[${Array.from({ length: 101 }, (_, i) => i).join()}]`, [['by', 'too_many']]],
    [`by[amount]=[${Array.from({ length: 100 }, (_, i) => i).join()}]&q[status]=a`, [['by', 'too_many']]],
    ['sum=["status"]', [['sum', 'wrong_operator']]],
    ['avg=["tags"]', [['avg', 'wrong_operator']]],
    ['min=["tags"]', [['min', 'wrong_operator']]],
    ['max=["extra"]', [['max', 'wrong_operator']]],
    ['sum=[]', [['sum', 'malformed']]],
    ['sum=["amount"', [['sum', 'malformed']]],
    ['sum=["amount","amount"]', [['sum', 'repeated']]],
    ['sum[]=amount', [['sum[]', 'malformed']]],
    [
      'sum=["amount","pieces"]&avg=["amount","pieces"]&min=["amount","pieces","at","code"]&max=["amount","pieces","at"]',
      [['max', 'too_many']],
    ],
    ['by[status]=value&sort[code]=1', [['sort[code]', 'unknown_field']]],
    ['sort[$sum.amount]=1', [['sort[$sum.amount]', 'unknown_field']]],
    ['sum=["amount"]&sort[$avg.amount]=1', [['sort[$avg.amount]', 'unknown_field']]],
    ['sort[$sort]=1', [['sort[$sort]', 'unknown_field']]],
    ['sort[$count]=up', [['sort[$count]', 'wrong_direction']]],
    ['limit=101', [['limit', 'out_of_range']]],
    ['project=status', [['project', 'unknown_parameter']]],
    ['expand=other', [['expand', 'unknown_parameter']]],
    ['after=x', [['after', 'unknown_parameter']]],
    ['total=yes', [['total', 'malformed']]],
  ])('%s', async (query, expected) => {
    expect(await faults(query)).toEqual(Object.fromEntries(expected))
  })

  test('a plus in a time is a space, and the answer says so', async () => {
    const { body } = await ask(service, 'by[at]=["2026-03-28T23:00:00+01:00"]')
    expect(JSON.stringify(body)).toContain('%2B')
    expect((await ask(service, 'by[at]=["2026-03-28T23:00:00%2B01:00"]')).status).toBe(200)
  })

  test.each([
    (name: string) => `by[${name}]=value`,
    (name: string) => `by[${name}]=day`,
    (name: string) => `by[${name}]=decade`,
    (name: string) => `by[${name}]=[2,1]`,
    (name: string) => `by[${name}]=["a"]`,
    (name: string) => `by[tags]=value&by[${name}]=value`,
    (name: string) => `by[status]=value&by[code]=value&by[at]=day&by[${name}]=value`,
    (name: string) => `sum=["${name}"]`,
    (name: string) => `sum=["${name}","${name}"]`,
    (name: string) => `min=["${name}"]&sort[$min.${name}]=1`,
    (name: string) => `by[${name}]=value&sort[${name}]=1`,
    (name: string) =>
      `sum=["pieces"]&avg=["pieces"]&min=["pieces","at","code","status","isPaid"]&max=["pieces","at","code","${name}"]`,
    (name: string) => `by[amount]=[${Array.from({ length: 100 }, (_, i) => i).join()}]&by[${name}]=[1]`,
  ])('a field that no grant shows is answered as an unknown one, case %#', async (write) => {
    // Names of the same length, none of which is near to another one.
    const answers = ['secret', 'wxyzuv'].map(async (name) => (await ask(service, write(name), ann)).body)
    const [hidden, unknown] = (await Promise.all(answers)).map((body) =>
      JSON.stringify({ ...body, requestId: '', instance: '' }).replaceAll(/secret|wxyzuv/g, 'name'),
    )
    expect(hidden).toBe(unknown)
    expect(hidden).toContain('unknown_field')
    expect(
      (JSON.parse(hidden ?? '{}') as { errors: { code: string }[] }).errors.map(({ code }) => code),
    ).not.toContain('too_many')
  })

  test('the path is reserved: other methods are a 405, and a batch cannot name it', async () => {
    for (const method of ['POST', 'PUT', 'PATCH', 'DELETE']) {
      const { status, headers } = await service.send(`${method} /orders/aggregate`, { body: {}, caller: ann })
      expect([status, headers.get('allow')]).toEqual([405, 'GET, HEAD, OPTIONS'])
    }
    const head = await service.send('HEAD /orders/aggregate?by[status]=value', { caller: ann })
    expect([head.status, head.text]).toEqual([200, ''])
    const batch = await service.send('POST /_batch', {
      body: { operations: [{ method: 'GET', path: '/orders/aggregate' }] },
      caller: ann,
    })
    expect([batch.status, faultsOf(batch)]).toEqual([400, { '/operations/0/path': 'not_allowed' }])
  })

  test('a caller without a grant is refused as for a list', async () => {
    const closed = createTestService({
      collections: { orders: { schema: { status: text }, permissions: { admin: true } } },
    })
    expect((await closed.send('GET /orders/aggregate', { caller: null })).status).toBe(401)
    expect((await closed.send('GET /orders/aggregate', { caller: ann })).status).toBe(403)
  })
})
