import { describe, expect, test } from 'vitest'
import { createTestService, faultsOf } from '../support/service.js'
import { closeAfterEach, useStorages } from '../support/storages.js'

// CONTRACT.md §1, "Limits", §3.5

const storages = useStorages()
const opened = closeAfterEach()

const config = {
  collections: {
    notes: { schema: { s: { type: 'string' } }, permissions: { '*': { read: true, create: true } } },
  },
}

describe.each(storages)('patterns, on %s', (_, create) => {
  test('what lies inside a surrogate pair is no place of a text', async () => {
    const texts = ['a\u{1f600}a', '\u{1f600}', 'ab', '\u{1f600}b\u{1f601}', 'a', '']
    const service = createTestService(config, { adapter: create() })
    opened.push(service)
    for (const s of texts) expect((await service.send('POST /notes', { body: { s } })).status).toBe(201)
    const find = async (pattern: string) =>
      new Set(await service.list(`/notes?q[s][$regex]=${encodeURIComponent(pattern)}`, 's'))
    expect(await find('\\B')).toEqual(new Set(['\u{1f600}', 'ab', '\u{1f600}b\u{1f601}', '']))
    expect(await find('^.$')).toEqual(new Set(['\u{1f600}', 'a']))
    expect(await find('\u{1f600}\\b')).toEqual(new Set(['a\u{1f600}a', '\u{1f600}b\u{1f601}']))
    expect(await find('a\\B')).toEqual(new Set(['ab']))
  })

  test('what overflows an automaton finds what it says', async () => {
    const middle = 'abbabaaabb'.repeat(60)
    const texts = [
      `a${middle.slice(0, 400)}`,
      `b${middle.slice(0, 400)}`,
      `xa${middle.slice(0, 400)}`,
      middle,
    ]
    const service = createTestService(config, { adapter: create() })
    opened.push(service)
    for (const s of texts) expect((await service.send('POST /notes', { body: { s } })).status).toBe(201)
    const found = await service.list('/notes?q[s][$regex]=a[ab]{400}$', 's')
    expect(new Set(found)).toEqual(new Set(texts.filter((text) => text.at(-401) === 'a')))
  })
})

const many = (count: number): string =>
  Array.from({ length: count }, (_, i) => `q[s][$regex]=x${i}`).join('&')

describe('limits.patterns', () => {
  test.each<[query: string, status: number]>([
    [many(10), 200],
    [many(11), 400],
    [`${many(10)}&q[s]=a&q[s][$ne]=b`, 200],
    [`${many(10)}&q[s][$options]=i`, 200],
    [`${many(9)}&q[$or][0][s][$regex]=a&q[$or][1][s]=b`, 200],
    [`${many(9)}&q[$or][0][s][$regex]=a&q[$or][1][s][$regex]=b`, 400],
    [`${many(10)}&q[$or][0][$or][0][s][$regex]=a`, 400],
  ])('is 10 by default, over all groups: %s', async (query, status) => {
    const service = createTestService(config)
    for (const path of ['/notes', '/notes/count']) {
      const sent = await service.send(`GET ${path}?${query}`)
      expect(sent.status).toBe(status)
      if (status === 400) {
        expect(sent.body.code).toBe('invalid_query')
        expect(faultsOf(sent)).toEqual({ q: 'too_many' })
      }
    }
  })

  test('is what the configuration says', async () => {
    const service = createTestService({ ...config, limits: { patterns: 2 } })
    expect((await service.send(`GET /notes?${many(2)}`)).status).toBe(200)
    expect((await service.send(`GET /notes?${many(3)}`)).status).toBe(400)
  })

  test('counts before any pattern is read', async () => {
    const service = createTestService(config)
    expect(faultsOf(await service.send(`GET /notes?${many(10)}&q[s][$regex]=(`))).toEqual({ q: 'too_many' })
  })

  test('does not bind the conditions of a rule', async () => {
    const where = { $or: Array.from({ length: 20 }, (_, i) => ({ s: { $regex: `x${i}$` } })) }
    const service = createTestService(
      {
        collections: {
          notes: { schema: { s: { type: 'string' } }, permissions: { '*': { read: { where } } } },
        },
        limits: { patterns: 1 },
      },
      { documents: { notes: [{ s: 'x7' }, { s: 'y' }] } },
    )
    expect(await service.list('/notes?q[s][$regex]=x', 's')).toEqual(['x7'])
  })
})

test('a pattern whose nodes follow each other in too many pairs is a fault', async () => {
  const service = createTestService(config)
  const letters = Array.from({ length: 150 }, (_, i) => String.fromCodePoint(0x4e00 + i)).join('|')
  const sent = await service.send(`GET /notes?q[s][$regex]=${encodeURIComponent(`(${letters})*`)}`)
  expect([sent.status, sent.body.code]).toEqual([400, 'invalid_query'])
  expect(faultsOf(sent)).toEqual({ 'q[s][$regex]': 'invalid_pattern' })
})
