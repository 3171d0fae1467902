import { expect } from 'vitest'
import type { StorageAdapter } from '../../src/index.js'
import fc from './fast-check.js'
import { type Building, type KeptWorld, openKept, root, startClock } from './kept-callers.js'
import type { SendOptions, Sent } from './service.js'
import { seedOf } from './tier.js'

/** Random histories of what makes callers what they are, with requests of these callers between the writes. */

const TEAMS = ['a', 'b', 'c']
const PEOPLE = ['ann', 'ben']
const DAY = 86_400_000

interface Person {
  readonly id: string
  readonly email: string
  password: string
  /** Those of all its sessions, the newest first. */
  readonly tokens: string[]
  /** Whether its browser keeps sessions in a cookie. */
  readonly hasCookie: boolean
}

const SAME = { 'sec-fetch-site': 'same-origin' }

/** How a person sends a request. */
const senderOf = ({ hasCookie }: Pick<Person, 'hasCookie'>, token: string | undefined): SendOptions => {
  if (token === undefined) return {}
  return hasCookie ? { headers: { ...SAME, cookie: `__Host-session=${token}` } } : { token }
}

/** The token of a new session. */
const tokenOf = ({ body, headers }: Sent): string =>
  body.token ?? /=([^;]*)/.exec(headers.get('set-cookie') ?? '')?.[1]

/** What is done at one point of a history. */
interface Doing {
  readonly world: KeptWorld
  readonly who: Person
  readonly team: string
}

const byRoot = ({ send }: KeptWorld, request: string, body?: object) =>
  send(request, { caller: root, ...(body ? { body } : {}) })

const byOwner = ({ world: { send }, who }: Doing, request: string, body: object) =>
  send(request, { ...senderOf(who, who.tokens[0]), body })

/** The membership of somebody that was added first. */
async function firstOf({ world, who }: Doing): Promise<string | undefined> {
  const { body } = await byRoot(world, `GET /members?q[user]=${who.id}&sort[_id]=1&limit=1`)
  return body[0]?._id
}

const login = async ({ world: { send }, who }: Doing): Promise<void> => {
  const { email, password, hasCookie } = who
  const answer = await send('POST /auth/login', {
    body: { email, password },
    ...(hasCookie ? { headers: SAME } : {}),
  })
  if (answer.status === 200) who.tokens.unshift(tokenOf(answer))
}

const setUser = ({ world, who }: Doing, body: object) => byRoot(world, `PATCH /users/${who.id}`, body)

const ACTS: { readonly [act: string]: (doing: Doing) => Promise<unknown> } = {
  join: ({ world, who, team }) => byRoot(world, 'POST /members', { user: who.id, team }),
  async leave(doing) {
    const id = await firstOf(doing)
    if (id) await byRoot(doing.world, `DELETE /members/${id}`)
  },
  async move(doing) {
    const id = await firstOf(doing)
    if (id) await byRoot(doing.world, `PATCH /members/${id}`, { team: doing.team })
  },
  async 'give away'(doing) {
    const id = await firstOf(doing)
    if (id) await byRoot(doing.world, `PATCH /members/${id}`, { user: 'another' })
  },
  shop: (doing) => setUser(doing, { shop: doing.team }),
  'be a shopper': (doing) => setUser(doing, { role: 'shopper' }),
  'be a member': (doing) => setUser(doing, { role: 'member' }),
  'be an admin': (doing) => setUser(doing, { role: 'admin' }),
  'be nothing': (doing) => setUser(doing, { role: null }),
  login,
  logout: (doing) => byOwner(doing, 'POST /auth/logout', {}),
  'logout everywhere': (doing) => byOwner(doing, 'POST /auth/logout-all', {}),
  async 'a new secret'(doing) {
    doing.who.password += '!'
    await setUser(doing, { password: doing.who.password })
    await login(doing)
  },
  async 'an own new secret'(doing) {
    const password = `${doing.who.password}?`
    const { status } = await byOwner(doing, `PATCH /users/${doing.who.id}`, { password })
    if (status === 200) doing.who.password = password
  },
  async 'some days go by'({ world }) {
    world.clock.now += 6 * DAY
  },
  batch: (doing) =>
    byOwner(doing, 'POST /_batch', {
      operations: [
        { method: 'POST', path: '/members', body: { user: doing.who.id, team: doing.team } },
        { method: 'POST', path: '/notes', body: { team: doing.team, text: 'of a batch' } },
      ],
    }),
  'delete the account': ({ world, who }) => byRoot(world, `DELETE /users/${who.id}`),
}

const act = fc.record({
  act: fc.oneof(
    { weight: 40, arbitrary: fc.constantFrom(...Object.keys(ACTS)) },
    { weight: 20, arbitrary: fc.constantFrom('join', 'leave', 'move', 'login') },
  ),
  who: fc.nat(PEOPLE.length - 1),
  team: fc.constantFrom(...TEAMS),
  /** By which of the two services it is done. */
  by: fc.nat(1),
})

/** A service that keeps what it has read of callers, and one over the same place that reads it for each request. */
export interface Places {
  readonly keeping: Building
  readonly reading: Building
}

/** The same adapter without what tells that nothing was written, and what reads several things at once. */
export function withoutState({
  state: _,
  readLinked: __,
  listTogether: ___,
  ...adapter
}: StorageAdapter): StorageAdapter {
  return adapter
}

async function begin(world: KeptWorld): Promise<{ people: readonly Person[]; paths: readonly string[] }> {
  const people: Person[] = []
  for (const name of PEOPLE) {
    const [email, password] = [`${name}@example.com`, 'secret password']
    const { body } = await world.send('POST /auth/register', { body: { email, password } })
    const hasCookie = people.length % 2 === 1
    people.push({ id: body.user._id, email, password, tokens: [body.token], hasCookie })
    await byRoot(world, 'POST /members', { user: body.user._id, team: 'a' })
    await byRoot(world, 'POST /letters', { team: name, from: body.user._id })
  }
  const paths: string[] = []
  for (const team of TEAMS) {
    const text = `of ${team}`
    const note = await byRoot(world, 'POST /notes', { team, shop: team, text })
    const post = await byRoot(world, 'POST /posts', { team, shop: team === 'c' ? 'open' : team, text })
    await byRoot(world, 'POST /news', { team, text })
    paths.push(`/notes/${note.body._id}`, `/posts/${post.body._id}`)
  }
  return { people, paths }
}

/** How many sessions of a person are asked by. */
const ASKED = 3

const LISTS = ['/notes', '/notes/count', '/posts', '/news', '/letters', '/auth/me', '/members']

/**
 * Each answer of a service that keeps its callers is that of one that keeps nothing. Gives the number of answers that were
 * others than before. Throws on a counterexample.
 */
export async function checkHistories(runs: number, open: () => Places): Promise<number> {
  let changed = 0
  await fc.assert(
    fc.asyncProperty(fc.array(act, { minLength: 8, maxLength: 14 }), async (acts) => {
      const clock = startClock()
      const { keeping, reading } = open()
      const both = [openKept({ ...keeping, clock }), openKept({ ...reading, clock })] as const
      const [kept, read] = both
      await Promise.all(both.map(({ handler }) => handler.ready()))
      try {
        const { people, paths } = await begin(kept)
        const last = new Map<string, string>()
        const compare = async (doing: string): Promise<void> => {
          const asking = people.flatMap((person) =>
            person.tokens.slice(0, ASKED).map((token) => ({ token, sender: senderOf(person, token) })),
          )
          for (const { token, sender } of asking) {
            const requests = [
              ...LISTS.map((path) => [`GET ${path}`, undefined] as const),
              ...paths.map((path) => [`GET ${path}`, undefined] as const),
              [`PATCH ${paths[0]}`, { text: 'of a' }] as const,
              ['POST /notes', { team: 'b', text: 7 }] as const,
            ]
            for (const [request, body] of requests) {
              const asked = { ...sender, ...(body ? { body } : {}) }
              const [here, there] = [await kept.send(request, asked), await read.send(request, asked)]
              const answer = ({ status, text }: typeof here): string =>
                `${status} ${text.replace(/"requestId":"[^"]*"/, '')}`
              expect(answer(here), `${request} behind ${doing}`).toBe(answer(there))
              const key = `${token} ${request}`
              if (last.has(key) && last.get(key) !== answer(here)) changed += 1
              last.set(key, answer(here))
            }
          }
        }
        await compare('the beginning')
        for (const { act, who, team, by } of acts) {
          const [person, world] = [people[who], both[by]]
          if (person && world) await ACTS[act]?.({ world, who: person, team })
          await compare(act)
        }
      } finally {
        for (const { handler } of both) await handler.close()
      }
    }),
    { seed: seedOf(1), numRuns: runs, endOnFailure: true },
  )
  return changed
}
