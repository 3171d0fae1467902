import { createHash } from 'node:crypto'
import { expect, test } from 'vitest'
import { createMemoryAdapter } from '../../src/index.js'
import {
  type AccountService,
  type Answered,
  config,
  openAccountService,
  strictConfig,
} from './support/account-service.js'
import { createFailingAdapter, FAILURES, type Failure } from './support/failing-adapter.js'

// CONTRACT.md §4, "Delivery", "Reset", "Verification", "Changing the identifier", "Changing the secret"; §6

/**
 * Each flow of an account, with each of its calls of the storage failing in each way: the account is then as
 * before or as behind, and can do the same again.
 */

const [OLD, NEXT] = ['correct horse', 'another horse']

/** Cheap, because thousands are made. */
const digest = (secret: string): string => createHash('sha256').update(secret).digest('hex')
const hasher = {
  hash: async (secret: string) => digest(secret),
  verify: async (secret: string, hash: string) => digest(secret) === hash,
}

/** An account, each time another one, and what is there of it before a flow. */
interface Account {
  readonly email: string
  /** The identifier that it may get. */
  readonly other: string
  readonly session?: string | undefined
  readonly token?: string
}

/** What can be seen of an account: the credentials that sign in, and whether the first session lives. */
type State = readonly ('old' | 'new' | 'other' | 'session')[]

interface Flow {
  /** Whether accounts count only once they are verified. */
  readonly isStrict?: boolean
  prepare?(own: AccountService, account: Account): Promise<Partial<Account>>
  request(account: Account): readonly [way: string, body?: object | undefined, token?: string | undefined]
  /** The status of the request where it is done. */
  readonly done: number
  readonly before: State
  readonly behind: State
  /** The status of the same request once more, where it was done. */
  readonly again: number
  /** What must work whatever has failed before. */
  followUp?(own: AccountService, account: Account): Promise<void>
}

const signUp = async (own: AccountService, { email }: Account): Promise<Partial<Account>> => ({
  session: (await own.post('register', { email, password: OLD })).token,
})

/** Who has forgotten the secret gets another one. */
async function resetOnce(own: AccountService, { email }: Account): Promise<void> {
  await own.settle()
  own.messages.length = 0
  await own.post('request-reset', { email })
  const reset = { token: await own.delivered('reset'), new: NEXT }
  expect((await own.post('reset', reset)).status).toBe(200)
}

/** Who has registered gets verified. */
async function verifyOnce(own: AccountService, { email }: Account): Promise<void> {
  await own.settle()
  own.messages.length = 0
  await own.post('request-verification', { email })
  const verification = { token: await own.delivered('verification'), current: OLD }
  expect((await own.post('verify', verification)).status).toBe(204)
}

const SIGNED_UP = { prepare: signUp, before: ['old', 'session'] } as const

const FLOWS: { readonly [name: string]: Flow } = {
  register: {
    request: ({ email }) => ['register', { email, password: OLD }],
    done: 201,
    again: 409,
    before: [],
    behind: ['old'],
  },
  'register, to be verified first': {
    isStrict: true,
    request: ({ email }) => ['register', { email, password: OLD }],
    done: 202,
    again: 202,
    before: [],
    behind: [],
    followUp: verifyOnce,
  },
  login: {
    ...SIGNED_UP,
    request: ({ email }) => ['login', { email, password: OLD }],
    done: 200,
    again: 200,
    behind: ['old', 'session'],
  },
  'a login with a wrong secret': {
    ...SIGNED_UP,
    request: ({ email }) => ['login', { email, password: NEXT }],
    done: 401,
    again: 401,
    behind: ['old', 'session'],
  },
  logout: {
    ...SIGNED_UP,
    request: ({ session }) => ['logout', undefined, session],
    done: 204,
    again: 401,
    behind: ['old'],
  },
  'logout-all': {
    ...SIGNED_UP,
    request: ({ session }) => ['logout-all', undefined, session],
    done: 204,
    again: 401,
    behind: ['old'],
  },
  'change-secret': {
    ...SIGNED_UP,
    request: ({ session }) => ['change-secret', { current: OLD, new: NEXT }, session],
    done: 200,
    again: 401,
    behind: ['new'],
  },
  'request-reset': {
    ...SIGNED_UP,
    request: ({ email }) => ['request-reset', { email }],
    done: 202,
    again: 202,
    behind: ['old', 'session'],
    followUp: resetOnce,
  },
  reset: {
    async prepare(own, account) {
      const signedUp = await signUp(own, account)
      await own.post('request-reset', { email: account.email })
      return { ...signedUp, token: await own.delivered('reset') }
    },
    request: ({ token }) => ['reset', { token, new: NEXT }],
    done: 200,
    again: 400,
    before: ['old', 'session'],
    behind: ['new'],
    followUp: resetOnce,
  },
  'request-verification': {
    isStrict: true,
    async prepare(own, account) {
      await signUp(own, account)
      await own.delivered('verification')
      return {}
    },
    request: ({ email }) => ['request-verification', { email }],
    done: 202,
    again: 202,
    before: [],
    behind: [],
  },
  verify: {
    isStrict: true,
    async prepare(own, account) {
      await signUp(own, account)
      return { token: await own.delivered('verification') }
    },
    request: ({ token }) => ['verify', { token, current: OLD }],
    done: 204,
    again: 400,
    before: [],
    behind: ['old'],
  },
  'change-identifier': {
    ...SIGNED_UP,
    request: ({ session, other }) => ['change-identifier', { current: OLD, new: other }, session],
    done: 202,
    again: 202,
    behind: ['old', 'session'],
  },
  'verify a new identifier': {
    async prepare(own, account) {
      const { session } = await signUp(own, account)
      await own.post('change-identifier', { current: OLD, new: account.other }, session)
      return { session, token: await own.delivered('new-identifier') }
    },
    request: ({ token }) => ['verify', { token, current: OLD }],
    done: 204,
    again: 400,
    before: ['old', 'session'],
    behind: ['other', 'session'],
  },
}

const isSame = (one: State, other: State): boolean => one.join() === other.join()

async function readState(own: AccountService, { email, other, session }: Account): Promise<State> {
  const signsIn = async (body: object): Promise<boolean> => (await own.post('login', body)).status === 200
  return [
    ...((await signsIn({ email, password: OLD })) ? ['old' as const] : []),
    ...((await signsIn({ email, password: NEXT })) ? ['new' as const] : []),
    ...((await signsIn({ email: other, password: OLD })) ? ['other' as const] : []),
    ...((await own.isSignedIn(session)) ? ['session' as const] : []),
  ]
}

/** A process whose storage fails, and another one that is sound, over one memory. */
async function open({ isStrict = false }: Flow) {
  const memory = createMemoryAdapter()
  const options = { config: isStrict ? strictConfig : config, hasher }
  const adapter = createFailingAdapter(memory)
  const own = openAccountService(memory, options)
  const failing = openAccountService(adapter, {
    ...options,
    deliver() {
      if (adapter.isStopped()) throw new Error('it sends nothing out any more')
    },
  })
  await failing.handler.ready()
  return { own, adapter, failing }
}

type Opened = Awaited<ReturnType<typeof open>>

/** Runs a flow of which one call fails, judges what is left, and does it again; false where no call was left to fail. */
async function fail(flow: Flow, opened: Opened, nth: number, failure: Failure): Promise<boolean> {
  const { own, adapter, failing } = opened
  const named = { email: `${failure} ${nth}@example.com`, other: `${failure} ${nth}@other.example.com` }
  await own.settle()
  own.messages.length = 0
  const account: Account = { ...named, ...(await flow.prepare?.(own, named)) }
  await own.settle()
  failing.messages.length = 0
  adapter.arm(nth, failure)
  const answer = await failing.post(...flow.request(account))
  await failing.settle()
  if (!adapter.hasFailed()) {
    expect(answer.status).toBe(flow.done)
    return false
  }
  const state = await readState(own, account)
  const isDone = isSame(state, flow.behind)
  if (!isDone) expect(state).toEqual(flow.before)
  if (!adapter.isStopped()) judge(answer, flow, isDone)
  const isOneState = isSame(flow.before, flow.behind)
  const { status } = await own.post(...flow.request(account))
  expect(isOneState ? [flow.done, flow.again] : [isDone ? flow.again : flow.done]).toContain(status)
  await useDelivered(own, failing)
  await flow.followUp?.(own, account)
  return true
}

/** Whatever went out counts. */
async function useDelivered(own: AccountService, { messages }: AccountService): Promise<void> {
  for (const message of messages) {
    if (message.kind !== 'reset' && message.kind !== 'verification') continue
    const { token } = message
    const [way, body] =
      message.kind === 'reset' ? ['reset', { token, new: OLD }] : ['verify', { token, current: OLD }]
    expect((await own.post(way, body)).status).toBeLessThan(300)
    return
  }
}

/** An error that says that nothing was done is right; one that says that it is not known may be either. */
function judge({ status, code, token }: Answered, flow: Flow, isDone: boolean): void {
  if (status !== 503) {
    expect([status, isDone]).toEqual([flow.done, true])
    return
  }
  expect(['storage_unavailable', 'outcome_unknown']).toContain(code)
  expect(token).toBeUndefined()
  if (!isSame(flow.before, flow.behind) && code !== 'outcome_unknown') expect(isDone).toBe(false)
}

test.each(Object.entries(FLOWS))(
  '%s holds where a call of the storage fails, whichever it is',
  async (_, flow) => {
    const opened = await open(flow)
    for (const failure of FAILURES) {
      let nth = 1
      while (await fail(flow, opened, nth, failure)) nth += 1
      // A flow that asks the storage for nothing would show nothing.
      expect(nth).toBeGreaterThan(1)
    }
  },
)
