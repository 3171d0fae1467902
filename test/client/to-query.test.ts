import { describe, expect, test } from 'vitest'
import { createClient, toQuery } from '../../src/client/client.js'
import { type config, createService } from './support/service.js'

// CONTRACT.md §7, "The client"

const NOTES = [
  { title: 'One & "two"', views: 1, tags: ['a', 'b'], status: 'published' },
  { title: 'null', views: 2, tags: ['a'], address: { city: 'Ulm', visited: '2026-11-20T12:00:00Z' } },
  { title: '+ %2B', views: 3, address: { city: 'Rom', zip: '01' } },
] as const

async function open() {
  const handler = createService()
  const client = createClient<typeof config>(handler)
  for (const { ...note } of NOTES) await client.collection('notes').create({ ...note })
  const ask = async (query: string) => {
    const answer = await handler(new Request(`http://a.test/notes?${query}`))
    return { status: answer.status, headers: answer.headers, body: await answer.json() }
  }
  return { notes: client.collection('notes'), ask }
}

type Options = NonNullable<Parameters<Awaited<ReturnType<typeof open>>['notes']['list']>[0]>

describe('a query string for other software', () => {
  test.each<[Options, number]>([
    [{}, 3],
    [{ q: { title: 'null' } }, 1],
    [{ q: { address: { $exists: false } } }, 1],
    [{ q: { 'address.zip': null } }, 2],
    [{ q: { 'address.zip': { $ne: null } } }, 1],
    [{ q: { tags: { $in: ['b', null] } } }, 2],
    [{ q: { 'address.visited': { $gte: new Date('2026-11-20T13:00:00+01:00') } } }, 1],
    [{ q: { title: { $regex: '^ONE &', $options: 'i' } } }, 1],
    [{ q: { $or: [{ views: { $gt: 2 } }, { title: '+ %2B', tags: null }, { status: 'published' }] } }, 2],
    [{ sort: { views: 'desc' }, skip: 1, limit: 1, project: ['title', 'address.city'] }, 1],
    [{ q: { author: null }, expand: ['author'], project: [] }, 3],
  ])('asks for what the client asks for: %j', async (options, found) => {
    const { notes, ask } = await open()
    const { status, body } = await ask(toQuery(options))
    expect([status, body]).toEqual([200, await notes.list(options)])
    expect(body).toHaveLength(found)
  })

  test('says how many there are, and goes on where a page ended', async () => {
    const { ask } = await open()
    const asked = { sort: { views: -1 }, limit: 2, total: true } as const
    const first = await ask(toQuery(asked))
    expect(first.headers.get('x-total-count')).toBe('3')
    const [, after = ''] = /after=([^&>]+)/.exec(first.headers.get('link') ?? '') ?? []
    const { body } = await ask(toQuery({ ...asked, after: decodeURIComponent(after) }))
    expect(body).toMatchObject([{ views: 1 }])
  })

  test.each<[{ readonly [name: string]: unknown }, number]>([
    [{ 'q[title][$eq]': 'null' }, 1],
    [{ 'q[address.zip][$eq]': null, 'q[tags]': 'a' }, 2],
    [{ 'q[tags][$in]': ['b', null], 'sort[views]': -1, limit: 5, skip: undefined }, 2],
    [{ 'q[title][$regex]': '^ONE', 'q[title][$options]': 'i', 'sort[title]': 'desc' }, 1],
    [{ 'q[$or][0][views]': 1, 'q[$or][1][views][$gt]': 2, project: ['title'], total: true }, 2],
    [{ q: { views: { $lt: 3 } }, 'q[title][$ne]': 'null' }, 1],
  ])('takes the names of the OpenAPI document: %j', async (query, found) => {
    const { ask } = await open()
    const { status, body } = await ask(toQuery(query))
    expect(status).toBe(200)
    expect(body).toHaveLength(found)
  })

  test('writes what the names say', () => {
    const flat = { 'q[a][$in]': ['x', null], 'q[b][$regex]': 'x', 'q[b][$options]': 'i', 'sort[a]': 'desc' }
    expect(decodeURIComponent(toQuery(flat))).toBe(
      'q[a][$in]=["x",null]&q[b][$regex]="x"&q[b][$options]=i&sort[a]=desc',
    )
  })

  test.each<[string, { readonly [name: string]: unknown }]>([
    ['undefined in a filter', { q: { title: undefined } }],
    ['undefined in a list', { q: { tags: { $in: ['a', undefined] } } }],
    ['an operator in the name of a field', { q: { 'title][$ne': 'x' } }],
    ['undefined under the name of a condition', { 'q[title]': undefined }],
    ['a number that is none', { 'q[views]': Number.NaN }],
    ['a map', { q: new Map([['title', 'x']]) }],
  ])('takes no %s', (_, query) => {
    expect(() => toQuery(query)).toThrow(TypeError)
  })

  test('takes no parameters of a class', () => {
    expect(() => toQuery(new URLSearchParams('q[title]=x') as { readonly limit?: number })).toThrow(TypeError)
  })

  test('leaves further arguments alone, as axios passes some', () => {
    const serialize: (params: { readonly [name: string]: unknown }, options?: object) => string = toQuery
    expect(serialize({ q: { a: 1 }, limit: undefined }, { indexes: null })).toBe('q%5Ba%5D=1')
  })

  test('is that of a stream, too', async () => {
    expect(toQuery({ q: { title: null }, project: ['title'], after: 'a.b+c' })).toBe(
      `q%5Btitle%5D=null&project=${encodeURIComponent('["title"]')}&after=a.b%2Bc`,
    )
  })
})
