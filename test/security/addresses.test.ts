import { expect, test } from 'vitest'
import { createCollectionService, forwardedAddress } from '../../src/index.js'
import { checkAddresses, checkDetours } from '../support/address-laws.js'
import { createTestService } from '../support/service.js'
import type { Case } from './fixture.js'

// CONTRACT.md §7, "Addresses"

const library = { createCollectionService, forwardedAddress }

test('ten wrong logins from one address lock out no other one, and forged entries gain nothing', () =>
  checkAddresses(library))

test('a client that goes around a proxy is known by its connection', () => checkDetours(library))

/** What the client of the only proxy may send; the proxy adds its entry as another line of the header. */
test.each<Case<[header: 'x-forwarded-for' | 'forwarded', sent: string]>>([
  ['an open quote', 'forwarded', 'for="'],
  ['an open quote with an escape', 'forwarded', 'for="\\'],
  ['an open bracket', 'forwarded', 'for="[2001:db8::1'],
  ['a parameter without a value', 'forwarded', 'for='],
  ['a semicolon', 'forwarded', 'for=192.0.2.1;'],
  ['a list', 'forwarded', 'for=192.0.2.1, for=192.0.2.2'],
  ['nothing', 'forwarded', ''],
  ['commas', 'x-forwarded-for', ',,,,'],
  ['spaces', 'x-forwarded-for', '   '],
  ['a quote', 'x-forwarded-for', '"192.0.2.1, '],
  ['no text', 'x-forwarded-for', '\u00ff\u00fe'],
  ['a long list', 'x-forwarded-for', Array(2000).fill('10.0.0.1').join(',')],
  ['many quotes', 'forwarded', '"\\'.repeat(5000)],
])('%s of a client does not hide what the proxy adds', (_, header, sent) => {
  for (const trust of [1, ['10.0.0.0/8']] as const) {
    const find = forwardedAddress({ trust, header })
    const headers = new Headers()
    headers.append(header, sent)
    headers.append(header, header === 'forwarded' ? 'for="203.0.113.7:80";proto=https' : '203.0.113.7')
    const request = new Request('http://service.test/', { headers })
    expect(find(request, { address: '10.0.0.1' })).toBe('203.0.113.7')
  }
})

test('a host without the address of the connection trusts no network', async () => {
  const config = {
    collections: {
      users: { schema: { email: { type: 'string', unique: true }, password: { type: 'hash' } } },
    },
  }
  const { send, logged } = createTestService(config, {
    clientAddress: forwardedAddress({ trust: ['10.0.0.0/8'] }),
  })
  const login = (i: number) =>
    send('POST /auth/login', {
      body: { email: 'ann@example.com', password: 'wrong' },
      headers: { 'x-forwarded-for': `192.0.2.${i}` },
    })
  logged.length = 0
  for (let i = 0; i < 100; i++) expect((await login(i)).status).toBe(401)
  expect((await login(100)).status).toBe(429)
  expect(logged).toHaveLength(1)
  expect(logged[0]?.[0]).toContain('address')
})
