import { expect } from 'vitest'
import { forwardedAddress, type OptionsFor } from '../../src/index.js'
import fc from './fast-check.js'
import {
  type Create,
  type CreateAdapter,
  comparable,
  openWorld,
  PROXY,
  parametersOf,
  plain,
  RELATED,
  withQueries,
} from './laws.js'
import type { TestService } from './service.js'
import { writeQuery } from './worlds.js'

/** Headers of proxies that a client has written itself. */

type Headers = { readonly [name: string]: string }

const CLIENT = '198.51.100.7'

/** The headers of the `i`th request of a client that wants to be another one, at another place. */
const forge = (i: number): Headers => ({
  'x-forwarded-for': `192.0.2.${i % 250}`,
  forwarded: `for=192.0.2.${i % 250};host=forged.test;proto=https`,
  'x-forwarded-host': 'forged.test',
  'x-forwarded-proto': 'https',
  'x-forwarded-prefix': '/forged',
  'x-real-ip': `192.0.2.${i % 250}`,
})

/** A service, and the headers with which a request arrives there. */
interface Setup {
  readonly options: OptionsFor<unknown>
  readonly arrive: (sent: Headers) => Headers
}

const SETUPS: readonly Setup[] = [
  { options: {}, arrive: (sent) => sent },
  // The proxy adds its client at the right.
  {
    options: PROXY,
    arrive: ({ 'x-forwarded-for': list, ...others }) => ({
      ...others,
      'x-forwarded-for': list === undefined ? CLIENT : `${list}, ${CLIENT}`,
    }),
  },
  // The other end of the connection is no proxy.
  {
    options: { clientAddress: forwardedAddress({ trust: ['10.0.0.0/8'], address: () => CLIENT }) },
    arrive: (sent) => sent,
  },
]

const LOGIN = { email: 'ann@example.com', pin: 'wrong' }

/**
 * Headers of proxies that nothing trusts change no answer (CONTRACT.md §2, "Paths and methods"; §7, "Addresses"), also if
 * they are others in each request. Throws on a counterexample.
 *
 * @returns how often a page had a link, and how often logins were locked out.
 */
export async function checkForgedHeaders(
  runs: number,
  create?: Create,
  createAdapter?: CreateAdapter,
): Promise<{ readonly linked: number; readonly locked: number }> {
  const seen = { linked: 0, locked: 0 }
  let worlds = 0
  await fc.assert(
    fc.asyncProperty(withQueries({ minLength: 4, maxLength: 4 }, RELATED), async ([world, asked]) => {
      const { documents, caller, users, sent = caller } = world
      const { options, arrive } = SETUPS[worlds++ % SETUPS.length] ?? { options: {}, arrive: (all) => all }
      const open = (): Promise<TestService> => openWorld(world, plain(world), create, createAdapter, options)
      const [one, other] = [await open(), await open()]
      const ids = documents.slice(0, 3).map(({ _id }) => String(_id))
      const requests = [
        ...asked.map((query) => `GET /things?${writeQuery(query)}`),
        'GET /things?limit=1',
        'GET /people?limit=1',
        ...ids.flatMap((id) => ['GET', 'PATCH', 'PUT', 'DELETE'].map((method) => `${method} /things/${id}`)),
        'POST /things',
        'GET /',
        'GET /_openapi.json',
        'GET /nosuch',
        ...(users ? Array.from({ length: 12 }, () => 'POST /auth/login') : []),
      ]
      for (const [i, request] of requests.entries()) {
        const isLogin = request === 'POST /auth/login'
        const body = request.startsWith('GET') ? {} : { body: isLogin ? LOGIN : {} }
        const by = isLogin ? {} : { caller: sent }
        const honest = await one.send(request, { ...body, ...by, headers: arrive({}) })
        const forged = await other.send(request, { ...body, ...by, headers: arrive(forge(i)) })
        expect(comparable(forged), request).toBe(comparable(honest))
        if (honest.headers.has('link')) seen.linked += 1
        if (honest.status === 429) seen.locked += 1
      }
      await Promise.all([one, other].map(({ handler }) => handler.close()))
    }),
    parametersOf(runs),
  )
  return seen
}
