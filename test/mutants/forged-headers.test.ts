import { expect, test } from 'vitest'
import type { IncomingRequest, Respond } from '../../src/core/http/answer.js'
import type * as ClientAddress from '../../src/core/http/client-address.js'
import type * as RespondModule from '../../src/core/http/respond.js'
import { checkForgedHeaders } from '../support/forged-laws.js'
import { choose } from './choose.js'
import { createMutant, fails, type Mutant } from './create-mutant.js'

/** Headers of proxies that are trusted although any client can send them. */

const MUTANTS: readonly Mutant[] = [
  [
    'paths in answers begin with what a header says',
    '../../src/core/http/respond.js',
    async (original) => {
      const real = (await original()) as typeof RespondModule
      return {
        ...real,
        createRespond: (...[service, options]: Parameters<typeof real.createRespond>): Respond => {
          const plain = real.createRespond(service, options)
          return (incoming) => {
            const publicPath = incoming.header('x-forwarded-prefix')
            return (
              publicPath === undefined ? plain : real.createRespond(service, { ...options, publicPath })
            )(incoming)
          }
        },
      }
    },
  ],
  ...['x-forwarded-for', 'x-real-ip'].map(
    (header): Mutant => [
      `a login counts for the address that the client writes into ${header}`,
      '../../src/core/http/client-address.js',
      async (original) => {
        const real = (await original()) as typeof ClientAddress
        return {
          ...real,
          readClient: (options: Parameters<typeof real.readClient>[0], incoming: IncomingRequest) =>
            incoming.header(header)?.split(',')[0] ?? real.readClient(options, incoming),
        }
      },
    ],
  ),
]

/** The number of worlds that show each mutant. */
const WORLDS = 8

test('the library itself keeps the law', async () => {
  const { locked } = await checkForgedHeaders(WORLDS)
  expect(locked).toBeGreaterThan(0)
})

test.each(choose(MUTANTS))('%s', async (...mutant) => {
  const create = await createMutant(mutant)
  expect(await fails(checkForgedHeaders(WORLDS, create))).toBe(true)
})
