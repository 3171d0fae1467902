import { describe, expect, test } from 'vitest'
import { ConfigError, createCollectionService } from '../../src/index.js'
import { closeAfterEach, useStorages } from '../support/storages.js'
import { outcomeOf } from './support/accounts.js'
import { ADMIN, ann, bob, configOf, createStage, HOUR, type Settings } from './support/verified-accounts.js'

// CONTRACT.md §4, "No enumeration", "Verification"

const storages = useStorages()
const opened = closeAfterEach()

const REQUIRED = { auth: { requireVerified: true } }
const WRONG = [401, 'invalid_credentials']

describe.each(storages)('an account that is not verified, in %s,', (_, create) => {
  async function open(settings: Settings = {}, options: object = {}) {
    const stage = createStage(configOf({ ...REQUIRED, ...settings }), create(), options)
    opened.push(stage.service)
    const sent = await stage.post('register', { ...ann, name: 'Ann' })
    expect([sent.status, sent.text]).toEqual([202, '{}'])
    const [delivery] = await stage.mail.take()
    expect(delivery).toMatchObject({ kind: 'verification', to: ann.email })
    return {
      ...stage,
      id: delivery?.user._id ?? '',
      token: delivery && 'token' in delivery ? delivery.token : '',
    }
  }

  test('opens with the right secret as with a wrong one, and gets its token again', async () => {
    const { post, mail, token, clock } = await open()
    for (let i = 0; i < 4; i++) expect(outcomeOf(await post('login', ann))).toEqual(WRONG)
    expect(outcomeOf(await post('login', { ...ann, password: 'wrong' }))).toEqual(WRONG)
    // Three an hour, with that of the registration.
    expect(await mail.kinds()).toEqual(Array(2).fill(`verification ${ann.email}`))
    expect((await post('verify', { token, current: ann.password })).status).toBe(204)
    expect((await post('login', ann)).status).toBe(200)
    expect(await mail.take()).toEqual([])
    clock.time += HOUR
    const again = await post('register', { ...ann, password: 'of a stranger' })
    expect([again.status, again.text]).toEqual([202, '{}'])
    expect(await mail.kinds()).toEqual([`already-registered ${ann.email}`])
    expect((await post('login', ann)).status).toBe(200)
  })

  test('is shown by roles alone, in reads, counts and references', async () => {
    const permissions = { '*': { read: true }, user: { read: true }, owner: { read: true }, admin: true }
    const { send, post, id, token } = await open({ permissions })
    const seen = async (caller: object | null) => [
      (await send(`GET /users/${id}`, { caller: caller as never })).status,
      (await send('GET /users', { caller: caller as never })).body.length,
      (await send('GET /users/count', { caller: caller as never })).body.total,
    ]
    const others = [null, { id: 'x' }, { id }, { id: 'x', roles: ['editor'] }]
    for (const caller of others) expect(await seen(caller)).toEqual([404, 0, 0])
    expect(await seen(ADMIN)).toEqual([200, 1, 1])
    await post('verify', { token, current: ann.password })
    for (const caller of [...others, ADMIN]) expect(await seen(caller)).toEqual([200, 1, 1])
  })

  test('has no session that counts, once it is not verified any more', async () => {
    const { send, post, id, token } = await open()
    await post('verify', { token, current: ann.password })
    const { body } = await post('login', ann)
    expect((await send('GET /auth/me', { token: body.token })).status).toBe(200)
    await send(`PATCH /users/${id}`, { caller: ADMIN, body: { email: 'moved@example.org' } })
    const gone = await send('GET /auth/me', { token: body.token })
    expect(outcomeOf(gone)).toEqual([401, 'invalid_token'])
  })

  test('loses it where somebody names an identifier that they may not read, whatever it is', async () => {
    const desk = { read: { pick: ['name', 'verifiedAt'] }, update: { pick: ['email', 'name'] } }
    const { send, post, id, token } = await open({ permissions: { desk, admin: true } })
    await post('verify', { token, current: ann.password })
    const [verified, path] = [
      async () => (await send(`GET /users/${id}`, { caller: ADMIN })).body.verifiedAt,
      `PATCH /users/${id}`,
    ]
    await send(path, { caller: ADMIN, body: { email: ann.email } })
    expect(await verified()).toBeDefined()
    const guess = await send(path, { caller: { id: 'x', roles: ['desk'] }, body: { email: ann.email } })
    expect([guess.status, guess.body]).toEqual([200, { _id: id }])
    expect(await verified()).toBeUndefined()
  })

  test('is judged as it would be stored, by a check and by a hook', async () => {
    const check = { verifiedAt: { $exists: true } }
    const desk = { read: true, update: { pick: ['email', 'name'], check } }
    const heard: unknown[] = []
    const before = ({ after }: { after?: { verifiedAt?: string } | null }) => {
      heard.push(after?.verifiedAt)
    }
    const permissions = { desk, admin: true }
    const { send, post, id, token } = await open({ permissions }, { hooks: { users: { before } } })
    await post('verify', { token, current: ann.password })
    const [path, caller] = [`PATCH /users/${id}`, { id: 'x', roles: ['desk'] }]
    expect((await send(path, { caller, body: { name: 'Anna' } })).status).toBe(200)
    expect(outcomeOf(await send(path, { caller, body: { email: 'moved@example.org' } }))).toEqual([
      403,
      'forbidden',
    ])
    expect((await send(path, { caller: ADMIN, body: { email: 'moved@example.org' } })).status).toBe(200)
    expect(heard).toEqual([undefined, expect.any(String), expect.any(String), undefined])
  })

  test('is not created by a rule of everyone, and opened by a reset', async () => {
    const permissions = { '*': { create: { pick: ['name'] } }, admin: true }
    const { send, post, mail } = await open({ permissions })
    expect(outcomeOf(await send('POST /users', { body: bob }))).toEqual([401, 'unauthenticated'])
    expect(outcomeOf(await send('POST /users', { caller: { id: 'x' }, body: bob }))).toEqual([
      403,
      'forbidden',
    ])
    expect((await send('GET /', {})).body.collections).toEqual([])
    expect((await send('POST /users', { caller: ADMIN, body: bob })).status).toBe(201)
    expect(await mail.take()).toEqual([])
    await post('request-reset', { email: bob.email })
    const token = await mail.token()
    expect((await post('reset', { token, new: 'another secret' })).status).toBe(200)
    expect((await post('login', { ...bob, password: 'another secret' })).status).toBe(200)
  })
})

describe('a configuration', () => {
  const deliver = (): void => {}
  const users = '/collections/users'
  const faultsOf = (settings: Settings, options: object): readonly string[] => {
    try {
      createCollectionService(configOf(settings), undefined, {
        logger: { warn() {} },
        production: false,
        ...options,
      })
      return []
    } catch (thrown) {
      if (!(thrown instanceof ConfigError)) throw thrown
      return thrown.faults.map(({ path }) => path)
    }
  }
  const handle = { type: 'string', unique: true }
  const schemaOf = (verifiedAt: object): Settings => ({ schema: { verifiedAt } })

  const toUsers = { type: 'reference', collection: 'users' }
  const refused = [`${users}/permissions/*`]
  const REFERENCES: readonly (readonly [what: string, definition: object, faults: readonly string[]])[] = [
    ['holds its target', toUsers, refused],
    ['does so in a list', { type: 'array', items: toUsers }, refused],
    ['does so in an object', { type: 'object', properties: { club: toUsers } }, refused],
    ['must match it', { ...toUsers, onDelete: 'cascade', match: { name: 'name' } }, refused],
    ['goes with it', { ...toUsers, onDelete: 'cascade' }, []],
    ['leaves it', { ...toUsers, onDelete: 'unset' }, []],
  ]

  test.each<[what: string, settings: Settings, faults: readonly string[]]>([
    ['a field that is not there', { auth: { verifiedField: 'verified' } }, ['/auth/verifiedField']],
    ['a field of another type', { auth: { verifiedField: 'name' } }, ['/auth/verifiedField']],
    ['a required field', schemaOf({ type: 'timestamp', required: true }), ['/auth/verifiedField']],
    ['an immutable field', schemaOf({ type: 'timestamp', immutable: true }), ['/auth/verifiedField']],
    ['a unique field', schemaOf({ type: 'timestamp', unique: true }), ['/auth/verifiedField']],
    ['a field with a default', schemaOf({ type: 'timestamp', default: '$now' }), ['/auth/verifiedField']],
    ['a nullable field', schemaOf({ type: 'timestamp', nullable: true }), []],
    [
      'a rule that sets it',
      { permissions: { admin: { update: { set: { verifiedAt: '$now' } } } } },
      [`${users}/permissions/admin/update/set/verifiedAt`],
    ],
    [
      'verification that nothing holds',
      { auth: { verifiedField: undefined, requireVerified: true } },
      ['/auth/requireVerified'],
    ],
    ['all of it', REQUIRED, []],
    [
      'users who create accounts',
      { ...REQUIRED, permissions: { user: { create: true } } },
      [`${users}/permissions/user`],
    ],
    ['users who do not', { ...REQUIRED, permissions: { user: { create: false } } }, []],
    ...['*', 'user', 'owner'].map((subject): [string, Settings, readonly string[]] => [
      `${subject} may change the identifier`,
      { ...REQUIRED, permissions: { [subject]: { update: { omit: ['name'] } } } },
      [`${users}/permissions/${subject}`],
    ]),
    [
      'an identifier that is set',
      { ...REQUIRED, permissions: { owner: { update: { pick: ['name'], set: { email: 'x@x.org' } } } } },
      [`${users}/permissions/owner`],
    ],
    ['a role that may change it', { ...REQUIRED, permissions: { admin: { update: true } } }, []],
    [
      'another unique field at registration',
      {
        ...REQUIRED,
        schema: { handle },
        permissions: { '*': { create: { pick: ['handle'] } } },
        auth: { requireVerified: true, identifier: 'email' },
      },
      [`${users}/permissions/*`],
    ],
    [
      'one that registration sets',
      {
        schema: { handle },
        permissions: { '*': { create: { pick: [], set: { handle: 'x' } } } },
        auth: { requireVerified: true, identifier: 'email' },
      },
      [`${users}/permissions/*`],
    ],
    [
      'one with a default',
      {
        schema: { handle: { ...handle, default: 'x' } },
        auth: { requireVerified: true, identifier: 'email' },
      },
      [`${users}/schema/handle/default`],
    ],
    [
      'one where registration is closed',
      {
        schema: { handle: { ...handle, default: 'x' } },
        auth: { requireVerified: true, identifier: 'email', register: false },
      },
      [],
    ],
    ...REFERENCES.map(([what, definition, faults]): [string, Settings, readonly string[]] => [
      `a reference at registration that ${what}`,
      {
        ...REQUIRED,
        schema: { club: definition },
        permissions: { '*': { read: true, create: { pick: ['club', 'name'] } } },
      },
      faults,
    ]),
    [
      'one that registration does not take',
      { ...REQUIRED, schema: { club: toUsers }, permissions: { '*': { create: { pick: ['name'] } } } },
      [],
    ],
    ['no time at all', { auth: { resetMinutes: 0 } }, ['/auth/resetMinutes']],
  ])('with %s', (_, settings, faults) => {
    const { auth } = settings
    expect(
      faultsOf(auth ? { ...settings, auth: { verifiedField: 'verifiedAt', ...auth } } : settings, {
        deliver,
      }),
    ).toEqual(faults)
  })

  test('cannot require what nobody delivers', () => {
    expect(faultsOf(REQUIRED, {})).toEqual(['/auth/requireVerified'])
    expect(faultsOf({}, {})).toEqual([])
    expect(faultsOf({}, { deliver: 1, background: 1 })).toEqual(['options.deliver', 'options.background'])
  })
})
