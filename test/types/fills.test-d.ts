import { expectTypeOf } from 'vitest'
import {
  createCollectionService,
  createMemoryAdapter,
  type DocumentOf,
  defineConfig,
} from '../../src/index.js'

const config = defineConfig({
  collections: {
    tickets: {
      schema: {
        title: { type: 'string', required: true },
        number: { type: 'integer', required: true },
        note: { type: 'string' },
      },
    },
    posts: { schema: { title: { type: 'string', required: true }, note: { type: 'string' } } },
  },
})

createCollectionService(config, createMemoryAdapter(), {
  hooks: {
    tickets: {
      fills: ['number'],
      async before({ operation, after }) {
        if (operation === 'create') {
          expectTypeOf(after.number).toEqualTypeOf<number | undefined>()
          expectTypeOf(after.title).toEqualTypeOf<string>()
        }
        if (operation === 'update') expectTypeOf(after.number).toEqualTypeOf<number>()
        return { set: { number: 1 } }
      },
    },
    posts: {
      before(change) {
        if (change.operation === 'create')
          expectTypeOf(change.after).toEqualTypeOf<DocumentOf<typeof config, 'posts'>>()
      },
    },
  },
})
