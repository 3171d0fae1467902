/** What the service is asked to hold out against: the documents that lie there, and requests that try to keep it busy. */

const idOf = (kind, i) => `0199b0f0-0000-7000-80${kind}0-${String(i).padStart(12, '0')}`

const fields = {
  things: { title: { type: 'string' }, n: { type: 'integer', index: true }, f: { type: 'number' } },
  texts: { text: { type: 'string' } },
  large: { n: { type: 'integer' }, text: { type: 'string' } },
  targets: { text: { type: 'string' } },
  lists: { of: { type: 'array', items: { type: 'reference', collection: 'targets' } } },
  free: { data: { type: 'json' } },
  none: { text: { type: 'string' } },
  small: { n: { type: 'integer' } },
}

export const config = {
  collections: Object.fromEntries(
    Object.entries(fields).map(([name, schema]) => [
      name,
      { schema, permissions: { '*': { read: true, create: true, update: true } } },
    ]),
  ),
  limits: { queryBytes: 16384 },
}

/** The documents of each collection, as they are stored: `things` of them are small. */
export function* documents(things) {
  for (let i = 0; i < things; i++)
    yield [
      'things',
      { _id: idOf(1, i), title: `the title of number ${i} in this list`, n: i, f: Math.sin(i) },
    ]
  for (let i = 0; i < 10; i++) yield ['texts', { _id: idOf(2, i), text: 'ab'.repeat(50_000) }]
  for (let i = 0; i < 600; i++) yield ['large', { _id: idOf(3, i), n: i, text: `${i}`.padEnd(250_000, 'x') }]
  yield ['targets', { _id: idOf(4, 0), text: 'y'.repeat(190_000) }]
  for (let i = 1; i < 3000; i++) yield ['targets', { _id: idOf(4, i), text: 'a target' }]
  yield ['lists', { _id: idOf(5, 0), of: Array.from({ length: 2600 }, () => idOf(4, 0)) }]
  yield ['free', { _id: idOf(6, 0), data: { text: 'z'.repeat(1_900_000) } }]
  yield ['small', { _id: idOf(7, 0), n: 1 }]
}

/** A request that must never wait for long. */
export const canary = `/small/${idOf(7, 0)}`

const all = (values) => values.map((value, i) => `q[$or][${i}]${value}`).join('&')
const pattern = (field, source) => `[${field}][$regex]=${encodeURIComponent(source)}`
const range = (size) => Array.from({ length: size }, (_, i) => i)
const wide = (start) =>
  `[${range(100)
    .map((i) => String.fromCodePoint(0x100 + start + 5 * i, 0x2d, 0x103 + start + 5 * i))
    .join('')}]`

const get = (path) => ({ method: 'GET', path })
const send = (method, path, body) => ({ method, path, body: JSON.stringify(body) })

export const attacks = {
  'a pattern, 100 KB': get(`/texts?limit=1&q${pattern('text', 'a[ab]{400}$')}`),
  'ten patterns, 1 MB': get(
    `/texts/count?${all(range(10).map((i) => pattern('text', `a[ab]{${390 + i}}x`)))}`,
  ),
  'ten patterns, all titles': get(
    `/things/count?${all(range(10).map((i) => pattern('title', `[a-z]{3} (of|in) .*${i}{4}$`)))}`,
  ),
  'sixty numbers, all': get(`/things?${all(range(60).map((i) => `[f][$gt]=${2 + i}`))}`),
  'sixty numbers, count': get(`/things/count?${all(range(60).map((i) => `[f][$gt]=${2 + i}`))}`),
  'sort without index': get('/things?sort[f]=1&limit=100'),
  'sort, long list': get('/things?sort[title]=1&limit=20000'),
  'deep page': get('/things?sort[f]=1&skip=90000&limit=10'),
  'reading a pattern': get(
    `/none?q[$or][0]${pattern('text', wide(0))}&q[$or][0][text][$options]=i&${range(6)
      .map((i) => `q[$or][${i + 1}]${pattern('text', wide(7 * i))}&q[$or][${i + 1}][text][$options]=i`)
      .join('&')}`.slice(0, 16000),
  ),
  'expand, one 2,600 times': get('/lists?expand=["of"]'),
  'large documents': get('/large?limit=1000'),
  'large documents, sorted': get('/large?sort[text]=1&limit=1000'),
  'large documents, all': get('/large'),
  'growing by PATCH': send('PATCH', `/free/${idOf(6, 0)}`, { data: { more: 'z'.repeat(900_000) } }),
  'rewriting 2 MB': send('PATCH', `/free/${idOf(6, 0)}`, { data: { less: 'z'.repeat(1000) } }),
  '10,000 references': send('POST', '/lists', { of: range(10_000).map((i) => idOf(4, 1 + (i % 2900))) }),
  '10,000 broken references': send('POST', '/lists', { of: range(10_000).map((i) => idOf(9, i)) }),
  'a body of 1 MB': send('POST', '/free', { data: range(150_000) }),
}
