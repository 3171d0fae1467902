import { expect, test } from 'vitest'
import { CONFIG_SCHEMA } from '../../../../../src/core/config/shape/config-schema.js'
import { compileJsonSchema } from '../../../../../src/core/fields/schema/json-schema.js'
import { satisfiesSchema } from '../../../../../src/core/fields/schema/satisfies-schema.js'

/** Every attribute that a configuration can have. */
const everything = {
  $schema: './schema.json',
  $ignore: ['read_without_index /collections/notes - few'],
  collections: {
    users: { schema: { email: { type: 'string', unique: true }, secret: { type: 'hash', minLength: 8 } } },
    notes: {
      $comment: 'x',
      schema: {
        text: { type: 'string', minLength: 1, maxLength: 9, pattern: '^a', enum: ['ab'], trim: true },
        mail: { type: 'string', format: 'email', lowercase: true, default: 'a@b.c', index: true },
        many: { type: 'integer', minimum: 0, maximum: 9, enum: [1, 2], required: true, nullable: false },
        share: { type: 'number', minimum: -0.5, nullable: true, immutable: true, description: 'x' },
        isOpen: { type: 'boolean', default: false },
        at: { type: 'timestamp', minimum: '2020-01-01', default: '$now' },
        tags: { type: 'array', items: { type: 'string' }, minItems: 1, maxItems: 3, default: ['a'] },
        place: { type: 'object', properties: { city: { type: 'string', required: true } } },
        by: { type: 'reference', collection: 'users', onDelete: 'restrict' },
        more: { type: 'json', default: { a: [null] } },
      },
      permissions: {
        '*': { pick: ['text'], omit: [] },
        user: {
          create: { pick: ['text'], check: {}, set: { many: 1 } },
          read: { omit: ['text'], where: {} },
        },
        owner: true,
        editor: { update: { where: {}, check: {} }, delete: { where: {} } },
      },
      additionalProperties: true,
      changes: true,
      indexes: [{ fields: ['text', 'many'], unique: true }],
    },
  },
  auth: {
    identifier: 'email',
    sessionDays: 0.5,
    cost: 10,
    claims: { teams: { from: 'notes', where: {}, take: 'text' } },
  },
  limits: { defaultLimit: 10, bodyBytes: 1, requestSeconds: 0.1 },
}

const VALUES = [
  ...[null, true, 0, -1, 1.5, 4000, '', 'a', '_a', 'object'],
  ...[[], ['a', 'a'], [1], new Array(1), {}, { type: 'string' }, { type: 'none' }, { read: true, pick: [] }],
  ...[{ type: 'array', items: { type: 'string', nullable: true } }],
]
/** Names of what is added. */
const NAMES = ['none', '$comment', 'required', 'nullable', 'pick', 'toString', '']

/** All values that differ from one at a single place. */
function* changed(value: unknown): Generator<unknown> {
  yield* VALUES
  if (Array.isArray(value)) {
    for (const [i, one] of value.entries()) for (const other of changed(one)) yield value.with(i, other)
  } else if (typeof value === 'object' && value !== null) {
    for (const [name, one] of Object.entries(value)) {
      const { [name as keyof typeof value]: _, ...others } = value
      yield others
      for (const other of changed(one)) yield { ...value, [name]: other }
    }
    for (const name of NAMES) for (const other of [true, {}]) yield { [name]: other, ...value }
  }
}

const violationsOf = compileJsonSchema(CONFIG_SCHEMA)

test('a configuration, changed anywhere, satisfies the schema if the compiled one finds nothing', () => {
  expect(satisfiesSchema(CONFIG_SCHEMA, everything)).toBe(true)
  const verdicts = { true: 0, false: 0 }
  for (const other of changed(everything)) {
    const satisfies = satisfiesSchema(CONFIG_SCHEMA, other)
    verdicts[`${satisfies}`] += 1
    if (satisfies !== (violationsOf(other).length === 0)) expect.fail(JSON.stringify({ satisfies, other }))
  }
  expect(Math.min(verdicts.true, verdicts.false)).toBeGreaterThan(200)
})

test('a keyword that it does not know is never passed over', () => {
  expect(() => satisfiesSchema({ maxProperties: 0 }, {})).toThrow('maxProperties')
})
