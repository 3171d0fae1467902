import {
  config,
  N,
  notes,
  OWN_TEAM,
  PUBLISHED,
  type Row,
  type Rows,
  reads,
  SELF,
  TEXT,
  TEXTS,
  teamUser,
  U,
  withTeam,
} from './configs.js'

/** As many roles, each with 16 rules for deletes. */
const deleting = (count: number): { readonly [role: string]: object } =>
  Object.fromEntries(
    Array.from({ length: count }, (_, role) => [
      `role${role}`,
      { delete: Array.from({ length: 16 }, (_, i) => ({ where: { title: String(i) } })) },
    ]),
  )

/** Findings about what rules let happen. */
export const ROWS_OF_RULES: Rows = {
  never_matches: [
    [
      'a value that the enum does not have',
      notes({ user: { read: true, create: true, delete: { where: { status: 'publised' } } } }),
      [`${N}/user/delete/where`],
      notes({ user: { read: true, create: true, delete: { where: PUBLISHED } } }),
    ],
    [
      'two values at once',
      notes({ user: { create: true, read: { where: { status: 'draft', $and: [PUBLISHED] } } } }),
      [`${N}/user/read/where`],
      notes({
        user: {
          create: true,
          read: { where: { status: 'draft', $and: [{ status: { $ne: 'published' } }] } },
        },
      }),
    ],
    [
      'a required field that is missing',
      notes(
        { user: { ...reads, create: true, delete: { where: { title: null } } } },
        { schema: { title: { ...TEXT, required: true } } },
      ),
      [`${N}/user/delete/where`],
      notes(
        { user: { ...reads, create: true, delete: { where: { title: null } } } },
        { schema: { title: TEXT } },
      ),
    ],
    [
      'bounds that leave no whole number',
      notes(
        { user: { ...reads, create: true, delete: { where: { views: { $gt: 1, $lt: 2 } } } } },
        { schema: { views: { type: 'integer' } } },
      ),
      [`${N}/user/delete/where`],
      notes(
        { user: { ...reads, create: true, delete: { where: { views: { $gt: 1, $lt: 2 } } } } },
        { schema: { views: { type: 'number' } } },
      ),
    ],
    [
      'less than the schema allows',
      notes(
        { user: { ...reads, create: true, delete: { where: { views: { $lt: 0 } } } } },
        { schema: { views: { type: 'number', minimum: 0 } } },
      ),
      [`${N}/user/delete/where`],
      notes(
        { user: { ...reads, create: true, delete: { where: { views: { $lte: 0 } } } } },
        { schema: { views: { type: 'number', minimum: 0 } } },
      ),
    ],
    [
      'both values of a boolean excluded',
      notes(
        { user: { ...reads, create: true, delete: { where: { done: { $nin: [true, false, null] } } } } },
        { schema: { done: { type: 'boolean' } } },
      ),
      [`${N}/user/delete/where`],
      notes(
        { user: { ...reads, create: true, delete: { where: { done: { $nin: [true, false] } } } } },
        { schema: { done: { type: 'boolean' } } },
      ),
    ],
    [
      'no group of an $or',
      notes({
        user: { ...reads, create: true, delete: { where: { $or: [{ status: 'x' }, { status: 'y' }] } } },
      }),
      [`${N}/user/delete/where`],
      notes({
        user: { ...reads, create: true, delete: { where: { $or: [{ status: 'x' }, { status: 'draft' }] } } },
      }),
    ],
    [
      'own documents of nobody',
      notes({ user: { ...reads, create: true }, owner: { delete: { where: { createdBy: null } } } }),
      [`${N}/owner/delete/where`],
      notes({ user: { ...reads, create: true }, owner: { delete: { where: { createdBy: '$user._id' } } } }),
    ],
    [
      'the caller, where nobody is signed in',
      notes({
        '*': { ...reads, delete: { where: { title: '$user._id' } } },
        user: { create: true, delete: true },
      }),
      [`${N}/*/delete/where`],
      notes({ '*': { ...reads, delete: { where: { title: 'x' } } }, user: { create: true, delete: true } }),
    ],
    [
      'an element that the array cannot hold',
      notes(
        { user: { ...reads, create: true, delete: { where: { tags: 'abc' } } } },
        { schema: { tags: { type: 'array', items: { type: 'string', maxLength: 2 } } } },
      ),
      [`${N}/user/delete/where`],
      notes(
        { user: { ...reads, create: true, delete: { where: { tags: 'ab', $and: [{ tags: 'cd' }] } } } },
        { schema: { tags: { type: 'array', items: { type: 'string', maxLength: 2 } } } },
      ),
    ],
  ],
  untried_rules: [
    [
      'five roles with 16 rules each',
      notes({ user: { ...reads, create: true }, ...deleting(5) }, { account: { role: TEXTS } }),
      [N],
      notes({ user: { ...reads, create: true }, ...deleting(4) }, { account: { role: TEXTS } }),
    ],
  ],
  never_runs: [
    [
      'user goes before owner',
      notes({ user: { ...reads, create: true, delete: true }, owner: { delete: true } }),
      [`${N}/owner/delete`],
      notes({ user: { ...reads, create: true, delete: { where: PUBLISHED } }, owner: { delete: true } }),
    ],
    [
      'an update that accepts as much',
      notes({ user: { ...reads, create: true, update: true }, owner: { update: { pick: ['title'] } } }),
      [`${N}/owner/update`],
      notes({
        user: { ...reads, create: true, update: { pick: ['status'] } },
        owner: { update: { pick: ['title'] } },
      }),
    ],
    [
      'all roles go before owner',
      notes({ user: { ...reads, create: true, delete: true }, admin: true, owner: { delete: true } }),
      [`${N}/owner/delete`],
      notes(
        { user: { ...reads, create: true, delete: true }, admin: { delete: false }, owner: { delete: true } },
        { $ignore: [`less_than_user ${N}/admin/delete`] as never },
      ),
    ],
    [
      'an earlier rule of the array accepts as much',
      notes({ user: { ...reads, create: true, update: [{}, { pick: ['title'] }] } }),
      [`${N}/user/update/1`],
      notes({ user: { ...reads, create: true, update: [{ pick: ['title'] }, {}] } }),
    ],
    [
      'a rule of the array shows more',
      notes({ user: { create: true, read: [{ pick: ['title'] }, {}] } }),
      [`${N}/user/read/0`],
      notes({ user: { create: true, read: [{ pick: ['title'] }, { omit: ['title'] }] } }),
    ],
    [
      'registration is closed',
      config({ users: { '*': { create: true }, user: { create: true } }, auth: { register: false } }),
      [`${U}/*/create`],
      config({ users: { '*': { create: true }, admin: true }, auth: { register: false } }),
    ],
    [
      'nobody can sign in',
      {
        collections: {
          notes: {
            schema: { title: TEXT },
            permissions: { '*': { read: true, create: true }, user: { update: true } },
          },
        },
        limits: { maxLimit: 9 },
      },
      [`${N}/user`],
      {
        collections: {
          notes: {
            schema: { title: TEXT },
            permissions: { '*': { read: true, create: true, update: true } },
          },
        },
        limits: { maxLimit: 9 },
      },
    ],
  ],
  mistaken_subject: [
    ...['$owner', '$user', '$User', 'Owner', 'USER', '$role'].map(
      (subject): Row => [
        `${subject}, which is a role`,
        notes({ user: { ...reads, create: true }, [subject]: { delete: true } }, { account: { role: TEXT } }),
        [`${N}/${subject}`],
        notes({ user: { ...reads, create: true }, owners: { delete: true } }, { account: { role: TEXT } }),
      ],
    ),
  ],
  impossible_role: [
    [
      'one that the enum lacks',
      notes({ user: { ...reads, create: true }, edtor: { delete: true } }),
      [`${N}/edtor`],
      notes({ user: { ...reads, create: true }, editor: { delete: true } }),
    ],
    [
      'one that is stored in lower case',
      notes(
        { user: { ...reads, create: true }, Editor: { delete: true } },
        { account: { role: { ...TEXT, lowercase: true } } },
      ),
      [`${N}/Editor`],
      notes({ user: { ...reads, create: true }, Editor: { delete: true } }, { account: { role: TEXT } }),
    ],
    [
      'any, without a role field',
      {
        ...notes(
          { user: { ...reads, create: true }, editor: { delete: true } },
          { account: { role: { ...TEXT, default: 'none' } } },
        ),
        auth: {},
      },
      [`${N}/editor`],
      notes({ user: { ...reads, create: true }, editor: { delete: true } }),
    ],
  ],
  unreadable_target: [
    [
      'a delete without a right to read',
      notes({ user: { create: true }, owner: { delete: true } }),
      [`${N}/owner/delete`],
      notes({ user: { create: true }, owner: { delete: true, read: true } }),
    ],
    [
      'an update of what is not shown',
      notes({
        '*': { read: { where: PUBLISHED } },
        user: { create: true },
        owner: { update: { where: { status: 'draft' } } },
      }),
      [`${N}/owner/update`],
      notes({
        '*': { read: { where: PUBLISHED } },
        user: { create: true },
        owner: { update: { where: PUBLISHED } },
      }),
    ],
    [
      'where only a role reads, which has a rule of its own',
      notes({ user: { create: true }, admin: true, owner: { update: true } }),
      [`${N}/owner/update`],
      notes({ user: { create: true }, admin: { read: true }, owner: { update: true } }),
    ],
  ],
  writes_role: [
    [
      'by its owner',
      config({ users: { owner: { ...SELF, update: { pick: ['role'] } }, admin: true } }),
      [`${U}/owner/update`],
      config({
        users: { owner: { ...SELF, update: { pick: ['role'], check: { role: null } } }, admin: true },
      }),
    ],
    [
      'by a lesser role',
      config({ users: { editor: { read: true, update: { pick: ['role'] } }, admin: true } }),
      [`${U}/editor/update`],
      config({
        users: { editor: { read: true, update: { pick: ['role'], check: { role: 'editor' } } }, admin: true },
      }),
    ],
    [
      'at registration',
      config({ users: { '*': { create: { pick: ['role'] } }, admin: true } }),
      [`${U}/*/create`],
      config({ users: { '*': { create: { pick: [], set: { role: 'editor' } } }, admin: true } }),
    ],
  ],
  writes_user_field: [
    [
      'a team of one’s own choice',
      notes(
        { user: { create: { set: { team: '$user.team' } }, read: { where: OWN_TEAM } } },
        { ...withTeam, users: { owner: { ...SELF, update: { pick: ['team'] } } } },
      ),
      [`${U}/owner/update`],
      notes({ user: { create: { set: { team: '$user.team' } }, read: { where: OWN_TEAM } } }, teamUser),
    ],
    [
      'a team given at registration',
      notes(
        { user: { create: { set: { team: '$user.team' } }, read: { where: OWN_TEAM } } },
        { ...withTeam, users: { '*': { create: { pick: ['team'] } } } },
      ),
      [`${U}/*/create`],
      notes(
        { user: { create: { set: { team: '$user.team' } }, read: { where: OWN_TEAM } } },
        { ...withTeam, users: { '*': { create: { pick: ['team'], check: { team: 'guests' } } } } },
      ),
    ],
  ],
  writes_own_condition: [
    [
      'a check that lifts it',
      notes(
        { user: { create: true, read: { where: OWN_TEAM }, update: { where: OWN_TEAM, check: {} } } },
        teamUser,
      ),
      [`${N}/user/update`],
      notes({ user: { create: true, read: { where: OWN_TEAM }, update: { where: OWN_TEAM } } }, teamUser),
    ],
    [
      'a check of something else',
      notes(
        {
          user: {
            create: true,
            read: { where: OWN_TEAM },
            update: { where: OWN_TEAM, check: { title: 'x' } },
          },
        },
        teamUser,
      ),
      [`${N}/user/update`],
      notes(
        {
          user: {
            create: true,
            read: { where: OWN_TEAM },
            update: { where: OWN_TEAM, check: { title: 'x' }, omit: ['team'] },
          },
        },
        teamUser,
      ),
    ],
  ],
  moves_out_of_sight: [
    [
      'what is no longer public',
      notes({ '*': { read: { where: PUBLISHED } }, user: { create: true, update: true } }),
      [`${N}/user/update`],
      notes({ '*': { read: { where: PUBLISHED } }, user: { create: true, update: { omit: ['status'] } } }),
    ],
    [
      'what another right still shows',
      notes({
        user: {
          create: true,
          read: { where: PUBLISHED },
          update: { where: { createdBy: '$user._id' }, check: {} },
        },
      }),
      [`${N}/user/update`],
      notes({
        user: {
          create: true,
          read: { where: PUBLISHED },
          update: { where: { createdBy: '$user._id' }, check: {} },
        },
        owner: { read: true },
      }),
    ],
  ],
}
