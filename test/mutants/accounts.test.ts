import { expect, test } from 'vitest'
import type * as Account from '../../src/core/accounts/account.js'
import type * as Deliveries from '../../src/core/accounts/auth/deliveries.js'
import type * as Ledger from '../../src/core/accounts/auth/ledger.js'
import type * as AuthSessions from '../../src/core/accounts/auth/sessions.js'
import type * as Deliver from '../../src/core/accounts/delivery/deliver.js'
import type * as Request from '../../src/core/accounts/delivery/request.js'
import type * as EndSessions from '../../src/core/accounts/end-sessions.js'
import type * as Login from '../../src/core/accounts/login.js'
import type * as Throttle from '../../src/core/accounts/throttle.js'
import type * as CompileClaims from '../../src/core/claims/config/compile-claims.js'
import { not } from '../../src/core/filter/filter.js'
import type * as SessionPage from '../../src/core/query/paging/session-page.js'
import { createCollectionService } from '../../src/index.js'
import { checkAccounts } from '../support/account-laws.js'
import { choose } from './choose.js'
import { createMutant, fails, type Mutant } from './create-mutant.js'

/** Accounts broken on purpose, each in a way in which services of this kind have been opened before. */

const AUTH_SESSIONS = '../../src/core/accounts/auth/sessions.js'
const SESSION_PAGE = '../../src/core/query/paging/session-page.js'
const END_SESSIONS = '../../src/core/accounts/end-sessions.js'
const DELIVERIES = '../../src/core/accounts/auth/deliveries.js'
const LEDGER = '../../src/core/accounts/auth/ledger.js'
const DELIVER = '../../src/core/accounts/delivery/deliver.js'
const REQUEST = '../../src/core/accounts/delivery/request.js'
const LOGIN = '../../src/core/accounts/login.js'
const ACCOUNT = '../../src/core/accounts/account.js'
const THROTTLE = '../../src/core/accounts/throttle.js'

/** A module of which some functions are others. */
const breakModule =
  <T extends object>(break_: (real: T) => Partial<T>) =>
  async (original: () => Promise<unknown>): Promise<object> => {
    const real = (await original()) as T
    return { ...real, ...break_(real) }
  }

let services = 0

const MUTANTS: readonly Mutant[] = [
  ['a token is not used up', DELIVERIES, breakModule<typeof Deliveries>(() => ({ useUp: () => [] }))],
  [
    'using a token leaves the others of its kind',
    DELIVERIES,
    breakModule<typeof Deliveries>((real) => ({ useUp: (token) => real.useUp(token).slice(0, 1) })),
  ],
  [
    'the stamp of a token is not compared',
    DELIVERIES,
    breakModule<typeof Deliveries>((real) => ({
      isBound: (token, account) => real.isBound(token, { ...account, stamp: token.stamp }),
    })),
  ],
  [
    'a token lives for ever',
    DELIVERIES,
    breakModule<typeof Deliveries>((real) => ({ readDelivered: (stored) => real.readDelivered(stored, 0) })),
  ],
  [
    'failures are counted process by process',
    THROTTLE,
    breakModule<typeof Throttle>((real) => ({
      createThrottle(options) {
        const { run } = real.createThrottle(options)
        const own = ` ${services++}`
        return {
          run: (by, from, attempt) => run(by, { ...from, identifier: from.identifier + own }, attempt),
        }
      },
    })),
  ],
  [
    'a success lifts what others have used up',
    LEDGER,
    breakModule<typeof Ledger>((real) => ({
      liftPlaces: (stored, { taker: _, ...ledger }, now) =>
        real.liftPlaces(stored, { ...ledger, taker: undefined }, now) ??
        (stored && real.takePlace({ ...stored, places: [] }, ledger, 0)),
    })),
  ],
  [
    'an account is looked up before the answer',
    REQUEST,
    breakModule<typeof Request>((real) => ({
      async requestToken(call, auth, request) {
        await call.store.own(auth.users.name).list({ limit: 1 })
        return real.requestToken(call, auth, request)
      },
    })),
  ],
  [
    'a notice goes out without a place',
    DELIVER,
    breakModule<typeof Deliver>((real) => ({
      async hasPlace(call, message, at) {
        await real.hasPlace(call, message, at)
        return true
      },
    })),
  ],
  [
    'a verification stays where an identifier is guessed',
    ACCOUNT,
    breakModule<typeof Account>((real) => ({
      unverify: (auth, before, fields) => real.unverify(auth, before, fields),
    })),
  ],
  [
    'sessions have no limit',
    END_SESSIONS,
    breakModule<typeof EndSessions>(() => ({ makeRoom: () => ({ steps: [] }) })),
  ],
  [
    'the newest sessions go',
    AUTH_SESSIONS,
    breakModule<typeof AuthSessions>((real) => ({ NEWEST_FIRST: real.SESSION_ORDER })),
  ],
  [
    'the sessions of others go, and are listed',
    AUTH_SESSIONS,
    breakModule<typeof AuthSessions>((real) => ({
      countingSessions: (_user, _stamp, now) => not(real.expiredAt(now)),
    })),
  ],
  [
    'a page of sessions leaves one out',
    SESSION_PAGE,
    breakModule<typeof SessionPage>((real) => ({
      writePlace: (place) => real.writePlace({ ...place, passed: place.passed + 2 }),
    })),
  ],
  [
    'who has the token has the secret',
    LOGIN,
    breakModule<typeof Login>((real) => ({
      verifySecret: async (call, auth, user, secret) =>
        user ? { user, isOnlyTyped: false } : real.verifySecret(call, auth, user, secret),
    })),
  ],
  [
    'an account that is not verified is shown',
    '../../src/core/query/where.js',
    breakModule<{ narrowWhere: (where: unknown) => unknown }>(() => ({ narrowWhere: (where) => where })),
  ],
  [
    'an account that is not verified gives a claim',
    '../../src/core/claims/config/compile-claims.js',
    breakModule<typeof CompileClaims>((real) => ({
      compileClaims: (written, scope, report) =>
        real.compileClaims(written, { ...scope, shownIf: null }, report),
    })),
  ],
  [
    'an account that is not verified counts',
    ACCOUNT,
    breakModule<{ counts: () => boolean }>(() => ({ counts: () => true })),
  ],
]

test('the real accounts pass', async () => {
  await checkAccounts(createCollectionService)
})

test.each(choose(MUTANTS))('%s: noticed', async (...mutant) => {
  expect(await fails(createMutant(mutant).then(checkAccounts))).toBe(true)
})
