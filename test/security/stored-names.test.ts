import { describe, expect, test } from 'vitest'
import { drawFirstVersion } from '../../src/core/first-version.js'
import { readStream } from '../support/event-streams.js'
import { createTestService, type Sent, type TestService } from '../support/service.js'
import { closeAfterEach, useAllStorages } from '../support/storages.js'

// CONTRACT.md §1, "Stored names": what an earlier configuration stored under the name of a renamed field

const opened = closeAfterEach()
const text = { type: 'string' } as const
const ID = '01930000-0000-7000-8000-000000000001'
const OTHER = '01930000-0000-7000-8000-000000000002'

const config = {
  collections: {
    notes: {
      stored: 'posts',
      schema: {
        headline: { ...text, stored: 'title', unique: true },
        address: { type: 'object', properties: { city: { ...text, stored: 'town' }, zip: text } },
        links: {
          type: 'array',
          items: { type: 'object', properties: { to: { ...text, stored: 'target' } } },
        },
        pin: { type: 'hash', stored: 'code' },
      },
      permissions: { '*': true },
      additionalProperties: true,
      changes: true,
    },
  },
  limits: { documentBytes: 2000 },
} as const

/** A document whose callers see all of it but for `hidden`. */
const storeHidden = async (service: TestService, hidden: unknown): Promise<void> => {
  const time = '2026-01-01T00:00:00.000Z'
  const document = {
    _id: ID,
    _version: 7,
    title: 'told',
    headline: hidden,
    address: { town: 'Ulm', city: hidden },
    links: [{ target: 'x', to: hidden }],
    pin: hidden,
    code: hidden,
    _hashes: { pin: String(hidden) },
    createdAt: time,
    updatedAt: time,
    createdBy: null,
  }
  await service.handler.ready()
  const other = { ...document, _id: OTHER, _version: drawFirstVersion(), title: 'other', headline: 'same' }
  const steps = [document, other].map((insert) => ({ in: 'posts', insert }))
  expect(await service.adapter.write(steps, {})).toMatchObject({ ok: true })
}

const ATTACKS: readonly (readonly [line: string, body?: object])[] = [
  [`GET /notes/${ID}`],
  ['GET /notes?q[headline][$regex]=a&sort[headline]=desc'],
  ['GET /notes?q[headline][$exists]=true'],
  ['GET /notes?q[address.city][$gte]=a&project=address,links,headline'],
  ['GET /notes?sort[headline]=asc&limit=1'],
  ['GET /notes/count?q[headline][$gt]=told'],
  ['GET /notes/aggregate?by[headline]=value&min=headline&max=headline'],
  ['GET /notes/aggregate?by[address.city]=value'],
  ['GET /notes/aggregate?by[title]=value'],
  ['GET /notes/aggregate?by[_:headline]=value'],
  ['GET /notes?q[title]=x'],
  ['GET /notes?q[_:headline]=x'],
  ['GET /notes?project=_:headline,pin'],
  ['POST /notes', { headline: 'secret' }],
  ['POST /notes', { headline: 'told' }],
  ['POST /notes', { '_:headline': 'secret' }],
  [`PATCH /notes/${ID}`, { '_:headline': null }],
  [`PATCH /notes/${ID}`, { address: { '_:city': null } }],
  [`PATCH /notes/${ID}`, { title: null }],
  [`PATCH /notes/${ID}`, { code: 'x' }],
  [`PATCH /notes/${ID}`, { address: { zip: '1' } }],
  [`PATCH /notes/${ID}`, { free: 'x'.repeat(1900) }],
  [`PUT /notes/${ID}`, { headline: 'new', address: { zip: '2' } }],
  [`PATCH /notes/${ID}`, { pin: '1234' }],
  ['POST /_batch', { operations: [{ method: 'GET', path: `/notes/${ID}` }] }],
]

describe.each(useAllStorages())('in %s', (_, create) => {
  test('it is neither shown nor told by any answer', async () => {
    const values = ['secret', 'x'.repeat(100_000)]
    const sides = await Promise.all(
      values.map(async (hidden) => {
        const service = createTestService(config, {
          adapter: create(),
          holdsOthers: true,
          now: () => Date.parse('2026-02-01T00:00:00.000Z'),
        })
        opened.push(service)
        await storeHidden(service, hidden)
        const stream = readStream(await service.handler(new Request('http://service.test/notes/changes')))
        const answers: unknown[] = []
        for (const [line, body] of ATTACKS) {
          const sent = await service.send(line, body ? { body } : {})
          answers.push([line, sent.status, withoutIds(sent)])
        }
        const events = await stream.until(4)
        await stream.close()
        expect(JSON.stringify([answers, events])).not.toContain('xxxxxx'.repeat(400))
        return { answers, events: events.map(({ event, data }) => [event, known(data)]) }
      }),
    )
    const [one, other] = sides
    expect(other).toEqual(one)
    expect(JSON.stringify(one?.events)).not.toContain('secret')
  })
})

/** What does not differ by chance: a new document has a random `_id`. */
const known = (data: { readonly _id?: unknown }): unknown => (data?._id === ID ? data : null)

const withoutIds = ({ body, headers }: Sent): unknown => {
  const { requestId: _, ...shown } = Array.isArray(body) ? { list: body } : (body ?? {})
  return [
    headers.get('etag')?.length,
    headers.get('content-length'),
    JSON.stringify(shown).replace(/[0-9a-f-]{36}/g, 'id'),
  ]
}
