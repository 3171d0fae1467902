import { describe, expect, test } from 'vitest'
import type { Caller } from '../../src/index.js'
import { createTestService, faultsOf, type Sent } from '../support/service.js'
import { closeAfterEach, useStorages } from '../support/storages.js'
import { idOf } from '../support/stored.js'

// CONTRACT.md §6, "Problems": what one may neither read nor write is not named by its faults

type Json = { readonly [name: string]: unknown }

const text = { type: 'string' }
const PICKED = { create: { pick: ['title'] }, read: { pick: ['title'] } }
/** A word of each name that no answer may hold. */
const HIDDEN = /secret|others/i

interface Case {
  readonly schema: Json
  readonly grants?: Json
  readonly more?: Json
  readonly caller?: Caller
  /** All but the last must be taken. */
  readonly requests: readonly (readonly [line: string, body: Json])[]
  /** The code of the problem, and the codes of its faults by path. */
  readonly code: string
  readonly faults: { readonly [path: string]: string }
}

const NEW = ['POST /items', { title: 't' }] as const
const TWICE = [NEW, NEW]
const TAKEN = { code: 'unique_violation', faults: { '': 'taken' } }
const secret = (definition: Json): Json => ({ title: text, secret: definition })
const byDefault = secret({ ...text, unique: true, default: 's' })
const toNobody = { type: 'reference', collection: 'others', default: idOf(9) }
const pair = {
  schema: { title: text, secret: { ...text, default: 's' } },
  more: { indexes: [{ fields: ['title', 'secret'], unique: true }] },
}
const created = (body: Json) => ({ method: 'POST', path: '/items', body })

const cases: readonly (readonly [what: string, one: Case])[] = [
  [
    'a required property',
    {
      schema: secret({ ...text, required: true }),
      requests: [NEW],
      code: 'validation_failed',
      faults: { '': 'required' },
    },
  ],
  [
    'two of them, beside a fault of what is known',
    {
      schema: {
        title: { ...text, maxLength: 1 },
        secret: { ...text, required: true },
        secret2: { ...text, required: true },
      },
      requests: [['POST /items', { title: 'long' }]],
      code: 'validation_failed',
      faults: { '/title': 'too_long', '': 'required' },
    },
  ],
  [
    'a required one in bulk',
    {
      schema: secret({ ...text, required: true }),
      requests: [['POST /items/bulk', { documents: [{ title: 't' }, { title: 5 }] }]],
      code: 'validation_failed',
      faults: { '/documents/0': 'required', '/documents/1/title': 'wrong_type', '/documents/1': 'required' },
    },
  ],
  [
    'a required one in a batch',
    {
      schema: secret({ ...text, required: true }),
      requests: [['POST /_batch', { operations: [created({ title: 't' })] }]],
      code: 'validation_failed',
      faults: { '/operations/0/body': 'required' },
    },
  ],
  ['a unique default', { schema: byDefault, requests: TWICE, ...TAKEN }],
  [
    'a unique value that the rule sets',
    {
      schema: secret({ ...text, unique: true }),
      grants: { '*': { create: { pick: ['title'], set: { secret: 's' } } } },
      requests: TWICE,
      ...TAKEN,
    },
  ],
  [
    'a unique default in bulk',
    {
      schema: byDefault,
      requests: [NEW, ['POST /items/bulk', { documents: [{ title: 'u' }] }]],
      code: 'unique_violation',
      faults: { '/documents/0': 'taken' },
    },
  ],
  [
    'a unique default in a batch',
    {
      schema: byDefault,
      requests: [['POST /_batch', { operations: [created({ title: 't' }), created({ title: 'u' })] }]],
      code: 'unique_violation',
      faults: { '/operations/1/body': 'taken' },
    },
  ],
  [
    'one of two that are unique together',
    { ...pair, requests: TWICE, code: 'unique_violation', faults: { '/title': 'taken', '': 'taken' } },
  ],
  [
    'a default that refers to nothing',
    {
      schema: secret(toNobody),
      requests: [NEW],
      code: 'validation_failed',
      faults: { '': 'unknown_reference' },
    },
  ],
  [
    'a default that refers to nothing in bulk',
    {
      schema: secret({ type: 'object', properties: { in: toNobody }, default: { in: idOf(9) } }),
      requests: [['POST /items/bulk', { documents: [{ title: 't' }] }]],
      code: 'validation_failed',
      faults: { '/documents/0': 'unknown_reference' },
    },
  ],
  [
    'a unique value that an update sets',
    {
      schema: secret({ ...text, unique: true }),
      grants: {
        '*': { create: { pick: ['title'] }, read: { pick: ['title'] } },
        ann: { update: { pick: ['title'], set: { secret: 's' } } },
      },
      caller: { id: 'ann', roles: ['ann'] },
      requests: [
        ['PATCH /items/1', { title: 'u' }],
        ['PATCH /items/2', { title: 'u' }],
      ],
      ...TAKEN,
    },
  ],
  [
    'what another role may write',
    {
      schema: byDefault,
      grants: { '*': PICKED, other: { update: { pick: ['secret'] }, read: true } },
      caller: { id: 'ann', roles: ['third'] },
      requests: TWICE,
      ...TAKEN,
    },
  ],
]

const storages = useStorages()
const opened = closeAfterEach()

const open = (
  create: (typeof storages)[number][1],
  { schema, grants = { '*': PICKED }, more = {} }: Case,
) => {
  const collections = {
    items: { schema, permissions: grants, ...more },
    others: { schema: { a: text }, permissions: { other: true } },
  }
  const service = createTestService({ collections }, { adapter: create(), authenticate: () => null })
  opened.push(service)
  return service
}

describe.each(storages)('in %s, a fault does not name', (_, create) => {
  test.each(cases)('%s', async (_what, one) => {
    const service = open(create, one)
    const ids: string[] = []
    if (one.requests[0]?.[0].startsWith('PATCH'))
      for (const title of ['1', '2'])
        ids.push((await service.send('POST /items', { body: { title } })).body._id)
    const answers: Sent[] = []
    for (const [line, body] of one.requests) {
      const at = line.replace(/\d$/, (n) => ids[Number(n) - 1] ?? '')
      answers.push(await service.send(at, { body, caller: one.caller ?? null }))
    }
    const last = answers.pop() as Sent
    for (const { status } of answers) expect(status).toBeLessThan(300)
    expect(last.body.code).toBe(one.code)
    expect(faultsOf(last)).toEqual(one.faults)
    expect(last.text).not.toMatch(HIDDEN)
  })

  test.each<[string, Json]>([
    ['read', { '*': { ...PICKED, read: true } }],
    ['create with', { '*': PICKED, user: { create: true, read: { pick: ['title'] } } }],
    ['change', { '*': PICKED, user: { update: { pick: ['secret'] } } }],
  ])('what one may not know, and names what one may %s', async (_what, grants) => {
    const service = open(create, { schema: byDefault, grants, requests: [], ...TAKEN })
    const caller: Caller = { id: 'ann' }
    expect((await service.send('POST /items', { body: { title: 't' }, caller })).status).toBe(201)
    const answer = await service.send('POST /items', { body: { title: 't' }, caller })
    expect(faultsOf(answer)).toEqual({ '/secret': 'taken' })
    expect(answer.body.detail).toBe('Another document has the same secret.')
  })

  test('what a registration cannot give, but for what everybody gives', async () => {
    const schema = {
      email: { ...text, unique: true, required: true },
      password: { type: 'hash', required: true, minLength: 3 },
      secret: { ...text, required: true, maxLength: 1 },
    }
    const collections = { users: { schema, permissions: { admin: true } } }
    const service = createTestService({ collections }, { adapter: create() })
    opened.push(service)
    const answer = await service.send('POST /auth/register', { body: { email: 5 } })
    expect(faultsOf(answer)).toEqual({ '/email': 'wrong_type', '/password': 'required', '': 'required' })
    expect(answer.text).not.toMatch(HIDDEN)
  })

  test('what a registration is given, and names what everybody gives', async () => {
    const schema = {
      email: { ...text, unique: true, required: true },
      password: { type: 'hash', required: true },
      secret: { ...text, unique: true },
    }
    const permissions = { '*': { create: { pick: [], set: { secret: 's' } } } }
    const auth = { identifier: 'email' }
    const service = createTestService(
      { collections: { users: { schema, permissions } }, auth },
      { adapter: create() },
    )
    opened.push(service)
    const register = (email: string): Promise<Sent> =>
      service.send('POST /auth/register', { body: { email, password: 'abc' } })
    expect((await register('a')).status).toBe(201)
    const other = await register('b')
    expect([other.status, faultsOf(other)]).toEqual([409, { '': 'taken' }])
    expect(other.text).not.toMatch(HIDDEN)
  })

  test('but an identifier that is taken', async () => {
    const schema = {
      email: { ...text, unique: true, required: true },
      password: { type: 'hash', required: true },
    }
    const service = createTestService(
      { collections: { users: { schema, permissions: { admin: true } } } },
      { adapter: create() },
    )
    opened.push(service)
    await service.register({ email: 'a', password: 'abc' })
    const again = await service.send('POST /auth/register', { body: { email: 'a', password: 'abc' } })
    expect([again.status, faultsOf(again)]).toEqual([409, { '/email': 'taken' }])
  })
})
