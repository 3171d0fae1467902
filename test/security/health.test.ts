import { afterEach, describe, expect, test, vi } from 'vitest'
import { ServiceError } from '../../src/index.js'
import { ACCOUNTS, createCounted, pass } from '../support/probes.js'
import { createTestService, type SendOptions } from '../support/service.js'

// CONTRACT.md §7, "Health": a stranger learns whether the service is ready, and nothing else.

const PATHS = ['/_health/live', '/_health/ready'] as const

/** Everything that a storage might tell of itself. */
const TOLD = 'postgres://app:s3cret@10.0.0.7:5432/app, /var/lib/app.db, SELECT text FROM secrets'

function open() {
  const { adapter, next, calls } = createCounted({}, { secrets: [{ text: 's3cret' }] })
  return {
    ...createTestService(ACCOUNTS, { adapter, health: 'detailed' }),
    calls,
    fail(error: Error) {
      next.list = () => {
        throw error
      }
      pass()
    },
  }
}

afterEach(() => void vi.restoreAllMocks())

describe('a stranger', () => {
  test.each([
    ['an unknown error', new Error(TOLD)],
    ['an error of the storage', new ServiceError('storage_unavailable', TOLD, { cause: new Error(TOLD) })],
    ['one with more properties', Object.assign(new Error(TOLD), { code: TOLD, address: '10.0.0.7' })],
  ])('is told nothing of %s, even with details', async (_, error) => {
    const service = open()
    service.fail(error)
    const answer = await service.handler(new Request('http://service.test/_health/ready'))
    const text = await answer.text()
    expect(answer.status).toBe(503)
    for (const told of [text, JSON.stringify([...answer.headers])])
      expect(told).not.toMatch(/s3cret|10\.0\.0\.7|app\.db|SELECT|\/var/)
    expect(Object.keys(JSON.parse(text))).toEqual(['status', 'checks'])
  })

  test.each<[string, SendOptions]>([
    ['without anything', {}],
    ['with a wrong token', { token: 'x'.repeat(43) }],
    ['with a condition', { headers: { 'if-match': '"1"', 'if-none-match': '*' } }],
    ['from another origin', { headers: { origin: 'https://evil.example' } }],
    [
      'with headers of proxies',
      { headers: { 'x-forwarded-for': '127.0.0.1', 'x-forwarded-host': 'evil.example' } },
    ],
  ])('%s gets the answer that everyone gets', async (_, options) => {
    const service = open()
    for (const path of PATHS) {
      const usual = await service.send(`GET ${path}`)
      const { status, text, headers } = await service.send(`GET ${path}`, options)
      expect([status, text, [...headers]]).toEqual([usual.status, usual.text, [...usual.headers]])
    }
  })

  test('cannot make the storage do more than one call a second, whichever way it asks', async () => {
    const { send, handler, calls } = open()
    await handler.ready()
    pass()
    calls.length = 0
    for (const method of ['GET', 'HEAD', 'POST', 'OPTIONS'])
      for (const end of ['', '/', '?x=1'])
        await Promise.all(Array.from({ length: 20 }, () => send(`${method} /_health/ready${end}`)))
    expect(calls).toEqual(['list _ledgers'])
  })

  test('cannot ask in a batch', async () => {
    const operations = [{ method: 'GET', path: '/_health/ready' }]
    const { status } = await open().send('POST /_batch', { body: { operations } })
    expect(status).toBe(400)
  })
})
