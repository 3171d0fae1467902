import { AsyncLocalStorage } from 'node:async_hooks'
import { beforeAll, describe, expect, test } from 'vitest'
import { answerAtDeadline, createStall } from '../support/deadlines.js'
import { faultsOf, type SendOptions } from '../support/service.js'
import {
  AS_ANN,
  type Attacked,
  attack,
  BEN,
  type Case,
  FORBIDDEN,
  INVALID_BODY,
  INVALID_JSON,
  P1,
  type Refusal,
  TOO_LARGE,
  UNAUTHENTICATED,
  UNSUPPORTED,
} from './fixture.js'

// CONTRACT.md §1, "System fields", §4, "Media types", "Validation of bodies"

let service: Attacked
beforeAll(async () => {
  service = await attack()
})

const encoder = new TextEncoder()

describe('properties that a writer may not set', () => {
  test('are dropped, and nothing else changes', async () => {
    const before = await service.send(`GET /posts/${P1}`)
    const sent = {
      title: 't',
      secret: 's',
      owner: BEN,
      createdAt: 0,
      updatedAt: 'x',
      createdBy: BEN,
      _id: P1,
      $loki: 1,
      'a.b': 1,
      isAdmin: true,
    }
    const { status, body, headers } = await service.send('POST /posts', { caller: AS_ANN, body: sent })
    expect(status).toBe(201)
    expect(body._id).not.toBe(P1)
    expect(headers.get('location')).toBe(`/posts/${body._id}`)
    const [stored] = JSON.parse(await service.dump())
      .flat()
      .filter(({ _id }: { _id: string }) => _id === body._id)
    expect(Object.keys(stored).sort()).toEqual([
      '_id',
      '_version',
      'createdAt',
      'createdBy',
      'title',
      'updatedAt',
    ])
    expect(stored).toMatchObject({
      title: 't',
      createdBy: AS_ANN.id,
      createdAt: expect.stringMatching(/^20\d\d-/),
    })
    expect((await service.send(`GET /posts/${P1}`)).text).toBe(before.text)
  })

  test.each<Case<[permission: object, faults: object]>>([
    ['omit wins over pick', { pick: ['title', 'secret'], omit: ['secret'] }, {}],
    ['an empty pick accepts nothing', { pick: [] }, { '/title': 'required' }],
    ['a required one that is omitted is missing', { omit: ['title'] }, { '/title': 'required' }],
  ])('%s', async (_what, create, faults) => {
    const schema = { title: { type: 'string', required: true }, secret: { type: 'string' } }
    const own = await attack(
      { collections: { notes: { schema, permissions: { '*': { create, read: true } } } } },
      {},
    )
    const sent = await own.send('POST /notes', { body: { title: 't', secret: 's' } })
    expect(faultsOf(sent)).toEqual(faults)
    expect(sent.status).toBe(Object.keys(faults).length > 0 ? 400 : 201)
    expect(await own.dump()).not.toContain('"s"')
  })
})

const INVALID: readonly Case<[json: string, faults: object]>[] = [
  ['an undeclared property', '{"name":"x","admin":true}', { '/admin': 'unknown_property' }],
  ['the key of an engine', '{"name":"x","$loki":1}', { '/$loki': 'forbidden_name' }],
  ['the key of an engine as null', '{"$loki":null}', { '/$loki': 'forbidden_name' }],
  ['what an engine keeps, as text', '{"meta":"x"}', { '/meta': 'unknown_property' }],
  ['what an engine keeps, as null', '{"meta":null}', { '/meta': 'unknown_property' }],
  ['what an engine keeps, as an object', '{"meta":{"created":1}}', { '/meta': 'unknown_property' }],
  ['a name of the service', '{"_version":9}', { '/_version': 'forbidden_name' }],
  ['hashes ready-made', '{"_hashes":{"pin":"$2b$04$x"}}', { '/_hashes': 'forbidden_name' }],
  ['__proto__', '{"__proto__":{"name":"x","admin":true}}', { '/__proto__': 'forbidden_name' }],
  ['__proto__ as null', '{"name":"x","__proto__":null}', { '/__proto__': 'forbidden_name' }],
  ['__proto__ in escapes', '{"\\u005f_proto__":{"admin":true}}', { '/__proto__': 'forbidden_name' }],
  ['__proto__ deep inside', '{"name":[{"x":{"__proto__":{}}}]}', { '/name/0/x/__proto__': 'forbidden_name' }],
  ['constructor', '{"constructor":{"prototype":{"p":1}},"name":"x"}', { '/constructor': 'forbidden_name' }],
  ['prototype', '{"prototype":{"p":1}}', { '/prototype': 'forbidden_name' }],
  ['an inherited name', '{"toString":"x"}', { '/toString': 'unknown_property' }],
  ['a dotted name', '{"name":"x","a.b":1}', { '/a.b': 'forbidden_name' }],
  ['an operator as a name', '{"$set":{}}', { '/$set': 'forbidden_name' }],
  ['the empty name', '{"":1}', { '/': 'forbidden_name' }],
  ['NUL in a name', '{"na\\u0000me":1}', { '/na\u0000me': 'forbidden_name', '': 'invalid_text' }],
  ['an array', '[]', { '': 'wrong_type' }],
  ['an array of documents', '[{"name":"a"},{"name":"b"}]', { '': 'wrong_type' }],
  ['null', 'null', { '': 'wrong_type' }],
  ['a string', '"x"', { '': 'wrong_type' }],
  ['a number', '1', { '': 'wrong_type' }],
  ['true', 'true', { '': 'wrong_type' }],
  ['a lone surrogate', '{"name":"\\ud800"}', { '/name': 'invalid_text' }],
  ['a lone low surrogate', '{"name":"a\\udc00b"}', { '/name': 'invalid_text' }],
  ['NUL', '{"name":"a\\u0000"}', { '/name': 'invalid_text' }],
  ['a number beyond all numbers', '{"n":1e400}', { '/n': 'number_out_of_range' }],
  ['a number below all numbers', '{"n":-1e400}', { '/n': 'number_out_of_range' }],
  ['a whole number that cannot be held', '{"n":9007199254740993}', { '/n': 'number_out_of_range' }],
  [
    'a whole number that cannot be told from its neighbour',
    '{"n":-9007199254740992}',
    { '/n': 'number_out_of_range' },
  ],
  ...['"5"', 'true', 'null', '[5]', '{}', '"0x10"', '""'].map(
    (value): Case<[string, object]> => [`${value} for a number`, `{"n":${value}}`, { '/n': 'wrong_type' }],
  ),
  ...['{"$gt":""}', '["x"]', '5', 'null', 'false'].map(
    (value): Case<[string, object]> => [
      `${value} for a text`,
      `{"name":${value}}`,
      { '/name': 'wrong_type' },
    ],
  ),
  ...['{"$ne":null}', '["123456"]', '123456', 'true', 'null'].map(
    (value): Case<[string, object]> => [
      `${value} for a secret`,
      `{"pin":${value}}`,
      { '/pin': 'wrong_type' },
    ],
  ),
]

test.each(INVALID)('a body is refused for %s', async (_what, raw, faults) => {
  const headers = { 'content-type': 'application/json' }
  const sent = await service.refuse('POST /open', INVALID_BODY, { raw, headers })
  expect(faultsOf(sent)).toEqual(faults)
  expect(({} as { admin?: unknown; p?: unknown }).admin).toBeUndefined()
  expect(({} as { admin?: unknown; p?: unknown }).p).toBeUndefined()
})

test('all faults of a body are named at once', async () => {
  const raw = '{"name":5,"n":"5","x":1,"$y":2}'
  const sent = await service.refuse('POST /open', INVALID_BODY, { raw })
  expect(faultsOf(sent)).toEqual({
    '/name': 'wrong_type',
    '/n': 'wrong_type',
    '/x': 'unknown_property',
    '/$y': 'forbidden_name',
  })
})

test.each<Case<[count: number, faults: number]>>([
  ['as many as there are', 49, 49],
  ['never more than 50', 500, 50],
])('of many faults a body is told %s', async (_what, count, faults) => {
  const body = Object.fromEntries(Array.from({ length: count }, (_, i) => [`p${i}`, 1]))
  const sent = await service.send('POST /open', { body })
  expect(sent).toMatchObject({ status: 400, body: { code: 'validation_failed' } })
  expect(sent.body.errors).toHaveLength(faults)
})

test('the answer does not grow with the names of a body', async () => {
  const body = Object.fromEntries(Array.from({ length: 60 }, (_, i) => [`${i}`.padEnd(4000, 'x'), 1]))
  const sent = await service.send('POST /open', { body })
  expect(sent).toMatchObject({ status: 400, body: { code: 'validation_failed' } })
  expect(sent.text.length).toBeLessThan(65536)
})

test('of two properties of one name the last is judged and stored', async () => {
  const good = await service.send('POST /open', { raw: '{"name":5,"n":1,"name":"b"}' })
  expect(good).toMatchObject({ status: 201, body: { name: 'b', n: 1 } })
  expect((await service.send(`GET /open/${good.body._id}`)).body).toEqual(good.body)
  const bad = await service.refuse('POST /open', INVALID_BODY, { raw: '{"name":"a","name":5}' })
  expect(faultsOf(bad)).toEqual({ '/name': 'wrong_type' })
})

const nested = (levels: number): string => `{"name":${'['.repeat(levels - 1)}${']'.repeat(levels - 1)}}`

const bytes = (...parts: readonly (string | number)[]): ArrayBuffer => {
  const all = parts.flatMap((part) => (typeof part === 'string' ? [...encoder.encode(part)] : [part]))
  return Uint8Array.from(all).buffer
}

test.each<Case<[raw: string | ArrayBuffer]>>([
  ['nothing', ''],
  ['blanks', ' \n '],
  ['half an object', '{"name":"x"'],
  ['something behind the object', '{"name":"x"} {}'],
  ['single quotes', "{'name':'x'}"],
  ['a comment', '{"name":"x"/**/}'],
  ['NaN', '{"n":NaN}'],
  ['a line break inside a string', '{"name":"a\nb"}'],
  ['a form', 'name=x&n=1'],
  ['bytes that are no UTF-8', bytes('{"name":"', 0xff, 0xfe, '"}')],
  ['an encoded surrogate', bytes('{"name":"', 0xed, 0xa0, 0x80, '"}')],
  ['an overlong encoding', bytes('{"name":"', 0xc0, 0x80, '"}')],
  ['two byte order marks', bytes(0xef, 0xbb, 0xbf, 0xef, 0xbb, 0xbf, '{"name":"x"}')],
  ['UTF-16', bytes(0xff, 0xfe, '{', 0, '}', 0)],
  ['33 levels', nested(33)],
  ['brackets that are never closed', '['.repeat(200_000)],
  ['deep nesting behind a string that holds a bracket', `{"name":"]}","n":${'['.repeat(40)}`],
])('a body that is no JSON is refused: %s', async (_what, raw) => {
  await service.refuse('POST /open', INVALID_JSON, { raw, headers: { 'content-type': 'application/json' } })
})

test.each<Case<[raw: string | ArrayBuffer, name: string]>>([
  ['one byte order mark', bytes(0xef, 0xbb, 0xbf, '{"name":"x"}'), 'x'],
  ['brackets inside strings', `{"name":"${'[{'.repeat(50)}"}`, '[{'.repeat(50)],
  ['an escaped quote before brackets', `{"name":"\\"${'['.repeat(40)}"}`, `"${'['.repeat(40)}`],
  ['an escaped backslash at the end of a string', '{"name":"[\\\\"}', '[\\'],
  ['__proto__ as a value', '{"name":"__proto__"}', '__proto__'],
  ['a pair of surrogates in escapes', '{"name":"\\ud83d\\ude00"}', '😀'],
  ['markup, as it is', '{"name":"<script>"}', '<script>'],
])('a body may hold %s', async (_what, raw, name) => {
  const { status, body } = await service.send('POST /open', {
    raw,
    headers: { 'content-type': 'application/json' },
  })
  expect({ status, name: body.name }).toEqual({ status: 201, name })
})

test('nesting is judged on the whole body, before anything is dropped', async () => {
  const deep = (levels: number): SendOptions => ({
    caller: AS_ANN,
    raw: `{"title":"t","secret":${'['.repeat(levels - 1)}${']'.repeat(levels - 1)}}`,
  })
  expect((await service.send('POST /posts', deep(32))).status).toBe(201)
  await service.refuse('POST /posts', INVALID_JSON, deep(33))
  await service.refuse('POST /posts', INVALID_BODY, {
    caller: AS_ANN,
    body: JSON.parse('{"title":"t","secret":{"__proto__":1}}'),
  })
  // What is dropped is not judged otherwise.
  expect(
    (await service.send('POST /posts', { caller: AS_ANN, raw: '{"title":"t","secret":"\\u0000\\ud800"}' }))
      .status,
  ).toBe(201)
})

test('100,000 levels do no harm while asynchronous context is kept', async () => {
  const storage = new AsyncLocalStorage<number>()
  const raw = `${'['.repeat(100_000)}${']'.repeat(100_000)}`
  await storage.run(1, () => service.refuse('POST /open', INVALID_JSON, { raw }))
})

const type = (contentType: string): SendOptions => ({
  raw: '{"name":"x"}',
  headers: { 'content-type': contentType },
})

test.each<Case<[options: SendOptions]>>([
  ['a form', type('application/x-www-form-urlencoded')],
  ['parts', type('multipart/form-data; boundary=x')],
  ['XML', type('application/xml')],
  ['HTML', type('text/html')],
  ['a type that begins like JSON', type('application/jsonp')],
  ['a type that ends like JSON', type('text/x+json')],
  ['two types', type('application/json, text/html')],
  [
    'UTF-16',
    { raw: bytes('{', 0, '}', 0), headers: { 'content-type': 'application/json; charset=utf-16le' } },
  ],
  ['UTF-7', type('application/json; charset=utf-7')],
  ['Latin-1', type('application/json;charset="iso-8859-1"')],
  ['a charset behind another parameter', type('application/json; x=y; charset=utf-16')],
  ['gzip', { body: {}, headers: { 'content-encoding': 'gzip' } }],
  ['deflate', { body: {}, headers: { 'content-encoding': 'deflate' } }],
  ['br', { body: {}, headers: { 'content-encoding': 'br' } }],
  ['gzip behind identity', { body: {}, headers: { 'content-encoding': 'identity, gzip' } }],
])('a body is not looked into that is sent as %s', async (_what, options) => {
  await service.refuse('POST /open', UNSUPPORTED, options)
})

test.each([
  'application/json',
  'APPLICATION/JSON; Charset=UTF-8',
  'application/merge-patch+json',
  'text/plain',
  'text/plain;charset=utf-8',
])('a body is read that is sent as %s', async (contentType) => {
  expect(await service.send('POST /open', type(contentType))).toMatchObject({
    status: 201,
    body: { name: 'x' },
  })
})

test('where the host knows callers by cookies, only JSON types count, so that a form of another site is refused', async () => {
  const own = await attack(undefined, { authenticate: () => null })
  const plain = await own.send('POST /open', type('text/plain'))
  expect(plain).toMatchObject({ status: 415, body: { code: 'unsupported_media_type' } })
  const none = await own.send('POST /open', { raw: bytes('{"name":"x"}') })
  expect(none).toMatchObject({ status: 415, body: { code: 'unsupported_media_type' } })
  expect((await own.send('POST /open', type('application/json'))).status).toBe(201)
  expect(await own.list('/open', 'name')).toEqual(['x'])
})

/** A body of so many chunks, and how many of them were taken. */
function streamOf(chunk: unknown, count: number) {
  const seen = { pulled: 0, cancelled: false }
  const stream = new ReadableStream(
    {
      pull(controller) {
        if (seen.pulled === count) return controller.close()
        seen.pulled += 1
        controller.enqueue(chunk)
      },
      cancel() {
        seen.cancelled = true
      },
    },
    { highWaterMark: 0 },
  )
  return { stream, seen }
}

const LIMIT = 262144

describe('a body beyond the limit', () => {
  test('is refused by what it says of its length, unread', async () => {
    const { stream, seen } = streamOf(encoder.encode('x'), 10)
    const headers = { 'content-type': 'application/json', 'content-length': '999999999' }
    await service.refuse('POST /open', TOO_LARGE, { raw: stream, headers })
    expect(seen.pulled).toBe(0)
  })

  test('is refused when it has lied about its length, and no more of it is taken', async () => {
    const { stream, seen } = streamOf(encoder.encode(' '.repeat(65536)), 80)
    const headers = { 'content-type': 'application/json', 'content-length': '2' }
    await service.refuse('POST /open', TOO_LARGE, { raw: stream, headers })
    expect(seen).toEqual({ pulled: 5, cancelled: true })
  })

  test('is refused before its 200,000 numeric keys are parsed', async () => {
    const raw = `{${Array.from({ length: 200_000 }, (_, i) => `"${i * 16777619}":1`).join(',')}}`
    await service.refuse('POST /open', TOO_LARGE, { raw })
  })

  test('begins one byte behind it', async () => {
    const text = (length: number): string => `{"name":"${'a'.repeat(length - 11)}"}`
    expect((await service.send('POST /open', { raw: text(LIMIT) })).status).toBe(201)
    await service.refuse('POST /open', TOO_LARGE, { raw: text(LIMIT + 1) })
  })
})

test('a stream of text instead of bytes is refused', async () => {
  const { stream } = streamOf('{"name":"x"}', 1)
  const sent = await service.send('POST /open', {
    raw: stream,
    headers: { 'content-type': 'application/json' },
    mayFail: true,
  })
  expect(sent).toMatchObject({ status: 400, body: { code: 'invalid_json' } })
})

test.each<Case<[line: string, expected: Refusal, options: SendOptions]>>([
  ['nobody is signed in', 'POST /posts', UNAUTHENTICATED, {}],
  ['no rule allows it', 'POST /locked', FORBIDDEN, { caller: AS_ANN }],
])('a body is left unread where %s', async (_what, line, expected, options) => {
  const { stream, seen } = streamOf(encoder.encode('{'), 10)
  await service.refuse(line, expected, { ...options, raw: stream })
  expect(seen.pulled).toBe(0)
})

test('a body that the host has read before is an error of the host', async () => {
  const request = new Request('http://service.test/open', { method: 'POST', body: '{"name":"x"}' })
  await request.text()
  const response = await service.handler(request)
  expect({ status: response.status, code: (await response.json()).code }).toEqual({
    status: 500,
    code: 'internal_error',
  })
  expect(service.logged.pop()?.[1]).toMatchObject({ cause: expect.any(TypeError) })
})

describe('a body that does not arrive', () => {
  const stalled = (): ReadableStream => new ReadableStream({ pull: () => new Promise(() => {}) })

  test('is given up when the time is over', async () => {
    const { begin, begun } = createStall()
    const own = await attack({ collections: { open: { schema: {}, permissions: { '*': true } } } }, {})
    const raw = new ReadableStream({ pull: begin }, { highWaterMark: 0 })
    const sent = await answerAtDeadline(begun, () => own.send('POST /open', { raw }))
    expect(sent).toMatchObject({ status: 408, body: { code: 'request_timeout' } })
    expect(await own.list('/open', '_id')).toEqual([])
  })

  test('is given up when its client has left', async () => {
    const controller = new AbortController()
    const init = { method: 'POST', body: stalled(), signal: controller.signal, duplex: 'half' }
    const answer = service.handler(new Request('http://service.test/open', init as RequestInit))
    await new Promise((resolve) => setImmediate(resolve))
    controller.abort()
    expect((await answer).status).toBe(408)
  })
})

describe('lengths', () => {
  const LONG = 'x'.repeat(65000)
  const own = () =>
    attack(
      {
        collections: {
          notes: {
            schema: {
              short: { type: 'string', maxLength: 4 },
              code: { type: 'string', unique: true },
              mark: { type: 'string', index: true },
            },
            permissions: { '*': true },
          },
        },
      },
      {},
    )
  const noise = Array.from({ length: 3000 }, (_, i) => 'abcdefgh'[(i * i * 31 + (i >> 3)) % 8]).join('')

  test.each<Case<[body: object, faults: object]>>([
    ['one code point too many', { short: 'abcde' }, { '/short': 'too_long' }],
    ['emoji, counted by code point', { short: '😀😀😀😀' }, {}],
    ['one emoji too many', { short: '😀😀😀😀😀' }, { '/short': 'too_long' }],
    ['1,024 bytes of a unique text', { code: 'é'.repeat(512) }, {}],
    ['1,025 bytes of a unique text', { code: `${'é'.repeat(512)}a` }, { '/code': 'too_long' }],
    ['3,000 bytes of a unique text that compress well', { code: 'a'.repeat(3000) }, { '/code': 'too_long' }],
    ['3,000 bytes of a unique text that do not', { code: noise }, { '/code': 'too_long' }],
    ['1,025 bytes of an indexed text', { mark: 'a'.repeat(1025) }, { '/mark': 'too_long' }],
    [
      'everything at once',
      { short: LONG, code: LONG, mark: LONG },
      { '/short': 'too_long', '/code': 'too_long', '/mark': 'too_long' },
    ],
  ])('are judged in code points, and in bytes where an index holds them: %s', async (_what, body, faults) => {
    const notes = await own()
    const sent = await notes.send('POST /notes', { body })
    expect(faultsOf(sent)).toEqual(faults)
    expect(sent.status).toBe(Object.keys(faults).length > 0 ? 400 : 201)
  })
})

test('the same creation twice makes two documents', async () => {
  const send = () =>
    service.send('POST /open', { body: { name: 'twin' }, headers: { 'idempotency-key': 'k' } })
  const [first, second] = [await send(), await send()]
  expect([first.status, second.status]).toEqual([201, 201])
  expect(first.body._id).not.toBe(second.body._id)
})

test('what a caller does with an answer, or with a body sent, does not reach the store', async () => {
  const seed = { name: 'mine', n: 1 }
  const own = await attack(undefined, { documents: { open: [seed] } })
  seed.name = 'changed'
  const before = await own.dump()
  const [document] = (await own.send('GET /open')).body
  document.name = 'changed'
  expect(await own.dump()).toBe(before)
  expect(await own.list('/open', 'name')).toEqual(['mine'])
})
