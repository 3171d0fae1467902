import { expect } from 'vitest'
import type { createCollectionService, HookChange, StorageAdapter } from '../../src/index.js'
import { createTestService, type Sent, type TestService } from './service.js'
import { idOf } from './stored.js'

/** Two requests, of which one runs to its end while the other waits for the storage: before and behind each of its calls in turn. */

const [ANN, NOTE, OTHER, TEAM, NEW] = [1, 2, 3, 4, 5].map(idOf) as [string, string, string, string, string]
const text = { type: 'string' } as const
const ROOT = { caller: { id: 'root', roles: ['root'] } }

const config = {
  collections: {
    users: {
      schema: {
        name: { ...text, unique: true, required: true },
        pin: { type: 'hash', required: true },
        role: text,
        team: text,
      },
      permissions: {
        owner: { read: true, update: { pick: ['name', 'pin'] }, delete: true },
        root: true,
      },
    },
    teams: { schema: { name: text }, permissions: { user: { read: true }, root: true } },
    notes: {
      schema: { text, team: text, of: { type: 'reference', collection: 'teams' } },
      permissions: {
        user: {
          read: { where: { team: '$user.team' } },
          create: { check: { team: '$user.team' } },
          update: { where: { team: '$user.team' } },
          delete: { where: { team: '$user.team' } },
        },
        editor: true,
        root: true,
      },
    },
  },
  auth: { identifier: 'name', secret: 'pin', roleField: 'role', register: false },
} as const

const SEED = {
  users: [{ _id: ANN, name: 'ann', pin: 'old', role: 'editor', team: 'red', createdBy: ANN }],
  teams: [{ _id: TEAM, name: 't' }],
  notes: [
    { _id: NOTE, text: 'x', team: 'red' },
    { _id: OTHER, text: 'y', team: 'blue' },
  ],
}

/** A service with one account, which has signed in twice. */
interface World extends Pick<TestService, 'send' | 'handler'> {
  readonly tokens: readonly [string, string]
}

export type Act = (world: World) => Promise<Sent>

const as =
  (session: 0 | 1) =>
  (line: string, body?: object): Act =>
  ({ send, tokens }) =>
    send(line, { token: tokens[session], ...(body ? { body } : {}) })
const [byAnn, byAnnElsewhere] = [as(0), as(1)]
const byRoot =
  (line: string, body?: object): Act =>
  ({ send }) =>
    send(line, { ...ROOT, ...(body ? { body } : {}) })
const patch = (path: string, body: object) => ({ method: 'PATCH', path, body })
const inBatch = (...operations: object[]) => ['POST /_batch', { operations }] as const

/** What is held up. */
export const HELD: { readonly [what: string]: Act } = {
  'a create': byAnn('POST /notes', { text: 'new', team: 'red' }),
  'a create with a reference': byAnn('POST /notes', { text: 'new', team: 'red', of: TEAM }),
  'a PATCH': byAnn(`PATCH /notes/${OTHER}`, { text: 'of ann' }),
  'a PUT': byAnn(`PUT /notes/${NOTE}`, { text: 'of ann', team: 'red' }),
  'a PUT that creates': ({ send, tokens }) => {
    const headers = { 'if-none-match': '*' }
    return send(`PUT /notes/${NEW}`, { token: tokens[0], headers, body: { text: 'new', team: 'red' } })
  },
  'a DELETE': byAnn(`DELETE /notes/${NOTE}`),
  'a DELETE of what notes refer to': byRoot(`DELETE /teams/${TEAM}`),
  'a batch': byAnn(
    ...inBatch(patch(`/notes/${NOTE}`, { text: 'of ann' }), { method: 'GET', path: `/notes/${OTHER}` }),
  ),
  'a change of the own name': byAnn(`PATCH /users/${ANN}`, { name: 'eve' }),
  'a change of the own secret': byAnn(`PATCH /users/${ANN}`, { pin: 'of the first' }),
  'change-secret': byAnn('POST /auth/change-secret', { current: 'old', new: 'of the first' }),
  'logout-all': byAnn('POST /auth/logout-all'),
}

/** What comes in between. */
const BETWEEN: { readonly [what: string]: Act } = {
  'another role, and another note': byRoot(
    ...inBatch(patch(`/users/${ANN}`, { role: null }), patch(`/notes/${OTHER}`, { text: 'not for ann' })),
  ),
  'another team': byRoot(
    ...inBatch(
      patch(`/users/${ANN}`, { role: null, team: 'blue' }),
      patch(`/notes/${NOTE}`, { team: 'blue' }),
    ),
  ),
  'the same note': byRoot(...inBatch({ method: 'PUT', path: `/notes/${NEW}`, ifNoneMatch: '*', body: {} })),
  'another note of the team': byRoot('POST /notes', { of: TEAM }),
  'the end of a note': byRoot(`DELETE /notes/${NOTE}`),
  'the end of a team': byRoot(`DELETE /teams/${TEAM}`),
  'another secret': byRoot(`PATCH /users/${ANN}`, { pin: 'of root' }),
  'another secret of the same session': byAnn(`PATCH /users/${ANN}`, { pin: 'of ann' }),
  'the end of all sessions': byAnnElsewhere('POST /auth/logout-all'),
  'the end of the account': byRoot(`DELETE /users/${ANN}`),
}

const HOOKS = Object.fromEntries(
  Object.keys(config.collections).map((name) => [name, { before: (_: HookChange) => undefined }]),
)

/** A storage that lets others act before or behind one of its next calls. */
function interrupted(adapter: StorageAdapter) {
  let left = Number.POSITIVE_INFINITY
  let act = async (): Promise<void> => {}
  const pass = async (): Promise<void> => {
    if (left-- === 0) await act()
  }
  const around = async <T>(work: () => T | Promise<T>): Promise<T> => {
    await pass()
    const result = await work()
    await pass()
    return result
  }
  const { readLinked } = adapter
  const between: StorageAdapter = {
    ...adapter,
    seed: SEED,
    list: (...asked) => around(() => adapter.list(...asked)),
    write: (...asked) => around(() => adapter.write(...asked)),
    ...(readLinked ? { readLinked: (...asked) => around(() => readLinked(...asked)) } : {}),
  }
  return {
    between,
    /** Whether there was such a place is told when the result is called. */
    interrupt(place: number, next: () => Promise<void>) {
      ;[left, act] = [place, next]
      return () => left < 0
    },
  }
}

/** What is asked: the library, or a mutant of it, over which storage, and whether writes have a hook that does nothing. */
interface Asked {
  readonly create?: typeof createCollectionService
  readonly createAdapter: () => StorageAdapter
  readonly hasHooks?: boolean
}

async function open({ create, createAdapter, hasHooks }: Asked) {
  const { between, interrupt } = interrupted(createAdapter())
  const service = createTestService(config, {
    adapter: between,
    ...(create ? { create } : {}),
    ...(hasHooks ? { hooks: HOOKS } : {}),
  })
  const signIn = async (): Promise<string> =>
    (await service.send('POST /auth/login', { body: { name: 'ann', pin: 'old' } })).body.token
  return { ...service, interrupt, tokens: [await signIn(), await signIn()] as const }
}

const VOLATILE = ['etag', 'createdAt', 'updatedAt', 'expiresAt', 'token', 'requestId', 'location']

/** What both were answered, and what is there behind them, but for ids and times. */
async function outcomeOf({ send, tokens }: World, answers: readonly Sent[]): Promise<string> {
  const told = answers.map(({ status, body }) =>
    status < 400 ? [status, body] : [status, body.code, body.errors],
  )
  const isValid = async (token: unknown) =>
    typeof token === 'string' && (await send('GET /auth/me', { token })).status === 200
  const fresh = answers.map(({ body }) => body?.token)
  const sessions = await Promise.all([...tokens, ...fresh].map(isValid))
  const stored = await Promise.all(
    ['users', 'notes', 'teams'].map(async (name) => (await send(`GET /${name}?sort[_id]=1`, ROOT)).body),
  )
  const names = stored[0].map(({ name }: { readonly name: string }) => name)
  const logins = await Promise.all(
    names.flatMap((name: string) =>
      ['old', 'of the first', 'of root', 'of ann'].map(
        async (pin) => (await send('POST /auth/login', { body: { name, pin } })).status,
      ),
    ),
  )
  const known = [ANN, NOTE, OTHER, TEAM, NEW]
  return JSON.stringify([told, sessions, logins, stored], (name, value) =>
    VOLATILE.includes(name) ? undefined : value,
  ).replace(/[0-9a-f-]{36}/g, (id) => (known.includes(id) ? id : 'new'))
}

/** What may come of two requests: the one before the other, or behind it. */
async function outcomesInTurn(asked: Asked, held: Act, between: Act) {
  const first = await open(asked)
  const ab = [await held(first), await between(first)]
  const second = await open(asked)
  const ba = [await between(second), await held(second)].reverse()
  const outcomes = [await outcomeOf(first, ab), await outcomeOf(second, ba)]
  for (const { handler } of [first, second]) await handler.close()
  return outcomes
}

const MOST_PLACES = 80

/** Checks that a request which is held up ends as if nobody had come in between. Gives the number of times that it was. */
export async function checkInterleaved(asked: Asked, held: Act): Promise<number> {
  let count = 0
  for (const [what, between] of Object.entries(BETWEEN)) {
    const inTurn = await outcomesInTurn(asked, held, between)
    for (let place = 0; place < MOST_PLACES; place++) {
      const world = await open(asked)
      let other: Sent | undefined
      const wasHeld = world.interrupt(place, async () => {
        other = await between(world)
      })
      const answer = await held(world)
      const isHeld = wasHeld() && other !== undefined
      if (isHeld && other) {
        const outcome = await outcomeOf(world, [answer, other])
        expect(inTurn, `${what}, at ${place}`).toContain(outcome)
      }
      await world.handler.close()
      if (!isHeld) break
      count += 1
    }
  }
  return count
}
