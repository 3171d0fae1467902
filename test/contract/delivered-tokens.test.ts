import { inspect } from 'node:util'
import { describe, expect, test } from 'vitest'
import { createBcryptHasher } from '../../src/core/accounts/auth/hasher.js'
import {
  createCollectionService,
  createMemoryAdapter,
  type Delivery,
  type Hasher,
  type StorageAdapter,
} from '../../src/index.js'
import { createTestHasher } from '../../src/tools/testing/index.js'
import { faultsOf } from '../support/service.js'
import { closeAfterEach, useStorages } from '../support/storages.js'
import { until } from '../support/until.js'
import { outcomeOf } from './support/accounts.js'
import {
  ADMIN,
  ann,
  bob,
  configOf,
  createStage,
  HOUR,
  MINUTE,
  SCHEMA,
  type Settings,
  storedUser,
} from './support/verified-accounts.js'

// CONTRACT.md §4, "Delivery", "Reset", "Verification", "Changing the identifier"

const BAD = [400, 'invalid_delivered_token']
const WRONG = [401, 'invalid_credentials']

const storages = useStorages()
const opened = closeAfterEach()

describe.each(storages)('delivered tokens, in %s,', (_, create) => {
  /** A stage on which Ann has just registered; what was delivered to her by that is taken. */
  async function open(settings: Settings = {}, more: object = {}) {
    const stage = createStage(configOf(settings), create(), more)
    opened.push(stage.service)
    const { token, id } = await stage.register(ann)
    return { ...stage, id, session: token, verification: await stage.mail.token() }
  }
  const reset = async (stage: Awaited<ReturnType<typeof open>>) => {
    expect(outcomeOf(await stage.post('request-reset', { email: ann.email }))).toEqual([202, undefined])
    return stage.mail.token()
  }

  test('a reset puts a new secret in, once, and ends what was before', async () => {
    const stage = await open()
    const { post, send } = stage
    const [first, second] = [await reset(stage), await reset(stage)]
    const sent = await post('reset', { token: first, new: 'another secret' })
    expect([sent.status, sent.headers.get('cache-control')]).toEqual([200, 'no-store'])
    expect(Object.keys(sent.body)).toEqual(['user', 'token', 'expiresAt'])
    expect(outcomeOf(await send('GET /auth/me', { token: stage.session }))).toEqual([401, 'invalid_token'])
    expect((await send('GET /auth/me', { token: sent.body.token })).status).toBe(200)
    for (const token of [first, second])
      expect(outcomeOf(await post('reset', { token, new: 'a third secret' }))).toEqual(BAD)
    expect(outcomeOf(await post('login', ann))).toEqual(WRONG)
    expect((await post('login', { ...ann, password: 'another secret' })).status).toBe(200)
    // The token had reached the identifier.
    expect((await storedUser(stage, stage.id)).verifiedAt).toBe('2026-11-20T08:00:00.000Z')
  })

  test('a token for another identifier is not delivered once another of its kind was used', async () => {
    const inner = create()
    let meanwhile: (() => Promise<void>) | undefined
    const adapter: StorageAdapter = {
      ...inner,
      async write(steps, options) {
        const act = steps.some((step) => 'insert' in step && step.in === '_deliveries')
          ? meanwhile
          : undefined
        if (act) meanwhile = undefined
        await act?.()
        return inner.write(steps, options)
      },
    }
    const stage = createStage(configOf(), adapter)
    opened.push(stage.service)
    const { token: session } = await stage.register(ann)
    await stage.mail.take()
    const ask = (next: string) =>
      stage.post('change-identifier', { current: ann.password, new: next }, session)
    await ask('safe@example.org')
    const token = await stage.mail.token()
    meanwhile = async () => {
      expect((await stage.post('verify', { token, current: ann.password })).status).toBe(204)
    }
    await ask('third@example.org')
    expect(await stage.mail.kinds()).toEqual([`identifier-changing ${ann.email}`])
  })

  test('a verification takes the right secret, though its hash and the stamp change meanwhile', async () => {
    const adapter = create()
    const first = createStage(configOf(), adapter, { hasher: createTestHasher() })
    opened.push(first.service)
    await first.register(ann)
    const token = await first.mail.token()
    const { hash, verify } = createBcryptHasher(5)
    let meanwhile: (() => Promise<void>) | undefined
    const hasher: Hasher = {
      hash,
      async verify(...asked) {
        const isRight = await verify(...asked)
        const act = meanwhile
        meanwhile = undefined
        await act?.()
        return isRight
      },
    }
    const stage = createStage(configOf(), adapter, { hasher })
    opened.push(stage.service)
    meanwhile = async () => {
      const { token: session } = (await stage.post('login', ann)).body
      // Its hash is renewed behind the answer.
      await stage.mail.take()
      expect((await stage.send('POST /auth/logout-all', { token: session })).status).toBe(204)
    }
    expect((await stage.post('verify', { token, current: ann.password })).status).toBe(204)
  })

  test('a reset ends with the stamp, the identifier and its time, and is no other token', async () => {
    const stage = await open()
    const { post, send, clock } = stage
    const fails = async (token: string) =>
      expect(outcomeOf(await post('reset', { token, new: 'another secret' }))).toEqual(BAD)
    await fails(stage.verification)
    await fails(stage.session)
    const late = await reset(stage)
    clock.time += HOUR
    await fails(late)
    const stale = await reset(stage)
    const changed = await post('change-secret', { current: ann.password, new: 'a new one' }, stage.session)
    await fails(stale)
    clock.time += HOUR
    const left = await reset(stage)
    expect((await send('POST /auth/logout-all', { token: changed.body.token })).status).toBe(204)
    await fails(left)
    const moved = await reset(stage)
    const body = { email: 'other@example.org' }
    expect((await send(`PATCH /users/${stage.id}`, { caller: ADMIN, body })).status).toBe(200)
    await fails(moved)
  })

  test('a verification needs the secret, works once in a race, and the first time stays', async () => {
    const stage = await open()
    const { post, clock, mail } = stage
    const { verification: token } = stage
    const verify = (current: string, of = token) => post('verify', { token: of, current })
    expect(outcomeOf(await verify('wrong'))).toEqual(WRONG)
    expect((await storedUser(stage, stage.id)).verifiedAt).toBeUndefined()
    await post('request-verification', { email: ' ANN@example.org ' })
    const again = await mail.token()
    const sent = await Promise.all(Array.from({ length: 6 }, () => verify(ann.password)))
    expect(sent.map(({ status }) => status).sort()).toEqual([204, 400, 400, 400, 400, 400])
    expect(outcomeOf(await verify(ann.password, again))).toEqual(BAD)
    await post('request-verification', { email: ann.email })
    expect(await mail.take()).toEqual([])
    clock.time += MINUTE
    const { status } = await post('reset', { token: await reset(stage), new: 'another secret' })
    expect(status).toBe(200)
    expect((await storedUser(stage, stage.id)).verifiedAt).toBe('2026-11-20T08:00:00.000Z')
  })

  test('a new identifier is put in by the token that went there, and a notice goes to the old one', async () => {
    const stage = await open()
    const { post, send, mail, clock } = stage
    const { session } = stage
    const ask = (next: string, current = ann.password) =>
      post('change-identifier', { current, new: next }, session)
    expect(outcomeOf(await ask('new@example.org', 'wrong'))).toEqual(WRONG)
    expect(outcomeOf(await ask(' NEW@example.org'))).toEqual([202, undefined])
    const [notice, offer] = await mail.take()
    expect([notice?.kind, notice?.to, offer?.kind, offer?.to]).toEqual([
      'identifier-changing',
      ann.email,
      'new-identifier',
      'new@example.org',
    ])
    expect(Object.keys(notice ?? {})).toEqual(['kind', 'to', 'user'])
    const token = offer && 'token' in offer ? offer.token : ''
    expect((await send('GET /auth/me', { token: session })).body.email).toBe(ann.email)
    expect(outcomeOf(await post('reset', { token, new: 'another secret' }))).toEqual(BAD)
    clock.time += MINUTE
    expect((await post('verify', { token, current: ann.password })).status).toBe(204)
    expect((await send('GET /auth/me', { token: session })).body).toMatchObject({
      email: 'new@example.org',
      verifiedAt: '2026-11-20T08:01:00.000Z',
    })
    expect(outcomeOf(await post('verify', { token, current: ann.password }))).toEqual(BAD)
    // What went to the old one is of no use any more.
    expect(outcomeOf(await post('verify', { token: stage.verification, current: ann.password }))).toEqual(BAD)
    expect(outcomeOf(await post('login', ann))).toEqual(WRONG)
    // A taken one: the caller's own mail says the same.
    await stage.register(bob)
    await mail.take()
    expect(outcomeOf(await ask(bob.email))).toEqual([202, undefined])
    const kinds = await mail.kinds()
    expect(kinds).toEqual(['identifier-changing new@example.org', `already-registered ${bob.email}`])
  })

  test('who has no identifier any more gets one, and no notice goes elsewhere', async () => {
    // biome-ignore lint/suspicious/noExplicitAny: a configuration has any form
    const config: any = structuredClone(configOf({}))
    delete config.collections.users.schema.email.required
    const stage = createStage(config, create())
    opened.push(stage.service)
    const { token, id } = await stage.register(ann)
    await stage.mail.take()
    expect((await stage.send(`PATCH /users/${id}`, { caller: ADMIN, body: { email: null } })).status).toBe(
      200,
    )
    const sent = await stage.post(
      'change-identifier',
      { current: ann.password, new: 'new@example.org' },
      token,
    )
    expect(outcomeOf(sent)).toEqual([202, undefined])
    expect(await stage.mail.kinds()).toEqual(['new-identifier new@example.org'])
  })

  test('how long a notice takes does not tell, an hour later, who has the new identifier', async () => {
    const kindsOf = async (isTaken: boolean): Promise<readonly string[]> => {
      let pause = 0
      let told: string[] = []
      const deliver = ({ kind, to }: Delivery): void => {
        told.push(`${kind} ${to}`)
        if (kind === 'identifier-changing') stage.clock.time += pause
      }
      const stage = createStage(configOf(), create(), { deliver })
      opened.push(stage.service)
      const { post, mail, clock } = stage
      const { token } = await stage.register(ann)
      if (isTaken) await stage.register(bob)
      const ask = async (next: string) => {
        await mail.take()
        told = []
        await post('change-identifier', { current: ann.password, new: next }, token)
        await mail.take()
      }
      const began = clock.time
      pause = 5000
      await ask(bob.email)
      pause = 0
      await ask('2@example.org')
      await ask('3@example.org')
      clock.time = began + HOUR + 1000
      await ask('4@example.org')
      return told
    }
    expect(await kindsOf(true)).toEqual(await kindsOf(false))
  })

  test('a new identifier that is taken meanwhile is not put in, nor behind a new secret', async () => {
    const stage = await open()
    const { post, mail, session } = stage
    const offered = async (next: string) => {
      await post('change-identifier', { current: ann.password, new: next }, session)
      const offer = (await mail.take()).find(({ kind }) => kind === 'new-identifier')
      return offer && 'token' in offer ? offer.token : ''
    }
    const [token, other] = [await offered(bob.email), await offered('free@example.org')]
    await stage.register(bob)
    expect(outcomeOf(await post('verify', { token, current: ann.password }))).toEqual(BAD)
    await post('change-secret', { current: ann.password, new: 'another secret' }, session)
    expect(outcomeOf(await post('verify', { token: other, current: 'another secret' }))).toEqual(BAD)
  })

  test('a new identifier that the configuration no longer takes is not put in', async () => {
    for (const [changed, next] of [
      [{ email: { ...SCHEMA.email, pattern: '^ann' } }, 'new@example.org'],
      [{ email: { ...SCHEMA.email, lowercase: false } }, 'New@example.org'],
      [{ email: { ...SCHEMA.email, immutable: true } }, 'new@example.org'],
    ] as const) {
      const isLoose = next !== next.toLowerCase()
      const [before, after] = isLoose ? [changed, {}] : [{}, changed]
      const adapter = create()
      const former = createStage(configOf({ schema: before }), adapter)
      const { token: session } = await former.register(ann)
      await former.mail.take()
      await former.post('change-identifier', { current: ann.password, new: next }, session)
      const token = (await former.mail.take()).flatMap((one) => ('token' in one ? [one.token] : []))[0]
      const stage = createStage(configOf({ schema: after }), adapter)
      opened.push(stage.service)
      expect(outcomeOf(await stage.post('verify', { token: `${token}`, current: ann.password }))).toEqual(BAD)
      expect((await stage.post('login', ann)).status).toBe(200)
    }
  })

  test('what an old secret has opened stays closed, though the host kept the accounts when it changed', async () => {
    const adapter = create()
    const stage = createStage(configOf(), adapter)
    const { token: session, id } = await stage.register(ann)
    await stage.mail.take()
    await stage.post('request-reset', { email: ann.email })
    const token = await stage.mail.token()
    const options = { deliver: undefined, background: undefined, authenticate: () => ADMIN }
    const hosted = createStage(configOf(), adapter, options)
    opened.push(stage.service)
    const body = { password: 'another secret' }
    expect((await hosted.send(`PATCH /users/${id}`, { body })).status).toBe(200)
    expect(outcomeOf(await stage.send('GET /auth/me', { token: session }))).toEqual([401, 'invalid_token'])
    expect(outcomeOf(await stage.post('reset', { token, new: 'a third secret' }))).toEqual(BAD)
    expect((await stage.post('login', { ...ann, ...body })).status).toBe(200)
  })

  test('deliveries are three an hour, and who asks learns nothing of it', async () => {
    const stage = await open()
    const { post, mail, clock } = stage
    for (let i = 0; i < 8; i++) {
      expect((await post('request-reset', { email: ann.email })).status).toBe(202)
      expect((await post('request-reset', { email: `nobody${i}@example.org` })).status).toBe(202)
    }
    expect(await mail.kinds()).toEqual(Array(3).fill(`reset ${ann.email}`))
    clock.time += HOUR
    await post('request-reset', { email: ann.email })
    expect(await mail.kinds()).toEqual([`reset ${ann.email}`])
    const statuses: number[] = []
    for (let i = 0; i < 22; i++)
      statuses.push((await post('request-reset', { email: 'x' }, undefined, 'one')).status)
    expect(statuses).toEqual([...Array(20).fill(202), 429, 429])
    expect((await post('request-verification', { email: 'x' }, undefined, 'another')).status).toBe(202)
    const refused = await post('request-verification', { email: 'x' }, undefined, 'one')
    expect([refused.status, refused.headers.get('retry-after')]).toEqual([429, '3600'])
  })

  test('the service alone says who is verified, and a new identifier is not', async () => {
    const permissions = { owner: { read: true, update: true } }
    const stage = await open({ permissions: { ...permissions, admin: true } })
    const { send, id, session: token } = stage
    const body = { name: 'Ann', verifiedAt: '2020-01-01T00:00:00.000Z' }
    const patched = await send(`PATCH /users/${id}`, { token, body })
    expect([patched.headers.get('ignored-properties'), patched.body.verifiedAt]).toEqual([
      '"verifiedAt"',
      undefined,
    ])
    expect(
      (await send('POST /users', { caller: ADMIN, body: { ...bob, ...body } })).body.verifiedAt,
    ).toBeUndefined()
    expect((await stage.post('verify', { token: stage.verification, current: ann.password })).status).toBe(
      204,
    )
    const at = '2026-11-20T08:00:00.000Z'
    const replaced = await send(`PUT /users/${id}`, { token, body: { email: ann.email, name: 'A' } })
    expect(replaced.body).toMatchObject({ name: 'A', verifiedAt: at })
    const removed = await send(`PATCH /users/${id}`, { token, body: { verifiedAt: null, name: 'B' } })
    expect(removed.body.verifiedAt).toBe(at)
    const moved = await send(`PATCH /users/${id}`, { token, body: { email: 'moved@example.org' } })
    expect([moved.status, moved.body.verifiedAt]).toEqual([200, undefined])
  })
})

test('a delivery that never ends is said to be one', async () => {
  const users = {
    schema: { email: { type: 'string', unique: true, lowercase: true }, password: { type: 'hash' } },
  }
  const errors: string[] = []
  const handler = createCollectionService(
    {
      collections: { users: { ...users, permissions: { owner: { read: true } } } },
      limits: { requestSeconds: 1 },
    } as never,
    createMemoryAdapter(),
    {
      hasher: createTestHasher(),
      deliver: () => new Promise<void>(() => {}),
      logger: { error: (...told) => errors.push(inspect(told)) },
    },
  )
  for (const [way, sent] of [
    ['register', ann],
    ['request-reset', { email: ann.email }],
  ] as const)
    await handler(new Request(`http://a.test/auth/${way}`, { method: 'POST', body: JSON.stringify(sent) }))
  await until(() => errors.length > 0, 'an error', 20)
  expect(errors[0]).toContain('options.deliver did not finish in time')
  await handler.close()
})

describe('the routes of deliveries', () => {
  const PATHS = ['request-reset', 'reset', 'request-verification', 'verify', 'change-identifier']
  const found = async (stage: ReturnType<typeof createStage>) => {
    const statuses = await Promise.all(PATHS.map(async (path) => (await stage.post(path, {})).status))
    const named = (await stage.send('GET /')).body.auth
    expect(PATHS.map((path) => named.includes(`/auth/${path}`))).toEqual(
      statuses.map((status) => status !== 404),
    )
    return PATHS.filter((_, i) => statuses[i] !== 404)
  }

  test('are there where something can be delivered, and verified', async () => {
    expect(await found(createStage(configOf()))).toEqual(PATHS)
    expect(await found(createStage(configOf({ auth: { verifiedField: undefined } })))).toEqual([
      'request-reset',
      'reset',
    ])
    expect(await found(createStage(configOf(), undefined, { deliver: undefined }))).toEqual([])
  })

  test.each<[string, object, readonly string[]]>([
    ['request-reset', {}, ['/email']],
    ['request-reset', { email: 1 }, ['/email']],
    ['request-reset', { email: 'x', name: 'x' }, ['/name']],
    ['request-verification', { email: null }, ['/email']],
    ['reset', { token: 'x' }, ['/new']],
    ['reset', { token: 1, new: 'long enough' }, ['/token']],
    ['reset', { token: 'x', new: 'x' }, ['/new']],
    ['reset', { token: 'x', new: 'ä'.repeat(37) }, ['/new']],
    ['reset', { token: 'x', new: `secret${'\u0000'}` }, ['/new']],
    ['verify', { token: 'x' }, ['/current']],
    ['verify', { token: 'x', current: 'x', new: 'x' }, ['/new']],
    ['change-identifier', { current: 'x', new: 'no address' }, ['/new']],
    ['change-identifier', { current: 'x', new: `a${'\u0000'}@example.org` }, ['/new']],
    ['change-identifier', { current: 'x' }, ['/new']],
  ])('POST /auth/%s %j is a fault at %j', async (path, body, faults) => {
    const stage = createStage(configOf())
    const { token } = await stage.register(ann)
    const sent = await stage.post(path, body, token)
    expect([sent.status, Object.keys(faultsOf(sent))]).toEqual([400, faults])
  })

  test('hash nothing for a token that does not count', async () => {
    let hashed = 0
    const hasher: Hasher = {
      async hash(secret) {
        hashed += 1
        return secret
      },
      async verify(secret, hash) {
        hashed += 1
        return secret === hash
      },
    }
    const stage = createStage(configOf(), undefined, { hasher })
    await stage.register(ann)
    const token = await stage.mail.token()
    hashed = 0
    for (const bad of ['', 'x', token.slice(1), token + token, `${token} `, 'A'.repeat(43)])
      for (const [path, rest] of [
        ['reset', { new: 'another secret' }],
        ['verify', { current: ann.password }],
      ] as const)
        expect(outcomeOf(await stage.post(path, { token: bad, ...rest }))).toEqual(BAD)
    expect(hashed).toBe(0)
  })

  test('an identifier that nobody may change is not changed here', async () => {
    const email = { type: 'string', unique: true, immutable: true, required: true }
    const password = { type: 'hash', required: true, immutable: true }
    const stage = createStage(configOf({ schema: { email, password } }))
    const { token } = await stage.register(ann)
    await stage.mail.take()
    const body = { current: ann.password, new: 'new@example.org' }
    expect(faultsOf(await stage.post('change-identifier', body, token))).toEqual({ '/new': 'immutable' })
    // A secret is: not what the account is, but what opens it.
    expect((await stage.post('change-secret', { ...body, new: 'another secret' }, token)).status).toBe(200)
    await stage.post('request-reset', { email: ann.email })
    const sent = await stage.post('reset', { token: await stage.mail.token(), new: 'a third secret' })
    expect(sent.status).toBe(200)
  })

  test('a notice that has no place keeps the rest back', async () => {
    const stage = createStage(configOf())
    const { token } = await stage.register(ann)
    await stage.register(bob)
    await stage.mail.take()
    const ask = (next: string) => stage.post('change-identifier', { current: ann.password, new: next }, token)
    for (const next of ['a@x.org', bob.email, 'b@x.org']) await ask(next)
    expect((await stage.mail.kinds()).filter((kind) => kind.startsWith('identifier'))).toHaveLength(3)
    for (const next of ['c@x.org', bob.email]) expect((await ask(next)).status).toBe(202)
    expect(await stage.mail.kinds()).toEqual([])
  })
})
