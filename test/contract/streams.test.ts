import { describe, expect, test } from 'vitest'
import { createMemoryAdapter, type StoredDocument } from '../../src/index.js'
import { encodePath, type TestService } from '../support/service.js'
import { useStorages } from '../support/storages.js'
import { idOf, LONG_AGO } from '../support/stored.js'
import { nextOf } from '../support/walk.js'
import {
  ask,
  INDEXED,
  isJson,
  observe,
  outcomeOf,
  readerOf,
  readFrom,
  SIZE,
  settle,
  thingOf,
  things,
  UNINDEXED,
  useServices,
} from './support/streams.js'

const storages = useStorages()

/** The documents of all pages, as text. */
async function walk(service: TestService, path: string): Promise<string> {
  const pages: string[] = []
  for (let next: string | undefined = path; next !== undefined; ) {
    const sent = await service.send(`GET ${next}`)
    expect(sent.status, sent.text).toBe(200)
    if (sent.text !== '[]') pages.push(sent.text.slice(1, -1))
    next = nextOf(sent)
  }
  return `[${pages.join()}]`
}

/** A path of things with these parameters, some of them perhaps empty. */
const listOf = (...parameters: readonly string[]): string => {
  const query = parameters.filter((parameter) => parameter !== '').join('&')
  return query === '' ? '/things' : `/things?${query}`
}

const { open, listen } = useServices()

describe.each(storages)('a list without a limit, in %s,', (_, create) => {
  test('is what its pages are', async () => {
    const service = await open(create())
    for (const query of [
      '',
      'sort[_id]=-1',
      'sort[n]=1',
      'sort[n]=-1',
      'sort[m]=1',
      'sort[m]=-1',
      'sort[m]=-1&sort[n]=1',
      'sort[n]=1&sort[m]=-1',
      'sort[s]=1&sort[n]=1',
      'sort[createdAt]=-1',
      'q[m][$gte]=3',
      'q[m][$gte]=3&sort[m]=-1',
      'q[n][$lt]=900&sort[n]=-1',
      'q[s][$regex]=s[0-3]&sort[s]=-1',
      'q[s]=nothing',
      'skip=0',
      'skip=150',
      'skip=1000&sort[n]=1',
      'skip=1500&sort[m]=-1',
      'skip=5000',
      'project=["s","n"]',
      'project=["s"]&sort[m]=1',
      'expand=["r"]',
      'expand=["r"]&sort[m]=-1&project=["r"]',
    ]) {
      const response = await ask(service, listOf(query))
      const text = await response.text()
      const pages = await walk(service, listOf(query, 'limit=700'))
      expect(response.status, query).toBe(200)
      expect(response.headers.get('link'), query).toBeNull()
      expect(response.headers.get('content-type'), query).toBe('application/json')
      expect(isJson(text), query).toBe(true)
      expect(text === pages, query).toBe(true)
      expect(text).not.toMatch(/secret|hidden|_version/)
    }
  })

  test.each([1001, 1500, 5000])('nor with a limit of %i has a Link', async (limit) => {
    const service = await open(create())
    for (const sort of ['', 'sort[n]=-1', 'sort[m]=1']) {
      const response = await ask(service, listOf(sort, `limit=${limit}`, 'skip=10', 'total=true'))
      const body = (await response.json()) as unknown[]
      const all = JSON.parse(await walk(service, listOf(sort, 'limit=1000', 'skip=10')))
      expect(response.headers.get('link')).toBeNull()
      expect(response.headers.get('x-total-count')).toBe(
        String(things.filter(({ s }) => s !== 'hidden').length),
      )
      expect(body).toEqual(all.slice(0, limit))
    }
  })

  test('goes on behind a cursor', async () => {
    const service = await open(create())
    for (const sort of ['', 'sort[n]=-1&', 'sort[m]=1&', 'sort[m]=1&sort[n]=-1&']) {
      const first = await service.send(`GET /things?${sort}limit=600`)
      const next = nextOf(first) ?? ''
      const rest = await walk(service, next)
      const response = await ask(service, next.replace('limit=600&', ''))
      expect(response.headers.get('link')).toBeNull()
      expect((await response.text()) === rest, sort).toBe(true)
    }
  })

  test.each(['', 'sort[n]=1', 'sort[n]=-1', 'sort[m]=1', 'sort[m]=-1&sort[n]=1'])(
    'stays JSON, and shows what was there throughout once, whatever is written meanwhile: %s',
    async (sort) => {
      const adapter = create()
      const plain = things.map((thing) => ({ ...thing, s: 'x' }))
      const service = await open(adapter, { things: plain, people: [] })
      const reader = readerOf(await ask(service, listOf(sort)))
      const decoder = new TextDecoder()
      let text = ''
      for (let step = 0; ; step++) {
        const { done, value } = await reader.read()
        if (done) break
        text += decoder.decode(value)
        const field = { path: '_id', type: 'string', each: false } as const
        const removed = Array.from({ length: 40 }, (_, i) => idOf(1 + (((step * 40 + i) * 13) % SIZE)))
        const filters = removed.map((id) => ({ kind: 'eq', field, value: id }) as const)
        const inserts = Array.from({ length: 20 }, (_, i) => {
          const n = 5000 + step * 100 + i
          const insert = { ...thingOf(n), s: 'x', _id: idOf(n), _version: 1, createdAt: LONG_AGO }
          return { in: 'things', insert: insert as unknown as StoredDocument }
        })
        const steps = [{ in: 'things', remove: { kind: 'or', filters } as const }, ...inserts]
        expect(await adapter.write(steps, {})).toMatchObject({ ok: true })
      }
      const ids = (JSON.parse(text) as { readonly _id: string }[]).map(({ _id }) => _id)
      expect(new Set(ids).size).toBe(ids.length)
      const left = (await (await ask(service, '/things?project=[]')).json()) as { readonly _id: string }[]
      const stayed = left.map(({ _id }) => _id).filter((id) => id < idOf(5000))
      expect(stayed.length).toBeGreaterThan(1000)
      const seen = new Set(ids)
      expect(stayed.filter((id) => !seen.has(id))).toEqual([])
    },
  )

  test.each(['sort[n]=1', 'sort[n]=-1', 'sort[n]=1&limit=2000', 'sort[m]=1'])(
    'shows nothing twice, however it moves meanwhile: %s',
    async (sort) => {
      const adapter = create()
      const service = await open(adapter, {
        things: things.map((thing) => ({ ...thing, s: 'x' })),
        people: [],
      })
      const reader = readerOf(await ask(service, listOf(sort)))
      const decoder = new TextDecoder()
      let text = ''
      for (let step = 0; ; step++) {
        const { done, value } = await reader.read()
        if (done) break
        text += decoder.decode(value)
        const n = sort.includes('-1') ? -1 - step : 5000 + step
        const field = { path: '_id', type: 'string', each: false } as const
        const steps = Array.from({ length: 40 }, (_, i) => {
          const _id = idOf(1 + (((step * 40 + i) * 13) % SIZE))
          const moved = { ...thingOf(n), n, m: n, s: 'x', _id, _version: 1, createdAt: LONG_AGO }
          const filter = { kind: 'eq', field, value: _id } as const
          return [
            { in: 'things', remove: filter },
            { in: 'things', insert: moved as StoredDocument },
          ]
        })
        expect(await adapter.write(steps.flat(), {})).toMatchObject({ ok: true })
      }
      const ids = (JSON.parse(text) as { readonly _id: string }[]).map(({ _id }) => _id)
      expect(ids.length - new Set(ids).size).toBe(0)
      expect(ids.length).toBe(sort.includes('limit') ? 2000 : Math.min(ids.length, SIZE))
    },
  )

  test('asked for by HEAD reads no further, and leaves nothing behind', async () => {
    const seen = observe(create())
    const service = await open(seen.adapter)
    for (const path of ['/things', INDEXED, UNINDEXED]) {
      for (let i = 0; i < 15; i++) {
        seen.count = 0
        const response = await ask(service, `${path}${path.includes('?') ? '&' : '?'}total=true`, {
          method: 'HEAD',
        })
        expect([response.status, await response.text()], path).toEqual([200, ''])
        expect(response.headers.get('x-total-count')).not.toBeNull()
        // A batch behind a key may be read in parts, one for each way to be behind it.
        expect(seen.count).toBeLessThanOrEqual(4)
      }
      const { count } = seen
      await settle()
      expect(seen.count).toBe(count)
    }
    expect((await service.send('GET /things?limit=1')).status).toBe(200)
    await service.handler.close()
    expect(seen.closed).toBe(1)
  })

  test('that is read no further leaves nothing behind', async () => {
    const service = await open(create())
    for (let i = 0; i < 15; i++) {
      const reader = readerOf(await ask(service, UNINDEXED))
      if (i % 2 === 0) await reader.read()
      await reader.cancel()
    }
    expect((await service.send('GET /things/count')).status).toBe(200)
    await service.handler.close()
  })

  test('is answered to many at once, with documents in the place of references', async () => {
    const service = await open(create())
    const expected = await walk(service, `${UNINDEXED}&expand=["r"]&limit=1000`)
    const texts = await Promise.all(
      Array.from({ length: 25 }, async () => (await ask(service, `${UNINDEXED}&expand=["r"]`)).text()),
    )
    for (const text of texts) expect(text === expected).toBe(true)
  })

  test('that many do not read keeps nobody else from the storage', async () => {
    const service = await open(create())
    const unread = await Promise.all(Array.from({ length: 25 }, () => ask(service, UNINDEXED)))
    try {
      expect(unread.map(({ status }) => status)).toEqual(unread.map(() => 200))
      const count = await service.send('GET /things/count', { mayFail: true })
      expect(count.status).toBe(200)
    } finally {
      await Promise.all(unread.map(({ body }) => body?.cancel()))
    }
  })
})

describe('a fault of the storage', () => {
  /** Batches of lists, and whether they belong to the request itself: the first 1,500 documents, or three times 500. */
  const cases: readonly (readonly [path: string, batch: number, isInTime: boolean])[] = [
    ['/things', 1, true],
    ['/things', 2, false],
    ['/things', 3, false],
    [INDEXED, 1, true],
    [INDEXED, 2, false],
    [UNINDEXED, 1, true],
    [UNINDEXED, 2, true],
    [UNINDEXED, 3, true],
    [UNINDEXED, 4, false],
  ]

  const openFaulty = async (batch: number) => {
    let isArmed = false
    let count = 0
    const seen = observe(createMemoryAdapter(), (_, collection) => {
      if (!isArmed || collection !== 'things') return
      count += 1
      if (count === batch) throw new Error('a page of the disk with the secret is broken')
    })
    const service = await open(seen.adapter)
    isArmed = true
    return { service, seen }
  }

  test.each(cases)(
    'breaks a stream, and before it began is an answer: %s, batch %i',
    async (path, batch, isInTime) => {
      const { service } = await openFaulty(batch)
      const response = await ask(service, path)
      if (isInTime) {
        expect(response.status).toBe(500)
        expect(response.headers.get('content-type')).toBe('application/problem+json')
        expect(await response.json()).toMatchObject({ code: 'internal_error' })
      } else {
        expect(response.status).toBe(200)
        expect(await outcomeOf(response)).toBe('broken')
      }
      expect(service.logged.filter((entry) => JSON.stringify(entry).includes('requestId'))).toHaveLength(1)
      await service.handler.close()
    },
  )

  test.each(cases)('breaks the connection: %s, batch %i', async (path, batch, isInTime) => {
    const { service } = await openFaulty(batch)
    const url = await listen(service)
    const { text, isWhole, message } = await readFrom(url + encodePath(path))
    expect(isWhole).toBe(isInTime)
    expect(message.statusCode).toBe(isInTime ? 500 : 200)
    expect(isJson(text)).toBe(isInTime)
    expect(text).not.toContain('disk')
    // Others are answered as before.
    expect((await readFrom(`${url}/things?limit=1`)).isWhole).toBe(true)
  })

  test('in what is expanded breaks a stream too', async () => {
    let asked = 0
    const seen = observe(createMemoryAdapter(), (_, collection) => {
      if (collection !== 'people') return
      asked += 1
      if (asked === 3) throw new Error('broken')
    })
    const service = await open(seen.adapter)
    const response = await ask(service, '/things?expand=["r"]')
    expect(response.status).toBe(200)
    expect(await outcomeOf(response)).toBe('broken')
  })
})

describe('short lists', () => {
  test.each([0, 1, 499, 500, 501, 999, 1000, 1001, 1500])('of %i documents are whole', async (size) => {
    const documents = Array.from({ length: size }, (_, n) => ({ n, m: size - n, s: 'x' }))
    const service = await open(createMemoryAdapter(), { things: documents })
    for (const path of ['/things', INDEXED, `${INDEXED}&limit=1001`, UNINDEXED, `${UNINDEXED}&limit=5000`]) {
      const response = await ask(service, path)
      const body = (await response.json()) as { readonly n: number }[]
      const limit = path.includes('=1001') ? 1001 : size
      expect(body, path).toHaveLength(Math.min(size, limit))
      expect(body.map(({ n }) => n).sort((a, b) => a - b)).toEqual(
        documents.slice(0, Math.min(size, limit)).map(({ n }) => n),
      )
      expect(response.headers.get('link')).toBeNull()
    }
  })
})
