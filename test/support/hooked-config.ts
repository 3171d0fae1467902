/** What the laws of hooks are about. */
export const HOOKED = {
  collections: {
    posts: {
      schema: {
        title: { type: 'string', required: true, trim: true },
        slug: { type: 'string', unique: true },
        comments: { type: 'integer', minimum: 0, default: 0 },
        origin: { type: 'string', immutable: true },
        meta: { type: 'object', properties: { by: { type: 'string', default: 'nobody' } } },
        hidden: { type: 'string' },
        note: { type: 'string' },
        next: { type: 'reference', collection: 'secrets' },
        pin: { type: 'hash' },
      },
      permissions: {
        user: {
          read: { omit: ['hidden'] },
          create: { pick: ['title'] },
          update: { pick: ['title', 'note'], check: { title: { $ne: 'forbidden' } } },
          delete: true,
        },
      },
    },
    comments: {
      schema: {
        post: { type: 'reference', collection: 'posts', onDelete: 'cascade', required: true },
        text: { type: 'string' },
      },
      permissions: { user: true },
    },
    marks: {
      schema: {
        post: { type: 'reference', collection: 'posts', onDelete: 'unset' },
        text: { type: 'string' },
      },
      permissions: { user: { read: true } },
    },
    crews: {
      schema: { user: { type: 'string', index: true }, crew: { type: 'string' } },
      permissions: { user: { create: { set: { user: '$user._id' } } } },
    },
    boards: {
      schema: { crew: { type: 'string' }, text: { type: 'string' } },
      permissions: { user: { read: { where: { crew: { $in: '$user.crews' } }, omit: ['text'] } } },
    },
    secrets: { schema: { text: { type: 'string' } }, permissions: {} },
    log: {
      schema: {
        what: { type: 'string', required: true },
        key: { type: 'string', unique: true },
        post: { type: 'reference', collection: 'posts' },
        pin: { type: 'hash' },
      },
      permissions: {},
    },
  },
  auth: { claims: { crews: { from: 'crews', where: { user: '$user._id' }, take: 'crew' } } },
  limits: { bulk: 6, added: 4, documentBytes: 4096 },
} as const
