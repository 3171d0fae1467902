import { describe, expect, test } from 'vitest'
import { createClient, edges } from '../../src/client/client.js'
import { createTestService } from '../support/service.js'

const { handler } = createTestService(
  {
    collections: {
      orders: {
        schema: {
          status: { type: 'string' },
          amount: { type: 'number' },
          at: { type: 'timestamp' },
          address: { type: 'object', properties: { city: { type: 'string' } } },
        },
        permissions: { '*': { read: true } },
      },
    },
  },
  {
    documents: {
      orders: [
        { status: 'open', amount: 0.1, at: '2026-03-28T22:59:59Z' },
        { status: 'open', amount: 0.2, at: '2026-03-28T23:00:00Z' },
        { status: 'paid', amount: 5, at: '2026-03-29T22:00:00Z', address: { city: 'Oslo' } },
        {},
      ],
    },
  },
)

const orders = createClient(handler.as(null)).collection('orders')

describe('aggregate', () => {
  test('groups with their measures', async () => {
    expect(
      await orders.aggregate({
        q: { amount: { $exists: true } },
        by: { status: 'value' },
        sum: ['amount'],
        max: ['address.city'],
        sort: { '$sum.amount': -1 },
      }),
    ).toEqual([
      { key: { status: 'paid' }, count: 1, sum: { amount: 5 }, max: { 'address.city': 'Oslo' } },
      { key: { status: 'open' }, count: 2, sum: { amount: 0.3 }, max: { 'address.city': null } },
    ])
    expect(await orders.aggregate()).toEqual([{ key: {}, count: 4 }])
  })

  test('pages, and the number of all groups', async () => {
    expect(await orders.aggregate({ by: { status: 'value' }, skip: 1, limit: 1, total: true })).toEqual({
      groups: [{ key: { status: 'open' }, count: 2 }],
      total: 3,
    })
    expect(await orders.aggregate({ by: { status: 'value' }, limit: 1, total: false })).toHaveLength(1)
  })

  test('days of a time zone', async () => {
    const days = edges('day', 'Europe/Oslo', '2026-03-28T23:00:00Z', '2026-03-30T22:00:00Z')
    expect(await orders.aggregate({ by: { at: days } })).toEqual([
      { key: { at: null }, count: 2 },
      { key: { at: '2026-03-28T23:00:00.000Z' }, count: 1 },
      { key: { at: '2026-03-29T22:00:00.000Z' }, count: 1 },
    ])
  })
})

describe('edges', () => {
  test.each([
    [
      'a day of 23 hours',
      'day',
      'Europe/Oslo',
      '2026-03-29',
      '2026-03-31',
      ['2026-03-29T22:00:00', '2026-03-30T22:00:00'],
    ],
    [
      'from on, before to',
      'day',
      'UTC',
      '2026-01-01',
      '2026-01-03',
      ['2026-01-01T00:00:00', '2026-01-02T00:00:00'],
    ],
    [
      'a day without a midnight',
      'day',
      'America/Sao_Paulo',
      '2018-11-03T12:00',
      '2018-11-05T01:00',
      ['2018-11-04T03:00:00'],
    ],
    [
      'a day that begins twice',
      'day',
      'America/St_Johns',
      '2010-11-06T12:00Z',
      '2010-11-08T00:00Z',
      ['2010-11-07T02:30:00'],
    ],
    [
      'a day that the zone skips',
      'day',
      'Pacific/Apia',
      '2011-12-29T00:00Z',
      '2011-12-31T11:00Z',
      ['2011-12-29T10:00:00', '2011-12-30T10:00:00', '2011-12-31T10:00:00'],
    ],
    [
      'weeks begin on Monday',
      'week',
      'Europe/Oslo',
      '2026-11-20',
      '2026-12-01',
      ['2026-11-22T23:00:00', '2026-11-29T23:00:00'],
    ],
    [
      'months',
      'month',
      'Asia/Tokyo',
      '2026-01-01',
      '2026-03-01',
      ['2026-01-31T15:00:00', '2026-02-28T15:00:00'],
    ],
    [
      'years below 100',
      'year',
      'UTC',
      '0098-06-01',
      '0101-01-02',
      ['0099-01-01T00:00:00', '0100-01-01T00:00:00', '0101-01-01T00:00:00'],
    ],
    [
      'hours of a zone of half hours',
      'hour',
      'Asia/Kolkata',
      '2026-01-01T00:00Z',
      '2026-01-01T02:00Z',
      ['2026-01-01T00:30:00', '2026-01-01T01:30:00'],
    ],
    [
      'an hour that comes twice is one',
      'hour',
      'Europe/Oslo',
      '2026-10-25T00:00Z',
      '2026-10-25T03:00Z',
      ['2026-10-25T00:00:00', '2026-10-25T02:00:00'],
    ],
  ] as const)('%s', (_, unit, zone, from, to, expected) => {
    const utc = (time: string): string => (/T.*Z$/.test(time) || !time.includes('T') ? time : `${time}Z`)
    expect(edges(unit, zone, utc(from), utc(to))).toEqual(expected.map((time) => `${time}.000Z`))
  })

  test('unknown units, zones and times are refused', () => {
    expect(() => edges('decade' as never, 'UTC', '2026-01-01', '2026-01-02')).toThrow(TypeError)
    expect(() => edges('day', 'Europe/Atlantis', '2026-01-01', '2026-01-02')).toThrow(RangeError)
    expect(() => edges('day', 'UTC', 'soon', '2026-01-02')).toThrow(TypeError)
  })
})
