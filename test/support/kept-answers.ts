import { expect } from 'vitest'
import { type createCollectionService, createMemoryAdapter } from '../../src/index.js'
import type { CreateAdapter } from './laws.js'
import {
  type AnyConfig,
  createTestService,
  type SendOptions,
  type Sent,
  type TestService,
} from './service.js'
import { idOf } from './stored.js'

/** Rules in which every answer depends on who asks, on what is stored of them, on the document or on the time. */
const CONFIG = {
  collections: {
    users: {
      schema: {
        email: { type: 'string', unique: true },
        password: { type: 'hash' },
        role: { type: 'array', items: { type: 'string' } },
        team: { type: 'string' },
      },
      permissions: {
        '*': { create: { pick: ['team'] } },
        user: { read: { pick: ['team'] } },
        owner: { read: true },
        admin: true,
      },
    },
    posts: {
      schema: {
        title: { type: 'string' },
        n: { type: 'integer', index: true },
        secret: { type: 'string' },
        team: { type: 'string' },
        isHidden: { type: 'boolean' },
        author: { type: 'reference', collection: 'users' },
      },
      permissions: {
        '*': { read: { omit: ['secret', 'team'], where: { isHidden: { $ne: true } } } },
        user: { read: { omit: ['secret'], where: { team: '$user.team' } }, create: true },
        owner: { read: true },
        editor: { read: { pick: ['title', 'isHidden'], where: { isHidden: true } } },
        auditor: { read: { pick: ['secret', 'n'], where: { n: { $gte: 3 } } } },
        admin: true,
      },
    },
    notes: {
      schema: { of: { type: 'reference', collection: 'users' } },
      permissions: { '*': { read: true, create: true } },
    },
    times: {
      schema: { at: { type: 'timestamp' }, until: { type: 'timestamp' } },
      permissions: {
        '*': { read: { pick: ['at'], where: { at: { $lte: '$now' } } } },
        user: { read: { where: { until: { $gt: '$now' } } } },
        admin: true,
      },
    },
  },
  auth: { identifier: 'email', secret: 'password', roleField: 'role' },
} as const

/** The same collections, with other rights and another index. */
const OTHER_CONFIG: AnyConfig = {
  collections: {
    posts: {
      schema: { ...CONFIG.collections.posts.schema, title: { type: 'string', index: true } },
      permissions: { '*': true },
    },
    users: { schema: { team: { type: 'string' } } },
  },
}

const POSTS = Array.from({ length: 8 }, (_, i) => ({
  _id: idOf(i + 1),
  title: `post ${[...'é漢😀'].slice(0, i).join('')}${i}`,
  n: i,
  secret: `secret ${i}`,
  team: ['red', 'blue', 'null'][i % 3],
  isHidden: i % 4 === 1,
}))

const TIMES = [0, 1, 2, 3].map((i) => ({
  at: `2026-01-0${i + 1}T00:00:00.000Z`,
  until: `2026-01-0${i + 2}T00:00:00.000Z`,
}))

const QUERIES: readonly string[] = [
  '/posts',
  '/posts?sort[n]=-1&limit=3&total=true',
  '/posts?sort[secret]=1',
  '/posts?q[title][$regex]=t .*[1-6]&limit=4',
  '/posts?q[team]=red',
  '/posts?q[secret][$exists]=true&project=["title","secret"]',
  '/posts?q[$or][0][isHidden]=true&q[$or][1][n][$lt]=3&skip=1&limit=2',
  '/posts?expand=["author"]&limit=6',
  // Here only what is referred to changes.
  '/posts?q[n]=6&expand=["author"]',
  // All read these alike, but not what they refer to.
  '/notes?expand=["of"]',
  '/posts/count?q[n][$gte]=2',
  '/posts/count?q[team][$ne]=red',
  ...[1, 2, 4, 6].map((n) => `/posts/${idOf(n)}`),
  `/posts/${idOf(4)}?expand=["author"]`,
  `/posts/${idOf(5)}?project=["secret","n"]`,
  '/times',
  '/times/count',
  '/users?sort[team]=1',
  '/auth/me',
]

const ADMIN: SendOptions = { caller: { id: 'admin', roles: ['admin'] } }

const NAMES = ['ann', 'ben', 'cay'] as const

/** An answer but for what is random in it. */
const comparable = ({ status, headers, text }: Sent): string =>
  JSON.stringify([status, [...headers], text.replace(/"requestId":"[^"]*"/, '')])

/** What to check, and with what. */
export interface KeptCheck {
  /** The service that keeps what it has computed; default: the real one. */
  readonly create?: typeof createCollectionService
  readonly createAdapter?: CreateAdapter
  readonly rounds: number
}

/**
 * A service that has answered many callers answers each like one that was never asked before, whatever was written in
 * between, by itself and by others. Throws on a difference; gives the number of answers that were not all the same.
 */
export async function checkKept({
  create,
  createAdapter = createMemoryAdapter,
  rounds,
}: KeptCheck): Promise<{ readonly telling: number }> {
  let time = Date.parse('2026-01-01T12:00:00.000Z')
  const options = { adapter: createAdapter(), now: () => time }
  const kept = createTestService(CONFIG, { ...options, ...(create ? { create } : {}) })
  const { send } = kept
  const must = async (line: string, sending?: SendOptions): Promise<Sent> => {
    const sent = await send(line, sending)
    expect(sent.status, `${line}: ${sent.text}`).toBeLessThan(300)
    return sent
  }
  const users: { readonly token: string; readonly id: string }[] = []
  for (const [i, name] of NAMES.entries()) {
    const team = ['red', 'blue', 'red'][i]
    users.push(await kept.register({ email: name, password: 'a secret', team }))
  }
  const [ann, ben, cay] = users
  if (!ann || !ben || !cay) throw new Error('nobody has registered')
  for (const [i, { _id, ...body }] of POSTS.entries()) {
    const author = users[i % users.length]?.id
    const headers = { 'if-none-match': '*' }
    const { token } = [ann, ben][i % 2] ?? ann
    await must(`PUT /posts/${_id}`, { body: { ...body, author }, headers, token })
  }
  for (const body of TIMES) await must('POST /times', { body, ...ADMIN })
  for (const { id } of users) await must('POST /notes', { body: { of: id }, ...ADMIN })

  const callers: readonly SendOptions[] = [
    {},
    ...users.map(({ token }) => ({ token })),
    ...[
      null,
      { id: ann.id },
      { id: ben.id },
      { id: ann.id, team: 'red' },
      { id: ann.id, team: 'blue' },
      { id: ben.id, team: 'blue', roles: ['editor'] },
      { id: 'z', team: ['red'], roles: ['auditor'] },
      { id: 'z', team: 'null', roles: ['auditor', 'editor'] },
      { id: 'z', team: null, roles: ['editor', 'auditor', 'owner', '*'] },
      { id: 'z', roles: ['admin', 'editor'] },
    ].map((caller) => ({ caller })),
  ]

  /** What happens between two rounds. */
  const events: readonly (() => Promise<unknown>)[] = [
    () => must(`PATCH /posts/${idOf(1)}`, { body: { isHidden: true, title: 'hidden' }, ...ADMIN }),
    () => must(`PATCH /posts/${idOf(2)}`, { body: { team: 'red', secret: null }, ...ADMIN }),
    () => must(`PATCH /users/${ann.id}`, { body: { role: ['editor'] }, ...ADMIN }),
    () => must(`PATCH /users/${ben.id}`, { body: { role: ['auditor', 'editor'], team: 'red' }, ...ADMIN }),
    async () => {
      time += 24 * 60 * 60 * 1000
    },
    async () => {
      await must(`DELETE /posts/${idOf(4)}`, ADMIN)
      const body = { title: 'made again', n: 9, secret: 'another', team: 'blue' }
      await must(`PUT /posts/${idOf(4)}`, { body, headers: { 'if-none-match': '*' }, token: cay.token })
    },
    async () => {
      const other = createTestService(OTHER_CONFIG, options)
      const { status } = await other.send(`PATCH /posts/${idOf(6)}`, {
        body: { n: 1, title: 'by another', team: 'red' },
      })
      expect(status).toBe(200)
    },
    () => must(`PATCH /users/${ann.id}`, { body: { role: null, team: 'blue' }, ...ADMIN }),
    () => must(`PATCH /users/${cay.id}`, { body: { role: ['admin'] }, ...ADMIN }),
  ]

  let telling = 0
  for (let round = 0; round < rounds; round++) {
    const order = [...callers.slice(round), ...callers.slice(0, round)]
    for (const query of QUERIES) {
      const answers = new Set<string>()
      for (const caller of order) {
        const fresh: TestService = createTestService(CONFIG, options)
        const expected = comparable(await fresh.send(`GET ${query}`, caller))
        answers.add(expected)
        // It is kept from the second time on, so that the third is told from it.
        for (let times = 0; times < 3; times++) {
          const answer = comparable(await send(`GET ${query}`, caller))
          expect({ query, caller, answer }).toEqual({ query, caller, answer: expected })
        }
      }
      if (answers.size > 1) telling += 1
    }
    for (const [i, happen] of events.entries()) if (i % rounds === round) await happen()
  }
  await kept.handler.close()
  return { telling }
}
