import { expect, test } from 'vitest'
import type * as AuthSessions from '../../src/core/accounts/sessions.js'
import type * as ClientAddress from '../../src/core/http/client-address.js'
import type * as Cors from '../../src/core/http/cors.js'
import type * as Identify from '../../src/core/http/identify.js'
import type * as SessionCookie from '../../src/core/http/session-cookie.js'
import { createCollectionService } from '../../src/index.js'
import {
  COOKIE_CONFIG,
  COOKIE_OPTIONS,
  checkCookies,
  checkIssued,
  checkThrottle,
  fetchEdge,
} from '../support/cookie-laws.js'
import { checkNonInterference } from '../support/laws.js'
import { createTestService } from '../support/service.js'
import { SIGNED_IN } from '../support/signed-in-worlds.js'
import { choose } from './choose.js'
import { createMutant, fails, type Mutant } from './create-mutant.js'

/** Cookies read, set and trusted where they should not be. */

const COOKIE = '../../src/core/http/session-cookie.js'

const breakModule =
  <T extends object>(break_: (real: T) => Partial<T>): Mutant[2] =>
  async (original) => {
    const real = (await original()) as T
    return { ...real, ...break_(real) }
  }

type Real = typeof SessionCookie
type Sent = Parameters<Real['isCrossSite']>[1]

/** The same request with other headers. */
const withHeaders = (
  request: Sent,
  change: (name: string, value: string | undefined) => string | undefined,
): Sent => ({
  method: request.method,
  ownOrigin: request.ownOrigin,
  header: (name) => change(name, request.header(name)),
})

const cookieMutant = (what: string, break_: (real: Real) => Partial<Real>): Mutant => [
  what,
  COOKIE,
  breakModule<Real>(break_),
]

const MUTANTS: readonly Mutant[] = [
  cookieMutant('a write may come from everywhere', () => ({ isCrossSite: () => false })),
  cookieMutant('reads may not come from elsewhere either', (real) => ({
    isCrossSite: (plan, request) =>
      real.isCrossSite(plan, { ...withHeaders(request, (_, value) => value), method: 'POST' }),
  })),
  cookieMutant('a write without Origin is trusted', (real) => ({
    isCrossSite: (plan, request) => request.header('origin') !== undefined && real.isCrossSite(plan, request),
  })),
  cookieMutant('a page of the same site is trusted', (real) => ({
    isCrossSite: (plan, request) =>
      real.isCrossSite(
        plan,
        withHeaders(request, (_, value) => (value === 'same-site' ? 'same-origin' : value)),
      ),
  })),
  cookieMutant('a page of which the browser says nothing is trusted', (real) => ({
    isCrossSite: (plan, request) =>
      real.isCrossSite(
        plan,
        withHeaders(request, (name, value) => (name === 'sec-fetch-site' && value === '' ? 'none' : value)),
      ),
  })),
  cookieMutant('the origin decides against what the browser says', (real) => ({
    isCrossSite: (plan, request) =>
      real.isCrossSite(
        plan,
        withHeaders(request, (name, value) => (name === 'sec-fetch-site' ? undefined : value)),
      ),
  })),
  cookieMutant('the service does not know its own origin', (real) => ({
    isCrossSite: (plan, request) =>
      real.isCrossSite(plan, { ...withHeaders(request, (_, value) => value), ownOrigin: undefined }),
  })),
  cookieMutant('trusted origins are not', (real) => ({
    isCrossSite: (plan, request) => real.isCrossSite({ ...plan, origins: new Set() }, request),
  })),
  cookieMutant('one of two cookies counts', (real) => ({
    readCookie(plan, request) {
      const [, token] = /__Host-session=([^;]*)/.exec(request.header('cookie') ?? '') ?? []
      return token === undefined ? real.readCookie(plan, request) : { name: plan.name, token }
    },
  })),
  cookieMutant('a cleared cookie has another path', (real) => ({
    clearCookie: (plan, ...others) => real.clearCookie({ ...plan, path: '/auth' }, ...others),
  })),
  cookieMutant('every login gets a cookie', (real) => ({
    issueCookie: (plan, { request }, ...others) =>
      real.issueCookie(plan, { request, renewed: { name: plan.name } }, ...others),
  })),
  cookieMutant('the token is in the body after a renewal', (real) => ({
    issueCookie: (plan, { request, renewed }, ...others) =>
      renewed ? undefined : real.issueCookie(plan, { request, renewed }, ...others),
  })),
  cookieMutant('local pages get the cookie of others', (real) => ({
    issueCookie: (plan, ...others) => real.issueCookie({ ...plan, bare: plan.name }, ...others),
  })),
  [
    'a session that has ended stays in its cookie',
    '../../src/core/accounts/sessions.js',
    breakModule<typeof AuthSessions>(() => ({ hasEnded: async () => false })),
  ],
  [
    'every write to accounts clears the cookie',
    '../../src/core/accounts/sessions.js',
    breakModule<typeof AuthSessions>((real) => ({
      ...real,
      endSession: async () => {},
      hasEnded: async () => true,
    })),
  ],
  [
    'the cookie comes before Authorization',
    '../../src/core/http/identify.js',
    breakModule<typeof Identify>((real) => ({
      createIdentify(...parts) {
        const identify = real.createIdentify(...parts)
        return (
          identify &&
          ((incoming, by) =>
            identify(
              incoming.header('cookie') === undefined
                ? incoming
                : Object.create(incoming, {
                    method: { value: incoming.method },
                    ownOrigin: { value: incoming.ownOrigin },
                    header: {
                      value: (name: string) => (name === 'authorization' ? undefined : incoming.header(name)),
                    },
                  }),
              by,
            ))
        )
      },
    })),
  ],
  [
    'routes that begin a session look at the cookie, and no others',
    '../../src/core/http/identify.js',
    breakModule<typeof Identify>((real) => ({
      createIdentify(...parts) {
        const identify = real.createIdentify(...parts)
        return identify && ((incoming, by) => identify(incoming, { ...by, ignoresCookie: !by.ignoresCookie }))
      },
    })),
  ],
  [
    'every origin of cors gets credentials',
    '../../src/core/http/cors.js',
    breakModule<typeof Cors>((real) => ({
      createCors: (cors) => real.createCors(cors, new Set(cors?.origins === '*' ? [] : cors?.origins)),
    })),
  ],
]

/** Sends one in eleven of all combinations. */
async function check(create: typeof createCollectionService): Promise<void> {
  const open = () => createTestService(COOKIE_CONFIG, { ...COOKIE_OPTIONS, create })
  await checkIssued(open())
  const service = open()
  await checkCookies(service, fetchEdge(service, 11))
}

test('the real cookies pass', async () => {
  await check(createCollectionService)
}, 60_000)

test.each(choose(MUTANTS))(
  '%s: noticed',
  async (...mutant) => {
    expect(await fails(createMutant(mutant).then(check))).toBe(true)
  },
  60_000,
)

const FROM_EVERYWHERE = MUTANTS.slice(0, 1)

test.each(choose(FROM_EVERYWHERE))(
  '%s: noticed by pages of other sites, of which some have a cookie that is no session',
  async (...mutant) => {
    const suite = createMutant(mutant).then((create) => checkNonInterference(2, create, undefined, SIGNED_IN))
    expect(await fails(suite)).toBe(true)
  },
  60_000,
)

const OF_THROTTLE: readonly Mutant[] = [
  [
    'failed logins count by cookie',
    '../../src/core/http/client-address.js',
    breakModule<typeof ClientAddress>((real) => ({
      readClient: (host, incoming) => incoming.header('cookie') ?? real.readClient(host, incoming),
    })),
  ],
]

test.each(choose(OF_THROTTLE))('%s: noticed', async (...mutant) => {
  expect(await fails(createMutant(mutant).then((create) => checkThrottle(8, create)))).toBe(true)
})
