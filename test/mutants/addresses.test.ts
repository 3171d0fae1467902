import { expect, test } from 'vitest'
import type * as FindClient from '../../src/core/addresses/find-client.js'
import type * as IpAddress from '../../src/core/addresses/ip-address.js'
import type * as ReadHeader from '../../src/core/addresses/read-header.js'
import type * as ClientAddress from '../../src/core/http/client-address.js'
import type * as WarnOfForwarded from '../../src/core/http/client-address.js'
import type * as ForwardedAddress from '../../src/core/http/forwarded-address.js'
import { checkAddresses, checkDetours, checkWarning, type Library } from '../support/address-laws.js'
import { choose } from './choose.js'
import { fails, loadMutant, type Mutant } from './create-mutant.js'

/** Addresses of clients read as others have read them before, so that a client can choose its own. */

const ADDRESSES = '../../src/core/addresses'
const FIND_CLIENT = `${ADDRESSES}/find-client.js`
const READ_HEADER = `${ADDRESSES}/read-header.js`
const FORWARDED = '../../src/core/http/forwarded-address.js'
const IP_ADDRESS = `${ADDRESSES}/ip-address.js`

/** A module of which some functions are others. */
const breakModule =
  <T extends object>(break_: (real: T) => Partial<T>) =>
  async (original: () => Promise<unknown>): Promise<object> => {
    const real = (await original()) as T
    return { ...real, ...break_(real) }
  }

const MUTANTS: readonly Mutant[] = [
  [
    'a list is read from left to right',
    READ_HEADER,
    breakModule<typeof ReadHeader>(({ READERS }) => {
      const turned = (header: ReadHeader.ForwardedHeader): ReadHeader.HeaderReader => ({
        ...READERS[header],
        entries: (list) => [...READERS[header].entries(list)].reverse(),
      })
      return { READERS: { forwarded: turned('forwarded'), 'x-forwarded-for': turned('x-forwarded-for') } }
    }),
  ],
  [
    'an address is taken from a list that is too short',
    FIND_CLIENT,
    breakModule<typeof FindClient>((real) => ({
      findByCount: (count) => (reader, list, connection) => {
        const left = [...reader.entries(list)].slice(0, count).at(-1)
        return (left === undefined ? undefined : reader.address(left)) ?? connection
      },
      findByNetworks: real.findByNetworks,
    })),
  ],
  [
    'a count begins with the connection',
    FIND_CLIENT,
    breakModule<typeof FindClient>((real) => ({ findByCount: (count) => real.findByCount(count + 1) })),
  ],
  [
    'a connection that is no proxy is trusted',
    FIND_CLIENT,
    breakModule<typeof FindClient>((real) => ({
      findByNetworks: (networks) => (reader, list, connection) =>
        real.findByNetworks(networks)(reader, list, connection && networks[0]?.address),
    })),
  ],
  [
    'all entries are those of proxies',
    IP_ADDRESS,
    breakModule<typeof IpAddress>(() => ({ isInNetwork: () => true })),
  ],
  [
    'no connection is that of a proxy',
    IP_ADDRESS,
    breakModule<typeof IpAddress>(() => ({ isInNetwork: () => false })),
  ],
  [
    'either header is read',
    FORWARDED,
    breakModule<typeof ForwardedAddress>((real) => ({
      forwardedAddress(options) {
        const { header: own = 'x-forwarded-for' } = options
        const other = own === 'forwarded' ? 'x-forwarded-for' : 'forwarded'
        const [first, second] = [
          real.forwardedAddress({ ...options, header: other }),
          real.forwardedAddress(options),
        ]
        return (request, connection) => (request.headers.has(other) ? first : second)(request, connection)
      },
    })),
  ],
  [
    'the address of the connection is not passed on',
    FORWARDED,
    breakModule<typeof ForwardedAddress>((real) => ({
      forwardedAddress: ({ address: _, ...options }) => real.forwardedAddress(options),
    })),
  ],
  [
    'the client is the connection',
    '../../src/core/http/client-address.js',
    breakModule<typeof ClientAddress>((real) => ({
      readClient: (_, incoming) =>
        real.networkOf(incoming.clientAddress ?? incoming.header('x-connection') ?? ''),
    })),
  ],
  [
    'no header is warned of',
    '../../src/core/http/client-address.js',
    breakModule<typeof WarnOfForwarded>(() => ({
      createForwardedWarning: () => ({ onRequest() {}, onUse() {} }),
    })),
  ],
  [
    'each request is warned of',
    '../../src/core/http/client-address.js',
    breakModule<typeof WarnOfForwarded>((real) => ({
      createForwardedWarning: (options, logger) => ({
        onRequest: (incoming) => real.createForwardedWarning(options, logger).onRequest(incoming),
        onUse: (incoming) => real.createForwardedWarning(options, logger).onUse(incoming),
      }),
    })),
  ],
]

const check = async (library: Library): Promise<void> => {
  await checkDetours(library)
  await checkAddresses(library)
  await checkWarning(library)
}

test.each(choose(MUTANTS))('%s', async (...mutant) => {
  const library = await loadMutant(mutant, () => import('../../src/index.js'))
  expect(await fails(check(library))).toBe(true)
})

test('the library itself keeps the laws', async () => {
  await check(await import('../../src/index.js'))
})
