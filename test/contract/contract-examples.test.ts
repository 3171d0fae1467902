import { readFile } from 'node:fs/promises'
import { describe, expect, test } from 'vitest'
import type { TestService } from '../support/service.js'
import { type Storage, useStorages } from '../support/storages.js'
import { openStored } from '../support/stored.js'

// CONTRACT.md §2, "Preconditions", "Bulk", "Batch", §3.3, §3.7, §6, "Problems": the examples of these sections

const contract = await readFile(new URL('CONTRACT.md', import.meta.url), 'utf8')
const storages = useStorages()

const open = { '*': { read: true, create: true, update: true, delete: true } }
const config = {
  collections: {
    articles: {
      schema: {
        title: { type: 'string', required: true },
        status: { type: 'string', enum: ['draft', 'published'], default: 'draft' },
        views: { type: 'integer', default: 0 },
        tags: { type: 'array', items: { type: 'string' } },
      },
      permissions: open,
    },
    comments: {
      schema: {
        article: { type: 'reference', collection: 'articles', required: true },
        text: { type: 'string', required: true },
      },
      permissions: open,
    },
  },
}
const id = (n: number): string => `01930000-0000-7000-8000-00000000000${n}`
const articles = [
  { _id: id(1), title: 'One', status: 'published', views: 10, tags: ['x'] },
  { _id: id(2), title: 'Two', status: 'draft', views: 7, tags: ['x', 'y'] },
  { _id: id(3), title: 'Three', status: 'published', views: 3 },
]

const openArticles = ([, create]: Storage): Promise<TestService> =>
  openStored(config, { articles }, { adapter: create() })

/** The text of a section. */
const sectionOf = (title: string): string => {
  const [, text = ''] = new RegExp(`^### ${title}\\n(.*?)^#`, 'ms').exec(contract) ?? []
  return text
}

const blocksOf = (title: string): readonly string[] =>
  [...sectionOf(title).matchAll(/^```http\n(.*?)^```$/gms)].map(([, block = '']) => block)

const readJson = (text: string): unknown =>
  JSON.parse(text.replaceAll(/,? …(?= *[}\]])/g, ''), (_, value) =>
    typeof value === 'string' && value.includes('…')
      ? expect.stringContaining(value.slice(0, value.indexOf('…')))
      : value,
  )

interface Example {
  readonly line: string
  readonly body: unknown
  readonly status: number
  readonly headers: readonly (readonly [name: string, value: string])[]
  readonly answer: unknown
}

/** The requests of a block with their answers. */
const examplesOf = (block: string): readonly Example[] =>
  block.split(/\n\n(?=(?:GET|POST) )/).map((text) => {
    const [request = '', head = '', ...rest] = text.trim().split('\n\n')
    const [line = '', ...body] = request.split('\n')
    const [status, ...lines] = head.split('\n')
    const isHeader = (one: string): boolean => /^[A-Z][\w-]+: /.test(one)
    return {
      line,
      body: body.length > 0 ? JSON.parse(body.join('\n')) : undefined,
      status: Number(status),
      headers: lines.filter(isHeader).map((one) => {
        const [name = '', ...value] = one.split(': ')
        return [name, value.join(': ')] as const
      }),
      answer: readJson([...lines.filter((one) => !isHeader(one)), ...rest].join('\n')),
    }
  })

describe.each(storages)('on %s', (...storage) => {
  const rows = [...sectionOf('3.3 Operators').matchAll(/^\| (`.*) \| (.*) \|$/gm)].flatMap(
    ([, queries = '', result = '']) =>
      [...queries.matchAll(/`([^`]+)`/g)].map(([, query = '']) => [query, result] as const),
  )

  test('the table of queries is read', () => expect(rows.length).toBeGreaterThan(10))

  test('each query has the matches of the table', async () => {
    const service = await openArticles(storage)
    for (const [query, result] of rows) {
      const { status, body } = await service.send(`GET /articles?${query}`)
      if (status === 200)
        expect([query, body.map((one: { title: string }) => one.title).join(', ')]).toEqual([query, result])
      else expect(`${status} \`${body.code}\`: ${body.errors[0].message}`).toBe(result)
    }
  })

  test.each(['Bulk', 'Batch', '3.7 Pages', 'Problems'])('%s', async (title) => {
    const examples = blocksOf(title).flatMap(examplesOf)
    expect(examples.length).toBeGreaterThan(0)
    const service = await openArticles(storage)
    let cursor = ''
    for (const { line, body, status, headers, answer } of examples) {
      const sent = await service.send(line.replace(/after=.*/, `after=${cursor}`), { body })
      expect(sent.status).toBe(status)
      expect(sent.body).toMatchObject(answer as object)
      cursor = sent.headers.get('next-cursor') ?? ''
      for (const [name, value] of headers) {
        const [start = '', end = ''] = value.split('…')
        expect(sent.headers.get(name)).toContain(start)
        expect(sent.headers.get(name)).toContain(end)
      }
    }
  })

  test('preconditions', async () => {
    const service = await openArticles(storage)
    const path = `/articles/${id(1)}`
    const first = await service.send(`GET ${path}`)
    const tag = first.headers.get('etag') ?? ''
    expect(first.status).toBe(200)
    expect((await service.send(`GET ${path}`, { headers: { 'if-none-match': tag } })).status).toBe(304)
    const patch = { headers: { 'if-match': tag }, body: { views: 11 } }
    const changed = await service.send(`PATCH ${path}`, patch)
    expect([changed.status, changed.headers.get('etag') === tag]).toEqual([200, false])
    expect((await service.send(`PATCH ${path}`, patch)).body.code).toBe('precondition_failed')
    const put = { headers: { 'if-none-match': '*' }, body: { title: 'Nine' } }
    const created = await service.send(`PUT /articles/${id(9)}`, put)
    expect([created.status, created.headers.get('location')]).toEqual([201, `/articles/${id(9)}`])
    expect((await service.send(`PUT /articles/${id(9)}`, put)).body.code).toBe('precondition_failed')
  })
})
