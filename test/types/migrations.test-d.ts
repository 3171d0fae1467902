import { expectTypeOf } from 'vitest'
import { createMemoryAdapter, defineConfig } from '../../src/index.js'
import { defineMigration, migrateCollections, type StoredDocumentOf } from '../../src/tools/migrate/index.js'

const before = defineConfig({
  collections: {
    articles: {
      stored: 'posts',
      schema: {
        headline: { type: 'string', required: true, stored: 'title' },
        minutes: { type: 'string' },
        place: { type: 'object', properties: { town: { type: 'string', stored: 'city' } } },
        links: {
          type: 'array',
          items: { type: 'object', properties: { to: { type: 'string', required: true, stored: 'target' } } },
        },
        pin: { type: 'hash' },
      },
    },
    notes: { schema: { text: { type: 'string' } }, additionalProperties: true },
  },
})

export const migration = defineMigration(before, {
  collections: {
    posts(document) {
      expectTypeOf(document).toEqualTypeOf<StoredDocumentOf<typeof before, 'posts'>>()
      expectTypeOf(document._id).toEqualTypeOf<string>()
      expectTypeOf(document.title).toEqualTypeOf<string>()
      expectTypeOf(document.minutes).toEqualTypeOf<string | undefined>()
      expectTypeOf(document.place?.city).toEqualTypeOf<string | undefined>()
      expectTypeOf(document.links?.[0]?.target).toEqualTypeOf<string | undefined>()
      expectTypeOf(document.createdBy).toEqualTypeOf<string | null>()
      // @ts-expect-error the declared name is not the stored one
      document.headline
      // @ts-expect-error hashes are not shown
      document.pin
      return { set: { minutes2: Number(document.minutes) } }
    },
    async notes({ other }) {
      expectTypeOf(other).toEqualTypeOf<unknown>()
    },
  },
})

defineMigration(before, {
  collections: {
    // @ts-expect-error not a stored collection
    articles: () => undefined,
  },
})

defineMigration(before, {
  collections: {
    // @ts-expect-error not a result
    posts: () => ({ change: {} }),
  },
})

migrateCollections({ collections: {} }, createMemoryAdapter(), { migrations: { one: migration } })
