// Each post knows the number of its comments: a hook counts in the step that writes them, so that both are stored or
// neither is. To run it: npx tsx counter.ts
import { createCollectionService, createMemoryAdapter, defineConfig, refuse } from 'collection-service'
import { createClient, isClientError } from 'collection-service/client'

const config = defineConfig({
  collections: {
    posts: {
      schema: {
        title: { type: 'string', required: true },
        isClosed: { type: 'boolean', default: false },
        comments: { type: 'integer', default: 0 },
      },
      permissions: {
        '*': { read: true, create: { omit: ['comments'] }, update: { omit: ['comments'] }, delete: true },
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
        text: { type: 'string', required: true },
      },
      permissions: { '*': { read: true, create: true, delete: true } },
    },
  },
  limits: { maxLimit: 100 },
})

export const service = createCollectionService(config, createMemoryAdapter(), {
  hooks: {
    comments: {
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
        if (operation === 'create' && post.isClosed) throw refuse(409, 'This post takes no more comments.')
        const comments = post.comments + (operation === 'create' ? 1 : -1)
        return { also: [{ method: 'PATCH', path: `/posts/${post._id}`, body: { comments } }] }
      },
    },
  },
})
