import { describe, expect, test } from 'vitest'
import { type Caller, createMemoryAdapter, type StorageAdapter } from '../../src/index.js'
import { REWRITES } from '../support/rewritten-tags.js'
import { idOf, openStored, readStored, replaceMethods } from '../support/stored.js'
import {
  ann,
  as,
  configOf,
  etagOf,
  FAILED,
  FORBIDDEN,
  INVALID,
  NOT_FOUND,
  ONE,
  open,
  outcomeOf,
  stored,
  text,
  UNAUTHENTICATED,
  whole,
} from './support/documents.js'

/** Tags that differ by more than what a content coding adds. */
const ALSO_OTHERS: readonly (readonly [what: string, write: (etag: string) => string])[] = [
  ['another suffix', (etag) => etag.replace(/"$/, '-old"')],
  ['a coding without a hyphen', (etag) => etag.replace(/"$/, 'gzip"')],
  ['a coding before the tag', (etag) => etag.replace(/^"/, '"gzip-')],
  ['a coding in capitals', (etag) => etag.replace(/"$/, '-GZIP"')],
  ['two codings', (etag) => etag.replace(/"$/, '-gzip-br"')],
  ['a part of the tag', (etag) => etag.replace(/.{3}"$/, '"')],
  ['a part of the tag, and a coding', (etag) => etag.replace(/.{3}"$/, '-br"')],
]

describe('ETag', () => {
  const schema = { a: text, hidden: text }
  const permissions = {
    '*': { read: { omit: ['hidden', 'updatedAt'] }, update: true, create: true },
    admin: true,
  }
  const openOne = () => open(configOf(schema, permissions), { a: '1', hidden: 'h' })

  test.each(['PATCH', 'PUT'])('the answer to %s has that of the following GET', async (method) => {
    const service = await openOne()
    for (const caller of [null, as('admin')]) {
      const answer = await service.send(`${method} ${ONE}`, { caller, body: { hidden: 'x', a: '2' } })
      expect(etagOf(answer)).toMatch(/^"[^"]+"$/)
      expect(etagOf(await service.send(`GET ${ONE}`, { caller }))).toBe(etagOf(answer))
      expect(etagOf(await service.send(`HEAD ${ONE}`, { caller }))).toBe(etagOf(answer))
    }
  })

  test('the answer to POST has that of the following GET', async () => {
    const service = await openOne()
    const answer = await service.send('POST /items', { body: { a: '1' } })
    expect(etagOf(answer)).toMatch(/^"[^"]+"$/)
    expect(etagOf(await service.send(`GET ${answer.headers.get('location')}`))).toBe(etagOf(answer))
  })

  test('it does not depend on project, and does on what the caller sees', async () => {
    const service = await openOne()
    const etag = etagOf(await service.send(`GET ${ONE}`))
    expect(etagOf(await service.send(`GET ${ONE}?project=["a"]`))).toBe(etag)
    expect(etagOf(await service.send(`GET ${ONE}?project=[]`))).toBe(etag)
    const other = etagOf(await service.send(`GET ${ONE}`, { caller: as('admin') }))
    expect(other).not.toBe(etag)

    await service.send(`PATCH ${ONE}`, { body: { hidden: 'changed' } })
    expect(etagOf(await service.send(`GET ${ONE}`))).toBe(etag)
    expect(etagOf(await service.send(`GET ${ONE}`, { caller: as('admin') }))).not.toBe(other)
    await service.send(`PATCH ${ONE}`, { body: { a: 'changed' } })
    expect(etagOf(await service.send(`GET ${ONE}`))).not.toBe(etag)
  })

  test.each<[string, (etag: string) => string, number]>([
    ['the tag', (etag) => etag, 304],
    ['the tag as a weak one', (etag) => `W/${etag}`, 304],
    ['a list', (etag) => `"other", W/"one" ,${etag}`, 304],
    ['any', () => '*', 304],
    ['another', () => '"other"', 200],
    ...ALSO_OTHERS.map(([what, write]): [string, typeof write, number] => [what, write, 200]),
    ['the tag without quotes', (etag) => etag.slice(1, -1), 200],
    ['a long list without it', () => '"a",'.repeat(3000), 200],
    ['an empty header', () => '', 200],
  ])('If-None-Match with %s', async (_, write, status) => {
    const service = await openOne()
    const etag = etagOf(await service.send(`GET ${ONE}`))
    for (const line of [`GET ${ONE}`, `GET ${ONE}?project=["a"]`, `HEAD ${ONE}`]) {
      const answer = await service.send(line, { headers: { 'if-none-match': write(etag) } })
      expect(answer.status).toBe(status)
      expect(etagOf(answer)).toBe(etag)
      if (status === 304) expect(answer.text).toBe('')
    }
  })

  test('If-None-Match does not tell what may not be read', async () => {
    const service = await open(
      configOf(schema, { user: { read: { where: { a: '1' } } } }),
      { a: '1' },
      { a: '2' },
    )
    const headers = { 'if-none-match': '*' }
    expect(outcomeOf(await service.send(`GET /items/${idOf(2)}`, { caller: ann, headers }))).toEqual(
      NOT_FOUND,
    )
    expect(outcomeOf(await service.send(`GET ${ONE}`, { caller: null, headers }))).toEqual(UNAUTHENTICATED)
    expect((await service.send(`GET ${ONE}`, { caller: ann, headers })).status).toBe(304)
  })
})

describe('If-Match', () => {
  test.each<[string, (etag: string) => string, boolean]>([
    ['the tag', (etag) => etag, true],
    ['a list', (etag) => `"other",${etag} , "one"`, true],
    ['any', () => '*', true],
    ['another', () => '"other"', false],
    ['weak ones and another', (etag) => `W/"one",W/${etag}, "other"`, true],
    ...ALSO_OTHERS.map(([what, write]): [string, typeof write, boolean] => [what, write, false]),
    ['the tag without quotes', (etag) => etag.slice(1, -1), false],
    ['a star among tags', (etag) => `${etag}, *`, false],
    ['tags without a comma', (etag) => `"other" ${etag}`, false],
    ['an open quote', (etag) => `${etag}, "`, false],
    ['nothing', () => '', false],
  ])('with %s', async (_, write, holds) => {
    for (const method of ['PATCH', 'PUT', 'DELETE']) {
      const service = await open(configOf({ a: text }), { a: '1' })
      const headers = { 'if-match': write(etagOf(await service.send(`GET ${ONE}`))) }
      const answer = await service.send(`${method} ${ONE}`, { headers, body: { a: '2' } })
      expect(outcomeOf(answer)).toEqual(holds ? (method === 'DELETE' ? 204 : 200) : FAILED)
      if (!holds) expect(await stored(service)).toEqual({ a: '1' })
    }
  })

  test('holds once: the tag of the answer is the next to send', async () => {
    const service = await open(configOf({ a: text }), { a: '1' })
    const first = etagOf(await service.send(`GET ${ONE}`))
    const second = await service.send(`PATCH ${ONE}`, { headers: { 'if-match': first }, body: { a: '2' } })
    expect(outcomeOf(await service.send(`DELETE ${ONE}`, { headers: { 'if-match': first } }))).toEqual(FAILED)
    const headers = { 'if-match': etagOf(second) }
    expect((await service.send(`PUT ${ONE}`, { headers, body: { a: '3' } })).status).toBe(200)
  })

  test('of two updates of one state at once, one is made', async () => {
    const service = await open(configOf({ a: whole, b: whole }), { a: 0 })
    const headers = { 'if-match': etagOf(await service.send(`GET ${ONE}`)) }
    const answers = await Promise.all([
      service.send(`PATCH ${ONE}`, { headers, body: { a: 1 } }),
      service.send(`PUT ${ONE}`, { headers, body: { b: 1 } }),
      service.send(`DELETE ${ONE}`, { headers }),
    ])
    expect(answers.filter(({ status }) => status < 300)).toHaveLength(1)
  })

  test('is judged by what its caller reads', async () => {
    const permissions = { '*': { read: { omit: ['b', 'updatedAt'] }, update: true }, admin: true }
    const service = await open(configOf({ a: text, b: text }, permissions), { a: '1', b: '1' })
    const headers = { 'if-match': etagOf(await service.send(`GET ${ONE}`)) }
    await service.send(`PATCH ${ONE}`, { caller: as('admin'), body: { b: '2' } })
    expect(outcomeOf(await service.send(`PATCH ${ONE}`, { caller: as('admin'), headers, body: {} }))).toEqual(
      FAILED,
    )
    expect((await service.send(`PATCH ${ONE}`, { headers, body: { b: '3' } })).status).toBe(200)
  })
})

describe.each(REWRITES)('a tag that was rewritten on its way, by %s,', (_, rewrite) => {
  const openOne = async () => {
    const service = await open(configOf({ a: text }), { a: '1' })
    const tag = async () => etagOf(await service.send(`GET ${ONE}`))
    return { service, tag, rewritten: async () => rewrite(await tag()) }
  }

  test.each(['PATCH', 'PUT', 'DELETE'])(
    'holds for %s as long as the document is the same',
    async (method) => {
      const { service, rewritten } = await openOne()
      const headers = { 'if-match': await rewritten() }
      const change = { headers, body: { a: '2' } }
      expect((await service.send(`PATCH ${ONE}`, change)).status).toBe(200)
      expect(outcomeOf(await service.send(`${method} ${ONE}`, change))).toEqual(FAILED)
      const done = await service.send(`${method} ${ONE}`, {
        headers: { 'if-match': `"other", ${await rewritten()}` },
        body: { a: '3' },
      })
      expect(done.status).toBe(method === 'DELETE' ? 204 : 200)
    },
  )

  test('is known again, and refuses a write that expects another', async () => {
    const { service, tag, rewritten } = await openOne()
    const headers = { 'if-none-match': await rewritten() }
    const known = await service.send(`GET ${ONE}`, { headers })
    expect([known.status, etagOf(known)]).toEqual([304, await tag()])
    expect((await service.send(`GET ${ONE}`, { headers: { 'if-match': await rewritten() } })).status).toBe(
      200,
    )
    for (const method of ['PATCH', 'PUT', 'DELETE'])
      expect(outcomeOf(await service.send(`${method} ${ONE}`, { headers, body: { a: '2' } }))).toEqual(FAILED)
    await service.send(`PATCH ${ONE}`, { body: { a: '2' } })
    expect((await service.send(`GET ${ONE}`, { headers })).status).toBe(200)
    expect((await service.send(`PATCH ${ONE}`, { headers, body: { a: '3' } })).status).toBe(200)
  })

  test('means the same in a batch', async () => {
    const { service, rewritten } = await openOne()
    const run = (...operations: readonly object[]) => service.send('POST /_batch', { body: { operations } })
    const ifMatch = await rewritten()
    const read = { method: 'GET', path: ONE, ifMatch }
    const known = { method: 'GET', path: ONE, ifNoneMatch: ifMatch }
    const { body } = await run(read, known, { method: 'PATCH', path: ONE, ifMatch, body: { a: '2' } })
    expect(body.results.map(({ status }: { status: number }) => status)).toEqual([200, 304, 200])
    for (const method of ['PUT', 'PATCH'])
      expect(outcomeOf(await run({ method, path: ONE, ifMatch, body: {} }))).toEqual(FAILED)
    expect(outcomeOf(await run(read))).toEqual(FAILED)
    const kept = { method: 'DELETE', path: ONE, ifNoneMatch: await rewritten() }
    expect(outcomeOf(await run(kept))).toEqual(FAILED)
    const gone = { method: 'DELETE', path: ONE, ifMatch: await rewritten() }
    expect((await run(gone)).body.results[0].status).toBe(204)
  })
})

describe('faults come in their order', () => {
  const schema = {
    a: { type: 'string', maxLength: 3 },
    slug: { type: 'string', unique: true },
    team: text,
    open: { type: 'boolean' },
  }
  const permissions = {
    user: { read: { where: { team: { $ne: 'hidden' } } } },
    writer: {
      read: { where: { team: { $ne: 'hidden' } } },
      update: { where: { open: true }, check: { team: 'x' } },
      delete: { where: { open: true } },
    },
  }
  const items = [
    { team: 'x', slug: 'one', open: true },
    { team: 'x', slug: 'two', open: false },
    { team: 'hidden', slug: 'three', open: true },
    { team: 'y', slug: 'four', open: true },
  ]
  const writer = as('writer')
  const wrongTag = { 'if-match': '"wrong"' }
  const json = { 'content-type': 'application/json' }
  const everything = { a: 'too long', slug: 'one' }
  const image = { 'content-type': 'image/png' }

  test.each<[string, Caller | null, string, object, unknown]>([
    ['nobody', null, `${idOf(1)}?x=1`, { raw: '{', headers: image }, UNAUTHENTICATED],
    ['nobody, and no document', null, idOf(9), { body: {} }, UNAUTHENTICATED],
    ['no rule, and no document', ann, `${idOf(9)}?x=1`, { raw: '{', headers: image }, NOT_FOUND],
    ['no rule, and not readable', ann, `${idOf(3)}?x=1`, { raw: '{', headers: image }, NOT_FOUND],
    ['no rule', ann, `${idOf(1)}?x=1`, { raw: '{', headers: { ...image, ...wrongTag } }, FORBIDDEN],
    ['query', writer, `${idOf(9)}?x=1`, { raw: '{', headers: image }, [400, 'invalid_query']],
    ['media type', writer, idOf(9), { raw: '{', headers: image }, [415, 'unsupported_media_type']],
    ['JSON', writer, idOf(9), { raw: '{', headers: json }, [400, 'invalid_json']],
    ['no document', writer, idOf(9), { body: everything, headers: wrongTag }, NOT_FOUND],
    ['no id', writer, 'nonsense', { body: everything, headers: wrongTag }, NOT_FOUND],
    ['not readable', writer, idOf(3), { body: everything, headers: wrongTag }, NOT_FOUND],
    ['rule', writer, idOf(2), { body: everything, headers: wrongTag }, FORBIDDEN],
    ['precondition', writer, idOf(4), { body: everything, headers: wrongTag }, FAILED],
    ['validation', writer, idOf(4), { body: everything }, INVALID],
    ['check', writer, idOf(4), { body: { slug: 'one' } }, FORBIDDEN],
    ['conflict', writer, idOf(4), { body: { slug: 'one', team: 'x' } }, [409, 'unique_violation']],
  ])('%s', async (_, caller, id, sent, expected) => {
    const service = await open(configOf(schema, permissions), ...items)
    for (const method of ['PATCH', 'PUT']) {
      expect(outcomeOf(await service.send(`${method} /items/${id}`, { caller, ...sent }))).toEqual(expected)
    }
  })

  test.each<[string, Caller | null, string, unknown]>([
    ['nobody', null, `${idOf(9)}?x=1`, UNAUTHENTICATED],
    ['no rule, and no document', ann, `${idOf(9)}?x=1`, NOT_FOUND],
    ['no rule', ann, `${idOf(1)}?x=1`, FORBIDDEN],
    ['query', writer, `${idOf(9)}?x=1`, [400, 'invalid_query']],
    ['not readable', writer, idOf(3), NOT_FOUND],
    ['rule', writer, idOf(2), FORBIDDEN],
    ['precondition', writer, idOf(1), FAILED],
  ])('DELETE: %s', async (_, caller, id, expected) => {
    const service = await open(configOf(schema, permissions), ...items)
    expect(outcomeOf(await service.send(`DELETE /items/${id}`, { caller, headers: wrongTag }))).toEqual(
      expected,
    )
  })

  test('the body of one whom no rule lets write is not read', async () => {
    const service = await open(configOf(schema, permissions), ...items)
    let isRead = false
    const raw = new ReadableStream<Uint8Array>(
      {
        pull(controller) {
          isRead = true
          controller.close()
        },
      },
      { highWaterMark: 0 },
    )
    expect(outcomeOf(await service.send(`PATCH ${ONE}`, { caller: ann, raw }))).toEqual(FORBIDDEN)
    expect(isRead).toBe(false)
  })
})

describe('at the same time', () => {
  /** An adapter whose first two reads of one document answer together, so that both requests hold the same version. */
  function meetAfterReading(): StorageAdapter {
    const memory = createMemoryAdapter()
    const waiting: (() => void)[] = []
    return replaceMethods(memory, {
      async list(collection, query) {
        const found = await memory.list(collection, query)
        if (query.limit !== 1 || waiting.length === 2) return found
        await new Promise<void>((resolve) => {
          waiting.push(resolve)
          if (waiting.length === 2) for (const go of waiting) go()
        })
        return found
      },
    })
  }
  const openMeeting = () =>
    openStored(
      configOf({ a: whole, b: whole, c: whole }),
      { items: [{ a: 0, b: 0, c: 0 }] },
      { adapter: meetAfterReading() },
    )

  test('two PATCHes of different fields both survive', async () => {
    const service = await openMeeting()
    const answers = await Promise.all([
      service.send(`PATCH ${ONE}`, { body: { a: 1 } }),
      service.send(`PATCH ${ONE}`, { body: { b: 1 } }),
    ])
    expect(answers.map(({ status }) => status)).toEqual([200, 200])
    expect(await stored(service)).toEqual({ a: 1, b: 1, c: 0 })
    expect((await readStored(service, 'items', idOf(1)))?._version).toBe(3)
  })

  test('a PATCH that comes behind a DELETE finds nothing', async () => {
    const service = await openMeeting()
    const answers = await Promise.all([
      service.send(`DELETE ${ONE}`),
      service.send(`PATCH ${ONE}`, { body: { b: 1 } }),
    ])
    expect(answers[0].status).toBe(204)
    expect([200, 404]).toContain(answers[1].status)
    expect(await readStored(service, 'items', idOf(1))).toBeUndefined()
  })

  test('a DELETE with If-Match does not take what has changed since', async () => {
    const memory = createMemoryAdapter()
    let interfere = false
    const adapter: StorageAdapter = {
      ...memory,
      async write(steps, options) {
        if (interfere) {
          interfere = false
          await service.send(`PATCH ${ONE}`, { body: { a: 1 } })
        }
        return memory.write(steps, options)
      },
    }
    const service = await openStored(configOf({ a: whole }), { items: [{ a: 0 }] }, { adapter })
    const headers = { 'if-match': etagOf(await service.send(`GET ${ONE}`)) }
    interfere = true
    expect(outcomeOf(await service.send(`DELETE ${ONE}`, { headers }))).toEqual(FAILED)
    expect(await stored(service)).toEqual({ a: 1 })
  })

  test('rights are judged anew on what others have written meanwhile', async () => {
    const permissions = {
      user: { read: true, update: { where: { a: 0 }, check: {} }, delete: { where: { a: 0 } } },
      admin: true,
    }
    for (const method of ['PATCH', 'DELETE']) {
      const memory = createMemoryAdapter()
      let interfere = false
      const adapter: StorageAdapter = {
        ...memory,
        async write(steps, options) {
          if (interfere) {
            interfere = false
            await service.send(`PATCH ${ONE}`, { caller: as('admin'), body: { a: 1 } })
          }
          return memory.write(steps, options)
        },
      }
      const service = await openStored(
        configOf({ a: whole, b: whole }, permissions),
        { items: [{ a: 0 }] },
        { adapter },
      )
      interfere = true
      const answer = await service.send(`${method} ${ONE}`, { caller: ann, body: { b: 1 } })
      expect(outcomeOf(answer)).toEqual(FORBIDDEN)
      expect(await stored(service)).toEqual({ a: 1 })
    }
  })

  test('after ten attempts it is 503, and nothing is written', async () => {
    const memory = createMemoryAdapter()
    let attempts = 0
    let isBusy = false
    const adapter: StorageAdapter = {
      ...memory,
      async write(steps, options) {
        if (!isBusy) return memory.write(steps, options)
        attempts += 1
        return { ok: false, step: 0, reason: 'changed' }
      },
    }
    const service = await openStored(configOf({ a: whole }), { items: [{ a: 0 }] }, { adapter })
    isBusy = true
    for (const method of ['PATCH', 'PUT', 'DELETE']) {
      attempts = 0
      const answer = await service.send(`${method} ${ONE}`, { body: { a: 1 }, mayFail: true })
      expect(outcomeOf(answer)).toEqual([503, 'overloaded'])
      expect(answer.headers.has('retry-after')).toBe(true)
      expect(attempts).toBe(10)
    }
  })
})
