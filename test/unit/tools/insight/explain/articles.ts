/** The configuration of CONTRACT.md §1, without its accounts. */
export const articles = {
  collections: {
    articles: {
      schema: {
        title: { type: 'string', required: true, maxLength: 200 },
        status: { type: 'string', enum: ['draft', 'published'], default: 'draft' },
        tags: { type: 'array', items: { type: 'string' } },
        views: { type: 'integer', minimum: 0, default: 0 },
      },
      permissions: {
        '*': { read: { where: { status: 'published' }, omit: ['views'] } },
        user: { create: { pick: ['title', 'tags'] } },
        owner: {
          read: true,
          update: { omit: ['views'], check: { status: { $ne: 'published' } } },
          delete: true,
        },
        editor: { read: true, update: { pick: ['status'] } },
        admin: true,
      },
    },
  },
}

export const DRAFT = '01890163-8694-7000-8000-000000000001'
export const PUBLISHED = '01890163-8694-7000-8000-000000000002'
export const NOBODYS = '01890163-8694-7000-8000-000000000009'

export const documents = {
  articles: [
    { _id: DRAFT, title: 'Draft', createdBy: 'ann' },
    { _id: PUBLISHED, title: 'Published', status: 'published', createdBy: 'ann', tags: ['a'] },
  ],
}

export const ann = { id: 'ann' }
export const bob = { id: 'bob' }
export const editor = { id: 'bob', roles: ['editor'] }
