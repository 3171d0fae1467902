import { describe, expect, test } from 'vitest'
import { ConfigError } from '../../../../src/core/errors.js'
import { type ForwardedOptions, forwardedAddress } from '../../../../src/core/http/forwarded-address.js'

// CONTRACT.md §7, "Addresses"

/** The address of a client whose request has these headers and comes through this connection. */
function find(
  options: ForwardedOptions,
  headers: { readonly [name: string]: string | readonly string[] },
  connection?: string,
): string | undefined {
  const sent = new Headers()
  for (const [name, values] of Object.entries(headers))
    for (const value of [values].flat()) sent.append(name, value as string)
  const request = new Request('http://service.test/', { headers: sent })
  return forwardedAddress(options)(request, { address: connection })
}

const FOR = 'x-forwarded-for'

describe('a number of proxies', () => {
  test.each<[title: string, trust: number, list: string | readonly string[], client: string | undefined]>([
    ['the entry of the only proxy', 1, '203.0.113.7', '203.0.113.7'],
    ['the entry of the outermost of two', 2, '203.0.113.7, 10.0.0.2', '203.0.113.7'],
    ['never an entry before it', 1, '198.51.100.1, 203.0.113.7', '203.0.113.7'],
    ['never one of many before it', 2, '1.1.1.1,2.2.2.2,203.0.113.7,10.0.0.2', '203.0.113.7'],
    ['across several lines of the header', 2, ['1.1.1.1', '203.0.113.7', '10.0.0.2'], '203.0.113.7'],
    ['without regard to empty entries', 2, ', 203.0.113.7 ,, 10.0.0.2, ', '203.0.113.7'],
    ['whatever the entries of others are', 2, 'unknown, , 203.0.113.7, _hidden', '203.0.113.7'],
    ['the connection, if the list is too short', 2, '198.51.100.1', '192.0.2.9'],
    ['the connection, if the list is empty', 1, '', '192.0.2.9'],
    ['the connection, if the entry has no address', 1, '198.51.100.1, unknown', '192.0.2.9'],
  ])('%s', (_, trust, list, client) => {
    expect(find({ trust }, { [FOR]: list }, '192.0.2.9')).toBe(client)
  })

  test('the address is unknown if the list is too short and the connection is not known', () => {
    expect(find({ trust: 2 }, { [FOR]: '198.51.100.1' })).toBeUndefined()
    expect(find({ trust: 1 }, {})).toBeUndefined()
  })
})

describe('networks of proxies', () => {
  const trust = ['10.0.0.0/8', 'loopback', '2001:db8:1::/48']
  test.each<[title: string, connection: string | undefined, list: string, client: string | undefined]>([
    ['the first address that is no proxy', '10.0.0.2', '1.1.1.1, 203.0.113.7, 10.0.0.1', '203.0.113.7'],
    ['through proxies of both kinds of addresses', '::1', '203.0.113.7, 2001:db8:1::5', '203.0.113.7'],
    ['a proxy whose address is written as IPv6', '::ffff:10.0.0.2', '203.0.113.7', '203.0.113.7'],
    ['the connection, if it is no proxy', '203.0.113.9', '1.1.1.1, 10.0.0.1', '203.0.113.9'],
    ['a client of IPv6', '127.0.0.1', '2001:DB8:2::7', '2001:db8:2::7'],
    ['the leftmost, if all are proxies', '10.0.0.2', '10.0.0.9, 10.0.0.1', '10.0.0.9'],
    ['the connection without a list', '10.0.0.2', '', '10.0.0.2'],
    [
      'the last proxy before an entry without an address',
      '10.0.0.2',
      '1.1.1.1, unknown, 10.0.0.1',
      '10.0.0.1',
    ],
    ['unknown, if the connection is not known', undefined, '203.0.113.7', undefined],
    ['unknown, if the connection has no address', 'unix:', '203.0.113.7', undefined],
  ])('%s', (_, connection, list, client) => {
    expect(find({ trust }, { [FOR]: list }, connection)).toBe(client)
  })

  test('the words stand for networks', () => {
    const hops = '203.0.113.7, 10.1.1.1, 172.31.0.1, 192.168.1.1, fd00::1, 127.9.9.9, ::1'
    expect(find({ trust: ['loopback', 'private'] }, { [FOR]: hops }, '127.0.0.1')).toBe('203.0.113.7')
    expect(find({ trust: ['private'] }, { [FOR]: hops }, '127.0.0.1')).toBe('127.0.0.1')
    expect(find({ trust: ['private'] }, { [FOR]: '172.32.0.1' }, '10.0.0.1')).toBe('172.32.0.1')
  })

  test('the host says the address of the connection', () => {
    const address = (request: Request): string | null => request.headers.get('x-peer')
    const options = { trust, address }
    expect(find(options, { [FOR]: '203.0.113.7', 'x-peer': '10.0.0.2' }, '192.0.2.9')).toBe('203.0.113.7')
    expect(find(options, { [FOR]: '203.0.113.7' }, '10.0.0.2')).toBeUndefined()
    for (const wrong of [5, {}, Promise.reject(new Error('as a host may'))])
      expect(() => find({ trust, address: () => wrong as never }, {})).toThrow(TypeError)
  })
})

describe('an entry of X-Forwarded-For', () => {
  test.each([
    ['203.0.113.7:51234', '203.0.113.7'],
    ['[2001:db8::7]', '2001:db8::7'],
    ['[2001:db8::7]:443', '2001:db8::7'],
    ['2001:db8::7', '2001:db8::7'],
    ['::ffff:203.0.113.7', '203.0.113.7'],
    ['[::ffff:203.0.113.7]:80', '203.0.113.7'],
    ['fe80::1%eth0', 'fe80::1'],
    ['FE80:0::1', 'fe80::1'],
    ['203.0.113.7:_port', '203.0.113.7'],
  ])('%s is %s', (entry, client) => {
    expect(find({ trust: 1 }, { [FOR]: entry })).toBe(client)
  })

  test.each([
    ...['unknown', '_hidden', '"203.0.113.7"', 'for=203.0.113.7', '203.0.113.7:', '203.0.113.7:123456'],
    ...[
      '203.0.113.7 198.51.100.1',
      '[203.0.113.7',
      '203.0.113.7]',
      '[]',
      '[::1]:',
      '[::1]x',
      '010.0.0.1',
      '127.1',
    ],
  ])('%s has no address', (entry) => {
    expect(find({ trust: 1 }, { [FOR]: entry }, '192.0.2.9')).toBe('192.0.2.9')
  })
})

describe('Forwarded', () => {
  test.each<[title: string, trust: number, list: string | readonly string[], client: string]>([
    ['a token', 1, 'for=203.0.113.7', '203.0.113.7'],
    ['other parameters around it', 1, 'proto=https;For=203.0.113.7;by=10.0.0.1;host=a.test', '203.0.113.7'],
    ['a quoted string with a port', 1, 'for="203.0.113.7:47011"', '203.0.113.7'],
    ['IPv6 with and without a port', 2, 'for="[2001:db8::7]:4711", for="[2001:db8::8]"', '2001:db8::7'],
    ['an obfuscated port', 1, 'for="203.0.113.7:_gazonk"', '203.0.113.7'],
    ['escapes', 1, 'for="20\\3.0.113\\.7"', '203.0.113.7'],
    ['spaces and a semicolon at the end', 1, ' for=203.0.113.7 ; proto=http ; ', '203.0.113.7'],
    ['commas in quoted strings', 2, 'for=203.0.113.7, for=10.0.0.2;host="a, for=1.1.1.1"', '203.0.113.7'],
    ['escaped quotes', 2, 'for=203.0.113.7, for=10.0.0.2;host="a\\", for=1.1.1.1, b"', '203.0.113.7'],
    ['an escaped backslash at the end', 2, 'for=203.0.113.7, for=10.0.0.2;host="a, \\\\"', '203.0.113.7'],
    ['several lines', 2, ['for=1.1.1.1', 'for=203.0.113.7', 'for=10.0.0.2'], '203.0.113.7'],
    ['an open quote of a client', 1, ['for="', 'for=203.0.113.7'], '203.0.113.7'],
    ['an open quote with an escape of a client', 1, 'for="\\, for=203.0.113.7', '203.0.113.7'],
    ['an open quote before a quoted entry', 1, 'for="1.1.1.1, for="203.0.113.7:80"', '203.0.113.7'],
  ])('is read with %s', (_, trust, list, client) => {
    expect(find({ trust, header: 'forwarded' }, { forwarded: list }, '192.0.2.9')).toBe(client)
  })

  test.each([
    ...[
      'for=unknown',
      'for=_hidden',
      'for="_hidden:_port"',
      'for="unknown"',
      'by=203.0.113.7',
      'proto=https',
    ],
    ...['for=203.0.113.7;for=198.51.100.1', 'for', 'for=', 'for=""', '203.0.113.7', 'for = 203.0.113.7'],
    ...['for=203.0.113.7 for=1.1.1.1', 'for="203.0.113.7', 'for=203.0.113.7"', 'x;for=203.0.113.7'],
    ...['forward=203.0.113.7', 'for="[2001:db8::7"', 'for="203.0.113.7"x'],
  ])('has no address in %s', (entry) => {
    expect(find({ trust: 1, header: 'forwarded' }, { forwarded: entry }, '192.0.2.9')).toBe('192.0.2.9')
  })
})

test('the header that the proxies do not write is never read', () => {
  const both = { [FOR]: '203.0.113.7', forwarded: 'for=198.51.100.1' }
  expect(find({ trust: 1 }, both)).toBe('203.0.113.7')
  expect(find({ trust: 1, header: 'forwarded' }, both)).toBe('198.51.100.1')
  expect(find({ trust: 1 }, { forwarded: 'for=198.51.100.1' }, '192.0.2.9')).toBe('192.0.2.9')
  expect(find({ trust: 1, header: 'forwarded' }, { [FOR]: '203.0.113.7' }, '192.0.2.9')).toBe('192.0.2.9')
})

describe('options that are wrong', () => {
  /** The faults of options, as `path: message`. */
  const faultsOf = (options: unknown): readonly string[] => {
    try {
      forwardedAddress(options as ForwardedOptions)
    } catch (thrown) {
      if (thrown instanceof ConfigError)
        return thrown.faults.map(({ path, message }) => `${path}: ${message}`)
    }
    return []
  }

  test.each<[options: unknown, said: string]>([
    [undefined, ': must be an object'],
    [null, ': must be an object'],
    [{}, 'trust: is required'],
    [{ trust: undefined }, 'trust: is required'],
    [{ trust: 0 }, 'trust: must be a whole number of proxies from 1 to 100, found 0'],
    [{ trust: -1 }, 'found -1'],
    [{ trust: 1.5 }, 'found 1.5'],
    [{ trust: 101 }, 'found 101'],
    [{ trust: Number.NaN }, 'found NaN'],
    [{ trust: Number.POSITIVE_INFINITY }, 'found Infinity'],
    [{ trust: true }, 'trust: must be the number of proxies, or an array'],
    [{ trust: 'loopback' }, 'trust: must be the number of proxies, or an array'],
    [{ trust: [] }, 'trust: must be the number of proxies, or an array'],
    [{ trust: ['10.0.0.0/8', 5] }, 'trust[1]: must be a text'],
    [{ trust: ['10.0.0.0/8', '10.0.0.0/33'] }, 'trust[1]: "10.0.0.0/33" is neither an address nor a network'],
    [
      { trust: ['lopback'] },
      'trust[0]: "lopback" is neither an address nor a network; did you mean "loopback"?',
    ],
    [{ trust: ['proxy.example'] }, 'is neither an address nor a network; allowed: loopback, private'],
    [{ trust: ['0.0.0.0/0'] }, 'trust[0]: "0.0.0.0/0" is too wide'],
    [{ trust: ['128.0.0.0/1'] }, 'trust[0]: "128.0.0.0/1" is too wide'],
    [{ trust: ['::/0'] }, 'trust[0]: "::/0" is too wide'],
    [{ trust: ['2000::/3'] }, 'trust[0]: "2000::/3" is too wide'],
    [{ trust: ['::ffff:0:0/96'] }, 'is too wide'],
    [
      { trust: ['10.1.2.3/8'] },
      'trust[0]: "10.1.2.3/8" has bits after its prefix; did you mean "10.0.0.0/8"?',
    ],
    [{ trust: 1, header: 'x-real-ip' }, 'header: must be "x-forwarded-for" or "forwarded"'],
    [{ trust: 1, header: 'X-Forwarded-For' }, 'header: must be "x-forwarded-for" or "forwarded"'],
    [{ trust: 1, address: '10.0.0.1' }, 'address: must be a function'],
    [{ trust: 1, hops: 1 }, 'hops: is unknown; allowed: trust, header, address'],
  ])('%j', (options, said) => {
    const faults = faultsOf(options)
    expect(faults).toHaveLength(1)
    expect(faults[0]).toContain(said)
  })

  test('all faults are named at once', () => {
    expect(faultsOf({ trust: ['x', '0.0.0.0/0'], header: 'x' })).toHaveLength(3)
  })
})
