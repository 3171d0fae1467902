import type { Delivery } from '../../../src/index.js'
import fc from '../../support/fast-check.js'
import { type Answered, type Asked, openScene, type Playing, type Stage } from './stage.js'

/** An account of a scene, with its secret, its tokens and the tokens that were delivered to it. */
interface Person {
  email: string
  password: string
  readonly id: string | undefined
  readonly tokens: string[]
  readonly delivered: string[]
}

interface World {
  readonly requireVerified: boolean
  readonly hasDelivery: boolean
  readonly isOpen: boolean
  readonly isKnown: boolean
  readonly sessions: number
}

const HOUR = 3_600_000
const DAY = 24 * HOUR

const configOf = ({ requireVerified, hasDelivery, isOpen, sessions }: World) => ({
  collections: {
    users: {
      schema: {
        email: { type: 'string', format: 'email', unique: true, required: true, trim: true, lowercase: true },
        password: { type: 'hash', required: true, minLength: 8 },
        role: { type: 'string', enum: ['editor', 'admin'] },
        name: { type: 'string', maxLength: 20 },
        verifiedAt: { type: 'timestamp' },
      },
      permissions: {
        '*': { create: { pick: ['name'] } },
        owner: { read: true, update: { pick: ['name', 'password'] }, delete: true },
        editor: { read: { omit: ['role'] } },
        admin: true,
      },
    },
    notes: {
      schema: {
        text: { type: 'string', required: true },
        by: { type: 'reference', collection: 'users', onDelete: 'cascade' },
        team: { type: 'string' },
      },
      permissions: {
        '*': { read: { where: { team: 'open' } } },
        user: { read: { where: { team: { $in: '$user.teams' } } }, create: true },
        owner: { read: true, update: { omit: ['team'] }, delete: true },
        admin: true,
      },
    },
    members: {
      schema: {
        user: { type: 'reference', collection: 'users', onDelete: 'cascade', index: true },
        team: { type: 'string' },
      },
      permissions: { admin: true, user: { read: { where: { user: '$user._id' } } } },
    },
  },
  auth: {
    roleField: 'role',
    sessions,
    sessionDays: 2,
    register: isOpen,
    ...(hasDelivery ? { verifiedField: 'verifiedAt', requireVerified } : {}),
    claims: { teams: { from: 'members', where: { user: '$user._id' }, take: 'team' } },
  },
})

const worlds: fc.Arbitrary<World> = fc.record({
  requireVerified: fc.boolean(),
  hasDelivery: fc.constantFrom(true, true, true, false),
  isOpen: fc.constantFrom(true, true, true, false),
  isKnown: fc.boolean(),
  sessions: fc.constantFrom(2, 3, 100),
})

const ADMIN = { id: 'root', roles: ['admin'] }

/** The steps of a scene by name. A name that is listed several times is drawn more often. */
const KINDS = [
  ...[
    'login',
    'login',
    'login',
    'wrong login',
    'note',
    'note',
    'read',
    'read',
    'read',
    'me',
    'sessions',
    'role',
  ],
  ...[
    'register',
    'logout',
    'logout all',
    'end one',
    'change secret',
    'request reset',
    'reset',
    'reset again',
  ],
  ...[
    'request verification',
    'verify',
    'verify',
    'change identifier',
    'member',
    'patch',
    'batch',
    'delete',
    'wait',
  ],
  ...['odd', 'unknown token'],
] as const

const steps = fc.array(fc.record({ kind: fc.constantFrom(...KINDS), who: fc.nat(2), salt: fc.nat(1000) }), {
  minLength: 60,
  maxLength: 60,
})

/** Bodies that are wrong for account routes. */
const ODD: readonly Asked[] = [
  { body: {} },
  { body: { email: 5, password: 'long enough' } },
  { body: { email: 'ann@example.com', password: 'long enough', more: true } },
  { body: { email: 'ann@example.com' } },
  { body: { token: 'x', new: 'long enough', more: 1 } },
  { body: { token: 'x'.repeat(43), new: 'short' } },
  { body: { token: 'x'.repeat(43), current: 'long enough' } },
  { body: { current: 'long enough', new: 'x'.repeat(80) } },
  { body: { current: 'long enough', new: 'no address' } },
  { body: [] },
  { raw: '{' },
  {},
]
const POSTS = [
  ...['register', 'login', 'change-secret', 'request-reset', 'reset', 'request-verification', 'verify'],
  ...['change-identifier', 'logout', 'logout-all'],
]

/** Plays requests of accounts and sessions; the clock goes on between them. */
export async function playAccounts(playing: Playing): Promise<void> {
  const { open } = openScene(playing)
  for (const [world, some] of fc.sample(fc.tuple(worlds, steps), { seed: playing.seed, numRuns: 3 })) {
    const delivered: Delivery[] = []
    const stage = await open(configOf(world), {
      ...(world.hasDelivery ? { deliver: (one: Delivery) => void delivered.push(one) } : {}),
      ...(world.isKnown ? { clientAddress: (request) => request.headers.get('x-address') } : {}),
    })
    const people = ['ann', 'bob', 'cora'].map(
      (name): Person => ({
        email: `${name}@example.com`,
        password: `password of ${name}`,
        id: undefined,
        tokens: [],
        delivered: [],
      }),
    )
    const scene = { stage, world, people, clock: playing.clock }
    for (const { kind, who, salt } of [...BEGINNING, ...some]) {
      playing.clock.now += 1 + (salt % 5000)
      await step(scene, { kind, who, salt })
      for (const one of delivered.splice(0)) {
        const { signal: _, ...told } = one as Delivery & { signal?: unknown }
        stage.note('what was delivered', told)
        const to = people.find(({ email }) => email === one.to)
        if ('token' in one) to?.delivered.push(one.token)
      }
    }
    await stage.close()
  }
}

interface Scene extends Pick<Playing, 'clock'> {
  readonly stage: Stage
  readonly world: World
  readonly people: readonly Person[]
}

interface Step {
  readonly kind: (typeof KINDS)[number]
  readonly who: number
  readonly salt: number
}

const BEGINNING: readonly Step[] = [0, 1, 2].flatMap((who) =>
  (['register', 'verify', 'login', 'member'] as const).map((kind) => ({ kind, who, salt: 2 * who })),
)

async function step({ stage, people, clock }: Scene, { kind, who, salt }: Step): Promise<void> {
  const person = people[who]
  if (!person) return
  const { email, password, tokens, delivered } = person
  // Mostly the newest token; now and then an old one.
  const token = tokens[salt % 6 === 0 ? 0 : tokens.length - 1]
  const mail = delivered[salt % 6 === 0 ? 0 : delivered.length - 1] ?? 'x'.repeat(43)
  const address = { 'x-address': `192.0.2.${salt % 2}` }
  const as = token === undefined ? {} : { token }
  const other = `another of ${who} ${salt}`
  const post = (path: string, body?: unknown, asked: Asked = {}): Promise<Answered> =>
    stage.ask(`POST /auth/${path}`, { ...asked, headers: address, ...(body === undefined ? {} : { body }) })
  const keep = ({ body }: Answered): void => {
    if (typeof body?.token === 'string') tokens.push(body.token)
    if (body?.user) Object.assign(person, { id: body.user._id })
  }
  switch (kind) {
    case 'register':
      return keep(
        await post('register', { email, password, ...(salt % 2 ? { name: 'x', role: 'admin' } : {}) }),
      )
    case 'login':
      return keep(await post('login', { email: salt % 5 ? email : ` ${email.toUpperCase()}`, password }))
    case 'wrong login':
      return void (await post('login', {
        email: salt % 2 ? email : 'unknown@example.com',
        password: 'wrong one',
      }))
    case 'note':
      await stage.ask('POST /notes', {
        ...as,
        body: { text: `${salt}`, team: ['a', 'b', 'open'][salt % 3], by: person.id },
      })
      return
    case 'read':
      await stage.ask(`GET /notes?sort[text]=1&expand=["by"]&limit=${1 + (salt % 4)}`, as)
      await stage.ask('GET /notes/count', as)
      await stage.ask(`GET /users${salt % 2 ? '' : `/${person.id}`}`, as)
      return
    case 'me':
      await stage.ask('GET /auth/me', as)
      await stage.ask('GET /', as)
      return
    case 'sessions': {
      const { headers } = await stage.ask(`GET /auth/sessions${salt % 2 ? '?limit=1' : ''}`, as)
      const cursor = headers.get('next-cursor')
      if (cursor !== null) await stage.ask(`GET /auth/sessions?limit=1&after=${cursor}`, as)
      return
    }
    case 'end one': {
      const { body } = await stage.ask('GET /auth/sessions', as)
      const id = Array.isArray(body) ? body[salt % body.length]?._id : undefined
      await stage.ask(`DELETE /auth/sessions/${id ?? 'none'}`, as)
      return
    }
    case 'logout':
      return void (await post('logout', undefined, as))
    case 'logout all':
      return void (await post('logout-all', undefined, as))
    case 'change secret': {
      const isRight = salt % 3 > 0
      const answer = await post(
        'change-secret',
        { current: isRight ? password : 'wrong one', new: other },
        as,
      )
      if (answer.status === 200) person.password = other
      return keep(answer)
    }
    case 'request reset':
      return void (await post('request-reset', { email: salt % 4 ? email : 'unknown@example.com' }))
    case 'reset':
    case 'reset again': {
      if (kind === 'reset') await post('request-reset', { email })
      const answer = await post('reset', { token: mail, new: salt % 4 ? other : 'short' })
      if (answer.status === 200) person.password = other
      return keep(answer)
    }
    case 'request verification':
      return void (await post('request-verification', { email }))
    case 'verify':
      return void (await post('verify', { token: mail, current: salt % 4 === 3 ? 'wrong one' : password }))
    case 'change identifier': {
      const taken = people[(who + 1) % 3]?.email
      const next = salt % 3 ? `${who}${salt}@example.com` : taken
      const { status } = await post('change-identifier', { current: password, new: next }, as)
      if (status === 202 && salt % 3) person.email = next ?? email
      return
    }
    case 'role':
      await stage.ask(`PATCH /users/${person.id}`, {
        caller: ADMIN,
        body: { role: ['editor', 'admin', null, 'other'][salt % 4] },
      })
      return
    case 'member':
      await stage.ask('POST /members', {
        caller: ADMIN,
        body: { user: person.id, team: salt % 2 ? 'a' : 'b' },
      })
      return
    case 'patch':
      await stage.ask(`PATCH /users/${person.id}`, {
        ...as,
        body: [{ name: 'new' }, { password: `${password}!` }, { role: 'admin' }, { name: 'x'.repeat(21) }][
          salt % 4
        ],
      })
      if (salt % 4 === 1) await stage.ask('GET /auth/me', as)
      return
    case 'batch':
      await stage.ask('POST /_batch', {
        ...as,
        body: {
          operations: [
            { method: 'POST', path: '/notes', body: { text: 'in a batch', team: 'a' } },
            { method: 'GET', path: `/users/${person.id}` },
            ...(salt % 2 ? [] : [{ method: 'PATCH', path: `/users/${person.id}`, body: { name: 'batch' } }]),
          ],
        },
      })
      return
    case 'delete':
      if (salt % 3) await stage.ask(`DELETE /users/${person.id}`, as)
      else await stage.ask(`DELETE /users/${person.id}`, { caller: ADMIN })
      return
    case 'wait':
      clock.now += [20 * 60_000, 2 * HOUR, DAY, 3 * DAY][salt % 4] ?? 0
      return
    case 'odd': {
      const asked = ODD[salt % ODD.length] ?? {}
      await stage.ask(`POST /auth/${POSTS[salt % POSTS.length]}${salt % 7 ? '' : '?x=1'}`, {
        ...asked,
        ...as,
      })
      return
    }
    case 'unknown token':
      await stage.ask('GET /notes', { token: 'x'.repeat(43 + (salt % 2)) })
      await stage.ask('GET /auth/me')
      return
  }
}
