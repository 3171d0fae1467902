import { expect, test } from 'vitest'
import { type Connection, createCollectionService, forwardedAddress } from '../../src/index.js'
import { toNodeHandler } from '../../src/mounts/node.js'
import { call, useListen } from '../mounts/support/node.js'
import { checkWarning } from '../support/address-laws.js'
import { createTestService } from '../support/service.js'

// CONTRACT.md §7, "Addresses"

const listen = useListen()

const config = {
  collections: {
    users: {
      schema: { email: { type: 'string', unique: true, lowercase: true }, password: { type: 'hash' } },
    },
  },
}

const LOGIN = {
  headers: { 'content-type': 'application/json' },
  body: JSON.stringify({ email: 'ann@example.com', password: 'wrong' }),
}

test('a header that nothing reads is warned of once', () =>
  checkWarning({ createCollectionService, forwardedAddress }))

test('only the first thousand requests are looked at, and later those in which an address counts', async () => {
  const { send, logged, handler } = createTestService(config)
  await handler.ready()
  for (let i = 0; i < 1000; i++) await send('GET /')
  await send('GET /', { headers: { 'x-forwarded-for': '203.0.113.7' } })
  expect(logged).toEqual([])
  const body = { email: 'ann@example.com', password: 'wrong' }
  await send('POST /auth/login', { body, headers: { forwarded: 'for=203.0.113.7' } })
  expect(logged.map(([, details]) => details)).toContainEqual({
    code: 'forwarded_header_unread',
    header: 'forwarded',
  })
})

test('a handler of another caller warns no second time', async () => {
  const { send, logged } = createTestService(config)
  for (const id of ['ann', 'bob'])
    await send('GET /', { caller: { id }, headers: { 'x-forwarded-for': '203.0.113.7' } })
  expect(logged).toHaveLength(1)
})

test('clientAddress is told the other end of the connection, where it is known', async () => {
  const seen: Connection[] = []
  const { handler, send } = createTestService(config, {
    clientAddress(_, connection) {
      seen.push(connection)
      return '203.0.113.7'
    },
  })
  await send('POST /auth/login', { body: { email: 'ann@example.com', password: 'wrong' } })
  const port = await listen(toNodeHandler(handler))
  await call(port, 'POST /auth/login', LOGIN)
  const addresses = new Set(seen.map(({ address }) => address))
  expect([...addresses]).toEqual([undefined, expect.stringMatching(/127\.0\.0\.1$|^::1$/)])
})

test('under the Node mount, networks begin with the address of the socket', async () => {
  const { handler } = createTestService(config, { clientAddress: forwardedAddress({ trust: ['loopback'] }) })
  const port = await listen(toNodeHandler(handler))
  const login = async (list: string) =>
    (
      await call(port, 'POST /auth/login', {
        ...LOGIN,
        headers: { ...LOGIN.headers, 'x-forwarded-for': list },
      })
    ).status
  for (let i = 0; i < 10; i++) expect(await login(`192.0.2.${i}, 203.0.113.7`)).toBe(401)
  expect(await login('198.51.100.1, 203.0.113.7')).toBe(429)
  expect(await login('203.0.113.7, 198.51.100.1')).toBe(401)
})

test('an address with a port, or written in another way, is the same client', async () => {
  const { send } = createTestService(config, { clientAddress: forwardedAddress({ trust: 1 }) })
  const login = async (list: string) =>
    (
      await send('POST /auth/login', {
        body: { email: 'ann@example.com', password: 'wrong' },
        headers: { 'x-forwarded-for': list },
      })
    ).status
  const same = [
    '203.0.113.7',
    '203.0.113.7:80',
    '::ffff:203.0.113.7',
    '[::ffff:cb00:7107]:443',
    '::FFFF:203.0.113.7',
  ]
  for (const one of [...same, ...same]) expect(await login(one)).toBe(401)
  expect(await login('203.0.113.7:1234')).toBe(429)
  const customer = ['2001:db8:1:2::1', '[2001:DB8:1:2::1]:80', '2001:db8:1:2:3:4:5:6', '2001:db8:1:2::1%eth0']
  for (let i = 0; i < 10; i++) expect(await login(customer[i % 4] ?? '')).toBe(401)
  expect(await login('2001:db8:1:2:ffff::')).toBe(429)
  expect(await login('2001:db8:1:3::1')).toBe(401)
})
