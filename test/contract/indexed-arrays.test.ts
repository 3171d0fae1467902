import { describe, expect, test } from 'vitest'
import { closeAfterEach, useStorages } from '../support/storages.js'
import { idOf, openStored } from '../support/stored.js'

// CONTRACT.md §1, "Indexed arrays"

const text = { type: 'string' }
const array = (items: object) => ({ type: 'array', items, maxItems: 5 })

const schema = {
  title: text,
  tags: array(text),
  days: { ...array({ type: 'timestamp' }), index: true },
  ranks: array({ type: 'integer' }),
}

const config = {
  collections: {
    posts: {
      schema,
      indexes: [{ fields: ['tags', 'createdAt'] }, { fields: ['title', 'ranks', 'createdAt'] }],
      permissions: { '*': { read: true }, user: { create: true, update: true, delete: true } },
    },
  },
}

const day = (n: number): string => new Date(Date.UTC(2026, 0, 1 + n)).toISOString()

interface StoredPost {
  readonly title?: string | undefined
  readonly tags?: unknown
  readonly days?: readonly string[]
  readonly ranks?: readonly unknown[]
  readonly createdAt: string
}

/** With no, one or several elements, some of them twice; the last three were stored under another schema. */
const POSTS: readonly StoredPost[] = [
  ...Array.from({ length: 24 }, (_, i) => ({
    title: ['one', 'two'][i % 2],
    tags: [[], ['a'], ['a', 'b'], ['b', 'a', 'b'], ['c', 'é'], ['A']][i % 6],
    days: [day(i % 3), day(0)],
    ranks: [i % 4, 2],
    createdAt: day((i * 7) % 24),
  })),
  { tags: 'a', createdAt: day(30) },
  { tags: ['a', 5, null, ['b']], ranks: ['1', 2.5, 1], title: 'one', createdAt: day(31) },
  { title: 'two', createdAt: day(32) },
]

interface Post {
  readonly _id: string
}

const newest = (isAmong: (post: StoredPost) => boolean): readonly string[] =>
  POSTS.map((post, i) => ({ post, id: idOf(i + 1) }))
    .filter(({ post }) => isAmong(post))
    .sort((a, b) => (a.post.createdAt < b.post.createdAt ? 1 : -1))
    .map(({ id }) => id)

const has =
  (...values: readonly unknown[]) =>
  ({ tags }: StoredPost): boolean =>
    Array.isArray(tags) && values.some((value) => tags.includes(value))

const opened = closeAfterEach()

describe.each(useStorages())('in %s', (_, create) => {
  const open = async () => {
    const service = await openStored(
      config,
      { posts: POSTS.map((post) => ({ ...post })) },
      { adapter: create(), authenticate: () => ({ id: 'ann' }) },
    )
    opened.push(service)
    return service
  }

  test('a list by one element, or by one of several, has each document once, in order', async () => {
    const { send } = await open()
    const ask = async (query: string): Promise<readonly string[]> => {
      const { status, body } = await send(`GET /posts?${query}&sort[createdAt]=-1`)
      expect(status).toBe(200)
      const { body: counted } = await send(`GET /posts/count?${query}`)
      expect(counted).toEqual({ total: body.length })
      return body.map(({ _id }: Post) => _id)
    }
    expect(await ask('q[tags]=a')).toEqual(newest(has('a')))
    expect(await ask('q[tags]=none')).toEqual([])
    expect(await ask('q[tags][$in]=["a","b","é","a"]')).toEqual(newest(has('a', 'b', 'é')))
    expect(await ask('q[tags]=a&q[tags][$ne]=b')).toEqual(newest((post) => has('a')(post) && !has('b')(post)))
    expect(await ask('q[tags][$nin]=["a","b"]')).toEqual(newest((post) => !has('a', 'b')(post)))
    expect(await ask('q[tags][$exists]=false')).toEqual(newest(({ tags }) => !Array.isArray(tags)))
    expect(await ask('q[$or][0][tags]=c&q[$or][1][title]=two')).toEqual(
      newest((post) => has('c')(post) || post.title === 'two'),
    )
    expect(await ask(`q[tags]=a&q[createdAt][$gte]=${day(10)}`)).toEqual(
      newest((post) => has('a')(post) && post.createdAt >= day(10)),
    )
    expect(await ask('q[title]=one&q[ranks]=1')).toEqual(
      newest(({ title, ranks }) => title === 'one' && ranks?.includes(1) === true),
    )
    expect(await ask('q[days]=2026-01-02')).toEqual(newest(({ days }) => days?.includes(day(1)) === true))
  })

  test('the pages of such a list lead on', async () => {
    const { send } = await open()
    const seen: string[] = []
    const path = '/posts?q[tags][$in]=["a","b"]&sort[createdAt]=-1&limit=4'
    for (let after = ''; ; ) {
      const { status, body, headers } = await send(`GET ${path}${after}`)
      expect(status).toBe(200)
      seen.push(...body.map(({ _id }: Post) => _id))
      const cursor = headers.get('next-cursor')
      if (cursor === null) break
      after = `&after=${encodeURIComponent(cursor)}`
    }
    expect(seen).toEqual(newest(has('a', 'b')))
  })

  test('follows what is written', async () => {
    const { send } = await open()
    const idsOf = async (tag: string): Promise<readonly string[]> => {
      const { body } = await send(`GET /posts?q[tags]=${tag}`)
      return body.map(({ _id }: Post) => _id)
    }
    const { body: made } = await send('POST /posts', { body: { tags: ['new', 'newer', 'new'] } })
    expect(await idsOf('new')).toEqual([made._id])
    const path = `/posts/${made._id}`
    expect((await send(`PATCH ${path}`, { body: { title: 'x' } })).status).toBe(200)
    expect(await idsOf('newer')).toEqual([made._id])
    expect((await send(`PATCH ${path}`, { body: { tags: ['newest', 'new'] } })).status).toBe(200)
    expect([await idsOf('new'), await idsOf('newer'), await idsOf('newest')]).toEqual([
      [made._id],
      [],
      [made._id],
    ])
    expect((await send(`DELETE ${path}`)).status).toBe(204)
    expect([await idsOf('new'), await idsOf('newest')]).toEqual([[], []])
  })
})
