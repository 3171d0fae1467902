import { describe, expect, test } from 'vitest'
import { compileJudge } from '../../src/core/filter/matches.js'
import { createMemoryAdapter, type Filter, type StorageAdapter } from '../../src/index.js'
import { idOf, isOfStart, openStored } from '../support/stored.js'

// CONTRACT.md §5, "No leak": what a hidden document costs to pass over does not depend on what it holds. A query may make it
// cheaper, where it excludes what a rule would grant.

const text = { type: 'string', maxLength: 100_000 }
const tags = { type: 'array', items: text, maxItems: 1000, index: true }
const schema = { title: text, body: text, isHidden: { type: 'boolean' }, team: text, tags }
const indexes = [{ fields: ['team', 'tags', 'createdAt'] }]

/** Ways in which documents are hidden from the caller. */
const RULES: readonly (readonly [title: string, read: unknown])[] = [
  ['of others', { owner: { read: true } }],
  ['by a flag', { user: { read: { where: { isHidden: { $ne: true } } } } }],
  ['by what the caller is', { user: { read: { where: { team: '$user.team' } } } }],
  ['by a pattern', { user: { read: { where: { body: { $regex: '^shown' } } } } }],
  ['by two rules', { user: { read: { where: { team: 'c' } } }, owner: { read: true } }],
]

const documents = Array.from({ length: 3 }, (_, i) => ({
  _id: idOf(i + 1),
  title: `my PIN is ${i}`,
  body: 'ab'.repeat(1000 * (i + 1)),
  isHidden: true,
  tags: Array.from({ length: 1 + 400 * i }, (_, n) => `tag ${n}`),
  team: 'b',
  createdBy: 'victim',
}))

const QUERIES: readonly string[] = [
  'q[title]=my PIN is 1',
  'q[title]=my PIN is 1&q[body][$regex]=[ab]{1,40}[cd]',
  'q[body][$regex]=[ab]{1,40}[cd]&q[title]=my PIN is 1',
  'q[body][$regex]=b$&q[body][$regex]=^a',
  'q[$or][0][title]=my PIN is 1&q[$or][1][body][$regex]=c',
  'q[_id]=0189abcd-0000-7000-8000-000000000001&q[body][$regex]=[ab]{1,40}[cd]',
  'q[title][$in]=["my PIN is 1","x"]&q[team][$ne]=c',
  'q[tags]=tag 0',
  'q[tags][$in]=["tag 5","tag 399"]',
  'q[team]=b&q[tags]=tag 7&q[tags][$ne]=tag 9',
]

/** The steps that it takes to pass over a document. */
function countSteps(filter: Filter, document: { readonly [name: string]: unknown }): number {
  const slice = { left: 1e9 }
  compileJudge(filter)(document, slice)
  return 1e9 - slice.left
}

/** What a service asks its storage for. */
function record(): { readonly adapter: StorageAdapter; readonly asked: Filter[] } {
  const memory = createMemoryAdapter()
  const asked: Filter[] = []
  const adapter: StorageAdapter = {
    ...memory,
    list(collection, query) {
      if (!isOfStart(query)) asked.push(query.filter)
      return memory.list(collection, query)
    },
    count(collection, filter, options) {
      if (!isOfStart(options)) asked.push(filter)
      return memory.count(collection, filter, options)
    },
  }
  return { adapter, asked }
}

describe.each(RULES)('what is hidden %s', (_, permissions) => {
  const config = { collections: { notes: { schema, permissions, indexes } } }
  const caller = { id: 'me', team: 'a' }

  test.each(QUERIES)(
    'costs the same whatever it holds, and no more for what is asked of it: %s',
    async (query) => {
      const { adapter, asked } = record()
      const { send } = await openStored(config, { notes: documents }, { adapter, authenticate: () => caller })
      /** The cost of each hidden document, in each reading of the storage: the same for all of them. */
      const costsOf = async (line: string): Promise<readonly number[]> => {
        asked.length = 0
        const answer = await send(line)
        expect([answer.status, answer.body]).toEqual([200, line.includes('count') ? { total: 0 } : []])
        expect(asked).not.toEqual([])
        return asked.map((filter) => {
          const costs = new Set(documents.map((document) => countSteps(filter, document)))
          expect([...costs]).toHaveLength(1)
          return Math.max(...costs)
        })
      }
      for (const path of ['/notes', '/notes/count']) {
        const costs = await costsOf(`GET ${path}?${query}`)
        const plain = await costsOf(`GET ${path}`)
        expect(costs).toHaveLength(plain.length)
        for (const [i, cost] of costs.entries()) expect(cost).toBeLessThanOrEqual(plain[i] ?? 0)
      }
    },
  )
})
