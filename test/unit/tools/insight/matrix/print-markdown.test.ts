import { expect, test } from 'vitest'
import { permissionMatrix } from '../../../../../src/tools/insight/matrix/permission-matrix.js'
import { printMarkdown } from '../../../../../src/tools/insight/matrix/print-markdown.js'

const config = {
  collections: {
    users: {
      schema: {
        email: { type: 'string', unique: true },
        password: { type: 'hash' },
        name: { type: 'string' },
      },
      permissions: { '*': { create: { pick: ['name'] } }, owner: { read: true } },
    },
    teams: {
      schema: { title: { type: 'string' }, size: { type: 'integer' } },
      permissions: {
        '*': { read: { omit: ['size'], where: { title: 'a`b|c' } } },
        user: { create: { set: { size: 2 }, check: { size: 1 } } },
        owner: { update: { pick: ['title'] } },
        'team|lead': { create: false, update: { where: { _id: { $in: '$user.leads' } } } },
        editor: { create: { pick: [] }, update: { where: { size: 1 }, check: {} }, delete: true },
      },
    },
  },
  auth: { claims: { leads: { from: 'teams', where: { createdBy: '$user._id' }, take: '_id' } } },
}

test('Markdown has a line for each rule of each kind of caller', () => {
  const lines = printMarkdown(permissionMatrix(config)).split('\n').slice(6)
  expect(lines).toEqual([
    '## `users`',
    '',
    '| caller | may | documents | fields | forced values | condition afterwards | rule |',
    '| --- | --- | --- | --- | --- | --- | --- |',
    '| anonymous | create |  | `name` |  |  | `/collections/users/permissions/*/create` |',
    '| anonymous | read | – |  |  |  |  |',
    '| anonymous | update | – |  |  |  |  |',
    '| anonymous | delete | – |  |  |  |  |',
    '| anonymous | register |  | `email` `password` `name` |  |  | `/collections/users/permissions/*/create` |',
    '| user | create |  | `name` |  |  | `/collections/users/permissions/*/create` |',
    '| user | read | – |  |  |  |  |',
    '| user | update | – |  |  |  |  |',
    '| user | delete | – |  |  |  |  |',
    '| user, own | read | all | all |  |  | `/collections/users/permissions/owner/read` |',
    '',
    '## `teams`',
    '',
    '| caller | may | documents | fields | forced values | condition afterwards | rule |',
    '| --- | --- | --- | --- | --- | --- | --- |',
    '| anonymous | create | – |  |  |  |  |',
    '| anonymous | read | `` title = "a`b\\|c" `` | all but `size` |  |  | `/collections/teams/permissions/*/read` |',
    '| anonymous | update | – |  |  |  |  |',
    '| anonymous | delete | – |  |  |  |  |',
    '| user | create |  | all | `size := 2` | `size = 1` | `/collections/teams/permissions/user/create` |',
    '| user | read | `` title = "a`b\\|c" `` | all but `size` |  |  | `/collections/teams/permissions/*/read` |',
    '| user | update | – |  |  |  |  |',
    '| user | delete | – |  |  |  |  |',
    '| user, own | update | all | `title` |  |  | `/collections/teams/permissions/owner/update` |',
    '| `"team\\|lead"` | create | – |  |  |  |  |',
    '| `"team\\|lead"` | read | `` title = "a`b\\|c" `` | all but `size` |  |  | `/collections/teams/permissions/*/read` |',
    '| `"team\\|lead"` | update | `_id in $user.leads` | all |  | the same | `/collections/teams/permissions/team\\|lead/update` |',
    '| `"team\\|lead"` | delete | – |  |  |  |  |',
    '| `"team\\|lead"`, own | update, 1. | `_id in $user.leads` | all |  | the same | `/collections/teams/permissions/team\\|lead/update` |',
    '| `"team\\|lead"`, own | update, 2. | all | `title` |  |  | `/collections/teams/permissions/owner/update` |',
    '| editor | create |  | none |  |  | `/collections/teams/permissions/editor/create` |',
    '| editor | read | `` title = "a`b\\|c" `` | all but `size` |  |  | `/collections/teams/permissions/*/read` |',
    '| editor | update | `size = 1` | all |  | anything | `/collections/teams/permissions/editor/update` |',
    '| editor | delete | all |  |  |  | `/collections/teams/permissions/editor/delete` |',
    '| editor, own | update, 1. | `size = 1` | all |  | anything | `/collections/teams/permissions/editor/update` |',
    '| editor, own | update, 2. | all | `title` |  |  | `/collections/teams/permissions/owner/update` |',
    '',
    'If a caller has several roles, they decide a write in this order: `"team|lead"`, editor',
    '',
    '## Claims',
    '',
    '| claim | values of field | in collection | condition | defined by |',
    '| --- | --- | --- | --- | --- |',
    '| `$user.leads` | `_id` | `teams` | `createdBy = $user._id` | `/auth/claims/leads` |',
  ])
})

test('what concerns one role changes no line of another', () => {
  const of = (permissions: object): readonly string[] =>
    printMarkdown(
      permissionMatrix({ collections: { notes: { schema: { text: { type: 'string' } }, permissions } } }),
    ).split('\n')
  const before = of({ '*': { read: true }, a: { create: true }, b: { create: true } })
  const after = of({ '*': { read: true }, a: { create: true }, b: { create: { pick: [] } } })
  const changed = after.filter((line) => !before.includes(line))
  expect(changed).toEqual(['| b | create |  | none |  |  | `/collections/notes/permissions/b/create` |'])
  expect(before.filter((line) => !after.includes(line))).toHaveLength(1)
})
