import { createHmac, timingSafeEqual } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import { createClient } from 'collection-service/client'
import { afterAll, expect, test } from 'vitest'
import { service as audited } from '../../examples/audit.js'
import { until } from '../support/until.js'

// CONTRACT.md §9, "Consumers"

const closing: (() => unknown)[] = [() => audited.close()]
afterAll(() => Promise.all(closing.map((close) => close())))

const SECRET = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw'

/** What a receiver of Standard Webhooks checks; it knows nothing of the example. */
async function receive(
  request: IncomingMessage,
): Promise<{ readonly id: string; readonly message: unknown }> {
  const body = await text(request)
  const read = (name: string): string => String(request.headers[`webhook-${name}`])
  const age = Date.now() / 1000 - Number(read('timestamp'))
  if (!(Math.abs(age) < 300)) throw new Error('it is too old, or of tomorrow')
  const key = Buffer.from(SECRET.slice('whsec_'.length), 'base64')
  const wanted = createHmac('sha256', key)
    .update([read('id'), read('timestamp'), body].join('.'))
    .digest()
  const isSigned = read('signature')
    .split(' ')
    .map((one) => one.split(','))
    .some(([version, signature = '']) => {
      const given = Buffer.from(signature, 'base64')
      return version === 'v1' && given.length === wanted.length && timingSafeEqual(given, wanted)
    })
  if (!isSigned) throw new Error('the signature is wrong')
  return { id: read('id'), message: JSON.parse(body) }
}

test('the example of a webhook signs what it sends, and sends again what was not taken', async () => {
  const received: { readonly id: string; readonly message: unknown }[] = []
  const server = createServer((request, response) => {
    receive(request)
      .then((one) => {
        received.push(one)
        response.statusCode = received.length === 1 ? 503 : 204
      })
      .catch(() => {
        response.statusCode = 400
      })
      .finally(() => response.end())
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  closing.push(() => server.close())
  process.env.WEBHOOK_URL = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  process.env.WEBHOOK_SECRET = SECRET
  const { service } = await import('../../examples/webhook.js')
  delete process.env.WEBHOOK_URL
  delete process.env.WEBHOOK_SECRET
  closing.push(() => service.close())
  const articles = createClient(service).collection('articles')
  const { _id } = await articles.create({ title: 'Hello', notes: 'of no interest to others' })
  await articles.delete(_id)
  await until(() => received.length === 3)
  const data = { _id, title: 'Hello' }
  const types = ['article.created', 'article.created', 'article.deleted']
  expect(received.map(({ message }) => message)).toMatchObject(types.map((type) => ({ type, data })))
  expect(JSON.stringify(received)).not.toContain('of no interest')
  const [first, second, third] = received.map(({ id }) => id)
  expect([first === second, first === third]).toEqual([true, false])
})

test('the example of an audit keeps every change, once', async () => {
  const invoices = createClient(audited).collection('invoices')
  const auditor = createClient(audited.as({ id: 'eve', roles: ['auditor'] })).collection('audit')
  const { _id } = await invoices.create({ total: 12 })
  await invoices.update(_id, { isPaid: true })
  await invoices.delete(_id)
  await until(async () => (await auditor.count()) === 3)
  const entries = await auditor.list({ q: { invoice: _id }, sort: { at: 1 } })
  expect(entries.map(({ operation }) => operation)).toEqual(['create', 'update', 'delete'])
  expect(entries.map(({ by }) => by)).toEqual(['ann', 'ann', 'ann'])
  expect(entries.map(({ before, after }) => [before, after])).toMatchObject([
    [undefined, { total: 12, isPaid: false }],
    [{ isPaid: false }, { isPaid: true }],
    [{ isPaid: true }, undefined],
  ])
  // Who else is told of the same change writes the same entry.
  const scribe = createClient(audited.as({ id: 'scribe', roles: ['scribe'] })).collection('audit')
  const { _id: first, ...entry } = entries[0] ?? {
    _id: '',
    change: '',
    operation: 'create',
    at: '',
    invoice: '',
  }
  await expect(scribe.create(entry)).rejects.toMatchObject({ code: 'unique_violation' })
})
