import { expectTypeOf } from 'vitest'
import imported from '../../examples/config.json' with { type: 'json' }
import {
  type Addressed,
  type Client,
  type CreateBodyOf,
  createClient,
  escapePattern,
  isClientError,
  type Page,
  type Registered,
  retry,
  toQuery,
  type UpdateBodyOf,
} from '../../src/client/client.js'
import {
  type CollectionsOf,
  createCollectionService,
  type Document,
  type DocumentOf,
  defineConfig,
} from '../../src/index.js'

const config = defineConfig({
  collections: {
    users: {
      schema: {
        email: { type: 'string', unique: true, required: true },
        password: { type: 'hash', required: true },
        role: { type: 'string', enum: ['editor', 'admin'] },
      },
    },
    posts: {
      schema: {
        title: { type: 'string', required: true },
        views: { type: 'integer', default: 0 },
        isOpen: { type: 'boolean' },
        tags: { type: 'array', items: { type: 'string' } },
        steps: { type: 'array', items: { type: 'object', properties: { x: { type: 'integer' } } } },
        more: { type: 'json' },
        author: { type: 'reference', collection: 'users' },
        meta: {
          type: 'object',
          properties: {
            seen: { type: 'timestamp', required: true },
            depth: { type: 'integer' },
            by: { type: 'array', items: { type: 'reference', collection: 'users' } },
          },
        },
      },
    },
    bags: { schema: { name: { type: 'string' } }, additionalProperties: true },
  },
})
type C = typeof config
type User = DocumentOf<C, 'users'>
type Post = DocumentOf<C, 'posts'>

const client = createClient(createCollectionService(config))
expectTypeOf(client).toEqualTypeOf<Client<C>>()
const posts = client.collection('posts')

/** For the compiler alone. */
export async function read(): Promise<void> {
  expectTypeOf(await posts.list()).toEqualTypeOf<Post[]>()
  expectTypeOf(await posts.list({ limit: 1 })).toEqualTypeOf<Post[]>()
  expectTypeOf(await posts.get('x')).toEqualTypeOf<Post>()
  expectTypeOf(await posts.create({ title: 'x' })).toEqualTypeOf<Post>()
  expectTypeOf(await posts.createMany([{ title: 'x' }])).toEqualTypeOf<Post[]>()
  expectTypeOf(await posts.update('x', { tags: null, meta: { depth: null } })).toEqualTypeOf<Post>()
  expectTypeOf(await posts.replace('x', { views: 1 })).toEqualTypeOf<Post>()
  expectTypeOf(await posts.count({ q: { views: 1 } })).toEqualTypeOf<number>()
  for await (const page of posts.pages({ project: ['title'] })) {
    expectTypeOf(page).toEqualTypeOf<{ readonly _id: string; readonly title: string }[]>()
  }

  const [part] = await posts.list({ project: ['views', 'tags', 'meta.seen'] })
  expectTypeOf(part).toEqualTypeOf<
    | {
        readonly _id: string
        readonly views: number
        readonly tags?: readonly string[]
        readonly meta?: { readonly seen: string }
      }
    | undefined
  >()

  const whole = await posts.get('x', { expand: ['author', 'meta.by'] })
  expectTypeOf(whole.title).toEqualTypeOf<string>()
  expectTypeOf(whole.author).toEqualTypeOf<string | User | undefined>()
  expectTypeOf(whole.meta?.by).toEqualTypeOf<readonly (string | User)[] | undefined>()
  const both = await posts.get(whole, { project: ['author'], expand: ['author'] })
  expectTypeOf(both).toEqualTypeOf<{ readonly _id: string; readonly author?: string | User }>()

  expectTypeOf(await client.auth.me()).toEqualTypeOf<User>()
  const { user, token } = await client.auth.register({ email: 'a', password: 'b' })
  expectTypeOf(user).toEqualTypeOf<User>()
  expectTypeOf(token).toEqualTypeOf<string>()
  await client.auth.login({ email: 'a', password: 'b' })
  const reset = await client.auth.reset({ token: 'a', new: 'b' })
  expectTypeOf(reset.user).toEqualTypeOf<User>()
  expectTypeOf(client.auth.requestReset).parameter(0).toEqualTypeOf<{ readonly email: string }>()
  expectTypeOf(await client.auth.requestReset({ email: 'a' })).toEqualTypeOf<void>()
  await client.auth.requestVerification({ email: 'a' })
  await client.auth.verify({ token: 'a', current: 'b' })
  await client.auth.changeIdentifier({ current: 'a', new: 'b' })
  client.token = undefined
}

/** For the compiler alone. */
export async function expand(): Promise<void> {
  const [listed] = await posts.list({ expand: ['author'] })
  expectTypeOf(listed?.author).toEqualTypeOf<string | User | undefined>()
  if (typeof listed?.author === 'object') expectTypeOf(listed.author.email).toEqualTypeOf<string>()
  for await (const [post] of posts.pages({ expand: ['meta.by'] })) {
    expectTypeOf(post?.meta?.by).toEqualTypeOf<readonly (string | User)[] | undefined>()
    expectTypeOf(post?.author).toEqualTypeOf<string | undefined>()
  }
  expectTypeOf((await posts.get('x')).author).toEqualTypeOf<string | undefined>()
}

/** For the compiler alone. */
export async function readPages(isCounted: boolean): Promise<void> {
  expectTypeOf(await posts.page()).toEqualTypeOf<Page<Post>>()
  const query = { q: { views: 1 }, sort: { title: 1 }, skip: 1, limit: 2, total: true } as const
  const { items, total, next } = await posts.page({ ...query, project: ['title'] })
  expectTypeOf(items).toEqualTypeOf<{ readonly _id: string; readonly title: string }[]>()
  expectTypeOf(total).toEqualTypeOf<number>()
  expectTypeOf((await posts.page({ ...query, ...next })).total).toEqualTypeOf<number>()
  expectTypeOf((await posts.page({ limit: 2 })).total).toEqualTypeOf<undefined>()
  expectTypeOf((await posts.page({ total: isCounted })).total).toEqualTypeOf<number | undefined>()
  const expanded = await posts.page({ expand: ['author'] })
  expectTypeOf(expanded.items[0]?.author).toEqualTypeOf<string | User | undefined>()
  // @ts-expect-error There is no such option.
  void posts.page({ totl: true })

  expectTypeOf(await posts.getMany(['x'])).toEqualTypeOf<(Post | undefined)[]>()
  const [part] = await posts.getMany(['x'], { project: ['author'], expand: ['author'] })
  expectTypeOf(part).toEqualTypeOf<{ readonly _id: string; readonly author?: string | User } | undefined>()
  // @ts-expect-error A list of ids has no filter.
  void posts.getMany(['x'], { q: { title: 'x' } })

  for await (const list of posts.live({
    project: ['title', 'author'],
    expand: ['author'],
    sort: { views: 1 },
  }))
    expectTypeOf(list).toEqualTypeOf<
      readonly { readonly _id: string; readonly title: string; readonly author?: string | User }[]
    >()
  for await (const list of posts.live({ limit: 1 })) expectTypeOf(list).toEqualTypeOf<readonly Post[]>()
  // @ts-expect-error There is no such field.
  posts.live({ project: ['titel'] })
  // @ts-expect-error It refers to nothing.
  posts.live({ expand: ['title'] })
  // @ts-expect-error The stream of changes expands nothing.
  posts.changes({ expand: ['author'] })

  expectTypeOf(await posts.upsert('x', { title: 'x' })).toEqualTypeOf<Post>()
  // @ts-expect-error The title is missing.
  void posts.upsert('x', { views: 1 })
  void posts.list({ q: { title: { $regex: escapePattern('x') } } })

  const groups = await posts.aggregate({
    by: { tags: 'value', createdAt: 'day' },
    sum: ['views'],
    max: ['title'],
  })
  expectTypeOf(groups).toEqualTypeOf<
    {
      readonly key: { readonly tags: string | null; readonly createdAt: string | null }
      readonly count: number
      readonly sum: { readonly views: number }
      readonly max: { readonly title: string | null }
    }[]
  >()
  const paged = await posts.aggregate({
    by: { isOpen: 'value' },
    sort: { isOpen: 1, $count: -1 },
    total: true,
  })
  expectTypeOf(paged.total).toEqualTypeOf<number>()
  expectTypeOf(await posts.aggregate()).toEqualTypeOf<
    { readonly key: Record<never, never>; readonly count: number }[]
  >()
  // @ts-expect-error only numbers have a sum
  void posts.aggregate({ sum: ['title'] })
  // @ts-expect-error json has no values to group by
  void posts.aggregate({ by: { more: 'value' } })
  // @ts-expect-error the order names what is asked for
  void posts.aggregate({ by: { title: 'value' }, sort: { views: 1 } })
  createClient<C>('/api', { fetch: retry({ attempts: 3, fetch: async () => new Response() }) })
}

/** How axios, and openapi-fetch for a whole client and for a described route, declare what writes a query. */
type Serializers = {
  readonly axios: (
    params: Record<string, ReturnType<typeof JSON.parse>>,
    options?: { indexes?: boolean },
  ) => string
  readonly openapi: (query: Record<string, unknown>) => string
  readonly route: (query: {
    'q[title][$eq]'?: string | null
    'q[views][$in]'?: number[]
    'sort[title]'?: 1 | -1
    project?: ('_id' | 'title')[]
    limit?: number
    total?: true
  }) => string
}

/** For the compiler alone. */
export function writeQueries(): void {
  const serializers: Serializers = { axios: toQuery, openapi: toQuery, route: toQuery }
  expectTypeOf(serializers.axios({ q: { a: null } })).toEqualTypeOf<string>()
  expectTypeOf(
    toQuery({ q: { a: null, b: { $in: [1] } }, sort: { a: 'desc' }, skip: 1, total: true }),
  ).toBeString()
  toQuery<CollectionsOf<C>['posts']>({ q: { title: null }, project: ['meta.seen'], after: 'x' })
  toQuery<CollectionsOf<C>['posts']>({ 'q[title][$eq]': null, 'sort[title]': -1, expand: ['author'] })
  // @ts-expect-error There is no such field.
  toQuery<CollectionsOf<C>['posts']>({ q: { titel: null } })
  // @ts-expect-error It has no place in a query.
  toQuery({ signal: new AbortController().signal })
  // @ts-expect-error A total is asked for, or not.
  toQuery({ total: false })
}

/** For the compiler alone. */
export async function expandOn(): Promise<void> {
  const linked = defineConfig({
    collections: {
      people: {
        schema: {
          name: { type: 'string', required: true },
          friend: { type: 'reference', collection: 'people' },
        },
      },
      teams: { schema: { lead: { type: 'reference', collection: 'people' } } },
      tasks: { schema: { teams: { type: 'array', items: { type: 'reference', collection: 'teams' } } } },
    },
  })
  const tasks = createClient<CollectionsOf<typeof linked>>('http://a.test').collection('tasks')
  const { teams } = await tasks.get('x', { expand: ['teams.lead.friend'] })
  const [team] = teams ?? []
  if (typeof team === 'object' && typeof team.lead === 'object' && typeof team.lead.friend === 'object') {
    expectTypeOf(team.lead.friend.name).toEqualTypeOf<string>()
    expectTypeOf(team.lead.friend.friend).toEqualTypeOf<string | undefined>()
  }
  // @ts-expect-error A text refers to nothing.
  void tasks.list({ expand: ['teams.lead.name'] })
  // @ts-expect-error These are four references.
  void tasks.list({ expand: ['teams.lead.friend.friend'] })
}

/** For the compiler alone. */
export async function expandCreator(): Promise<void> {
  const [post] = await posts.list({ expand: ['createdBy'] })
  expectTypeOf(post?.createdBy).toEqualTypeOf<string | User | null | undefined>()
  expectTypeOf((await posts.get('x')).createdBy).toEqualTypeOf<string | null>()
  const { author, createdBy } = await posts.get('x', { expand: ['author.createdBy', 'createdBy.createdBy'] })
  if (typeof author === 'object' && typeof author.createdBy === 'object')
    expectTypeOf(author.createdBy?.email).toEqualTypeOf<string | undefined>()
  if (createdBy !== null && typeof createdBy === 'object' && typeof createdBy.createdBy === 'object')
    expectTypeOf(createdBy.createdBy).toEqualTypeOf<User | null>()
  // @ts-expect-error An address is no reference.
  void posts.list({ expand: ['createdBy.email'] })
  // @ts-expect-error These are four references.
  void posts.list({ expand: ['createdBy.createdBy.createdBy.createdBy'] })
  const projected = await posts.get('x', { project: ['createdBy'], expand: ['createdBy'] })
  expectTypeOf(projected).toEqualTypeOf<{ readonly _id: string; readonly createdBy: string | User | null }>()

  // Without accounts of the service nobody stands behind it.
  const guests = defineConfig({
    collections: { users: { schema: { name: { type: 'string', unique: true } } }, notes: { schema: {} } },
  })
  const notes = createClient<typeof guests>('/api').collection('notes')
  // @ts-expect-error There are no accounts.
  void notes.list({ expand: ['createdBy'] })
}

/** For the compiler alone. */
export function write(): void {
  const date = new Date()
  void posts.create({ title: 'x', meta: { seen: date } })
  void posts.createMany([{ title: 'x', meta: { seen: '2026-11-20' } }])
  void posts.update('x', { meta: { seen: date } })
  void posts.replace('x', { meta: { seen: date } })
  // @ts-expect-error A date is no text.
  void posts.create({ title: date })
  // @ts-expect-error Nor is it a number.
  void posts.update('x', { views: date })
}

type Removed = Awaited<ReturnType<typeof posts.delete>>
type Bag = DocumentOf<C, 'bags'>

/** What a batch has dropped, beside its results. */
type Ignored = { readonly ignored: readonly (readonly string[])[] }

/** For the compiler alone. */
export async function writeTogether(post: Post, ids: readonly string[]): Promise<void> {
  const results = await client.batch((b) => [
    b.posts.get(post, { ifUnchanged: true }),
    b.bags.create({ name: 'x', other: 1 }),
    b.users.create({ email: 'a', password: 'b' }, { id: 'x' }),
    b.posts.update(post, { tags: null, meta: { seen: new Date() } }),
    b.bags.replace('x', {}),
    b.posts.delete('x'),
  ])
  expectTypeOf(results).toEqualTypeOf<[Post, Bag, User, Post, Bag, Removed] & Ignored>()
  const same = await client.batch((b) => [b.posts.get('x'), b.bags.delete('x')] as const)
  expectTypeOf(same).toEqualTypeOf<[Post, Removed] & Ignored>()
  const [first, ...others] = await client.batch(
    (b) => [b.posts.create({ title: 'x' }), ...ids.map((id) => b.bags.delete(id))],
    { signal: AbortSignal.timeout(1) },
  )
  expectTypeOf(first).toEqualTypeOf<Post>()
  // The rest of what is a tuple and more is an array of any of its elements.
  expectTypeOf(others).toEqualTypeOf<(Post | Removed)[]>()
  expectTypeOf(await client.batch((b) => ids.map((id) => b.posts.get(id)))).toEqualTypeOf<Post[] & Ignored>()

  // The parameters of the calls alone, without their options.
  await client.batch((b) => {
    expectTypeOf<Parameters<typeof b.posts.update>>().toEqualTypeOf<
      [document: Addressed, patch: UpdateBodyOf<C, 'posts'>]
    >()
    expectTypeOf<Parameters<typeof b.posts.replace>>().toEqualTypeOf<
      [document: Addressed, body: Partial<CreateBodyOf<C, 'posts'>>]
    >()
    expectTypeOf<Parameters<typeof b.posts.delete>>().toEqualTypeOf<[document: Addressed]>()
    // @ts-expect-error There is no such collection.
    void b.post
    // @ts-expect-error A list is not about one document.
    void b.posts.list
    // @ts-expect-error The title is missing.
    b.posts.create({ views: 1 })
    // @ts-expect-error The signal belongs to the batch.
    b.posts.create({ title: 'x' }, { signal: AbortSignal.timeout(1) })
    // @ts-expect-error There is no such field.
    b.posts.update('x', { titel: 'x' })
    // @ts-expect-error What is required is not removed.
    b.posts.update('x', { title: null })
    // @ts-expect-error A batch shows whole documents.
    b.posts.get('x', { project: ['title'] })
    return [b.posts.get(post)]
  })

  // @ts-expect-error A document is not an operation.
  void client.batch(() => [post])
  // @ts-expect-error An operation is not a list.
  void client.batch((b) => b.posts.get('x'))
  // @ts-expect-error Nothing is waited for.
  void client.batch(async (b) => [b.posts.get('x')])
}

/** For the compiler alone. */
export function ask(): void {
  void posts.list({
    q: {
      title: { $regex: 'x', $options: 'i', $ne: null },
      views: { $gte: 1, $in: [1, null] },
      isOpen: true,
      tags: { $nin: ['a'] },
      steps: { $exists: true },
      more: { $exists: false },
      author: 'x',
      meta: { $exists: true },
      'meta.seen': { $lt: new Date() },
      'meta.by': 'x',
      createdAt: { $gt: '2026-01-01' },
      createdBy: null,
      $or: [{ title: 'x' }, { $or: [{ _id: 'x' }] }],
    },
    sort: { 'meta.seen': -1, isOpen: 'asc', createdAt: 1 },
    project: ['meta', 'meta.depth', '_id'],
    expand: ['author'],
  })
  void client.collection('users').list({ q: { role: { $in: ['editor'], $regex: 'x' } } })
  void client.collection('bags').list({ q: { name: 'x' } })

  // @ts-expect-error There is no such collection.
  client.collection('post')
  // @ts-expect-error There is no such field.
  void posts.list({ q: { titel: 'x' } })
  // @ts-expect-error There is none in a group either.
  void posts.list({ q: { $or: [{ titel: 'x' }] } })
  // @ts-expect-error The value is of another type.
  void posts.list({ q: { title: 5 } })
  // @ts-expect-error A condition must not vanish.
  void posts.list({ q: { title: undefined } })
  // @ts-expect-error There is no such operator.
  void posts.list({ q: { title: { $like: 'x' } } })
  // @ts-expect-error Patterns are for text.
  void posts.list({ q: { views: { $regex: 'x' } } })
  // @ts-expect-error Booleans have no order.
  void posts.list({ q: { isOpen: { $gt: false } } })
  // @ts-expect-error Nothing is above null.
  void posts.list({ q: { views: { $gt: null } } })
  // @ts-expect-error There is no such option.
  void posts.list({ q: { title: { $regex: 'x', $options: 'g' } } })
  // @ts-expect-error The value is none of the enumerated ones.
  void client.collection('users').list({ q: { role: 'owner' } })
  // @ts-expect-error A hash is never compared.
  void client.collection('users').list({ q: { password: 'x' } })
  // @ts-expect-error Only whether it is there can be asked.
  void posts.list({ q: { more: 'x' } })
  // @ts-expect-error A path does not reach into arrays.
  void posts.list({ q: { 'steps.x': 1 } })
  // @ts-expect-error What is not declared cannot be asked for.
  void client.collection('bags').list({ q: { other: 'x' } })
  // @ts-expect-error An array has no order.
  void posts.list({ sort: { tags: 1 } })
  // @ts-expect-error There is no such direction.
  void posts.list({ sort: { title: 2 } })
  // @ts-expect-error There is no such field.
  void posts.list({ project: ['titel'] })
  // @ts-expect-error It refers to nothing.
  void posts.list({ expand: ['title'] })
  // @ts-expect-error There is no such option.
  void posts.list({ limt: 5 })
  // @ts-expect-error A count has no limit.
  void posts.count({ limit: 5 })
  // @ts-expect-error The title is missing.
  void posts.create({ views: 1 })
  // @ts-expect-error What is required is not removed.
  void posts.update('x', { title: null })
  // @ts-expect-error There is no such field.
  void posts.update('x', { titel: 'x' })
  // @ts-expect-error The password is missing.
  void client.auth.register({ email: 'a' })
  // @ts-expect-error There is no such field.
  void client.auth.login({ mail: 'a', password: 'b' })
  // @ts-expect-error The secret is missing.
  void client.auth.login({ email: 'a' })
  // @ts-expect-error Nothing else signs in.
  void client.auth.login({ email: 'a', password: 'b', role: 'editor' })
  // @ts-expect-error That is not the identifier.
  void client.auth.requestReset({ role: 'editor' })
  // @ts-expect-error The identifier is missing.
  void client.auth.requestVerification({})
}

const strict = defineConfig({
  collections: {
    users: {
      schema: {
        mobile: { type: 'string', unique: true, required: true },
        code: { type: 'string', unique: true },
        pin: { type: 'hash', required: true },
        since: { type: 'timestamp' },
      },
    },
  },
  auth: { identifier: 'mobile', verifiedField: 'since', requireVerified: true },
})

/** For the compiler alone. */
export async function verifyFirst(): Promise<void> {
  const { auth } = createClient<typeof strict>('/api')
  expectTypeOf(await auth.register({ mobile: '1', pin: '2' })).toEqualTypeOf<undefined>()
  await auth.requestVerification({ mobile: '1' })
  // @ts-expect-error The service alone writes it.
  void auth.register({ mobile: '1', pin: '2', since: '2026-01-01' })
  // @ts-expect-error Unique it is, but it names no account.
  void auth.requestReset({ code: '1' })
  const mapped = createClient<CollectionsOf<typeof strict>>('/api').auth
  expectTypeOf(await mapped.register({ mobile: '1', pin: '2' })).toEqualTypeOf<undefined>()
  const either = createClient<Omit<C, 'auth'> & { auth: { requireVerified: boolean } }>('/api').auth
  expectTypeOf(await either.register({ email: 'a', password: 'b' })).toEqualTypeOf<
    Registered<CollectionsOf<C>> | undefined
  >()
  const unknown = createClient('/api').auth
  expectTypeOf((await unknown.register({ mobile: '1' })).token).toEqualTypeOf<string>()
  await unknown.requestReset({ mobile: '1' })
}

/** For the compiler alone. */
export async function askAnybody(): Promise<void> {
  // The types of a configuration, or a map of types, behind a URL.
  expectTypeOf(await createClient<C>('/api').collection('posts').list()).toEqualTypeOf<Post[]>()
  const mapped = createClient<CollectionsOf<C>>(new URL('http://a.test'))
  expectTypeOf(await mapped.collection('posts').list()).toEqualTypeOf<Post[]>()
  expectTypeOf(await mapped.collection('posts').get('x', { expand: ['author'] })).toHaveProperty('author')
  expectTypeOf(await mapped.auth.me()).toEqualTypeOf<User>()

  // Nothing is known.
  const loose = createClient('http://a.test').collection('anything')
  const options = {
    q: { 'a.b': { $gt: 1 }, c: 'x', $or: [{ d: null }] },
    sort: { a: 1 },
    project: ['a'],
  } as const
  expectTypeOf(await loose.list({ ...options, expand: ['b'] })).toEqualTypeOf<Document[]>()
  expectTypeOf(await loose.create({ a: 1 })).toEqualTypeOf<Document>()
  const plain = createClient(async (request: Request) => new Response(request.url))
  expectTypeOf(await plain.collection('anything').get('x')).toEqualTypeOf<Document>()

  // Only names are known.
  const named = createClient(createCollectionService(imported))
  expectTypeOf(await named.collection('articles').list({ q: { a: 1 } })).toEqualTypeOf<Document[]>()
  expectTypeOf(await named.batch((b) => [b.articles.get('x')])).toEqualTypeOf<[Document] & Ignored>()
  // @ts-expect-error There is no such collection.
  named.collection('article')

  try {
    await loose.delete('x')
  } catch (thrown) {
    if (isClientError(thrown)) expectTypeOf(thrown.retryAfter).toEqualTypeOf<number | undefined>()
    if (isClientError(thrown)) expectTypeOf(thrown.operation).toEqualTypeOf<number | undefined>()
  }
}
