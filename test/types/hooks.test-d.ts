import { expectTypeOf } from 'vitest'
import imported from '../../examples/config.json' with { type: 'json' }
import { createClient } from '../../src/client/client.js'
import {
  createCollectionService,
  createMemoryAdapter,
  type Document,
  type DocumentOf,
  defineConfig,
  type HookChange,
  type HookOperation,
} from '../../src/index.js'

const config = defineConfig({
  collections: {
    users: {
      schema: { email: { type: 'string', required: true }, password: { type: 'hash', required: true } },
    },
    posts: {
      schema: { title: { type: 'string', required: true }, views: { type: 'integer', default: 0 } },
    },
  },
})
type Post = DocumentOf<typeof config, 'posts'>

createCollectionService(config, createMemoryAdapter(), {
  hooks: {
    posts: {
      async before(change) {
        expectTypeOf(change.before).toEqualTypeOf<Post | null>()
        expectTypeOf(change.api).toBeCallableWith(new Request('http://localhost/'))
        const { operation, before, after, api } = change
        if (operation === 'create') {
          expectTypeOf(before).toEqualTypeOf<null>()
          expectTypeOf(after).toEqualTypeOf<Post>()
          expectTypeOf(after.views).toEqualTypeOf<number>()
        }
        if (operation === 'delete') expectTypeOf(before.title).toEqualTypeOf<string>()
        const [user] = await createClient(api).collection('users').list()
        expectTypeOf(user?.email).toEqualTypeOf<string | undefined>()
        // @ts-expect-error
        user?.password
        return { set: { views: 1 }, also: [{ method: 'POST', path: '/posts', body: { title: 'x' } }] }
      },
    },
    users: { before: () => undefined },
  },
})
createCollectionService(config, createMemoryAdapter(), {
  hooks: {
    // @ts-expect-error
    post: { before: () => undefined },
  },
})
createCollectionService(config, createMemoryAdapter(), {
  hooks: {
    // @ts-expect-error
    posts: { before: () => ({ set: { views: 'many' } }) },
  },
})
createCollectionService(config, createMemoryAdapter(), {
  hooks: {
    // @ts-expect-error
    users: { before: () => ({ set: { password: 'a secret' } }) },
  },
})
createCollectionService(config, createMemoryAdapter(), {
  hooks: {
    // @ts-expect-error
    posts: { before: () => ({ also: [{ method: 'PURGE', path: '/posts' }] }) },
  },
})
createCollectionService(config, createMemoryAdapter(), {
  hooks: {
    // @ts-expect-error
    posts: {},
  },
})

// A configuration whose type says nothing
createCollectionService(imported, createMemoryAdapter(), {
  hooks: {
    articles: {
      before({ operation, after }) {
        if (operation === 'create') expectTypeOf(after).toEqualTypeOf<Document>()
        return { set: { title: 'x' } }
      },
    },
  },
})
expectTypeOf<HookChange['after']>().toEqualTypeOf<Document | null>()
expectTypeOf<HookOperation['method']>().toEqualTypeOf<'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'>()
