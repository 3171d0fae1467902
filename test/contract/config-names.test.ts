import { expect, test } from 'vitest'
import { ConfigError } from '../../src/index.js'
import { createTestService } from '../support/service.js'

// CONTRACT.md §1, "Faults"

const fields = {
  email: { type: 'string', unique: true, required: true, lowercase: true },
  nickname: { type: 'string' },
  password: { type: 'hash', required: true },
  isVerified: { type: 'boolean' },
  verifiedAt: { type: 'timestamp' },
  since: { type: 'timestamp', required: true },
  code: { type: 'timestamp', unique: true },
  tags: { type: 'array', items: { type: 'integer' } },
  place: { type: 'object', properties: { city: { type: 'string' } } },
}

const users = (auth: object, more: object = {}) => ({
  collections: {
    users: { schema: fields, permissions: {}, ...more },
    memberships: {
      schema: {
        user: { type: 'reference', collection: 'users' },
        team: { type: 'string' },
        tags: fields.tags,
      },
    },
  },
  auth,
})

const claim = (take: string) => ({
  claims: { teams: { from: 'memberships', where: { user: '$user._id' }, take } },
})

const matching = (match: object, definition: object = {}) => ({
  collections: {
    teams: { schema: { tenant: { type: 'string' }, tags: fields.tags } },
    notes: {
      schema: {
        tenant: { type: 'string' },
        size: { type: 'integer' },
        place: fields.place,
        owner: { type: 'reference', collection: 'teams', ...definition },
        team: { type: 'reference', collection: 'teams', match },
      },
    },
  },
})

/** What is found of a key that names a field: the name, and what is wrong with the field. */
test.each<[pointer: string, config: object, named: readonly string[]]>([
  ['/auth/identifier', users({ identifier: 'nickname' }), ['"nickname"', 'string', 'unique']],
  ['/auth/identifier', users({ identifier: 'isVerified' }), ['"isVerified"', 'boolean']],
  ['/auth/identifier', users({ identifier: 'emial' }), ['"emial"', '"email"']],
  ['/auth/secret', users({ secret: 'nickname' }), ['"nickname"', 'string']],
  ['/auth/secret', users({ secret: 'tags' }), ['"tags"', 'array of integer']],
  ['/auth/roleField', users({ roleField: 'isVerified' }), ['"isVerified"', 'boolean']],
  ['/auth/roleField', users({ roleField: 'tags' }), ['"tags"', 'array of integer']],
  ['/auth/roleField', users({ roleField: 'email' }), ['"email"', 'identifier']],
  ['/auth/verifiedField', users({ verifiedField: 'isVerified' }), ['"isVerified"', 'boolean']],
  ['/auth/verifiedField', users({ verifiedField: 'since' }), ['"since"', 'required', 'true']],
  ['/auth/verifiedField', users({ verifiedField: 'code' }), ['"code"', 'unique']],
  [
    '/auth/verifiedField',
    users(
      { verifiedField: 'verifiedAt' },
      { indexes: [{ fields: ['verifiedAt', 'nickname'], unique: true }] },
    ),
    ['"verifiedAt"', 'unique'],
  ],
  ['/auth/claims/teams/take', users(claim('tags')), ['"tags"', 'array of integer']],
  ['/auth/claims/teams/take', users(claim('tea')), ['"tea"', '"team"']],
  [
    '/collections/users/indexes/0/fields/0',
    users({}, { indexes: [{ fields: ['place'] }] }),
    ['"place"', 'object'],
  ],
  ['/collections/notes/schema/team/match/place', matching({ place: 'tenant' }), ['"place"', 'object']],
  [
    '/collections/notes/schema/team/match/tenant',
    matching({ tenant: 'tags' }),
    ['"tags"', 'array of integer'],
  ],
  [
    '/collections/notes/schema/team/match/size',
    matching({ size: 'tenant' }),
    ['size', 'integer', 'tenant', 'string'],
  ],
  [
    '/collections/notes/schema/owner/onDelete',
    matching({ owner: 'tenant' }, { onDelete: 'unset' }),
    ['"owner"', '"match"', '"unset"'],
  ],
])('a fault at %s names the field and what it is: %j', (pointer, config, named) => {
  let thrown: unknown
  try {
    createTestService(config as never)
  } catch (error) {
    thrown = error
  }
  expect(thrown).toBeInstanceOf(ConfigError)
  const messages = (thrown as ConfigError).faults.flatMap(({ path, message }) =>
    path === pointer ? [message] : [],
  )
  for (const name of named) expect(messages).toEqual([expect.stringContaining(name)])
})

test('a claim is the nearest name of a misspelt variable', () => {
  const config = {
    ...users(claim('team')),
  } as const
  const wrong = {
    ...config,
    collections: {
      ...config.collections,
      notes: {
        schema: { team: { type: 'string' } },
        permissions: { user: { read: { where: { team: { $in: '$user.teens' } } } } },
      },
    },
  }
  const at = '/collections/notes/permissions/user/read/where/team/$in'
  expect(() => createTestService(wrong as never)).toThrow(
    expect.objectContaining({ faults: [{ path: at, message: expect.stringContaining('"$user.teams"') }] }),
  )
})
