import { describe, expect, test } from 'vitest'
import { everything } from '../../src/core/filter/filter.js'
import { type AnyConfig, createTestService, type SendOptions, type TestService } from '../support/service.js'
import { closeAfterEach, useStorages } from '../support/storages.js'

// CONTRACT.md §6, "Headers": `Prefer: handling=strict`

const TEXT = { type: 'string' }
const config: AnyConfig = {
  collections: {
    users: {
      schema: {
        email: { ...TEXT, unique: true, lowercase: true },
        password: { type: 'hash' },
        name: TEXT,
        role: TEXT,
      },
      permissions: {
        '*': { create: { pick: ['name'] } },
        owner: { read: true, update: { pick: ['name'] } },
        admin: true,
      },
    },
    notes: {
      schema: {
        title: { ...TEXT, maxLength: 5 },
        team: TEXT,
        code: { ...TEXT, unique: true },
        secret: TEXT,
        n: { type: 'integer' },
        of: { type: 'reference', collection: 'notes' },
      },
      permissions: {
        '*': { read: { omit: ['secret'] }, create: { pick: ['title', 'code', 'of'] } },
        user: {
          create: { omit: ['n'], set: { team: 'red' }, check: { title: { $ne: 'no' } } },
          update: { pick: ['title', 'code'] },
        },
        editor: { create: true, update: true },
        two: { create: { pick: ['title'], check: { title: 'first' } } },
        three: { create: { pick: ['title', 'team'] } },
      },
    },
    free: {
      schema: {},
      additionalProperties: true,
      permissions: { '*': { read: true, create: { pick: [] } } },
    },
  },
  auth: { roleField: 'role' },
}

const STRICT = { prefer: 'handling=strict' }
const strictly = (sent: SendOptions = {}): SendOptions => ({
  ...sent,
  headers: { ...sent.headers, ...STRICT },
})
const user = { caller: { id: 'ann' } }
const editor = { caller: { id: 'ann', roles: ['editor'] } }
const ID = '0190163d-8694-7000-8000-000000000001'
const NEW = '0190163d-8694-7000-8000-000000000002'
const create = { headers: { 'if-none-match': '*' } }

const storages = useStorages()
const opened = closeAfterEach()

/** All that is stored. */
const dump = async ({ adapter }: TestService): Promise<string> => {
  const query = { filter: everything, sort: [], skip: 0, limit: null }
  const all = ['users', 'notes', 'free'].map((name) => adapter.list(name, query))
  return JSON.stringify(await Promise.all(all))
}

const namesIn = (header: string | null): readonly string[] => JSON.parse(`[${header ?? ''}]`)

describe.each(storages)('on %s', (_, createAdapter) => {
  /** A service with one note. */
  async function open(options: Parameters<typeof createTestService>[1] = {}): Promise<TestService> {
    const service = createTestService(config, { adapter: createAdapter(), ...options })
    opened.push(service)
    const sent = { ...editor, ...create, body: { title: 'a', secret: 'b', code: 'taken' } }
    expect((await service.send(`PUT /notes/${ID}`, sent)).status).toBe(201)
    return service
  }

  const SYSTEM = { _id: 'x', createdAt: 1, updatedAt: null, createdBy: {} }
  const operations = [
    { method: 'PATCH', path: `/notes/${ID}`, body: { title: 'x' } },
    { method: 'POST', path: '/notes', body: { title: 'y', n: 1, secret: 'z' } },
  ]
  test.each<[what: string, line: string, body: object, sent: SendOptions, at: string]>([
    ['a create', 'POST /notes', { title: 'x', team: 'y', n: 1 }, {}, ''],
    ['what set overwrites', 'POST /notes', { title: 'x', team: 'blue' }, user, ''],
    ['what is not in the schema', 'POST /notes', { title: 'x', toString: 1, x: 1 }, {}, ''],
    ['what nobody can set', 'POST /notes', { ...SYSTEM, title: 'x' }, editor, ''],
    ['a PATCH', `PATCH /notes/${ID}`, { title: 'x', n: 2, team: 'y', _id: ID }, user, ''],
    ['a PATCH that keeps nothing', `PATCH /notes/${ID}`, { team: 'y' }, user, ''],
    ['a PUT', `PUT /notes/${ID}`, { title: 'x', secret: 'y', createdAt: 1 }, user, ''],
    ['a PUT that creates', `PUT /notes/${NEW}`, { title: 'x', n: 1 }, create, ''],
    [
      'the rule that runs',
      'POST /notes',
      { title: 'b', team: 'y', n: 1 },
      { caller: { id: 'x', roles: ['two', 'three'] } },
      '',
    ],
    ['a bulk', 'POST /notes/bulk', { documents: [{ title: 'x' }, { n: 1, _id: 1 }] }, {}, '/documents/1'],
    ['a batch', 'POST /_batch', { operations }, user, '/operations/1/body'],
    [
      'a registration',
      'POST /auth/register',
      { email: 'ann', password: 'x', role: 'a', t: 1, _id: 1 },
      {},
      '',
    ],
    [
      'at most twenty names',
      'POST /free',
      Object.fromEntries(Array.from({ length: 40 }, (_, i) => [`p${i}`, i])),
      {},
      '',
    ],
  ])(
    'the names that an answer would have are faults, and nothing is stored: %s',
    async (_, line, body, sent, at) => {
      const service = await open()
      const before = await dump(service)
      const refused = await service.send(line, strictly({ ...sent, body }))
      expect([refused.status, refused.body.code]).toEqual([400, 'validation_failed'])
      expect(refused.headers.get('ignored-properties')).toBe(null)
      expect(await dump(service)).toBe(before)
      const answered = await service.send(line, { ...sent, body })
      expect([200, 201]).toContain(answered.status)
      const names: readonly string[] =
        answered.body.results?.[1].ignored ?? namesIn(answered.headers.get('ignored-properties'))
      expect(names.length).toBeGreaterThan(0)
      expect(refused.body.errors).toEqual(
        names.map((name) => ({ path: `${at}/${name}`, code: 'ignored', message: expect.any(String) })),
      )
      expect(refused.body.operation).toBe(answered.body.results && 1)
      expect(answered.headers.get('preference-applied')).toBe(null)
    },
  )

  test.each<[line: string, body: object | undefined, sent: SendOptions, status: number]>([
    ['POST /notes', { title: 'x' }, {}, 201],
    [`PATCH /notes/${ID}`, { title: 'x' }, user, 200],
    [`PATCH /notes/${ID}`, {}, user, 200],
    [`PUT /notes/${ID}`, { title: 'x' }, user, 200],
    [`PUT /notes/${NEW}`, { title: 'x' }, create, 201],
    ['POST /notes/bulk', { documents: [{ title: 'x' }] }, {}, 201],
    ['POST /_batch', { operations: operations.slice(0, 1) }, user, 200],
    ['POST /auth/register', { email: 'ann', password: 'x', name: 'Ann' }, {}, 201],
  ])('a write that loses nothing is as ever, and says so: %s %j', async (line, body, sent, status) => {
    const answers = []
    for (const asked of [sent, strictly(sent)]) {
      const service = await open()
      const answer = await service.send(line, { ...asked, body })
      expect(answer.status).toBe(status)
      answers.push([answer.headers.get('preference-applied'), answer.headers.get('cache-control')])
    }
    const [[, cached] = []] = answers
    expect(answers).toEqual([
      [null, cached],
      ['handling=strict', cached],
    ])
  })

  test('a read, a delete and a login have nothing to apply', async () => {
    const service = await open()
    const { token } = await service.register({ email: 'ann', password: 'x' })
    for (const [line, sent] of [
      ['GET /notes', {}],
      [`GET /notes/${ID}`, {}],
      [`DELETE /notes/${ID}`, { caller: { id: 'x', roles: ['admin'] } }],
      ['POST /auth/login', { body: { email: 'ann', password: 'x' } }],
      ['GET /auth/me', { token }],
    ] as const)
      expect((await service.send(line, strictly(sent))).headers.get('preference-applied'), line).toBe(null)
  })

  test('the choice of the rule and the order of faults stay as they are', async () => {
    const service = await open()
    const faultsOf = async (line: string, sent: SendOptions) => {
      const { status, body } = await service.send(line, strictly(sent))
      return [
        status,
        body.code,
        body.errors?.map(({ path, code }: { path: string; code: string }) => `${path} ${code}`),
      ]
    }
    // Faults of what the rule keeps stand alone, as without it.
    expect(await faultsOf('POST /notes', { body: { title: 'too long', n: 1 } })).toEqual([
      400,
      'validation_failed',
      ['/title too_long'],
    ])
    expect(await faultsOf('POST /notes', { body: { of: NEW, n: 1 } })).toEqual([
      400,
      'validation_failed',
      ['/of unknown_reference'],
    ])
    expect(await faultsOf('POST /notes', { ...user, body: { title: 'no', n: 1 } })).toEqual([
      403,
      'forbidden',
      undefined,
    ])
    expect(await faultsOf(`PATCH /notes/${ID}`, { body: { n: 1 } })).toEqual([
      401,
      'unauthenticated',
      undefined,
    ])
    expect(await faultsOf(`PATCH /notes/${NEW}`, { ...user, body: { n: 1 } })).toEqual([
      404,
      'not_found',
      undefined,
    ])
    expect(
      await faultsOf(`PATCH /notes/${ID}`, { ...user, headers: { 'if-match': '"x"' }, body: { n: 1 } }),
    ).toEqual([412, 'precondition_failed', undefined])
    // What is stored comes after it.
    expect(await faultsOf('POST /notes', { body: { code: 'taken', n: 1 } })).toEqual([
      400,
      'validation_failed',
      ['/n ignored'],
    ])
    expect(await faultsOf('POST /notes', { body: { code: 'taken' } })).toEqual([
      409,
      'unique_violation',
      ['/code taken'],
    ])
    // In a bulk all faults come at once, before what forbids another document.
    const documents = [{ title: 'no' }, { title: 'a', n: 1 }, { title: 'too long' }]
    expect(await faultsOf('POST /notes/bulk', { ...user, body: { documents } })).toEqual([
      400,
      'validation_failed',
      ['/documents/1/n ignored', '/documents/2/title too_long'],
    ])
  })

  test('a bulk names fifty at most', async () => {
    const service = await open()
    const documents = Array.from({ length: 5 }, (_, i) =>
      Object.fromEntries(Array.from({ length: 30 }, (_, j) => [`p${i}${j}`, 1])),
    )
    const { status, body } = await service.send('POST /free/bulk', strictly({ body: { documents } }))
    expect([status, body.errors.length]).toEqual([400, 50])
  })

  test('no hook is asked about it, and what hooks add is not meant', async () => {
    const asked: unknown[] = []
    const service = await open({
      hooks: {
        notes: {
          before({ after }) {
            asked.push(after?.title)
            return { also: [{ method: 'POST', path: '/free', body: { _id: 'x', a: 1 } }] }
          },
        },
      },
    })
    asked.length = 0
    const post = (body: object) => service.send('POST /notes', strictly({ body }))
    expect((await post({ title: 'x', n: 1 })).status).toBe(400)
    expect(asked).toEqual([])
    const operations = [{ method: 'POST', path: '/notes', body: { title: 'y', n: 1 } }]
    expect((await service.send('POST /_batch', strictly({ body: { operations } }))).status).toBe(400)
    expect(
      (await service.send('POST /notes/bulk', strictly({ body: { documents: [{ title: 'v' }, { n: 1 }] } })))
        .status,
    ).toBe(400)
    expect(asked).toEqual([])
    expect((await post({ title: 'z' })).status).toBe(201)
    expect(asked).toEqual(['z'])
  })

  test('it holds for every operation, though the account changes in the batch, and for one judged anew', async () => {
    const service = await open()
    const { token, id } = await service.register({ email: 'ann', password: 'x' })
    const path = `/users/${id}`
    const operations = [
      { method: 'PATCH', path, body: { name: 'A' } },
      { method: 'PATCH', path, body: { name: 'B', role: 'admin' } },
    ]
    const { status, body } = await service.send('POST /_batch', strictly({ token, body: { operations } }))
    expect([status, body.operation, body.errors[0].path]).toEqual([400, 1, '/operations/1/body/role'])
    // The account is another one once the body is there.
    const raw = new ReadableStream<Uint8Array>(
      {
        async pull(controller) {
          expect((await service.send(`PATCH ${path}`, { token, body: { name: 'C' } })).status).toBe(200)
          controller.enqueue(new TextEncoder().encode('{"name":"D","role":"admin"}'))
          controller.close()
        },
      },
      { highWaterMark: 0 },
    )
    const headers = { 'content-type': 'application/json' }
    const late = await service.send(`PATCH ${path}`, strictly({ token, raw, headers }))
    expect([late.status, late.body.errors?.[0].code]).toEqual([400, 'ignored'])
  })
})

test.each<[header: string, isStrict: boolean]>([
  ['handling=strict', true],
  ['Handling = Strict', true],
  ['handling="strict"', true],
  ['return=minimal, handling=strict', true],
  [',, return="a, \\"b", handling=strict; wait=1;; x ,', true],
  ['respond-async,handling=strict', true],
  ['handling=strict, handling=lenient', true],
  ['handling=lenient, handling=strict', false],
  ['handling, handling=strict', false],
  ['handling=lenient', false],
  ['handling', false],
  ['handling=', false],
  ['handling=strictly', false],
  ['x; handling=strict', false],
  ['"handling=strict"', false],
  ['handling=strict strict', false],
  ['handling=strict, return="', false],
  ['handling=strict, =', false],
  ['', false],
])('Prefer: %s', async (prefer, isStrict) => {
  const { send } = createTestService(config)
  const { status } = await send('POST /notes', { headers: { prefer }, body: { n: 1 } })
  expect(status).toBe(isStrict ? 400 : 201)
})

test.each([
  ['parameters', `handling=strict, ${'a;'.repeat(2000)}(`],
  ['white space', `handling=strict;${' '.repeat(7000)}(`],
])('a long header with many %s is read, and asks for nothing where it is malformed', async (_, prefer) => {
  const { send } = createTestService(config)
  expect((await send('POST /notes', { headers: { prefer }, body: { n: 1 } })).status).toBe(201)
})
