import { describe, expect, test } from 'vitest'
import { textOf } from '../../../../src/core/fair-queue.js'
import type { IncomingRequest } from '../../../../src/core/http/answer.js'
import { nameAddress, nameClient, nameUser, networkOf } from '../../../../src/core/http/client-address.js'

// CONTRACT.md §6, "Scheduling"

describe('the name of a client', () => {
  test.each([
    ['192.0.2.7', 'client 192.0.2.7'],
    ['::ffff:192.0.2.7', 'client 192.0.2.7'],
    ['::FFFF:192.0.2.7', 'client 192.0.2.7'],
    ['2001:db8:1:2:3:4:5:6', 'client 2001:db8:1:2::/64'],
    ['2001:DB8:0001:0002:ffff::1', 'client 2001:db8:1:2::/64'],
    ['2001:db8::1', 'client 2001:db8:0:0::/64'],
    ['::1', 'client 0:0:0:0::/64'],
    ['fe80::1%eth0', 'client fe80:0:0:0::/64'],
    ['2001:db8:1:2::', 'client 2001:db8:1:2::/64'],
    ['unix socket', 'client unix socket'],
  ])('%s is %s', (address, name) => {
    expect(nameAddress(address)).toBe(name)
  })

  const incoming = (address?: string): IncomingRequest =>
    ({ clientAddress: address, toRequest: () => new Request('http://service.test/') }) as never

  test('is that of the edge, and of the host where it says so', () => {
    expect(textOf(nameClient({}, incoming('192.0.2.7')))).toBe('client 192.0.2.7')
    expect(textOf(nameClient({ clientAddress: () => '192.0.2.8' }, incoming('192.0.2.7')))).toBe(
      'client 192.0.2.8',
    )
    expect(nameClient({}, incoming())).toBeUndefined()
  })

  test('is asked for once, and not before it is needed', () => {
    let asked = 0
    const caller = nameClient({ clientAddress: () => `192.0.2.${++asked}` }, incoming())
    expect(asked).toBe(0)
    expect([textOf(caller), textOf(caller), asked]).toEqual(['client 192.0.2.1', 'client 192.0.2.1', 1])
  })

  test.each<[what: string, clientAddress: () => unknown]>([
    ['throws', () => expect.fail('as a host may')],
    ['gives a promise that rejects', () => Promise.reject(new Error('as a host may'))],
    ['gives nothing', () => null],
    ['gives an empty text', () => ''],
  ])('is unknown where the host %s', (_, clientAddress) => {
    expect(textOf(nameClient({ clientAddress: clientAddress as () => string }, incoming()))).toBeUndefined()
  })

  test('is never that of a user', () => {
    expect(nameUser('192.0.2.7')).not.toBe(nameAddress('192.0.2.7'))
  })
})

test.each<[string, string]>([
  ['203.0.113.7', '203.0.113.7'],
  ['::ffff:203.0.113.7', '203.0.113.7'],
  ['::FFFF:203.0.113.7', '203.0.113.7'],
  ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2::/64'],
  ['2001:db8:1:2::6', '2001:db8:1:2::/64'],
  ['2001:0DB8:0001:0002::', '2001:db8:1:2::/64'],
  ['2001:db8::1', '2001:db8:0:0::/64'],
  ['::1', '0:0:0:0::/64'],
  ['fe80::1%eth0', 'fe80:0:0:0::/64'],
  ['2001:db8:1:3::6', '2001:db8:1:3::/64'],
  ['1:2:3', '1:2:3'],
  ['1::2::3', '1::2::3'],
  ['1:2:3:4:5:6:7:8:9', '1:2:3:4:5:6:7:8:9'],
  ['', ''],
  ['a client', 'a client'],
  ['ab', 'ab'],
])('%j is of the network %j', (address, network) => {
  expect(networkOf(address)).toBe(network)
})
