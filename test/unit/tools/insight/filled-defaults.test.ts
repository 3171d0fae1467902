import { describe, expect, test } from 'vitest'
import { createMemoryAdapter } from '../../../../src/index.js'
import { checkConfig, comparePermissions } from '../../../../src/tools/insight/index.js'
import { createTestService } from '../../../support/service.js'

// CONTRACT.md §8, "Check", "Diff"

/** What is put in is completed, merged and kept as the service does it: neither tool says that nobody can write it. */

const text = { type: 'string' } as const
const objectOf = (properties: object, more: object = {}) => ({ type: 'object', properties, ...more })
const ID = '0190163d-8694-7000-8000-000000000001'
const NOW = '2026-06-01T00:00:00.000Z'
const inner = objectOf({ x: { ...text, default: 'a' } })

type Row = [what: string, schema: object, grant: object, method: 'POST' | 'PATCH' | 'PUT', stored?: object]

const ROWS: Row[] = [
  [
    'a default inside what is set',
    { o: inner },
    { create: { set: { o: {} }, check: { 'o.x': 'a' } } },
    'POST',
  ],
  [
    'a default inside a default',
    { o: { ...inner, default: {} }, b: text },
    { create: { pick: ['b'], check: { 'o.x': 'a' } } },
    'POST',
  ],
  [
    'the time inside a default',
    { o: objectOf({ at: { type: 'timestamp', default: '$now' } }, { default: {} }), b: text },
    { create: { pick: ['b'], check: { 'o.at': '$now' } } },
    'POST',
  ],
  [
    'a default in the place of null',
    { a: { ...text, nullable: true, default: 'x' } },
    { create: { set: { a: null }, check: { a: 'x' } } },
    'POST',
  ],
  [
    'the same of what is replaced',
    { a: { ...text, nullable: true, default: 'x' }, b: text },
    { update: { set: { a: null }, check: { a: 'x' } } },
    'PUT',
    { a: 'q' },
  ],
  [
    'what a set is merged into',
    { o: objectOf({ x: text, y: text }), b: text },
    { update: { set: { o: { x: 's' } }, check: { 'o.y': 'a' } } },
    'PATCH',
    { o: { y: 'a' } },
  ],
  [
    'the same, where the check is what "where" says',
    { o: objectOf({ x: text, y: text }), b: text },
    { update: { set: { o: { x: 's' } }, where: { 'o.y': 'a' } } },
    'PATCH',
    { o: { y: 'a' } },
  ],
  [
    'what a set is normalised to',
    { a: { ...text, lowercase: true, trim: true } },
    { create: { set: { a: ' AB' }, check: { a: 'ab' } } },
    'POST',
  ],
  [
    'what a default is normalised to',
    { a: { ...text, lowercase: true, default: 'AB' }, b: text },
    { create: { pick: ['b'], check: { a: 'ab' } } },
    'POST',
  ],
  [
    'a time that is normalised',
    { at: { type: 'timestamp' }, b: text },
    { update: { set: { at: '2026-01-01' }, check: { at: '2026-01-01T00:00:00Z' } } },
    'PUT',
    {},
  ],
]

const OPERATIONS = { POST: 'create', PATCH: 'patch', PUT: 'put' } as const

describe.each<Row>(ROWS)('%s', (_, schema, grant, method, stored) => {
  const configOf = (editor: object) => ({
    collections: { things: { schema, permissions: { god: true, editor: { read: true, ...editor } } } },
  })

  test('can be written', async () => {
    const documents = stored ? { things: [{ _id: ID, createdAt: NOW, updatedAt: NOW, ...stored }] } : {}
    const { send } = createTestService(configOf(grant), {
      adapter: createMemoryAdapter({ documents }),
      authenticate: () => null,
    })
    const { status } = await send(`${method} /things${stored ? `/${ID}` : ''}`, {
      caller: { id: 'ed', roles: ['editor'] },
      body: Object.hasOwn(schema, 'b') ? { b: 'k' } : {},
    })
    expect(status).toBeLessThan(300)
  })

  test('is a difference to what cannot', () => {
    const all = comparePermissions(configOf({}), configOf(grant), { authenticate: true })
    const widened = all.flatMap((one) =>
      'operation' in one && one.kind === 'widening' ? [one.operation] : [],
    )
    expect(widened).toContain(OPERATIONS[method])
  })

  test('is no finding', () => {
    const found = checkConfig(configOf(grant), { authenticate: true }).map(({ code }) => code)
    expect(found).not.toContain('unmeetable_check')
  })
})

test('a user is the creator of its own account, also for a check', () => {
  const schema = {
    email: { ...text, unique: true, required: true, lowercase: true },
    password: { type: 'hash', required: true },
  }
  const permissions = {
    '*': { create: { check: { createdBy: { $exists: true } } } },
    user: { create: { pick: [] } },
    owner: { read: true },
  }
  const found = checkConfig({ collections: { users: { schema, permissions } } }).map(({ code }) => code)
  expect(found).not.toContain('unmeetable_check')
})

test('what stays beside a set because it is immutable is no finding', () => {
  const schema = { o: objectOf({ x: text, y: { ...text, immutable: true } }) }
  const permissions = { god: true, editor: { update: { set: { o: { x: 's' } }, check: { 'o.y': 'a' } } } }
  const config = { collections: { things: { schema, permissions } } }
  const found = checkConfig(config, { authenticate: true }).map(({ code }) => code)
  expect(found).not.toContain('unmeetable_check')
})

test.each<[what: string, update: object]>([
  ['another value inside', { set: { o: { x: 's' } }, check: { 'o.x': 't' } }],
  ['another value inside than "where" says', { set: { o: { x: 's' } }, where: { 'o.x': 't' } }],
  ['that it is not there', { set: { o: {} }, check: { o: { $exists: false } } }],
  ['neither nothing nor the default', { set: { k: null }, check: { k: 't' } }],
])('what is set and what is demanded of it, %s, is a finding', (_, update) => {
  const schema = { o: objectOf({ x: text, y: text }), k: { ...text, nullable: true, default: 'd' }, b: text }
  const config = {
    collections: { things: { schema, permissions: { god: true, editor: { read: true, update } } } },
  }
  const found = checkConfig(config, { authenticate: true }).map(({ code }) => code)
  expect(found).toContain('unmeetable_check')
})

test('a default sets nothing that is immutable', () => {
  const schema = { k: { ...text, nullable: true, default: 'x', immutable: true }, b: text }
  const editing = { update: { pick: ['b'], set: { k: null }, check: { k: 'x' } } }
  const configOf = (editor: object) => ({
    collections: { things: { schema, permissions: { god: true, editor: { read: true, ...editor } } } },
  })
  const all = comparePermissions(configOf({}), configOf(editing), { authenticate: true })
  const put = all.flatMap((one) => ('operation' in one && one.operation === 'put' ? [one.kind] : []))
  expect(put).not.toContain('widening')
})
