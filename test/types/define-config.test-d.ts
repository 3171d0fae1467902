import { expectTypeOf } from 'vitest'
import imported from '../../examples/config.json' with { type: 'json' }
import {
  type CollectionName,
  type CollectionService,
  type CollectionsOf,
  type Config,
  type CreateBodyOf,
  createCollectionService,
  type Document,
  type DocumentOf,
  defineConfig,
  type Handler,
  type UpdateBodyOf,
} from '../../src/index.js'

const config = defineConfig({
  $schema: './config.schema.json',
  collections: {
    users: {
      schema: {
        email: { type: 'string', format: 'email', unique: true, required: true },
        password: { type: 'hash', required: true },
        role: { type: 'string', enum: ['editor', 'admin'] },
      },
      permissions: { '*': true },
    },
    posts: {
      schema: {
        title: { type: 'string', required: true },
        team: { type: 'string', required: true },
        status: { type: 'string', enum: ['draft', 'published'], default: 'draft' },
        level: { type: 'integer', enum: [1, 2, 3] },
        score: { type: 'number', nullable: true },
        isOpen: { type: 'boolean', required: true, default: false },
        publishedAt: { type: 'timestamp' },
        tags: { type: 'array', items: { type: 'string' }, maxItems: 9, index: true },
        address: {
          type: 'object',
          required: true,
          properties: { city: { type: 'string', required: true }, zip: { type: 'string', nullable: true } },
        },
        links: {
          type: 'array',
          items: { type: 'object', properties: { url: { type: 'string', required: true } } },
        },
        more: { type: 'json' },
        author: { type: 'reference', collection: 'users' },
        parents: { type: 'array', items: { type: 'reference', collection: 'posts' } },
      },
      indexes: [{ fields: ['status', 'tags', 'createdAt'] }, { fields: ['title'], unique: true }],
      permissions: {
        '*': { read: { omit: ['score', 'createdBy'] } },
        user: { create: { pick: ['title'], set: { team: '$user.team' } } },
        owner: { update: { omit: ['title'], where: { status: 'draft' }, check: {} }, delete: true },
        editor: { pick: ['title'] },
      },
    },
    bags: { schema: { name: { type: 'string', required: true } }, additionalProperties: true },
  },
  auth: { roleField: 'role', identifier: 'email', secret: 'password' },
  limits: { maxLimit: 100 },
})
type C = typeof config

expectTypeOf<CollectionName<C>>().toEqualTypeOf<'users' | 'posts' | 'bags'>()

expectTypeOf<DocumentOf<C, 'posts'>>().toEqualTypeOf<{
  readonly _id: string
  readonly title: string
  readonly team: string
  readonly status: 'draft' | 'published'
  readonly level?: 1 | 2 | 3
  readonly score?: number
  readonly isOpen: boolean
  readonly publishedAt?: string
  readonly tags?: readonly string[]
  readonly address: { readonly city: string; readonly zip?: string }
  readonly links?: readonly { readonly url: string }[]
  readonly more?: unknown
  readonly author?: string
  readonly parents?: readonly string[]
  readonly createdAt: string
  readonly updatedAt: string
  readonly createdBy: string | null
}>()

expectTypeOf<CreateBodyOf<C, 'posts'>>().toEqualTypeOf<{
  readonly title: string
  readonly team?: string
  readonly status?: 'draft' | 'published'
  readonly level?: 1 | 2 | 3
  readonly score?: number | null
  readonly isOpen?: boolean
  readonly publishedAt?: string | Date
  readonly tags?: readonly string[]
  readonly address: { readonly city: string; readonly zip?: string | null }
  readonly links?: readonly { readonly url: string }[]
  readonly more?: unknown
  readonly author?: string
  readonly parents?: readonly string[]
}>()

expectTypeOf<UpdateBodyOf<C, 'posts'>>().toEqualTypeOf<{
  readonly title?: string
  readonly team?: string
  readonly status?: 'draft' | 'published' | null
  readonly level?: 1 | 2 | 3 | null
  readonly score?: number | null
  readonly isOpen?: boolean
  readonly publishedAt?: string | Date | null
  readonly tags?: readonly string[] | null
  readonly address?: { readonly city?: string; readonly zip?: string | null }
  readonly links?: readonly { readonly url: string }[] | null
  readonly more?: unknown
  readonly author?: string | null
  readonly parents?: readonly string[] | null
}>()

// A rule gives only what its `set` names; every other rule, and a `set` of an update, leaves what is required required.
const filled = defineConfig({
  collections: {
    tasks: {
      schema: {
        title: { type: 'string', required: true },
        team: { type: 'string', required: true },
        state: { type: 'string', required: true },
        due: { type: 'timestamp', required: true },
        dates: { type: 'array', items: { type: 'timestamp' } },
        note: { type: 'string' },
      },
      permissions: {
        '*': { create: { set: {} } },
        user: {
          create: { set: { $comment: 'x', team: '$user.team', note: 'x' } },
          update: { set: { state: 'x' } },
        },
        editor: { create: { pick: ['state'], check: { title: 'x' } } },
        admin: true,
        plain: { pick: ['title', 'state'] },
      },
    },
  },
})
expectTypeOf<CreateBodyOf<typeof filled, 'tasks'>>().toEqualTypeOf<{
  readonly title: string
  readonly team?: string
  readonly state: string
  readonly due: string | Date
  readonly dates?: readonly (string | Date)[]
  readonly note?: string
}>()
// Nobody knows what these values are called.
const values: { readonly [name: string]: unknown } = { team: 'x' }
const unnamed = defineConfig({
  collections: {
    tasks: {
      schema: { team: { type: 'string', required: true } },
      permissions: { user: { create: { set: values } } },
    },
  },
})
expectTypeOf<CreateBodyOf<typeof unnamed, 'tasks'>>().toEqualTypeOf<{ readonly team: string }>()
expectTypeOf<DocumentOf<typeof filled, 'tasks'>['due']>().toEqualTypeOf<string>()
expectTypeOf<DocumentOf<typeof filled, 'tasks'>['dates']>().toEqualTypeOf<readonly string[] | undefined>()

/** A field counts as given if one rule of an array sets it. */
const several = defineConfig({
  collections: {
    notes: {
      schema: {
        title: { type: 'string', required: true },
        team: { type: 'string', required: true },
        state: { type: 'string', required: true },
      },
      permissions: {
        user: {
          create: [{ pick: ['title'], set: { team: 'a' } }, { set: { state: 'x' } }],
          read: [{ pick: ['title', 'createdAt'] }, { where: { state: 'x' } }],
          update: [{ where: { state: 'x' }, check: {} }, { pick: ['team'] }],
          delete: [{ where: { state: 'x' } }],
        },
      },
    },
  },
})
expectTypeOf<CreateBodyOf<typeof several, 'notes'>>().toEqualTypeOf<{
  readonly title: string
  readonly team?: string
  readonly state?: string
}>()

defineConfig({
  collections: {
    notes: {
      schema: { title: { type: 'string' } },
      permissions: {
        // @ts-expect-error There is no such field, in a later rule either.
        user: { update: [{ pick: ['title'] }, { pick: ['titel'] }] },
      },
    },
  },
})

expectTypeOf<keyof DocumentOf<C, 'users'>>().toEqualTypeOf<
  '_id' | 'email' | 'role' | 'createdAt' | 'updatedAt' | 'createdBy'
>()
expectTypeOf<CreateBodyOf<C, 'users'>>().toEqualTypeOf<{
  readonly email: string
  readonly password: string
  readonly role?: 'editor' | 'admin'
}>()

expectTypeOf<DocumentOf<C, 'bags'>>().toExtend<{ readonly [name: string]: unknown; readonly name: string }>()
expectTypeOf({ name: 'a', anything: 5 }).toExtend<CreateBodyOf<C, 'bags'>>()

// @ts-expect-error There is no such collection.
expectTypeOf<DocumentOf<C, 'post'>>().toBeAny

expectTypeOf(createCollectionService(config)).toEqualTypeOf<CollectionService<C>>()
expectTypeOf(createCollectionService(config).system()).toEqualTypeOf<Handler<C>>()
expectTypeOf(createCollectionService(config).as(null)).toEqualTypeOf<Handler<C>>()
expectTypeOf<Handler<C>>().toExtend<Handler>()

// A literal needs no `defineConfig` to be known.
const written = createCollectionService({ collections: { a: { schema: { b: { type: 'integer' } } } } })
type Written = NonNullable<(typeof written)['~config']>
expectTypeOf<DocumentOf<Written, 'a'>['b']>().toEqualTypeOf<number | undefined>()

// What is said to people is no name of anything.
const commented = defineConfig({
  $comment: 'x',
  collections: {
    $comment: 'x',
    a: {
      $comment: 'x',
      schema: {
        $comment: 'x',
        b: { $comment: 'x', type: 'integer', required: true },
        c: { type: 'object', properties: { $comment: 'x', d: { $comment: 'x', type: 'json' } } },
        e: { type: 'array', items: { $comment: 'x', type: 'reference', collection: 'a' } },
      },
      permissions: {
        $comment: 'x',
        '*': { $comment: 'x', read: { $comment: 'x', pick: ['b'] }, delete: { $comment: 'x', where: {} } },
        user: { create: { $comment: 'x', set: { $comment: 'x', b: 1 } }, update: { $comment: 'x' } },
        editor: { $comment: 'x', pick: ['b'] },
      },
      indexes: [{ $comment: 'x', fields: ['b'] }],
    },
    empty: { schema: { $comment: 'x' } },
  },
  auth: { $comment: 'x' },
  limits: { $comment: 'x', bulk: 5 },
})
expectTypeOf<CollectionName<typeof commented>>().toEqualTypeOf<'a' | 'empty'>()
expectTypeOf<DocumentOf<typeof commented, 'a'>>().toEqualTypeOf<{
  readonly _id: string
  readonly b: number
  readonly c?: { readonly d?: unknown }
  readonly e?: readonly string[]
  readonly createdAt: string
  readonly updatedAt: string
  readonly createdBy: string | null
}>()
expectTypeOf<keyof CreateBodyOf<typeof commented, 'a'>>().toEqualTypeOf<'b' | 'c' | 'e'>()
expectTypeOf<UpdateBodyOf<typeof commented, 'a'>['c']>().toEqualTypeOf<
  { readonly d?: unknown } | null | undefined
>()
expectTypeOf<keyof CollectionsOf<typeof commented>['a']['references']>().toEqualTypeOf<'e'>()
expectTypeOf<keyof DocumentOf<typeof commented, 'empty'>>().toEqualTypeOf<
  '_id' | 'createdAt' | 'updatedAt' | 'createdBy'
>()

// What a file of JSON holds is known by its names.
const fromFile = defineConfig(imported)
expectTypeOf<CollectionName<typeof fromFile>>().toEqualTypeOf<'users' | 'articles'>()
expectTypeOf<DocumentOf<typeof fromFile, 'articles'>>().toEqualTypeOf<Document>()
expectTypeOf(createCollectionService(imported)).toExtend<Handler>()

// Of what is wider nothing is known.
const wide: Config = imported as unknown as Config
expectTypeOf<DocumentOf<Config, 'anything'>>().toEqualTypeOf<Document>()
expectTypeOf<CollectionsOf<unknown>[string]['document']>().toEqualTypeOf<Document>()
expectTypeOf(defineConfig(wide)).toEqualTypeOf<Config>()
expectTypeOf(createCollectionService(wide)).toExtend<Handler>()
const anything: { readonly [key: string]: unknown } = {}
expectTypeOf(createCollectionService(anything)).toExtend<Handler>()

// What is wrong is marked where it stands.
defineConfig({
  collections: {
    users: {
      schema: {
        // @ts-expect-error There is no such type.
        a: { type: 'strnig' },
        // @ts-expect-error There is no such attribute.
        b: { type: 'string', requird: true },
        // @ts-expect-error The attribute belongs to another type.
        c: { type: 'integer', maxLength: 5 },
        // @ts-expect-error The default is of another type.
        d: { type: 'string', default: 5 },
        // @ts-expect-error It is false or true.
        e: { type: 'string', unique: 'yes' },
        // @ts-expect-error There is no such collection.
        f: { type: 'reference', collection: 'user' },
        // @ts-expect-error Its items are missing.
        g: { type: 'array' },
        h: {
          type: 'object',
          properties: {
            // @ts-expect-error There is no such collection, deep inside either.
            i: { type: 'array', items: { type: 'reference', collection: 'x' } },
          },
        },
      },
      permissions: {
        // @ts-expect-error There is no such field.
        '*': { read: { pick: ['x'] } },
        // @ts-expect-error A comment is no field.
        editor: { read: { pick: ['$comment'] } },
        // @ts-expect-error There is no such operation.
        user: { write: true },
        // @ts-expect-error System fields are nobody's to write.
        owner: { update: { omit: ['createdAt'] } },
      },
      // @ts-expect-error There is no such field.
      indexes: [{ fields: ['x'] }],
    },
    // @ts-expect-error A comment is text.
    $comment: 5,
    // @ts-expect-error There is no such setting.
    notes: { schema: {}, permisions: {} },
  },
  auth: {
    // @ts-expect-error There is no such field of `users`.
    roleField: 'rolle',
  },
  limits: {
    // @ts-expect-error There is no such limit.
    maxLimits: 5,
  },
})
// @ts-expect-error There is no such part.
defineConfig({ collection: {} })
// @ts-expect-error This is no configuration at all.
defineConfig(5)
// @ts-expect-error Nor is this.
createCollectionService('config.json')
