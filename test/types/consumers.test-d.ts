import { expectTypeOf } from 'vitest'
import imported from '../../examples/config.json' with { type: 'json' }
import {
  type Consumer,
  type ConsumerChange,
  type ConsumerContext,
  createCollectionService,
  createMemoryAdapter,
  type Document,
  type DocumentOf,
  defineConfig,
} from '../../src/index.js'

const config = defineConfig({
  collections: {
    users: {
      changes: true,
      schema: { email: { type: 'string', required: true }, password: { type: 'hash', required: true } },
    },
    posts: {
      changes: true,
      schema: { title: { type: 'string', required: true }, views: { type: 'integer', default: 0 } },
    },
    tags: { changes: true, schema: { name: { type: 'string' } } },
  },
})
type Post = DocumentOf<typeof config, 'posts'>

createCollectionService(config, createMemoryAdapter(), {
  consumers: {
    one: {
      collections: ['posts'],
      handle({ collection, operation, before, after }, context) {
        expectTypeOf(collection).toEqualTypeOf<'posts'>()
        expectTypeOf(context).toEqualTypeOf<ConsumerContext>()
        if (operation === 'create') {
          expectTypeOf(before).toEqualTypeOf<null>()
          expectTypeOf(after).toEqualTypeOf<Post>()
        }
        if (operation === 'delete') expectTypeOf(before).toEqualTypeOf<Post>()
      },
    },
    several: {
      collections: ['users', 'posts'],
      async handle(change) {
        expectTypeOf(change.collection).toEqualTypeOf<'users' | 'posts'>()
        expectTypeOf(change.time).toEqualTypeOf<string>()
        expectTypeOf(change.by).toEqualTypeOf<string | null>()
        if (change.collection === 'users') {
          expectTypeOf(change.after).toEqualTypeOf<DocumentOf<typeof config, 'users'> | null>()
          // @ts-expect-error
          change.after?.password
        }
        return 'what it returns is not looked at'
      },
    },
  },
  hooks: {
    posts: { before: ({ operation }) => (operation === 'delete' ? undefined : { set: { views: 1 } }) },
  },
})
createCollectionService(config, createMemoryAdapter(), {
  consumers: {
    // @ts-expect-error
    one: { collections: ['post'], handle() {} },
  },
})
createCollectionService(config, createMemoryAdapter(), {
  consumers: {
    // @ts-expect-error
    one: { collections: ['posts'] },
  },
})

// Written apart
const audit: Consumer<typeof config> = {
  collections: ['posts', 'tags'],
  handle: ({ after }) => expectTypeOf(after?._id).toEqualTypeOf<string | undefined>(),
}
const tags: Consumer<typeof config, 'tags'> = { collections: ['tags'], handle: ({ after }) => after?.name }
createCollectionService(config, createMemoryAdapter(), { consumers: { audit, tags } })

// A configuration whose type says nothing
createCollectionService(imported, createMemoryAdapter(), {
  consumers: {
    one: {
      collections: ['articles'],
      handle({ collection, operation, after }) {
        expectTypeOf(collection).toEqualTypeOf<'articles'>()
        if (operation === 'create') expectTypeOf(after).toEqualTypeOf<Document>()
      },
    },
  },
})
expectTypeOf<ConsumerChange['after']>().toEqualTypeOf<Document | null>()
expectTypeOf<ConsumerChange['collection']>().toEqualTypeOf<string>()
