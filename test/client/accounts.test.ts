import { describe, expect, test } from 'vitest'
import { createClient } from '../../src/client/client.js'
import { caught } from './support/service.js'

// CONTRACT.md §7, "The client"; §4, "Delivery"

interface Sent {
  readonly path: string
  readonly authorization: string | null
  readonly body: unknown
}

const SIGNED_IN = { user: { _id: 'u' }, token: 'new', expiresAt: '2026-11-20T08:00:00.000Z' }

/** A client that is signed in already, of a service that answers all alike. */
function setUp(status: number, body: unknown) {
  const sent: Sent[] = []
  const client = createClient('http://localhost/api', {
    token: 'old',
    async fetch(url, init) {
      const authorization = new Headers(init.headers).get('authorization')
      sent.push({ path: new URL(url).pathname, authorization, body: JSON.parse(String(init.body)) })
      return new Response(body === undefined ? null : JSON.stringify(body), { status })
    },
  })
  return { client, auth: client.auth, sent }
}

const ANN = { email: 'ann@example.com' }
const CHANGE = { current: 'correct horse', new: 'another horse' }
const VERIFY = { token: 'delivered', current: 'correct horse' }
const RESET = { token: 'delivered', new: 'another horse' }

describe('what is delivered', () => {
  test.each([
    ['request-reset', ANN, null, 202],
    ['request-verification', ANN, null, 202],
    ['verify', VERIFY, null, 204],
    ['change-identifier', CHANGE, 'Bearer old', 202],
  ] as const)(
    '%s gives nothing, and leaves the session as it is',
    async (way, body, authorization, status) => {
      const { client, auth, sent } = setUp(status, status === 204 ? undefined : {})
      const calls = {
        'request-reset': () => auth.requestReset(ANN),
        'request-verification': () => auth.requestVerification(ANN),
        verify: () => auth.verify(VERIFY),
        'change-identifier': () => auth.changeIdentifier(CHANGE),
      }
      expect(await calls[way]()).toBeUndefined()
      expect(sent).toEqual([{ path: `/api/auth/${way}`, authorization, body }])
      expect(client.token).toBe('old')
    },
  )

  test('a reset signs in, whatever session there was', async () => {
    const { client, auth, sent } = setUp(200, SIGNED_IN)
    expect(await auth.reset(RESET)).toEqual(SIGNED_IN)
    expect(sent).toEqual([{ path: '/api/auth/reset', authorization: null, body: RESET }])
    expect(client.token).toBe('new')
  })

  test('a changed secret signs in anew, by the session that there was', async () => {
    const { client, auth, sent } = setUp(200, SIGNED_IN)
    expect(await auth.changeSecret(CHANGE)).toEqual(SIGNED_IN)
    expect(sent).toEqual([{ path: '/api/auth/change-secret', authorization: 'Bearer old', body: CHANGE }])
    expect(client.token).toBe('new')
  })
})

describe('a registration', () => {
  test('signs in', async () => {
    const { client, auth } = setUp(201, SIGNED_IN)
    expect(await auth.register(ANN)).toEqual(SIGNED_IN)
    expect(client.token).toBe('new')
  })

  test('of a service that verifies first gives nothing, and leaves the session as it is', async () => {
    const { client, auth, sent } = setUp(202, {})
    expect(await auth.register(ANN)).toBeUndefined()
    expect(sent).toEqual([{ path: '/api/auth/register', authorization: null, body: ANN }])
    expect(client.token).toBe('old')
  })
})

test.each([
  ['login', 202, {}],
  ['login', 200, {}],
  ['reset', 202, {}],
  ['reset', 204, undefined],
  ['changeSecret', 200, { user: {} }],
  ['register', 201, {}],
  ['register', 200, '<html>'],
  ['requestReset', 200, '<html>'],
  ['requestVerification', 200, {}],
  ['verify', 200, {}],
  ['changeIdentifier', 200, {}],
] as const)('%s takes no answer of something else: %d %j', async (call, status, body) => {
  const { client, auth } = setUp(status, body)
  const asked = auth[call]({ ...ANN, ...CHANGE, ...VERIFY })
  expect(await caught(asked)).toMatchObject({ status, code: 'unexpected_answer' })
  expect(client.token).toBe('old')
})

test('a refused token is an error with its code', async () => {
  const { client, auth } = setUp(400, { code: 'invalid_delivered_token', detail: 'No.', status: 400 })
  for (const asked of [auth.reset(RESET), auth.verify(VERIFY)])
    expect(await caught(asked)).toMatchObject({ status: 400, code: 'invalid_delivered_token' })
  expect(client.token).toBe('old')
})

test('a call that is given up sends nothing', async () => {
  const { auth, sent } = setUp(202, {})
  const signal = AbortSignal.abort(new Error('enough'))
  for (const asked of [auth.requestReset(ANN, { signal }), auth.verify(VERIFY, { signal })])
    expect(await caught(asked)).toEqual(new Error('enough'))
  expect(sent).toEqual([])
})
