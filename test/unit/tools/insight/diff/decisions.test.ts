import { beforeEach, expect, test, vi } from 'vitest'
import { comparePermissions } from '../../../../../src/tools/insight/index.js'

/** How much is decided for collections with rules for several roles, each changed in one place: what is the same is decided once for all callers (CONTRACT.md §8, "Diff"). */

const counted = vi.hoisted(() => ({ decisions: 0 }))
vi.mock('../../../../../src/tools/insight/diff/solver/budget.js', async (original) => {
  const budget = await original<typeof import('../../../../../src/tools/insight/diff/solver/budget.js')>()
  return {
    ...budget,
    spend: (left: Parameters<typeof budget.spend>[0]) => {
      counted.decisions += 1
      budget.spend(left)
    },
  }
})
beforeEach(() => {
  counted.decisions = 0
})

/** Articles whose rules name a number of their own: no two collections of them are alike. */
const articles = (number: number) => ({
  schema: {
    title: { type: 'string', required: true },
    body: { type: 'string' },
    status: { type: 'string', enum: ['draft', 'published', 'archived'], default: 'draft' },
    tags: { type: 'array', items: { type: 'string' } },
    views: { type: 'integer', default: 0 },
    team: { type: 'string' },
    editedBy: { type: 'reference', collection: 'users' },
    slug: { type: 'string', immutable: true },
  },
  permissions: {
    '*': { read: { where: { status: 'published' }, omit: ['views'] } },
    user: {
      create: { pick: ['title', 'tags'], set: { status: 'draft' } },
      read: { where: { $or: [{ status: 'published' }, { views: { $gt: number } }] } },
    },
    owner: { read: true, update: { check: { status: { $ne: 'published' } }, omit: ['views'] }, delete: true },
    editor: { read: true, update: { pick: ['status'] } },
    author: {
      update: { where: { team: '$user.team' }, set: { editedBy: '$user._id' } },
      read: { where: { team: { $in: '$user.teams' } } },
    },
    admin: true,
  },
})

type Articles = ReturnType<typeof articles>

/** Each costs the same: a few stand for many. */
const COLLECTIONS = 8

const many = (change: (one: Articles) => object, numberOf = (i: number) => i) => ({
  collections: {
    users: { schema: { name: { type: 'string' } }, permissions: { '*': { read: true } } },
    ...Object.fromEntries(
      Array.from({ length: COLLECTIONS }, (_, i) => [`articles${i}`, change(articles(numberOf(i)))]),
    ),
  },
})

const withRules = ({ schema, permissions }: Articles, rules: object) => ({
  schema,
  permissions: { ...permissions, ...rules },
})

test.each<readonly [name: string, most: number, change: (one: Articles) => object]>([
  ['nothing', 0, (one) => one],
  [
    'a field',
    0,
    ({ schema, permissions }) => ({ schema: { ...schema, more: { type: 'string' } }, permissions }),
  ],
  [
    'a where',
    1500,
    (one) => withRules(one, { '*': { read: { where: { status: 'draft' }, omit: ['views'] } } }),
  ],
  [
    'a check',
    6200,
    (one) => withRules(one, { owner: { ...one.permissions.owner, update: { check: { status: 'draft' } } } }),
  ],
  [
    'a pick',
    5400,
    (one) => withRules(one, { editor: { read: true, update: { pick: ['status', 'views'] } } }),
  ],
  ['a role', 11_100, (one) => withRules(one, { clerk: { update: { pick: ['status'] } } })],
])('decisions for each of the collections in which %s is changed', (_, most, change) => {
  const differences = comparePermissions(
    many((one) => one),
    many(change),
    { authenticate: true },
  )
  expect(differences.filter(({ kind }) => kind === 'undecided')).toEqual([])
  expect(counted.decisions / COLLECTIONS).toBeLessThanOrEqual(most)
})

test('collections that differ in their names alone are decided once, and each has its differences', () => {
  const differences = comparePermissions(
    many(
      (one) => one,
      () => 10,
    ),
    many(
      (one) => withRules(one, { '*': { read: { where: { status: 'draft' } } } }),
      () => 10,
    ),
    { authenticate: true },
  )
  expect(counted.decisions).toBeLessThanOrEqual(1500)
  const texts = Array.from({ length: COLLECTIONS }, (_, i) => {
    const own = differences.filter((one) => 'witness' in one && one.collection === `articles${i}`)
    return JSON.stringify(own).replaceAll(`articles${i}`, 'articles')
  })
  expect(texts[0]).toContain('"/articles/')
  expect(new Set(texts).size).toBe(1)
})
