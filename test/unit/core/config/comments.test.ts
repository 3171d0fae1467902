import { Ajv2020 } from 'ajv/dist/2020.js'
import { describe, expect, test } from 'vitest'
import { publishedConfigSchema } from '../../../../src/core/config/shape/config-schema.js'
import { ConfigError } from '../../../../src/index.js'
import { type AnyConfig, createTestService } from '../../../support/service.js'
import { warningsOf } from './support/configs.js'

// CONTRACT.md §1, "Keys"

const config = {
  $schema: './config.schema.json',
  collections: {
    users: {
      schema: {
        email: { type: 'string', unique: true, lowercase: true, required: true },
        password: { type: 'hash', required: true },
        role: { type: 'string', enum: ['editor'] },
      },
      permissions: { owner: { read: true } },
    },
    notes: {
      schema: {
        title: { type: 'string', required: true },
        more: { type: 'json', default: { a: { b: 1 } } },
        place: { type: 'object', properties: { city: { type: 'string' } }, default: { city: 'Ulm' } },
        list: { type: 'array', items: { type: 'object', properties: { x: { type: 'integer' } } } },
        author: { type: 'reference', collection: 'users' },
      },
      permissions: {
        '*': { pick: ['title'] },
        user: {
          create: { omit: ['more'], check: { title: { $ne: 'x' } }, set: { more: { c: 1 } } },
          read: { where: { $or: [{ title: 'a' }, { title: { $gt: 'b' } }] } },
          update: { where: { title: 'a' } },
          delete: { where: {} },
        },
        editor: true,
      },
      indexes: [{ fields: ['title'] }],
    },
  },
  auth: { roleField: 'role' },
  limits: { maxLimit: 5 },
}

/** Objects under these names are literals or filters, wherever the test's configuration has them. */
const VALUES = ['default', 'where', 'check']

/** The pointer of every object that may be commented. */
function findObjects(value: unknown, at = ''): readonly string[] {
  if (typeof value !== 'object' || value === null) return []
  const inner = Object.entries(value).flatMap(([name, inside]) => {
    if (VALUES.includes(name)) return []
    return name === 'set' ? [`${at}/set`] : findObjects(inside, `${at}/${name}`)
  })
  return Array.isArray(value) ? inner : [at, ...inner]
}

/** A copy with `$comment` in the objects at these pointers. */
function comment(pointers: readonly string[], text: unknown): AnyConfig {
  const copy = structuredClone(config)
  for (const pointer of pointers) {
    const parts = pointer.split('/').slice(1)
    const object = parts.reduce((outer: object, name) => Reflect.get(outer, name), copy)
    Reflect.set(object, '$comment', text)
  }
  return copy
}

const PLACES = findObjects(config)

/** What is said of a configuration at start: its warnings, or where its faults lie. */
function judge(written: unknown) {
  try {
    return warningsOf(written)
  } catch (thrown) {
    if (thrown instanceof ConfigError) return thrown.faults.map(({ path }) => path)
    throw thrown
  }
}

const validate = new Ajv2020({ strict: false }).compile(publishedConfigSchema())

describe('a $comment', () => {
  test.each(PLACES)('may stand in the object at "%s", as text', (place) => {
    const written = comment([place], 'Why this is so.')
    expect([judge(written), validate(written)]).toEqual([judge(config), true])
    for (const other of [5, null, ['a'], {}, true]) {
      const wrong = comment([place], other)
      expect([judge(wrong), validate(wrong)]).toEqual([[`${place}/$comment`], false])
    }
  })

  test('stands in a literal as what it is, and in a filter as a field that is not there', async () => {
    const schema = { more: { type: 'json', default: { $comment: 'x' } } }
    const { send } = createTestService({ collections: { notes: { schema, permissions: { '*': true } } } })
    expect((await send('POST /notes', { body: {} })).body).toMatchObject({ more: { $comment: 'x' } })

    for (const filter of [{ $comment: 'x' }, { title: { $comment: 'x' } }, { $or: [{ $comment: 'x' }] }]) {
      const read = { read: { where: filter } }
      const wrong = { collections: { notes: { ...config.collections.notes, permissions: { user: read } } } }
      expect(judge(wrong)).toEqual([
        expect.stringMatching(/^\/collections\/notes\/permissions\/user\/read\/where\/.*\$comment$/),
        '/collections/notes/schema/author/collection',
      ])
    }
  })

  test('changes nothing: it names no collection, no field, no property and no role', async () => {
    const [plain, commented] = [config, comment(PLACES, 'x')].map((written) => createTestService(written))
    const requests = [
      ['GET /notes', {}],
      ['GET /$comment', {}],
      ['GET /notes', { caller: { id: 'a', roles: ['$comment'] } }],
      ['GET /notes?q[$comment]=1', {}],
      ['GET /notes?limit=6', {}],
      ['DELETE /notes/1', { caller: { id: 'a', roles: ['$comment'] } }],
      ['POST /notes', { body: { $comment: 'x' }, caller: { id: 'a', roles: ['editor'] } }],
      ['POST /notes', { body: { title: 1, place: { $comment: 'x' }, list: [{ $comment: 'x' }] } }],
      ['POST /notes', { body: { title: 'x' }, caller: { id: 'a', roles: ['$comment'] } }],
    ] as const
    for (const [line, options] of requests) {
      const [expected, found] = await Promise.all([plain, commented].map((it) => it?.send(line, options)))
      const { requestId: _, ...body } = expected?.body ?? {}
      expect([line, found?.status, found?.body]).toMatchObject([line, expected?.status, body])
    }
    const created = await commented?.send('POST /notes', {
      body: { title: 'a' },
      caller: { id: 'a', roles: ['x'] },
    })
    expect(created?.body).toMatchObject({ title: 'a', more: { c: 1 }, place: { city: 'Ulm' } })
    expect(JSON.stringify(created?.body)).not.toContain('comment')
    expect(commented?.logged).toEqual(plain?.logged)
  })
})
