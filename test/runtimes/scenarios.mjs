/**
 * What the service promises, in one module without imports, so that it runs wherever the built library does:
 * `run(createCollectionService, createMemoryAdapter, createClient)` counts what holds. `prepare` is the same in two steps, for
 * runtimes that create services while a module loads and nowhere else.
 */

const SECRET = 'battery staple'
const text = { type: 'string' }
const users = {
  schema: {
    email: { type: 'string', unique: true, required: true, format: 'email', lowercase: true, trim: true },
    password: { type: 'hash', required: true, minLength: 8 },
  },
  permissions: { owner: { read: true, update: { pick: ['password'] } } },
}
const open = { '*': { read: true, create: true, update: true, delete: true } }
const readOnly = { '*': { read: true } }
const signedIn = { '*': { read: true }, user: { create: true } }
const id = (n) => `0190163d-8694-7000-8000-${String(n).padStart(12, '0')}`

const cities = [
  { name: 'Oslo', people: 709, tags: ['north', 'sea'] },
  { name: 'Bergen', people: 291, tags: ['north', 'sea'] },
  { name: 'Ærøskøbing', people: 1, tags: ['sea'] },
  { name: 'Zürich', people: 434 },
  { name: 'straße', people: 7, note: 'a.b' },
  { name: '𝒜 hill', people: 7, note: 'aXb' },
].map((city, n) => ({ _id: id(n), ...city }))

const cityConfig = {
  collections: {
    cities: {
      schema: {
        name: { ...text, required: true, unique: true },
        people: { type: 'integer', minimum: 0, index: true },
        tags: { type: 'array', items: text },
        note: text,
      },
      permissions: readOnly,
    },
  },
}

const manyLines = Array.from({ length: 1600 }, (_, n) => ({
  _id: id(n),
  n,
  text: `line ${n} ${'é'.repeat(40)}`,
}))

const library = {
  collections: {
    authors: { schema: { name: { ...text, required: true } }, permissions: open },
    books: {
      schema: {
        title: { ...text, required: true },
        author: { type: 'reference', collection: 'authors' },
        editors: { type: 'array', items: { type: 'reference', collection: 'authors' } },
      },
      permissions: open,
    },
    notes: {
      schema: { text, book: { type: 'reference', collection: 'books', onDelete: 'cascade' } },
      permissions: open,
    },
  },
}

const wrongConfigs = [
  [
    'an unknown type',
    { collections: { a: { schema: { x: { type: 'text' } } } } },
    '/collections/a/schema/x/type',
  ],
  ['an unknown key', { collections: {}, colections: {} }, '/colections'],
  ['no collections', {}, '/collections'],
  [
    'a grant on a field that is not there',
    { collections: { a: { schema: { title: text }, permissions: { user: { pick: ['titel'] } } } } },
    '/collections/a/permissions/user/pick/0',
  ],
]

const wrongBodies = [
  ['broken JSON', '{"text":', 400, 'invalid_json'],
  ['no object', '[1]', 400, 'validation_failed'],
  ['a wrong type', '{"text":1}', 400, 'validation_failed'],
  ['an undeclared property', '{"text":"x","other":1}', 400, 'validation_failed'],
  ['a forbidden name', '{"__proto__":{"text":"x"}}', 400, 'validation_failed'],
  ['a lone surrogate', '{"text":"\\ud800"}', 400, 'validation_failed'],
  ['too much', JSON.stringify({ text: 'x'.repeat(3000) }), 413, 'body_too_large'],
  ['no UTF-8', new Uint8Array([0x7b, 0xff, 0x7d]), 400, 'invalid_json'],
]

const scenarios = [
  {
    name: 'the description, which is loaded with the first request for it',
    config: { collections: { notes: { schema: { text }, permissions: open } } },
    options: { openapi: true },
    async run({ handler, send, is }) {
      is('takes no parameter', await send('GET /_openapi.json?x=1'), 400, 'invalid_query')
      const other = createSend(handler.as({ id: 'ann' }))
      const [first, second] = await Promise.all([send('GET /_openapi.json'), other('GET /_openapi.json')])
      is('describes', [first.status, first.body.openapi?.slice(0, 2)], [200, '3.'])
      is('at once, to two', [second.status, second.body.openapi?.slice(0, 2)], [200, '3.'])
      const again = await send('GET /_openapi.json')
      is('the same again', [again.text, again.headers.get('etag')], [first.text, first.headers.get('etag')])
    },
  },
  {
    name: 'register, login, logout',
    config: {
      collections: { users, notes: { schema: { text }, permissions: signedIn } },
      auth: { cost: 10 },
    },
    async run({ send, is }) {
      const account = { email: ' Ann@Example.com', password: SECRET }
      const registered = await send('POST /auth/register', { body: account })
      is('registers', registered.status, 201)
      is('normalises the identifier', registered.body.user?.email, 'ann@example.com')
      is('shows no secret', registered.text.includes('password'), false)
      is('takes no name twice', await send('POST /auth/register', { body: account }), 409, 'unique_violation')
      const wrong = { ...account, password: 'wrong secret' }
      is(
        'refuses a wrong secret',
        await send('POST /auth/login', { body: wrong }),
        401,
        'invalid_credentials',
      )
      const { token } = (await send('POST /auth/login', { body: account })).body
      is('knows who asks', (await send('GET /auth/me', { token })).body.email, 'ann@example.com')
      is('refuses strangers', await send('POST /notes', { body: { text: 'x' } }), 401, 'unauthenticated')
      is('lets the signed-in create', await send('POST /notes', { token, body: { text: 'x' } }), 201)
      is('ends a session', await send('POST /auth/logout', { token }), 204)
      is('which is dead then', await send('GET /auth/me', { token }), 401, 'invalid_token')
    },
  },
  {
    name: 'two registrations at once, with the default hasher',
    config: { collections: { users }, auth: { cost: 10 } },
    async run({ send, is }) {
      const register = (email) => send('POST /auth/register', { body: { email, password: SECRET } })
      const both = await Promise.all([register('ann@example.com'), register('bob@example.com')])
      is(
        'both finish',
        both.map(({ status }) => status),
        [201, 201],
      )
      const same = await Promise.all([register('eve@example.com'), register('eve@example.com')])
      is('one of two alike', same.map(({ status }) => status).sort(), [201, 409])
    },
  },
  {
    name: 'filters, patterns, sorts, projections',
    config: cityConfig,
    documents: { cities },
    async run({ send, is }) {
      const names = async (query) => {
        const { status, body } = await send(`GET /cities?${query}`)
        return status === 200 ? body.map(({ name }) => name) : body.code
      }
      is('equals', await names('q[name]="Oslo"'), ['Oslo'])
      is('any of', await names('q[name]=Oslo&q[name]=Bergen'), ['Oslo', 'Bergen'])
      is('a range', await names('q[people][$gte]=7&q[people][$lt]=400&sort[people]=-1'), [
        'Bergen',
        '𝒜 hill',
        'straße',
      ])
      is('an element', await names('q[tags]="sea"&q[tags][$ne]="north"'), ['Ærøskøbing'])
      is('missing', await names('q[tags][$exists]=false&limit=1'), ['Zürich'])
      is('groups', await names('q[$or][0][name]="Oslo"&q[$or][1][people][$lt]=2'), ['Oslo', 'Ærøskøbing'])
      is('a pattern', await names('q[name][$regex]=^[A-O]'), ['Oslo', 'Bergen'])
      is('an escaped dot', await names('q[note][$regex]=^a\\.b$'), ['straße'])
      is('any character', await names('q[note][$regex]=^a.b$&sort[_id]=1'), ['straße', '𝒜 hill'])
      is('a character beyond the BMP', await names('q[name][$regex]=^.\\shill$'), ['𝒜 hill'])
      is('case folded', await names('q[name][$regex]=^ÆRØ&q[name][$options]=i'), ['Ærøskøbing'])
      is('order by code point', await names('sort[name]=1&limit=6'), [
        'Bergen',
        'Oslo',
        'Zürich',
        'straße',
        'Ærøskøbing',
        '𝒜 hill',
      ])
      const slow = `q[name][$regex]=${encodeURIComponent('(a+)+$')}`
      is('a pattern that others choke on', await names(slow), [])
      is('look-around', await names('q[name][$regex]=(?=a)'), 'invalid_query')
      is('an unknown operator', await names('q[name][$where]=1'), 'invalid_query')
      is('an unknown field', await names('q[nmae]=Oslo'), 'invalid_query')
      is('a wrong type', await names('q[people]="many"'), 'invalid_query')
      is('counts', (await send('GET /cities/count?q[tags]="sea"')).body, { total: 3 })
      const { body } = await send('GET /cities?project=["name"]&limit=1')
      is('projects', body, [{ _id: id(0), name: 'Oslo' }])
    },
  },
  {
    name: 'pages by Link',
    config: { collections: { lines: { schema: { n: { type: 'integer' } }, permissions: readOnly } } },
    documents: { lines: Array.from({ length: 23 }, (_, n) => ({ _id: id(n), n: n % 5 })) },
    async run({ send, is }) {
      const seen = []
      let next = '/lines?sort[n]=-1&limit=5&total=true'
      let pages = 0
      for (; next !== undefined && pages < 10; pages++) {
        const answer = await send(`GET ${next}`)
        is(`page ${pages + 1}`, [answer.status, answer.headers.get('x-total-count')], [200, '23'])
        seen.push(...answer.body)
        next = /<([^>]+)>; *rel="next"/.exec(answer.headers.get('link') ?? '')?.[1]
      }
      is('five pages', pages, 5)
      is('each document once', new Set(seen.map(({ _id }) => _id)).size, 23)
      is(
        'in order',
        seen.map(({ n }) => n),
        [4, 3, 2, 1, 0].flatMap((n) => Array(n > 2 ? 4 : 5).fill(n)),
      )
    },
  },
  {
    name: 'PATCH, PUT and DELETE with ETag',
    config: { collections: { notes: { schema: { text, stars: { type: 'integer' } }, permissions: open } } },
    async run({ send, is }) {
      const created = await send('POST /notes', { body: { text: 'one', stars: 1 } })
      const path = `/notes/${created.body._id}`
      const etag = created.headers.get('etag')
      is('Location', created.headers.get('location'), path)
      const none = await send(`GET ${path}`, { headers: { 'if-none-match': etag } })
      is('304', [none.status, none.text], [304, ''])
      const patched = await send(`PATCH ${path}`, { headers: { 'if-match': etag }, body: { stars: null } })
      is('a merge patch', [patched.status, patched.body.text, 'stars' in patched.body], [200, 'one', false])
      is('another ETag', patched.headers.get('etag') !== etag, true)
      const late = { headers: { 'if-match': etag }, body: { text: 'late' } }
      is('PATCH of what has changed', await send(`PATCH ${path}`, late), 412, 'precondition_failed')
      is('PUT of what has changed', await send(`PUT ${path}`, late), 412, 'precondition_failed')
      const both = [{ text: 'two' }, { stars: 2 }].map((body) => send(`PATCH ${path}`, { body }))
      is(
        'two at once',
        (await Promise.all(both)).map(({ status }) => status),
        [200, 200],
      )
      const { body } = await send(`GET ${path}`)
      is('both survive', [body.text, body.stars], ['two', 2])
      const head = await send(`HEAD ${path}`)
      const { length } = new TextEncoder().encode((await send(`GET ${path}`)).text)
      is('HEAD', [head.status, head.text, head.headers.get('content-length')], [200, '', String(length)])
      is('DELETE', [(await send(`DELETE ${path}`)).status, (await send(`GET ${path}`)).status], [204, 404])
      const chosen = { headers: { 'if-none-match': '*' }, body: { text: 'mine' } }
      is('PUT under a chosen id', await send(`PUT /notes/${id(7)}`, chosen), 201)
      is('and not again', await send(`PUT /notes/${id(7)}`, chosen), 412, 'precondition_failed')
    },
  },
  {
    name: 'a list of 1,600 documents, streamed',
    config: {
      collections: { lines: { schema: { n: { type: 'integer' }, text }, permissions: readOnly } },
    },
    documents: { lines: manyLines },
    async run({ send, handler, is }) {
      const { status, body, headers } = await send('GET /lines')
      is('all of them', [status, body.length, headers.get('link')], [200, 1600, null])
      is(
        'whole',
        body.map(({ n, text }) => ({ n, text })),
        manyLines.map(({ n, text }) => ({ n, text })),
      )
      const head = await send('HEAD /lines')
      is(
        'of no length for HEAD',
        [head.status, head.text, head.headers.get('content-length')],
        [200, '', null],
      )
      const response = await handler(new Request('http://service.test/lines'))
      const reader = response.body.getReader()
      const { value } = await reader.read()
      is('in parts of bytes', value instanceof Uint8Array, true)
      await reader.cancel()
      is('a reader may leave', (await send('GET /lines/count')).body, { total: 1600 })
    },
  },
  {
    name: 'references, expand, bulk',
    config: library,
    async run({ send, is }) {
      const names = ['Ann', 'Bob', 'Eve'].map((name) => ({ name }))
      const bulk = await send('POST /authors/bulk', { body: { documents: names } })
      is(
        'creates many',
        [bulk.status, bulk.body.documents?.map(({ name }) => name)],
        [201, ['Ann', 'Bob', 'Eve']],
      )
      const [ann, bob, eve] = bulk.body.documents
      const all = await send('POST /authors/bulk', { body: { documents: [{ name: 'Ida' }, { name: 7 }] } })
      is('or none', [all.status, all.body.errors?.[0].path], [400, '/documents/1/name'])
      is('none of them', (await send('GET /authors/count')).body, { total: 3 })
      const book = { title: 'Filters', author: ann._id, editors: [bob._id, eve._id] }
      const { body } = await send('POST /books', { body: book })
      const expanded = (await send('GET /books?expand=["author","editors"]')).body[0]
      is('expands', [expanded.author.name, expanded.editors.map(({ name }) => name)], ['Ann', ['Bob', 'Eve']])
      const lost = await send('POST /books', { body: { title: 'Lost', author: id(1) } })
      is('no reference to nothing', [lost.status, lost.body.errors?.[0].path], [400, '/author'])
      is('keeps what is in use', await send(`DELETE /authors/${ann._id}`), 409, 'reference_in_use')
      await send('POST /notes', { body: { text: 'x', book: body._id } })
      is('deletes a book', await send(`DELETE /books/${body._id}`), 204)
      is('and its notes', (await send('GET /notes')).body, [])
    },
  },
  {
    name: 'a stream of changes',
    config: { collections: { notes: { changes: true, schema: { text }, permissions: open } } },
    async run({ send, handler, is }) {
      const listen = async (headers) => {
        const response = await handler(new Request('http://service.test/notes/changes', { headers }))
        is('text/event-stream', [response.status, response.headers.get('content-type')], [200, EVENTS])
        return readEvents(response)
      }
      const stream = await listen({})
      is('a reset', (await stream.next()).event, 'reset')
      const { body: note } = await send('POST /notes', { body: { text: 'one ✓' } })
      const entered = await stream.next()
      is('enter', [entered.event, entered.data.text], ['enter', 'one ✓'])
      await send(`PATCH /notes/${note._id}`, { body: { text: 'two' } })
      const changed = await stream.next()
      is('change', [changed.event, changed.data.text], ['change', 'two'])
      await stream.cut()
      await send(`DELETE /notes/${note._id}`)
      const again = await listen({ 'last-event-id': entered.id })
      const missed = [await again.next(), await again.next()]
      is(
        'goes on',
        missed.map(({ event }) => event),
        ['change', 'leave'],
      )
      is('of what is gone', missed[1].data, { _id: note._id })
      await again.cut()
    },
  },
  {
    name: 'wrong bodies',
    config: {
      collections: { notes: { schema: { text }, permissions: open } },
      limits: { bodyBytes: 2000 },
    },
    async run({ send, is }) {
      for (const [what, raw, status, code] of wrongBodies)
        is(
          what,
          await send('POST /notes', { raw, headers: { 'content-type': 'application/json' } }),
          status,
          code,
        )
      const form = { raw: 'text=x', headers: { 'content-type': 'application/x-www-form-urlencoded' } }
      is('a form', await send('POST /notes', form), 415, 'unsupported_media_type')
      is('nothing is stored', (await send('GET /notes')).body, [])
      const bytes = new TextEncoder().encode('{"text":"in parts ✓"}')
      const parts = [bytes.slice(0, 11), bytes.slice(11, 19), bytes.slice(19)]
      const stream = new ReadableStream({
        pull: (controller) => (parts.length > 0 ? controller.enqueue(parts.shift()) : controller.close()),
      })
      const sent = await send('POST /notes', { raw: stream, headers: { 'content-type': 'application/json' } })
      is('a body in parts', [sent.status, sent.body.text], [201, 'in parts ✓'])
    },
  },
  {
    name: 'callers on the host’s word, other origins, unknown routes',
    config: { collections: { notes: { schema: { text }, permissions: { user: true } } } },
    options: { basePath: '/api', cors: { origins: ['https://app.example'] }, authenticate: () => null },
    async run({ send, handler, is }) {
      is('a stranger', await send('GET /api/notes'), 401, 'unauthenticated')
      const asAnn = handler.as({ id: 'ann' })
      const request = new Request('http://service.test/api/notes', {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: '{"text":"mine"}',
      })
      const created = await (await asAnn(request)).json()
      is('is taken', [created.text, created.createdBy], ['mine', 'ann'])
      is('outside the base path', await send('GET /notes'), 404, 'not_found')
      is('a wrong method', await send('DELETE /api/notes'), 405, 'method_not_allowed')
      const preflight = await send('OPTIONS /api/notes', {
        headers: { origin: 'https://app.example', 'access-control-request-method': 'POST' },
      })
      is('a preflight', preflight.headers.get('access-control-allow-origin'), 'https://app.example')
    },
  },
]

const EVENTS = 'text/event-stream'

/** The events of a stream, one after the other. */
function readEvents(response) {
  const reader = response.body.getReader()
  const decoder = new TextDecoder()
  let text = ''
  return {
    async next() {
      while (!text.includes('\n\n')) {
        const { done, value } = await reader.read()
        if (done) return {}
        text += decoder.decode(value, { stream: true })
      }
      const end = text.indexOf('\n\n')
      const lines = text.slice(0, end).split('\n')
      text = text.slice(end + 2)
      const fields = Object.fromEntries(lines.map((line) => line.split(/: (.*)/s).slice(0, 2)))
      return { ...fields, data: JSON.parse(fields.data) }
    },
    cut: () => reader.cancel(),
  }
}

/** With the client, where there is one. */
const clientScenarios = [
  {
    name: 'the client',
    config: {
      collections: {
        users,
        notes: {
          changes: true,
          schema: { text: { ...text, required: true }, stars: { type: 'integer' } },
          permissions: { '*': { read: true }, user: { create: true }, owner: { update: true, delete: true } },
        },
      },
      auth: { cost: 10 },
    },
    async run({ handler, createClient, is }) {
      const client = createClient(handler)
      const notes = client.collection('notes')
      const codeOf = (call) => call.then(() => undefined).catch(({ code }) => code)
      is('a stranger', await codeOf(notes.create({ text: 'x' })), 'unauthenticated')
      const { user } = await client.auth.register({ email: 'ann@example.com', password: SECRET })
      is('signs in', [user.email, (await client.auth.me()).email], ['ann@example.com', 'ann@example.com'])
      const texts = Array.from({ length: 7 }, (_, n) => `note ${n} & ✓`)
      const created = await notes.createMany(texts.map((text, stars) => ({ text, stars })))
      is(
        'creates',
        created.map(({ text }) => text),
        texts,
      )
      is('counts', await notes.count({ q: { stars: { $gte: 4 } } }), 3)
      is(
        'finds',
        (await notes.list({ q: { text: texts[3] } })).map(({ stars }) => stars),
        [3],
      )
      const pages = []
      for await (const page of notes.pages({ limit: 3, sort: { stars: -1 } }))
        pages.push(page.map(({ stars }) => stars))
      is('pages', pages, [[6, 5, 4], [3, 2, 1], [0]])
      const read = await notes.get(created[0]._id)
      is('changes', (await notes.update(read, { text: 'mine' })).text, 'mine')
      is('only what it has read', await codeOf(notes.update(read, { text: 'late' })), 'precondition_failed')
      await notes.delete(created[1]._id)
      is('deletes', await codeOf(notes.get(created[1]._id)), 'not_found')
      const controller = new AbortController()
      const lists = notes
        .live({ q: { stars: { $gte: 5 } }, signal: controller.signal })
        [Symbol.asyncIterator]()
      is('a list', (await lists.next()).value.length, 2)
      await notes.create({ text: 'late', stars: 9 })
      is('that keeps itself', (await lists.next()).value.length, 3)
      controller.abort()
      is('until it is left', (await lists.next()).done, true)
      await client.auth.logout()
      is(
        'signs out',
        [client.token, await codeOf(notes.create({ text: 'x' }))],
        [undefined, 'unauthenticated'],
      )
    },
  },
]

const isSame = (a, b) => {
  if (a === null || b === null || typeof a !== 'object' || typeof b !== 'object') return Object.is(a, b)
  const keys = Object.keys(a)
  return keys.length === Object.keys(b).length && keys.every((key) => isSame(a[key], b[key]))
}

const createSend =
  (handler) =>
  async (line, { body, raw, token, headers = {} } = {}) => {
    const [method, path] = line.split(/ (.*)/s)
    const init = { method, headers: new Headers(headers) }
    if (token !== undefined) init.headers.set('authorization', `Bearer ${token}`)
    if (body !== undefined) {
      init.body = JSON.stringify(body)
      if (!init.headers.has('content-type')) init.headers.set('content-type', 'application/json')
    } else if (raw !== undefined) {
      init.body = raw
      if (raw instanceof ReadableStream) init.duplex = 'half'
    }
    // Only what a URL cannot carry is encoded, so that query strings stay readable.
    const target = path.replace(/[ "<>`{}|\\^#]|[^\x21-\x7e]/gu, encodeURIComponent)
    const response = await handler(new Request(`http://service.test${target}`, init))
    const answer = { status: response.status, headers: response.headers, text: await response.text() }
    const isJson = /json/.test(answer.headers.get('content-type') ?? '') && answer.text !== ''
    return { ...answer, body: isJson ? JSON.parse(answer.text) : {} }
  }

function createCounts() {
  const counts = { passed: 0, failed: 0, failures: [] }
  const judge = (title, actual, expected) => {
    if (isSame(actual, expected)) counts.passed += 1
    else {
      counts.failed += 1
      counts.failures.push(`${title}: expected ${JSON.stringify(expected)}, found ${JSON.stringify(actual)}`)
    }
  }
  return { counts, judge }
}

/** A value and what it should be; or an answer, its status and its code. */
const createIs = (judge, scenario) => (what, actual, expected, code) => {
  const isAnswer = actual?.headers !== undefined && typeof expected === 'number'
  const found = isAnswer ? [actual.status, actual.body.code] : actual
  judge(`${scenario} › ${what}`, found, isAnswer ? [expected, code] : expected)
}

/** Creates all services now, and answers the rest later: `{ passed, failed, failures }`. */
export function prepare(createCollectionService, createMemoryAdapter, createClient) {
  const wanted = createClient ? [...scenarios, ...clientScenarios] : scenarios
  const { counts, judge } = createCounts()
  const logger = { info() {}, warn() {}, error() {} }
  for (const [what, config, path] of wrongConfigs) {
    let found
    try {
      createCollectionService(config)
    } catch (error) {
      found = [error.code, error.faults?.some((fault) => fault.path === path)]
    }
    judge(`a wrong configuration › ${what}`, found, ['invalid_config', true])
  }
  const services = wanted.map(({ config, documents, options }) =>
    createCollectionService(config, createMemoryAdapter(documents && { documents }), {
      logger,
      production: false,
      ...options,
    }),
  )
  return async () => {
    for (const [i, { name, run }] of wanted.entries()) {
      const handler = services[i]
      try {
        await handler.ready()
        await run({ handler, createClient, send: createSend(handler), is: createIs(judge, name) })
        await handler.close()
      } catch (error) {
        judge(name, `threw ${error?.stack ?? error}`, 'no error')
      }
    }
    return counts
  }
}

export const run = (createCollectionService, createMemoryAdapter, createClient) =>
  prepare(createCollectionService, createMemoryAdapter, createClient)()
