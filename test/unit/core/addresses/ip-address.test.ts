import { describe, expect, test } from 'vitest'
import {
  isInNetwork,
  maskNetwork,
  parseAddress,
  parseNetwork,
  printAddress,
  printNetwork,
} from '../../../../src/core/addresses/ip-address.js'

/** An address as it is printed; `undefined` if the text is no address. */
const normalise = (text: string): string | undefined => {
  const address = parseAddress(text)
  return address && printAddress(address)
}

describe('an address', () => {
  test.each([
    ['203.0.113.7', '203.0.113.7'],
    ['0.0.0.0', '0.0.0.0'],
    ['255.255.255.255', '255.255.255.255'],
    ['::ffff:203.0.113.7', '203.0.113.7'],
    ['::FFFF:203.0.113.7', '203.0.113.7'],
    ['::ffff:cb00:7107', '203.0.113.7'],
    ['0:0:0:0:0:ffff:cb00:7107', '203.0.113.7'],
    ['64:ff9b::203.0.113.7', '64:ff9b::cb00:7107'],
    ['::', '::'],
    ['::1', '::1'],
    ['1::', '1::'],
    ['2001:DB8::00AB', '2001:db8::ab'],
    ['2001:db8:0:0:1:0:0:1', '2001:db8::1:0:0:1'],
    ['2001:db8:0:1:1:1:1:1', '2001:db8:0:1:1:1:1:1'],
    ['2001:0:0:1:0:0:0:1', '2001:0:0:1::1'],
    ['10:0:0:0:0:0:0:10', '10::10'],
    ['1:2:3:4:5:6:7::', '1:2:3:4:5:6:7:0'],
    ['fe80::1%eth0', 'fe80::1'],
    ['fe80::1%25en0', 'fe80::1'],
    ['::1.2.3.4', '::102:304'],
  ])('%s is %s', (text, normal) => {
    expect(normalise(text)).toBe(normal)
  })

  test.each([
    ...['', ' ', 'unknown', 'localhost', '_hidden', '1', '1.2', '1.2.3', '1.2.3.4.5', '1.2.3.', '.1.2.3'],
    ...['256.1.1.1', '1.2.3.-4', '1.2.3.4 ', ' 1.2.3.4', '01.2.3.4', '0x1.2.3.4', '1e1.2.3.4', '１.2.3.4'],
    ...['203.0.113.7:80', '[::1]', '[::1]:80', ':', ':::', '1::2::3', '1:2:3:4:5:6:7', '1:2:3:4:5:6:7:8:9'],
    ...[
      '1:2:3:4:5:6:7:8::',
      '::1:2:3:4:5:6:7:8',
      ':1:2:3:4:5:6:7',
      '1:2:3:4:5:6:7:',
      '12345::',
      'g::',
      '::%',
    ],
    ...['1.2.3.4::', '::1.2.3.4:5', '::1.2.3', '::256.1.1.1', '1:2:3:4:5:6:7:1.2.3.4', '::1%a b', '::1%a%b'],
    `${'0'.repeat(100)}::1`,
  ])('%j is none', (text) => {
    expect(normalise(text)).toBeUndefined()
  })
})

describe('a network', () => {
  test.each([
    [
      '10.0.0.0/8',
      ['10.0.0.0', '10.255.255.255', '::ffff:10.1.2.3'],
      ['9.255.255.255', '11.0.0.0', '::a00:1'],
    ],
    ['192.0.2.128/25', ['192.0.2.128', '192.0.2.255'], ['192.0.2.127', '192.0.3.128']],
    ['192.0.2.7', ['192.0.2.7'], ['192.0.2.6', '192.0.2.8']],
    ['192.0.2.7/32', ['192.0.2.7'], ['192.0.2.6']],
    ['::ffff:10.0.0.0/104', ['10.1.2.3'], ['11.0.0.0']],
    ['2001:db8::/32', ['2001:db8::', '2001:db8:ffff::1'], ['2001:db7::', '2001:db9::']],
    [
      '2001:db8:0:8000::/49',
      ['2001:db8:0:8000::1', '2001:db8:0:ffff::'],
      ['2001:db8:0:7fff::', '2001:db8:1::'],
    ],
    ['::1', ['::1'], ['::2', '0.0.0.1']],
    ['::/8', ['::1', '::2'], ['10.0.0.1', '::ffff:0:1']],
    ['0.0.0.0/0', ['1.2.3.4'], ['::1', '2001:db8::1']],
  ])('%s contains its addresses and no others', (text, inside, outside) => {
    const network = parseNetwork(text)
    const isIn = (one: string): boolean => {
      const address = parseAddress(one)
      return address !== undefined && network !== undefined && isInNetwork(address, network)
    }
    expect(inside.map(isIn)).toEqual(inside.map(() => true))
    expect(outside.map(isIn)).toEqual(outside.map(() => false))
  })

  test.each([
    ...['', '/', '/8', '10.0.0.0/', '10.0.0.0/33', '10.0.0.0/-1', '10.0.0.0/8/8', '10.0.0.0/255.0.0.0'],
    ...['10/8', '::/129', 'fe80::1%eth0', 'fe80::%eth0/10', 'private', '10.0.0.0/ 8', '10.0.0.0/0x8'],
  ])('%j is none', (text) => {
    expect(parseNetwork(text)).toBeUndefined()
  })

  test.each([
    ['10.1.2.3/8', '10.0.0.0/8'],
    ['192.0.2.7', '192.0.2.7/32'],
    ['2001:db8::1/32', '2001:db8::/32'],
    ['2001:db8::ffff/113', '2001:db8::8000/113'],
  ])('%s is the network %s', (text, masked) => {
    const network = parseNetwork(text)
    expect(network && printNetwork(maskNetwork(network))).toBe(masked)
  })
})
