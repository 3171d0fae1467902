import { expect } from 'vitest'
import type { createCollectionService, ForwardedOptions, forwardedAddress } from '../../src/index.js'
import { createTestService } from './service.js'

/** The parts of the library that the laws use. */
export interface Library {
  readonly createCollectionService: typeof createCollectionService
  readonly forwardedAddress: typeof forwardedAddress
}

const CONFIG = {
  collections: {
    users: {
      schema: { email: { type: 'string', unique: true, lowercase: true }, password: { type: 'hash' } },
      permissions: { owner: { read: true } },
    },
  },
}

const ANN = { email: 'ann@example.com', password: 'correct horse' }

/** The address of Ann, and that of somebody who guesses her secret. */
const ANN_IS_AT = '198.51.100.7'
const GUESSER = '203.0.113.66'

/** The proxies, the outermost first. */
const PROXIES = ['10.0.0.1', '10.0.0.2'] as const

/** How a request arrives: the entries of both headers, and the other end of the connection. */
interface Arrival {
  readonly entries: readonly string[]
  readonly connection: string
  /** The header that no proxy writes, as the client has sent it. */
  readonly other?: string
}

/** Sends a request through the first proxies. Each adds the address that it sees to what the client has sent. */
const through = (proxies: readonly string[], client: string, sent: readonly string[] = []): Arrival => {
  const passed = [client, ...proxies]
  return {
    entries: [...sent, ...passed.slice(0, -1)],
    connection: passed.at(-1) ?? client,
    ...(sent.length > 0 ? { other: sent.join(', ') } : {}),
  }
}

type Header = NonNullable<ForwardedOptions['header']>

const write = (header: Header, entries: readonly string[]): string =>
  entries
    .map((one) => (header === 'forwarded' ? `for=${one.includes(':') ? `"[${one}]"` : one}` : one))
    .join(', ')

/** A service behind proxies, with the account of Ann. */
async function createStage(
  { createCollectionService: create, forwardedAddress: find }: Library,
  options: ForwardedOptions,
) {
  const { header = 'x-forwarded-for' } = options
  const other = header === 'forwarded' ? 'x-forwarded-for' : 'forwarded'
  const address = (request: Request): string | null => request.headers.get('x-connection')
  const { register, send } = createTestService(CONFIG, {
    create,
    clientAddress: find({ ...options, address }),
  })
  await register(ANN)
  return async (password: string, arrival: Arrival): Promise<number> => {
    const headers = {
      'x-connection': arrival.connection,
      ...(arrival.entries.length > 0 ? { [header]: write(header, arrival.entries) } : {}),
      ...(arrival.other === undefined ? {} : { [other]: write(other, [arrival.other]) }),
    }
    return (await send('POST /auth/login', { body: { ...ANN, password }, headers })).status
  }
}

/** What somebody may write into the headers to be taken for another client at each attempt. */
const FORGED: readonly ((i: number) => readonly string[])[] = [
  () => [],
  (i) => [`192.0.2.${i}`],
  (i) => [`192.0.2.${i}`, `192.0.2.${i + 100}`, `192.0.2.${i + 200}`],
  (i) => [`2001:db8:${i}::1`],
  (i) => [ANN_IS_AT, PROXIES[0], `192.0.2.${i}`],
  (i) => [`192.0.2.${i}`, PROXIES[0]],
]

const SETUPS: readonly (readonly [options: ForwardedOptions, proxies: readonly string[]])[] = (
  ['x-forwarded-for', 'forwarded'] as const
).flatMap((header) => [
  [{ trust: 1, header }, PROXIES.slice(0, 1)],
  [{ trust: 2, header }, PROXIES],
  [{ trust: ['10.0.0.0/8'], header }, PROXIES],
  [{ trust: [...PROXIES], header }, PROXIES.slice(0, 1)],
])

/**
 * Ten wrong logins from one address lock out that address and no other one, and headers that its client has forged
 * change nothing (CONTRACT.md §7, "Addresses"). Throws on a counterexample.
 */
export async function checkAddresses(library: Library): Promise<void> {
  for (const [options, proxies] of SETUPS) {
    for (const forge of FORGED) {
      const what = `${JSON.stringify(options)}, forged: ${forge(1)}`
      const login = await createStage(library, options)
      const guess = (i: number): Promise<number> => login('wrong', through(proxies, GUESSER, forge(i)))
      for (let i = 0; i < 10; i++) expect(await guess(i), what).toBe(401)
      for (let i = 10; i < 13; i++) expect(await guess(i), what).toBe(429)
      expect(await login(ANN.password, through(proxies, ANN_IS_AT)), what).toBe(200)
      expect(await login('wrong', through(proxies, '203.0.113.67')), what).toBe(401)
    }
  }
}

/** Those who go around a proxy are counted by their connection. Throws on a counterexample. */
export async function checkDetours(library: Library): Promise<void> {
  const detours: readonly (readonly [ForwardedOptions, (i: number) => Arrival])[] = [
    // The list is too short for two proxies.
    [{ trust: 2 }, (i) => ({ entries: [`192.0.2.${i}`], connection: GUESSER })],
    [{ trust: 2 }, () => ({ entries: [], connection: GUESSER })],
    [{ trust: 1 }, () => ({ entries: ['unknown'], connection: GUESSER })],
    // The connection is no proxy.
    [{ trust: ['10.0.0.0/8'] }, (i) => ({ entries: [`192.0.2.${i}`], connection: GUESSER })],
    [{ trust: ['10.0.0.0/8'] }, (i) => ({ entries: [`192.0.2.${i}`, PROXIES[0]], connection: GUESSER })],
  ]
  for (const [options, arrive] of detours) {
    const what = JSON.stringify([options, arrive(1)])
    const login = await createStage(library, options)
    for (let i = 0; i < 10; i++) expect(await login('wrong', arrive(i)), what).toBe(401)
    expect(await login('wrong', arrive(10)), what).toBe(429)
    expect(await login(ANN.password, through(PROXIES, ANN_IS_AT)), what).toBe(200)
  }
}

/**
 * A header that nothing reads is warned of once, without its value, whatever the first request is that has it. Throws on
 * a counterexample.
 */
export async function checkWarning({ createCollectionService: create }: Library): Promise<void> {
  for (const header of ['x-forwarded-for', 'forwarded'])
    for (const line of ['GET /', 'GET /users', 'POST /auth/login']) {
      const { send, logged } = createTestService(CONFIG, { create })
      const body = line.startsWith('POST') ? { body: ANN } : {}
      await send('GET /')
      expect(logged).toEqual([])
      for (let i = 0; i < 3; i++) await send(line, { ...body, headers: { [header]: '203.0.113.7' } })
      const warned = logged.filter(([, details]) => details !== undefined)
      expect(warned).toEqual([[expect.any(String), { code: 'forwarded_header_unread', header }]])
      expect(JSON.stringify(logged)).not.toContain('203.0.113.7')
    }
  const { send, logged } = createTestService(CONFIG, { create, clientAddress: () => GUESSER })
  await send('POST /auth/login', { body: ANN, headers: { 'x-forwarded-for': '203.0.113.7' } })
  expect(logged).toEqual([])
}
