import type { Caller } from '../../../src/index.js'
import { type OpenStream, watchLog } from '../../support/event-streams.js'
import fc from '../../support/fast-check.js'
import { arrived, openScene, type Playing } from './stage.js'

type Json = { readonly [name: string]: unknown }

const texts = fc.constantFrom('x', 'y', 'z')

const rules = fc
  .tuple(
    fc.constantFrom<Json>({}, { omit: ['h'] }, { pick: ['a', 'n', 'createdBy'] }),
    fc.constantFrom<Json>(
      {},
      { where: { a: 'x' } },
      { where: { n: { $gte: 1 } } },
      { where: { team: '$user.team' } },
      { where: { team: { $in: '$user.teams' } } },
      { where: { a: { $nin: '$user.teams' } } },
      { where: { createdAt: { $lte: '$now' } } },
    ),
  )
  .map(([shown, where]) => ({ read: { ...shown, ...where } }))

const permissions = fc.record(
  { '*': rules, user: rules, owner: rules, editor: rules },
  { requiredKeys: ['user'] },
)

const QUERIES = [
  '',
  '?q[a]="x"',
  '?q[n][$gte]=1',
  '?q[team][$ne]="y"',
  '?project=["a","n"]',
  '?q[a][$regex]=x|y',
]

const steps = fc.array(
  fc.record({
    kind: fc.constantFrom(
      ...([
        'open',
        'open',
        'leave',
        'come back',
        'come back',
        'put',
        'put',
        'put',
        'put',
        'patch',
        'patch',
      ] as const),
      ...(['patch', 'delete', 'batch', 'join', 'quit', 'user', 'logout', 'refused', 'wait'] as const),
    ),
    salt: fc.nat(1000),
    body: fc.record({ a: texts, n: fc.nat(2), team: texts, h: texts }, { requiredKeys: [] }),
  }),
  { minLength: 40, maxLength: 40 },
)

const ROOT: Caller = { id: 'root', roles: ['root'] }
const GUESTS: readonly (Caller | null)[] = [
  null,
  { id: 'guest', roles: ['editor'], team: 'x' },
  { id: 'root', roles: [], team: 'y' },
]

const configOf = (rules: Json) => ({
  collections: {
    things: {
      changes: true,
      permissions: { ...rules, root: true },
      schema: {
        a: { type: 'string' },
        n: { type: 'integer', maximum: 9 },
        team: { type: 'string' },
        h: { type: 'string' },
      },
    },
    members: {
      schema: { user: { type: 'string', index: true }, team: { type: 'string' } },
      permissions: { root: true },
    },
    users: {
      schema: {
        name: { type: 'string', unique: true, required: true },
        pin: { type: 'hash' },
        role: { type: 'string' },
        team: { type: 'string' },
      },
      permissions: { owner: { read: true }, root: true },
    },
  },
  auth: {
    roleField: 'role',
    claims: { teams: { from: 'members', where: { user: '$user._id' }, take: 'team' } },
  },
  limits: { changesHours: 2, subscribers: 30 },
})

/** Plays streams of changes, which open, end and resume while other callers write. */
export async function playStreams(playing: Playing): Promise<void> {
  const { open } = openScene(playing)
  for (const [rules, some] of fc.sample(fc.tuple(permissions, steps), { seed: playing.seed, numRuns: 3 })) {
    const watched: ReturnType<typeof watchLog>[] = []
    const stage = await open(configOf(rules), {}, (inner) => {
      const log = watchLog(inner)
      watched.push(log)
      return log.adapter
    })
    const [log] = watched
    if (!log) throw new Error('no log is watched')
    const { ask, leave } = stage
    const credentials = { name: 'ann', pin: 'pin of ann' }
    const registered = await ask('POST /auth/register', { body: credentials })
    const me = registered.body.user._id
    let token: string = registered.body.token
    const opened: { stream: OpenStream; path: string; asked: Parameters<typeof ask>[1] }[] = []
    /** The ids of streams that were left, each with how it was asked for. */
    const left: { id: string; path: string; asked: Parameters<typeof ask>[1] }[] = []
    const begin = async (path: string, asked: NonNullable<Parameters<typeof ask>[1]>): Promise<void> => {
      const { stream } = await ask(`GET /things/changes${path}`, asked)
      if (!stream) return
      const { 'last-event-id': _, ...headers } = asked.headers ?? {}
      opened.push({ stream, path, asked: { ...asked, headers } })
      await arrived([stream], playing.isBusy)
    }
    for (const { kind, salt, body } of some) {
      await log.begin()
      playing.clock.now += salt % 700
      const { body: things } = await ask('GET /things', { caller: ROOT })
      const one = things[salt % Math.max(1, things.length)]?._id ?? '0189abcd-0000-7000-8000-000000000001'
      const guest = GUESTS[salt % GUESTS.length] ?? null
      switch (kind) {
        case 'open':
          await begin(QUERIES[salt % QUERIES.length] ?? '', salt % 2 ? { token } : { caller: guest })
          break
        case 'leave': {
          const [gone] = opened.splice(salt % Math.max(1, opened.length), 1)
          if (!gone) break
          await leave(gone.stream)
          const id = gone.stream.events.at(-1)?.id
          if (id !== undefined) left.push({ id, path: gone.path, asked: gone.asked })
          break
        }
        case 'come back': {
          const [back] = left.splice(salt % Math.max(1, left.length), 1)
          if (!back) break
          const { id, path, asked } = back
          const headers = { ...asked?.headers, 'last-event-id': salt % 9 ? id : `${id}x` }
          if (salt % 2) await begin(path, { ...asked, headers })
          else await begin(`${path}${path === '' ? '?' : '&'}lastEventId=${id}`, asked ?? {})
          break
        }
        case 'put':
          await ask('POST /things', { caller: salt % 4 ? ROOT : (guest ?? ROOT), body })
          break
        case 'patch':
          await ask(`PATCH /things/${one}`, { caller: ROOT, body })
          break
        case 'delete':
          await ask(`DELETE /things/${one}`, { caller: ROOT })
          break
        case 'batch':
          await ask('POST /_batch', {
            caller: ROOT,
            body: {
              operations: [
                { method: 'POST', path: '/things', body },
                { method: 'PATCH', path: `/things/${one}`, body },
                { method: 'POST', path: '/members', body: { user: me, team: 'z' } },
              ],
            },
          })
          break
        case 'join':
          await ask('POST /members', {
            caller: ROOT,
            body: { user: salt % 3 ? me : 'guest', team: body.team ?? 'x' },
          })
          break
        case 'quit': {
          const { body: members } = await ask('GET /members', { caller: ROOT })
          await ask(`DELETE /members/${members[0]?._id ?? one}`, { caller: ROOT })
          break
        }
        case 'user':
          await ask(`PATCH /users/${me}`, {
            caller: ROOT,
            body: salt % 2 ? { role: salt % 4 === 1 ? 'editor' : null } : { team: 'y' },
          })
          break
        case 'logout': {
          if (salt % 2) await ask(`POST /auth/logout`, { token })
          const { body } = await ask('POST /auth/login', { body: credentials })
          token = body.token
          break
        }
        case 'refused':
          await ask(`GET /things/changes?q[none]=1&sort[a]=${salt}`, { token })
          await ask('GET /members/changes', { caller: ROOT })
          await ask('HEAD /things/changes', { token })
          break
        case 'wait':
          playing.clock.now += salt % 3 ? 30_000 : 3 * 3_600_000
          break
      }
      // Without an open stream, no reader takes the log.
      if (opened.length > 0)
        await withinPatience(
          Promise.race([log.quiet(), Promise.all(opened.map(({ stream }) => stream.ended))]),
        )
      await arrived(
        opened.map(({ stream }) => stream),
        playing.isBusy,
      )
    }
    for (const { stream } of opened) await leave(stream)
    await stage.close()
  }
}

const PATIENCE = 60_000

/** Rejects after a timeout. */
async function withinPatience(what: Promise<unknown>): Promise<void> {
  let timer: ReturnType<typeof setTimeout> | undefined
  const late = new Promise((_, reject) => {
    timer = setTimeout(() => reject(new Error('the log of changes was not read to its end')), PATIENCE)
  })
  try {
    await Promise.race([what, late])
  } finally {
    clearTimeout(timer)
  }
}
