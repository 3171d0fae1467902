import { describe, expect, test } from 'vitest'
import { rounds } from '../support/tier.js'
import { type AccountService, type Answered, config, openAccountService } from './support/account-service.js'
import { connect, engines, type Store } from './support/stores.js'
import { runTogether, startWorker, useWorkers } from './support/workers.js'

// CONTRACT.md §4, "Delivery", "Reset", "Changing the secret", "Changing the identifier", "Login"

/** Accounts of one store, in several processes at once. */

const workers = useWorkers(4)

const ANN = { email: 'ann@example.com', password: 'correct horse' }
const NEXT = 'another horse'
const BAD_TOKEN = '400 invalid_delivered_token'

interface Request {
  readonly way: string
  readonly body: object
  readonly token?: string | undefined
}

const nameOf = ({ status, code }: Answered): string => (status < 400 ? String(status) : `${status} ${code}`)

/** How often each answer came. */
function countAnswers(answers: readonly Answered[]): { readonly [answer: string]: number } {
  const tally: { [answer: string]: number } = {}
  for (const answer of answers) tally[nameOf(answer)] = (tally[nameOf(answer)] ?? 0) + 1
  return tally
}

/** Sends requests of each process, all of them at once. */
async function askTogether(
  store: Store,
  requestsOf: (place: number) => readonly Request[],
  clientOf: (place: number) => string | undefined = () => undefined,
): Promise<readonly (readonly Answered[])[]> {
  return runTogether<readonly Answered[]>(workers, 'ask', (place) => ({
    config,
    store,
    requests: requestsOf(place),
    client: clientOf(place),
  }))
}

const repeat = (times: number, request: Request): readonly Request[] =>
  Array.from({ length: times }, () => request)

describe.each(engines)('%s', (_, useStores) => {
  const stores = useStores()

  async function open(): Promise<{ store: Store; service: AccountService; session: string | undefined }> {
    const store = stores.create()
    const service = openAccountService(connect(store))
    const { token } = await service.post('register', ANN)
    return { store, service, session: token }
  }

  test('a token for a new secret counts once, however many processes use it', {
    timeout: 60_000,
  }, async () => {
    const { store, service, session } = await open()
    await service.post('request-reset', { email: ANN.email })
    const body = { token: await service.delivered('reset'), new: NEXT }
    const answers = (await askTogether(store, () => repeat(8, { way: 'reset', body }))).flat()
    expect(countAnswers(answers)).toEqual({ '200': 1, [BAD_TOKEN]: 31 })
    const [signedIn] = answers.filter(({ status }) => status === 200)
    expect(await service.isSignedIn(signedIn?.token)).toBe(true)
    expect(await service.isSignedIn(session)).toBe(false)
    expect(nameOf(await service.post('login', ANN))).toBe('401 invalid_credentials')
    await service.handler.close()
  })

  test('no session of an old secret is left, however many log in while it changes', {
    timeout: 60_000,
  }, async () => {
    for (let round = 0; round < rounds(2, 10); round++) {
      const { store, service, session } = await open()
      const change = { way: 'change-secret', body: { current: ANN.password, new: NEXT }, token: session }
      const logins = repeat(10, { way: 'login', body: ANN })
      const [changed = [], ...others] = await askTogether(store, (place) => (place === 0 ? [change] : logins))
      expect(changed.map(nameOf)).toEqual(['200'])
      const answers = others.flat()
      expect(answers).toHaveLength(30)
      for (const answer of answers) {
        expect(['200', '401 invalid_credentials']).toContain(nameOf(answer))
        expect(await service.isSignedIn(answer.token)).toBe(false)
      }
      expect(await service.isSignedIn(changed[0]?.token)).toBe(true)
      expect(nameOf(await service.post('login', { ...ANN, password: NEXT }))).toBe('200')
      await service.handler.close()
    }
  })

  test('guesses in four processes get no more tries than one process allows', {
    timeout: 60_000,
  }, async () => {
    const { store, service } = await open()
    const wrong = repeat(50, { way: 'login', body: { ...ANN, password: 'wrong horse' } })
    const client = '203.0.113.1'
    const answers = (
      await askTogether(
        store,
        () => wrong,
        () => client,
      )
    ).flat()
    expect(countAnswers(answers)).toEqual({ '401 invalid_credentials': 10, '429 too_many_attempts': 190 })
    // Not with the right secret either, in none of them.
    const right = (
      await askTogether(
        store,
        () => [{ way: 'login', body: ANN }],
        () => client,
      )
    ).flat()
    expect(countAnswers(right)).toEqual({ '429 too_many_attempts': 4 })
    // The same from four clients: ten each, and a client with another address gets in.
    const more = (
      await askTogether(
        store,
        () => wrong,
        (place) => `203.0.113.${10 + place}`,
      )
    ).flat()
    expect(countAnswers(more)).toEqual({ '401 invalid_credentials': 40, '429 too_many_attempts': 160 })
    const [others] = await askTogether(
      store,
      () => [{ way: 'login', body: ANN }],
      (place) => `203.0.113.${20 + place}`,
    )
    expect(others?.map(nameOf)).toEqual(['200'])
    await service.handler.close()
  })

  test('of a new identifier and a new secret by older tokens one wins, and what it began holds', {
    timeout: 60_000,
  }, async () => {
    for (let round = 0; round < rounds(3, 20); round++) {
      const { store, service, session } = await open()
      const verification = await service.delivered('verification')
      await service.post('change-identifier', { current: ANN.password, new: 'new@example.com' }, session)
      const change = await service.delivered('new-identifier')
      await service.post('request-reset', { email: ANN.email })
      const reset = await service.delivered('reset')
      const verify = (token: string) => ({ way: 'verify', body: { token, current: ANN.password } })
      const requests = [
        [verify(change)],
        [{ way: 'reset', body: { token: reset, new: NEXT } }],
        [verify(verification)],
      ]
      const [[renamed], [replaced], [verified]] = (await askTogether(
        store,
        (place) => requests[place] ?? [],
      )) as [[Answered], [Answered], [Answered]]
      const isRenamed = renamed.status === 204
      // The token of the one ends with the other: by the identifier, or by the stamp.
      expect(isRenamed ? nameOf(replaced) : replaced.status, nameOf(renamed)).toBe(
        isRenamed ? BAD_TOKEN : 200,
      )
      // The token of the old identifier counts before it, or not at all; its secret may be an old one by then.
      expect(['204', BAD_TOKEN, '401 invalid_credentials']).toContain(nameOf(verified))
      const outcomes = []
      for (const email of [ANN.email, 'new@example.com'])
        for (const password of [ANN.password, NEXT])
          outcomes.push((await service.post('login', { email, password })).status)
      expect(outcomes).toEqual(isRenamed ? [401, 401, 200, 401] : [401, 200, 401, 401])
      for (const token of [change, verification])
        expect(
          nameOf(await service.post('verify', { token, current: isRenamed ? ANN.password : NEXT })),
        ).toMatch(isRenamed || token === change ? BAD_TOKEN : /^204$|^400 invalid_delivered_token$/)
      await service.handler.close()
    }
  })
})

describe.each(engines)('%s, after a kill,', (_, useStores) => {
  const stores = useStores()

  test('has each secret whole, and no session of an older one', { timeout: 120_000 }, async () => {
    for (let round = 0; round < rounds(2, 20); round++) {
      const store = stores.create()
      const worker = startWorker()
      worker.begin('replaceSecrets', { config, store, before: ANN.password, after: NEXT })
      await worker.printed(/^serving$/)
      const least = 1 + Math.floor(Math.random() * 3)
      for (let i = 0; i < least; i++) await worker.printed(/^acknowledged /)
      await new Promise((resolve) => setTimeout(resolve, Math.random() * 60))
      await worker.kill()
      const told = (word: string): readonly string[] =>
        worker.lines().filter((line) => line.startsWith(`${word} `))
      const service = openAccountService(connect(store))
      const statusOf = async (email: string, password: string): Promise<number> =>
        (await service.post('login', { email, password })).status
      for (const line of told('acknowledged').slice(-3)) {
        const [, name, old] = line.split(' ')
        const email = `${name}@example.com`
        expect([await statusOf(email, ANN.password), await statusOf(email, NEXT)]).toEqual([401, 200])
        expect(await service.isSignedIn(old)).toBe(false)
      }
      // The one that was under way has either secret, its session lives with the old one, and it can begin again.
      const [, name = '', old] = told('registered').at(-1)?.split(' ') ?? []
      const email = `${name}@example.com`
      const isReplaced = (await statusOf(email, NEXT)) === 200
      expect(await statusOf(email, ANN.password)).toBe(isReplaced ? 401 : 200)
      expect(await service.isSignedIn(old)).toBe(!isReplaced)
      await service.post('request-reset', { email })
      const token = await service.delivered('reset')
      expect((await service.post('reset', { token, new: 'third horse' })).status).toBe(200)
      expect(await statusOf(email, 'third horse')).toBe(200)
      await service.handler.close()
    }
  })
})
