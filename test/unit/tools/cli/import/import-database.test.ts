import { describe, expect, test } from 'vitest'
import type { FieldDefinition, JsonObject } from '../../../../../src/core/types.js'
import { createCollectionService, createMemoryAdapter } from '../../../../../src/index.js'
import { importDatabase } from '../../../../../src/tools/cli/commands/import/import-database.js'
import { WrittenNumber } from '../../../../../src/tools/cli/commands/import/read-database.js'

// CONTRACT.md §8, "Import"

const importValues = (values: JsonObject) => importDatabase({ values, isJsonServer: true })

const schemasOf = (database: JsonObject) =>
  Object.fromEntries(importValues(database).collections.map(({ name, schema }) => [name, schema]))

describe('the type of a field holds all of its values', () => {
  test.each<[values: readonly unknown[], definition: FieldDefinition]>([
    [[true, false], { type: 'boolean' }],
    [[1, 2], { type: 'number' }],
    [[1, 2.5], { type: 'number' }],
    [[1, new WrittenNumber('9007199254740993')], { type: 'string' }],
    [[new WrittenNumber('9007199254740993'), 2.5, null], { type: 'string', nullable: true }],
    [[new WrittenNumber('12'), 2.5], { type: 'number' }],
    [[new WrittenNumber('9007199254740993'), 'a'], { type: 'json' }],
    [[new Date(0), new Date(1)], { type: 'timestamp' }],
    [[new Date(0), 'a'], { type: 'json' }],
    [['a', '2026-01-01T00:00:00Z'], { type: 'string' }],
    [[null, 'a'], { type: 'string', nullable: true }],
    [[null], { type: 'json', nullable: true }],
    [[1, 'a'], { type: 'json' }],
    [[[]], { type: 'array', items: { type: 'json' } }],
    [[['a'], []], { type: 'array', items: { type: 'string' } }],
    [[[1, null]], { type: 'array', items: { type: 'json' } }],
    [[[[1], [2]]], { type: 'array', items: { type: 'array', items: { type: 'number' } } }],
    [
      [{ a: 1 }, { b: { c: true } }],
      {
        type: 'object',
        properties: { a: { type: 'number' }, b: { type: 'object', properties: { c: { type: 'boolean' } } } },
      },
    ],
    [[{}], { type: 'json' }],
    [[{ '2026': 1 }], { type: 'json' }],
    [[{ a: 1, A: 2 }], { type: 'json' }],
    [[JSON.parse('{"__proto__":1}')], { type: 'json' }],
    [['a', ['a']], { type: 'json' }],
  ])('%j', (values, definition) => {
    expect(schemasOf({ things: values.map((x) => ({ x })) })).toEqual({ things: { x: definition } })
  })

  test('a field that some documents lack is not required', () => {
    expect(schemasOf({ things: [{ a: 1 }, {}] })).toEqual({ things: { a: { type: 'number' } } })
  })
})

describe('an id', () => {
  test.each<[ids: readonly unknown[], definition: FieldDefinition | undefined]>([
    [[1, 2], { type: 'integer', unique: true }],
    [['a', 'b'], { type: 'string', unique: true }],
    [[1, 1], { type: 'integer' }],
    [[1, '1'], { type: 'json' }],
    [[1, undefined], { type: 'integer' }],
    [[1, null], { type: 'integer', nullable: true }],
    [[undefined, undefined], undefined],
  ])('is unique where it names each document: %j', (ids, definition) => {
    const database = { things: ids.map((id, n) => (id === undefined ? { n } : { id, n })) }
    expect(schemasOf(database).things?.id).toEqual(definition)
  })
})

describe('a field that names documents of another collection refers to them', () => {
  const posts = [{ id: 1 }, { id: 2 }]
  test.each<[name: string, target: string, value: unknown, definition: FieldDefinition]>([
    ['postId', 'posts', 1, { type: 'reference', collection: 'posts' }],
    ['post_id', 'posts', 2, { type: 'reference', collection: 'posts' }],
    ['postID', 'posts', '2', { type: 'reference', collection: 'posts' }],
    ['postId', 'post', 2, { type: 'reference', collection: 'post' }],
    ['categoryId', 'categories', 2, { type: 'reference', collection: 'categories' }],
    ['boxId', 'boxes', 2, { type: 'reference', collection: 'boxes' }],
    ['personId', 'people', 2, { type: 'reference', collection: 'people' }],
    ['blogPostId', 'blogPosts', 2, { type: 'reference', collection: 'blogPosts' }],
    ['postIds', 'posts', [1, 2], { type: 'array', items: { type: 'reference', collection: 'posts' } }],
    ['postId', 'posts', null, { type: 'json', nullable: true }],
    ['postId', 'posts', 3, { type: 'integer' }],
    ['postIds', 'posts', [1, 3], { type: 'array', items: { type: 'integer' } }],
    ['postIds', 'posts', 1, { type: 'integer' }],
    ['postId', 'posts', [1], { type: 'array', items: { type: 'integer' } }],
    ['otherId', 'posts', 1, { type: 'integer' }],
    ['paid', 'pas', 1, { type: 'number' }],
  ])('%s and %s, %j', (name, target, value, definition) => {
    expect(schemasOf({ [target]: posts, notes: [{ [name]: value }] }).notes?.[name]).toEqual(definition)
  })

  test('where ids and values are texts and numbers in any mixture, of which nothing is lost', () => {
    const posts = [{ id: 1 }, { id: '2' }]
    const comments = [{ postId: '1' }, { postId: 2 }, { postId: '2' }]
    const { collections, losses } = importValues({ posts, comments })
    expect(collections.map(({ schema }) => schema)).toEqual([
      { id: { type: 'json' } },
      { postId: { type: 'reference', collection: 'posts' } },
    ])
    expect(losses).toEqual([expect.stringMatching(/^posts\.id accepts any JSON/)])
  })

  test('where each value is found, by its _id', () => {
    const { documents } = importValues({ posts, comments: [{ postId: 2 }, { postId: 1 }, {}] })
    const [one, two] = documents.posts ?? []
    expect(documents.comments?.map(({ postId }) => postId)).toEqual([two?._id, one?._id, undefined])
  })
})

test('names that are taken or not allowed are others', () => {
  const { collections } = importValues({
    auth: [{ createdAt: 'a', _id: 1, 'a b': 1, a_b: 2, '2': 3, id: 4 }],
    'blog posts': [],
    Auth: [],
    '🎈': [],
  })
  expect(collections.map(({ name }) => name)).toEqual(['auth_2', 'blog_posts', 'Auth_3', 'collection'])
  expect(collections[0]?.renamed).toEqual(
    new Map([
      ['createdAt', 'createdAt_2'],
      ['_id', 'id_2'],
      ['a b', 'a_b_2'],
      ['2', 'field'],
    ]),
  )
})

test('what cannot be taken as it was is named', () => {
  const { collections, losses } = importValues({
    $schema: './schema.json',
    version: 2,
    tags: ['a'],
    posts: [{ id: 1 }, { id: 1 }],
    notes: [{ id: 1, postId: 9, authorId: 9, any: { list: [1, 'a'] }, at: null }],
    authors: [{ id: 1 }],
  })
  expect(collections.map(({ name }) => name)).toEqual(['posts', 'notes', 'authors'])
  expect(losses).toEqual([
    'version is 2: only objects and lists of objects are imported',
    'tags is a list of other values: only objects and lists of objects are imported',
    'posts.id is not a different string or number in each document, so it is not unique here',
    'notes.authorId is not a reference: 9 is not the id of a document of authors',
    'notes.any.list[] accepts any JSON, because its values have no common type: filters cannot compare it',
    'notes.at is null in some documents: it is missing there after the import',
    'notes.at accepts any JSON, because its values have no common type: filters cannot compare it',
  ])
})

test('of references in several spellings nothing is lost', () => {
  const { collections, losses } = importValues({
    posts: [
      { id: 1, tagIds: [1, '2'], tagId: 1 },
      { id: 2, tagId: '2' },
    ],
    tags: [{ id: 1 }, { id: 2 }],
  })
  expect(collections[0]?.schema).toMatchObject({ tagIds: { type: 'array' }, tagId: { type: 'reference' } })
  expect(losses).toEqual([])
})

/** Files as people publish them. */
const SHAPES: readonly (readonly [shape: string, database: { readonly [name: string]: unknown }])[] = [
  [
    'flat',
    {
      posts: [
        { id: 1, title: 'a title', views: 100 },
        { id: 2, title: 'another title', views: 200 },
      ],
      comments: [
        { id: 1, text: 'a comment about post 1', postId: 1 },
        { id: 2, text: 'another comment about post 1', postId: 1 },
      ],
      profile: { name: 'typicode' },
    },
  ],
  [
    'nested',
    {
      users: [
        {
          id: 1,
          name: 'Leanne Graham',
          email: 'leanne@example.com',
          address: { street: 'Kulas Light', geo: { lat: '-37.3159', lng: '81.1496' } },
          company: { name: 'Romaguera-Crona' },
        },
      ],
      todos: [
        { id: 1, userId: 1, title: 'delectus aut autem', completed: false, tags: ['a', 'b'] },
        { id: 2, userId: 1, title: 'quis ut nam', completed: true, steps: [{ text: 'one', done: true }] },
      ],
    },
  ],
  [
    'numeric ids',
    {
      products: [
        { id: 10, name: 'Keyboard', price: 49.9, categoryId: 1, created_at: '2024-01-01T10:00:00+02:00' },
        { id: 20, name: 'Mouse', price: 19, categoryId: 2, discontinued: null },
      ],
      categories: [
        { id: 1, name: 'Input', productIds: [10] },
        { id: 2, name: 'Pointing', productIds: [20, 10] },
      ],
    },
  ],
  [
    'string ids',
    {
      posts: [{ id: 'a1b2', title: 'One', authorId: 'f00d' }],
      authors: [
        { id: 'f00d', name: 'Ann' },
        { id: 'beef', name: 'Bob' },
      ],
    },
  ],
  [
    'singular',
    {
      profile: { name: 'Ann', links: ['https://example.com'] },
      settings: { theme: { dark: true }, size: 1.5 },
    },
  ],
]

test.each(SHAPES)('a service over a file of the shape "%s" lists the same documents', async (_, database) => {
  const { config, documents, collections } = importValues(database)
  const handler = createCollectionService(config, createMemoryAdapter({ documents }), {
    production: false,
    logger: { info() {}, warn() {}, error() {} },
  })
  const read = async (path: string): Promise<JsonObject[]> =>
    (await handler(new Request(`http://a${path}`))).json()
  for (const { from, name, schema, isSingle } of collections) {
    const listed = await read(`/${name}`)
    /** In place of the `_id` of another document, its `id`. */
    const restore = (field: string, value: unknown): unknown => {
      const definition = schema[field]
      const one = definition?.type === 'array' ? definition.items : definition
      if (one?.type !== 'reference') return value
      const idOf = (found: unknown) => documents[one.collection]?.find(({ _id }) => _id === found)?.id
      return Array.isArray(value) ? value.map(idOf) : idOf(value)
    }
    const restored = listed.map(({ _id, createdAt, updatedAt, createdBy, ...fields }) =>
      Object.fromEntries(Object.entries(fields).map(([field, value]) => [field, restore(field, value)])),
    )
    const withoutNull = (document: JsonObject): JsonObject =>
      Object.fromEntries(Object.entries(document).filter(([, value]) => value !== null))
    const was = (isSingle ? [database[from]] : database[from]) as readonly JsonObject[]
    expect(restored).toEqual(was.map(withoutNull))
  }
  await handler.close()
})
