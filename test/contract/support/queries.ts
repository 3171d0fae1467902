import { expect } from 'vitest'
import { createTestService, faultsOf } from '../../support/service.js'

/** What the tests of queries have in common. */

export const config = {
  collections: {
    items: {
      schema: {
        title: { type: 'string' },
        zip: { type: 'string' },
        email: { type: 'string', trim: true, lowercase: true },
        views: { type: 'integer' },
        price: { type: 'number' },
        active: { type: 'boolean' },
        at: { type: 'timestamp' },
        tags: { type: 'array', items: { type: 'string' } },
        scores: { type: 'array', items: { type: 'integer' } },
        days: { type: 'array', items: { type: 'timestamp' } },
        flags: { type: 'array', items: { type: 'boolean' } },
        address: {
          type: 'object',
          properties: {
            city: { type: 'string' },
            geo: { type: 'object', properties: { lat: { type: 'number' }, isExact: { type: 'boolean' } } },
          },
        },
        meta: { type: 'json' },
        parts: {
          type: 'array',
          items: { type: 'object', properties: { size: { type: 'integer' } } },
        },
        grid: { type: 'array', items: { type: 'array', items: { type: 'integer' } } },
        pin: { type: 'hash' },
      },
      additionalProperties: true,
      permissions: { '*': true },
    },
  },
}

export const documents = {
  items: [
    {
      title: 'one',
      zip: '01234',
      email: 'ann@example.org',
      views: 1,
      price: 1.5,
      active: true,
      at: '2026-01-01',
      tags: ['red', 'blue'],
      scores: [1, 20],
      days: ['2026-05-01', '2026-06-01'],
      flags: [true],
      address: { city: 'Oslo', geo: { lat: 59.9, isExact: true } },
      meta: { any: 1 },
      parts: [{ size: 1 }],
      grid: [[1]],
      pin: '1234',
      extra: 'kept',
    },
    {
      title: 'two',
      zip: 'true',
      email: 'bob@example.org',
      views: 2,
      price: 2,
      active: false,
      at: '2026-01-02T10:00:00Z',
      tags: ['red'],
      scores: [5],
      address: { city: 'Rome', geo: { lat: 41.9, isExact: false } },
      meta: 'text',
    },
    { title: 'three', zip: 'null', views: 10, price: 0, tags: [], address: {}, meta: null },
    { title: 'Four' },
  ],
}

export const service = createTestService(config, { documents })
export const titles = (query: string): Promise<unknown[]> => service.list(`/items?${query}`, 'title')
export const ALL = ['one', 'two', 'three', 'Four']

/** The same query must be refused by list and by count, and name its parameter. */
export async function expectRefused(query: string, parameter?: string): Promise<void> {
  const answer = await service.send(`GET /items?${query}`)
  expect(answer.status, answer.text).toBe(400)
  expect(answer.body.code).toBe('invalid_query')
  if (parameter !== undefined) expect(Object.keys(faultsOf(answer))).toEqual([parameter])
}
