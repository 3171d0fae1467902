import { expect, test } from 'vitest'
import { comparePermissions } from '../../../../../src/tools/insight/index.js'

// CONTRACT.md §8, "Diff": configurations are compared by stored name.

const TEXT = { type: 'string' }

const notes = (schema: object, read: unknown = true, others: object = {}) => ({
  collections: {
    notes: { schema, permissions: { '*': { read }, user: { create: true, update: true } }, ...others },
  },
})

const HOSTED = { authenticate: true }

test.each([
  ['a field', notes({ title: TEXT }), notes({ headline: { ...TEXT, stored: 'title' } })],
  ['a field back', notes({ headline: { ...TEXT, stored: 'title' } }), notes({ title: TEXT })],
  [
    'nothing, with its name written out',
    notes({ title: TEXT }),
    notes({ title: { ...TEXT, stored: 'title' } }),
  ],
  [
    'two fields that exchange their names',
    notes({ a: TEXT, b: TEXT }, { omit: ['b'], where: { a: 'x' } }),
    notes({ b: { ...TEXT, stored: 'a' }, a: { ...TEXT, stored: 'b' } }, { omit: ['a'], where: { b: 'x' } }),
  ],
  [
    'a field beside free properties',
    notes({ title: TEXT }, { pick: ['title', 'free'] }, { additionalProperties: true }),
    notes(
      { headline: { ...TEXT, stored: 'title' } },
      { pick: ['headline', 'free'] },
      { additionalProperties: true },
    ),
  ],
  [
    'a field inside objects of an array, with a default',
    notes({
      links: { type: 'array', items: { type: 'object', properties: { to: TEXT } }, default: [{ to: 'x' }] },
    }),
    notes({
      links: {
        type: 'array',
        items: { type: 'object', properties: { target: { ...TEXT, stored: 'to' } } },
        default: [{ target: 'x' }],
      },
    }),
  ],
  [
    'a collection',
    { collections: { posts: { schema: { title: TEXT }, permissions: { '*': { read: true } } } } },
    {
      collections: {
        articles: { stored: 'posts', schema: { title: TEXT }, permissions: { '*': { read: true } } },
      },
    },
  ],
] as const)('a rename is no difference: %s', (_, before, after) => {
  expect(comparePermissions(before, after, HOSTED)).toEqual([])
})

test('a hidden field that a rename shows beside free properties is a widening', () => {
  const open = { additionalProperties: true }
  const before = notes({ title: TEXT, salary: TEXT }, { omit: ['salary'] }, open)
  const after = notes({ title: TEXT, wage: { ...TEXT, stored: 'salary' } }, true, open)
  const [first] = comparePermissions(before, after, HOSTED)
  expect(first).toMatchObject({
    kind: 'widening',
    collection: 'notes',
    operation: 'read',
    fields: ['wage'],
    roles: null,
    witness: {
      documents: { notes: [{ salary: expect.anything() }] },
      documentsAfter: { notes: [{ wage: expect.anything() }] },
    },
  })
})
