// Each post knows the number of its comments, and numbers them: a hook counts in the step that writes them, so that both are
// stored or neither is. A unique index makes sure that a number is given once. To run it: npx tsx counter.ts
import {
  createCollectionService,
  createMemoryAdapter,
  defineConfig,
  refuse,
  type StorageAdapter,
} from 'collection-service'
import { createClient, isClientError } from 'collection-service/client'

const config = defineConfig({
  collections: {
    posts: {
      schema: {
        title: { type: 'string', required: true },
        isClosed: { type: 'boolean', default: false },
        comments: { type: 'integer', default: 0 },
        lastNumber: { type: 'integer', default: 0 },
      },
      permissions: {
        '*': {
          read: true,
          create: { pick: ['title', 'isClosed'] },
          update: { pick: ['title', 'isClosed'] },
          delete: true,
        },
      },
    },
    comments: {
      schema: {
        post: {
          type: 'reference',
          collection: 'posts',
          onDelete: 'cascade',
          required: true,
          immutable: true,
        },
        number: { type: 'integer', required: true },
        text: { type: 'string', required: true },
      },
      indexes: [{ fields: ['post', 'number'], unique: true }],
      permissions: { '*': { read: true, create: { pick: ['post', 'text'] }, delete: true } },
    },
  },
  limits: { maxLimit: 100 },
})

export const createService = (adapter: StorageAdapter) =>
  createCollectionService(config, adapter, {
    hooks: {
      comments: {
        // No body gives the number, but each comment has one.
        fills: ['number'],
        async before({ operation, before, after, api }) {
          if (operation === 'update') return
          const comment = operation === 'create' ? after : before
          // Read by its id, the post counts as it was read: when somebody else is faster, the hook runs again.
          const post = await createClient(api)
            .collection('posts')
            .get(comment.post)
            .catch((thrown: unknown) => {
              if (isClientError(thrown) && thrown.status === 404) return undefined
              throw thrown
            })
          // It is gone when its comments are deleted with it.
          if (!post) return
          const path = `/posts/${post._id}`
          if (operation === 'delete')
            return { also: [{ method: 'PATCH', path, body: { comments: post.comments - 1 } }] }
          if (post.isClosed) throw refuse(409, 'This post takes no more comments.')
          const number = post.lastNumber + 1
          const counted = { comments: post.comments + 1, lastNumber: number }
          return { set: { number }, also: [{ method: 'PATCH', path, body: counted }] }
        },
      },
    },
  })

export const service = createService(createMemoryAdapter())
