import {
  config,
  N,
  notes,
  PUBLISHED,
  type Rows,
  reads,
  S,
  SELF,
  STATUS,
  TEXT,
  TEXTS,
  target,
  U,
} from './configs.js'

/** Findings about fields, conditions and costs. */
export const ROWS_OF_VALUES: Rows = {
  unsettable_field: [
    [
      'one that nobody picks',
      notes({ user: { ...reads, create: { pick: ['title'] } } }, { schema: { title: TEXT, text: TEXT } }),
      [`${S}/text`],
      notes(
        { user: { ...reads, create: { pick: ['title'] } } },
        { schema: { title: TEXT, text: { ...TEXT, default: 'x' } } },
      ),
    ],
    [
      'an immutable one that only updates accept',
      notes(
        { user: { ...reads, create: { pick: ['title'] }, update: true } },
        { schema: { title: TEXT, text: { ...TEXT, immutable: true } } },
      ),
      [`${S}/text`],
      notes(
        { user: { ...reads, create: { pick: ['title'] }, update: true } },
        { schema: { title: TEXT, text: TEXT } },
      ),
    ],
    [
      'one of accounts',
      config({ account: { name: TEXT } }),
      ['/collections/users/schema/name'],
      config({ account: { name: TEXT }, users: { owner: { ...SELF, update: { pick: ['name'] } } } }),
    ],
  ],
  unfillable_field: [
    [
      'by nobody',
      notes(
        { user: { ...reads, create: { pick: ['title'] } } },
        { schema: { title: TEXT, text: { ...TEXT, required: true } } },
      ),
      [`${S}/text`],
      notes(
        { user: { ...reads, create: { pick: ['title'], set: { text: 'x' } } } },
        { schema: { title: TEXT, text: { ...TEXT, required: true } } },
      ),
    ],
    [
      'by one of two',
      notes(
        { user: { ...reads, create: { pick: ['title'] } }, admin: true },
        { schema: { title: TEXT, text: { ...TEXT, required: true } } },
      ),
      [`${N}/user/create`],
      notes(
        { user: { ...reads, create: true }, admin: true },
        { schema: { title: TEXT, text: { ...TEXT, required: true } } },
      ),
    ],
    [
      'by a registration without a rule',
      config({ account: { name: { ...TEXT, required: true } }, users: { admin: true } }),
      ['/collections/users/schema/name'],
      config({
        account: { name: { ...TEXT, required: true } },
        users: { admin: true, '*': { create: { pick: ['name'] } } },
      }),
    ],
    [
      'by a registration with one',
      config({
        account: { name: { ...TEXT, required: true } },
        users: { admin: true, '*': { create: { pick: [] } } },
      }),
      [`${U}/*/create`],
      config({
        account: { name: { ...TEXT, required: true } },
        users: { admin: true },
        auth: { register: false },
      }),
    ],
  ],
  unmeetable_check: [
    [
      'a field that is not accepted',
      notes({ user: { ...reads, create: { pick: ['title'], check: PUBLISHED } }, admin: true }),
      [`${N}/user/create/check`],
      notes({ user: { ...reads, create: { pick: ['title'], check: { status: 'draft' } } }, admin: true }),
    ],
    [
      'another value than "set" gives',
      notes({ user: { ...reads, create: { set: { status: 'draft' }, check: PUBLISHED } } }),
      [`${N}/user/create/check`],
      notes({ user: { ...reads, create: { set: { status: 'published' }, check: PUBLISHED } } }),
    ],
    [
      'the caller, for the anonymous',
      notes({ '*': { ...reads, create: { check: { createdBy: '$user._id' } } }, user: { create: true } }),
      [`${N}/*/create/check`],
      notes({ '*': { ...reads, create: { check: { createdBy: null } } }, user: { create: true } }),
    ],
    [
      'the check that "where" is, against "set"',
      notes({
        user: {
          ...reads,
          create: true,
          update: { where: { status: 'draft' }, set: { status: 'published' } },
        },
      }),
      [`${N}/user/update`],
      notes({
        user: {
          ...reads,
          create: true,
          update: { where: { status: 'draft' }, set: { status: 'published' }, check: {} },
        },
      }),
    ],
    [
      'what stays as it was',
      notes({
        user: {
          ...reads,
          create: true,
          update: { pick: ['title'], where: { status: 'draft' }, check: PUBLISHED },
        },
      }),
      [`${N}/user/update/check`],
      notes({
        user: {
          ...reads,
          create: true,
          update: { pick: ['status'], where: { status: 'draft' }, check: PUBLISHED },
        },
      }),
    ],
  ],
  unreadable_reference: [
    [
      'in a body',
      notes({ user: { ...reads, create: true }, admin: true }, target({ admin: true })),
      [`${N}/user/create`],
      notes({ user: { ...reads, create: true }, admin: true }, target({ admin: true, user: { read: true } })),
    ],
    [
      'in a set',
      notes(
        { user: { ...reads, create: { pick: ['title'], set: { by: '$user._id' } } } },
        { schema: { title: TEXT, by: { type: 'reference', collection: 'users' } }, users: { owner: false } },
      ),
      [`${N}/user/create`],
      notes(
        { user: { ...reads, create: { pick: ['title'], set: { by: '$user._id' } } } },
        { schema: { title: TEXT, by: { type: 'reference', collection: 'users' } } },
      ),
    ],
    [
      'in an array',
      notes(
        { user: { ...reads, create: true }, admin: true },
        {
          ...target({ admin: true }),
          schema: { about: { type: 'array', items: { type: 'reference', collection: 'topics' } } },
        },
      ),
      [`${N}/user/create`],
      notes(
        { user: { ...reads, create: true }, admin: true },
        {
          ...target({ admin: true, owner: { read: true } }),
          schema: { about: { type: 'array', items: { type: 'reference', collection: 'topics' } } },
        },
      ),
    ],
  ],
  read_without_index: [
    [
      'a field without one',
      notes({ user: { create: true, read: { where: { title: 'x' } } } }),
      [`${N}/user/read`],
      notes(
        { user: { create: true, read: { where: { title: 'x' } } } },
        { schema: { title: { ...TEXT, index: true }, status: STATUS } },
      ),
    ],
    [
      'an array of values without one',
      notes({ user: { create: true, read: { where: { about: 'x' } } } }, { schema: { about: TEXTS } }),
      [`${N}/user/read`],
      notes(
        { user: { create: true, read: { where: { about: 'x' } } } },
        { schema: { about: { ...TEXTS, index: true } } },
      ),
    ],
    [
      'a condition on elements that an index does not answer',
      notes(
        { user: { create: true, read: { where: { about: { $ne: 'x' } } } } },
        { schema: { about: { ...TEXTS, index: true } } },
      ),
      [`${N}/user/read`],
      notes(
        { user: { create: true, read: { where: { about: { $in: ['x', 'y'] } } } } },
        { schema: { about: { ...TEXTS, index: true } } },
      ),
    ],
    [
      'an index that asks for an element too',
      notes(
        { user: { create: true, read: { where: { title: 'x' } } } },
        { schema: { title: TEXT, about: TEXTS }, collection: { indexes: [{ fields: ['title', 'about'] }] } },
      ),
      [`${N}/user/read`],
      notes(
        { user: { create: true, read: { where: { title: 'x', about: 'y' } } } },
        { schema: { title: TEXT, about: TEXTS }, collection: { indexes: [{ fields: ['title', 'about'] }] } },
      ),
    ],
    [
      'createdBy, where owner does not read',
      notes({ user: { create: true, read: { where: { createdBy: '$user._id' } } } }),
      [`${N}/user/read`],
      notes({ user: { create: true, read: { where: { createdBy: '$user._id' } } }, owner: { read: true } }),
    ],
    [
      'one group of an $or',
      notes({ user: { create: true, read: { where: { $or: [PUBLISHED, { title: 'x' }] } } } }),
      [`${N}/user/read`],
      notes({
        user: { create: true, read: { where: { $or: [PUBLISHED, { title: 'x', status: 'draft' }] } } },
      }),
    ],
    [
      'what is excluded',
      notes({ user: { create: true, read: { where: { status: { $ne: 'draft' } } } } }),
      [`${N}/user/read`],
      notes({ '*': { read: true }, user: { create: true, read: { where: { status: { $ne: 'draft' } } } } }),
    ],
  ],
  no_effect: [
    [
      'what accounts heed, where there are none',
      { collections: { notes: { schema: { title: TEXT } } }, auth: { sessionDays: 5, cost: 12 } },
      ['/auth/sessionDays', '/auth/cost'],
      config({ auth: { sessionDays: 5, cost: 12 } }),
    ],
    [
      'bounds of changes that nobody can follow',
      config({ limits: { defaultLimit: 20, subscribers: 5, changesHours: 5 } }),
      ['/limits/subscribers', '/limits/changesHours'],
      config({
        limits: { defaultLimit: 20, subscribers: 5, changesHours: 5 },
        others: { topics: { schema: { name: TEXT }, changes: true } },
      }),
    ],
  ],
  public_list: [
    [
      'without a limit',
      { ...notes({ '*': { read: true }, user: { create: true } }), limits: {} },
      [`${N}/*/read`],
      { ...notes({ '*': { read: true }, user: { create: true } }), limits: { maxLimit: 9 } },
    ],
  ],
  readable_identifier: [
    [
      'for everyone',
      config({ users: { '*': { read: true } } }),
      [`${U}/*/read`],
      config({ users: { '*': { read: { omit: ['email'] } } } }),
    ],
    [
      'for all who register',
      config({ users: { user: { read: true } } }),
      [`${U}/user/read`],
      config({ users: { user: { read: true } }, auth: { register: false } }),
    ],
  ],
  less_than_user: [
    [
      'fewer fields',
      notes({ user: { ...reads, create: true }, editor: { create: { pick: ['title'] } } }),
      [`${N}/editor/create`],
      notes(
        { user: { ...reads, create: { pick: ['title'] } }, editor: { create: true } },
        { schema: { title: TEXT, status: STATUS } },
      ),
    ],
    [
      'nothing',
      notes({ user: { ...reads, create: true, delete: true }, editor: { delete: false } }),
      [`${N}/editor/delete`],
      notes({ user: { ...reads, create: true, delete: true }, editor: { create: true } }),
    ],
  ],
}
