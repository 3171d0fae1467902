import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { everything } from '../../src/core/filter/filter.js'
import {
  type Consumer,
  createMemoryAdapter,
  type StorageAdapter,
  type StoredDocument,
} from '../../src/index.js'
import { dump, load, TransferError } from '../../src/tools/transfer/index.js'
import { readStream } from '../support/event-streams.js'
import { createTestService } from '../support/service.js'
import { closeAfterEach, useLastingStorages } from '../support/storages.js'
import { idOf } from '../support/stored.js'
import {
  checkDamaged,
  checkLeftOut,
  checkMoved,
  config,
  dumpLines,
  type Filled,
  fill,
  readTexts,
  refusalOf,
  serveTransferred,
} from '../support/transfer-laws.js'
import { until } from '../support/until.js'

// CONTRACT.md §7, "Dumps"

const transfer = { dump, load }
const storages = useLastingStorages()
const opened = closeAfterEach()

const isExact = (name: string): boolean => name !== 'PostgreSQL'

describe.each(storages)('a dump of %s', (from, create) => {
  let filled: Filled
  beforeAll(async () => {
    filled = await fill(create()())
  }, 60_000)
  afterAll(() => filled.service.handler.close())

  test.each(storages)(
    'is stored in %s as it was, and the service answers as before',
    async (to, create) => {
      const target = { adapter: create()(), isExact: isExact(from) && isExact(to) }
      const moved = await checkMoved(transfer, filled, target)
      opened.push(moved)
      // Versions and unique fields count.
      const { body } = await moved.send('POST /auth/login', {
        body: { email: 'caller0@example.com', password: 'secret 0' },
      })
      const own = `GET /projects?q[createdBy]=${body.user._id}&limit=1`
      const [project] = (await moved.send(own, { token: body.token })).body
      const line = `/projects/${project._id}`
      const before = await filled.service.send(`GET ${line}`, { token: filled.tokens[0] ?? '' })
      const headers = { 'if-match': before.headers.get('etag') ?? '' }
      const change = { token: body.token, headers, body: { open: true, budget: 5.5 } }
      expect((await moved.send(`PATCH ${line}`, change)).status).toBe(200)
      expect((await moved.send(`PATCH ${line}`, change)).status).toBe(412)
      const again = { token: body.token, body: { name: project.name } }
      expect((await moved.send('POST /projects', again)).status).toBe(409)
      // A dump of the copy has the same counts and digests.
      const end = async (adapter: StorageAdapter) =>
        JSON.parse((await dumpLines(transfer, adapter)).at(-1) ?? '')
      const [copied, original] = [await end(moved.adapter), await end(filled.service.adapter)]
      expect(copied.end.tasks).toEqual(original.end.tasks)
    },
    60_000,
  )

  test('has sessions only if asked, and never counted logins, delivered tokens or keys', () =>
    checkLeftOut(transfer, filled))

  test.each(storages)('with sessions keeps users signed in, in %s', async (_, create) => {
    const adapter = create()()
    await load(config, adapter, await dumpLines(transfer, filled.service.adapter, { sessions: true }))
    const moved = serveTransferred(adapter)
    opened.push(moved)
    for (const token of filled.tokens)
      expect((await moved.send('GET /auth/me', { token: token ?? '' })).status).toBe(200)
  })

  test('that was damaged is rejected', async () => {
    await checkDamaged(transfer, await dumpLines(transfer, filled.service.adapter))
  })
})

const things = {
  collections: {
    things: {
      changes: true,
      schema: { n: { type: 'integer', unique: true }, text: { type: 'string' } },
      permissions: { '*': true },
    },
    others: { changes: true, schema: { n: { type: 'integer' } }, permissions: { '*': true } },
  },
}

const thingsOf = (count: number): readonly StoredDocument[] =>
  Array.from({ length: count }, (_, i) => ({ _id: idOf(i), _version: 3, n: i, createdBy: null }))

/** A dump of things, as a program could write it. */
async function dumpThings(count: number): Promise<readonly string[]> {
  const adapter = createMemoryAdapter()
  const service = createTestService(things, { adapter })
  await service.handler.ready()
  await adapter.write(
    thingsOf(count).map((insert) => ({ in: 'things', insert })),
    {},
  )
  const texts: string[] = []
  await dump(things, adapter, (text) => void texts.push(text))
  return texts.join('').match(/[^\n]*\n/g) ?? []
}

describe.each(storages)('in %s', (name, create) => {
  const connected: StorageAdapter[] = []
  const connectTo = (connect: () => StorageAdapter): StorageAdapter => {
    const adapter = connect()
    connected.push(adapter)
    return adapter
  }
  afterAll(() => Promise.all(connected.map((adapter) => adapter.close())))

  test('a dump has no write that came after its begin', async () => {
    const service = createTestService(things, { adapter: create()() })
    opened.push(service)
    await service.handler.ready()
    const { adapter } = service
    for (const collection of ['things', 'others'])
      await adapter.write(
        thingsOf(1200).map((insert) => ({ in: collection, insert })),
        {},
      )
    const before = await readTexts(adapter, 'others', true)
    const texts: string[] = []
    let writes = 0
    await dump(things, adapter, async (text) => {
      texts.push(text)
      writes += 1
      await adapter.write(
        [
          {
            in: 'others',
            remove: { kind: 'lt', field: { path: 'n', type: 'integer', each: false }, value: writes * 100 },
          },
        ],
        {},
      )
      await service.send('POST /others', { body: { n: -1 } })
    })
    const documents = texts.join('').split('\n').slice(1, -2)
    const others = documents.map((line) => JSON.parse(line)).filter((line) => line.in === 'others')
    expect(others.map(({ document }) => JSON.stringify(document))).toEqual(before)
    expect(await adapter.count('others', everything, {})).toBeLessThan(1200)
  })

  test.each([
    ['and the service uses another adapter', false],
    ['and the service uses the same adapter', true],
  ])('a load is no change for consumers, and resets streams of before, %s', async (_, isSame) => {
    const told: unknown[] = []
    const handle: Consumer['handle'] = ({ collection, after }) => void told.push([collection, after?.n])
    const consumers = { all: { collections: ['things', 'others'], handle } }
    const connect = create()
    // A storage in memory was not served before: it is loaded by the process that serves it.
    const former = name === 'memory' ? createMemoryAdapter() : connect()
    const before = createTestService(things, { adapter: former, consumers })
    await before.send('POST /others', { body: { n: 5000 } })
    const stream = readStream(await before.handler(new Request('http://service.test/others/changes')))
    const [reset] = await stream.until(1)
    await stream.close()
    const [{ _id }] = (await before.send('GET /others')).body
    await before.send(`DELETE /others/${_id}`)
    await until(() => told.length === 2)
    await before.handler.close()
    told.length = 0

    const adapter = connectTo(connect)
    await load(things, adapter, await dumpThings(700))
    if (name !== 'memory' && !isSame) await adapter.close()
    const moved = createTestService(things, { adapter: isSame ? adapter : connect(), consumers })
    opened.push(moved)
    await moved.handler.ready()
    const headers = { 'last-event-id': reset?.id ?? '' }
    const next = readStream(
      await moved.handler(new Request('http://service.test/others/changes', { headers })),
    )
    // A reset covers all changes before it, so the next change comes after it.
    await next.until(1)
    await moved.send('POST /others', { body: { n: 9000 } })
    expect((await next.until(2)).map(({ event }) => event)).toEqual(['reset', 'enter'])
    await next.close()
    await until(() => told.some((one) => String(one) === 'others,9000'))
    expect(told.filter((one) => Number((one as unknown[])[1]) < 700)).toEqual([])
  })

  test('a load needs an empty storage, and says what is there', async () => {
    const adapter = connectTo(create())
    const lines = await dumpThings(3)
    await load(things, adapter, lines)
    const again = load(things, adapter, lines)
    await expect(again).rejects.toThrow(/already contains documents \(things 3\).*--resume/)
    expect(await refusalOf(load(things, adapter, lines))).toBe('not_empty')
    expect(await adapter.count('things', everything, {})).toBe(3)
  })

  test('a load that was interrupted continues', async () => {
    const adapter = connectTo(create())
    const lines = await dumpThings(1800)
    const controller = new AbortController()
    const { signal } = controller
    async function* interrupted() {
      yield lines.slice(0, 1000).join('')
      controller.abort()
      yield lines.slice(1000).join('')
    }
    await expect(load(things, adapter, interrupted(), { signal })).rejects.toThrow(
      /interrupted; 500 documents are stored.*--resume/,
    )
    expect(await adapter.count('things', everything, {})).toBe(500)
    const { written, present } = await load(things, adapter, lines, { resume: true })
    expect([written, present]).toEqual([1300, 500])
    const whole = await load(things, adapter, lines, { resume: true })
    expect([whole.written, whole.present]).toEqual([0, 1800])
  })

  test('a load continues only over the documents of its dump', async () => {
    const adapter = connectTo(create())
    const [lines, more] = [await dumpThings(3), await dumpThings(4)]
    await load(things, adapter, lines)
    const changed = more.map((line) => line.replace('"n":1,', '"n":77,'))
    await expect(load(things, adapter, changed, { resume: true })).rejects.toThrow(
      `line 3: things ${idOf(1)} is already stored, and differs from the dump`,
    )
    // The dump is of a configuration with fewer collections.
    const { things: one } = things.collections
    const before = { collections: { ...things.collections, former: one } }
    await adapter.open([{ name: 'former', indexes: [] }])
    await adapter.write([{ in: 'former', insert: { _id: 'a', _version: 1 } }], {})
    const resumed = load(before, adapter, lines, { resume: true })
    await expect(resumed).rejects.toThrow(
      'the storage already contains documents (former 1) of collections that the dump lacks',
    )
    // The storage has a document that the dump lacks.
    await load(things, adapter, more, { resume: true })
    await expect(load(things, adapter, lines, { resume: true })).rejects.toThrow(
      /the storage has 4 documents .* of things, but the dump has 3 documents/,
    )
  })

  test('two documents with one unique value are named, and not the value', async () => {
    const lines = await dumpThings(900)
    for (const [first, second] of [
      [1, 3],
      [1, 800],
    ] as const) {
      const adapter = connectTo(create())
      const changed = lines.with(
        second + 1,
        (lines[second + 1] ?? '').replace(`"n":${second},`, `"n":${first},`),
      )
      await expect(load(things, adapter, changed)).rejects.toThrow(
        `line ${second + 2}: things ${idOf(second)} has the same n as ${idOf(first)}, but n must be unique`,
      )
    }
  })
})

describe('a dump', () => {
  const head = (collections: readonly string[], others: object = {}): string =>
    `${JSON.stringify({ format: 'collection-service dump', version: 1, collections, ...others })}\n`
  const line = (document: object, name = 'things'): string => `${JSON.stringify({ in: name, document })}\n`
  const thing = { _id: 'a', _version: 1 }

  const refused: readonly (readonly [
    what: string,
    source: readonly (string | Uint8Array)[],
    message: string | RegExp,
  ])[] = [
    ['that is empty', [], 'the input is empty, and no dump (incomplete)'],
    ['that is not JSON', ['notes,1\n'], /^line 1: is not JSON: .* at column 1 \(invalid_line\)$/],
    [
      'with a line that is not JSON',
      [head(['things']), '{"in":things}\n'],
      /^line 2: is not JSON: .* at column 7/,
    ],
    [
      'with a line that is no object',
      [head(['things']), '[]\n'],
      'line 2: must be a JSON object (invalid_line)',
    ],
    ['with an empty line', [head(['things']), '\n'], /^line 2: is not JSON/],
    [
      'that is another file',
      ['{"things":[]}\n'],
      /^line 1: is not the first line of a dump, which begins with \{"format":"collection-service dump","version":1, \(unknown_format\)$/,
    ],
    [
      'of a later format',
      [head(['things'], { version: 2 })],
      'line 1: the dump has the version 2, but this release reads version 1 (unknown_format)',
    ],
    [
      'without names',
      [head([], { collections: 'things' })],
      'line 1: "collections" must be a list of different names (invalid_line)',
    ],
    [
      'of an unknown collection',
      [head(['things', 'other'])],
      'line 1: the dump has the collection "other", which the configuration does not declare; did you mean "others"? (unknown_collection)',
    ],
    [
      'of an internal collection',
      [head(['_keys'])],
      /the collection "_keys", which the configuration does not declare/,
    ],
    ['with sessions, for no accounts', [head(['_sessions'])], /keeps no accounts \(no_accounts\)$/],
    [
      'with a document of a collection that it does not name',
      [head(['things']), line(thing, 'others')],
      'line 2: has a document of "others", which the first line does not name (invalid_line)',
    ],
    [
      'with a line without a document',
      [head(['things']), '{"in":"things"}\n'],
      'line 2: must be {"in":"<collection>","document":{…}} (invalid_line)',
    ],
    [
      'with a document without _id',
      [head(['things']), line({ _version: 1 })],
      'line 2: the document must have an "_id", a string (invalid_line)',
    ],
    [
      'with a document without version',
      [head(['things']), line({ _id: 'a' })],
      'line 2: the document must have a "_version", an integer from 0 to 2^53 - 1 (invalid_line)',
    ],
    [
      'with a text that storages cannot keep',
      [head(['things']), line({ ...thing, s: { t: '\0' } })],
      /^line 2: \/s\/t of the document /,
    ],
    [
      'that is not UTF-8',
      [head(['things']), Uint8Array.of(0x22, 0xff)],
      'line 2: is not UTF-8 (invalid_line)',
    ],
    [
      'with collections in another order',
      [head(['others', 'things']), line(thing), line(thing, 'others')],
      /^line 3: others a is out of order/,
    ],
    [
      'with another last line',
      [head(['things']), '{"end":{"others":{"documents":0,"sha256":""}}}\n'],
      /^line 2: "end" must have/,
    ],
  ]
  test.each(refused)('%s is rejected, with the line', async (_, source, message) => {
    const adapter = createMemoryAdapter()
    const thrown = await load(things, adapter, source).catch((thrown: unknown) => thrown)
    expect(thrown).toBeInstanceOf(TransferError)
    const { code, message: said } = thrown as TransferError
    if (typeof message === 'string') expect(`${said} (${code})`).toBe(message)
    else expect(`${said} (${code})`).toMatch(message)
  })

  test('with a line that is too long is rejected before it is held as a whole', async () => {
    let chunks = 0
    async function* endless() {
      yield head(['things'])
      for (; ; chunks++) yield 'x'.repeat(1024 * 1024)
    }
    await expect(load(things, createMemoryAdapter(), endless())).rejects.toThrow(
      'line 2: has more than 67108864 characters, the maximum',
    )
    expect(chunks).toBeLessThan(70)
  })

  test('may have a line of many pieces', async () => {
    const adapter = createMemoryAdapter()
    const service = createTestService(things, { adapter })
    opened.push(service)
    await service.handler.ready()
    const text = 'ä'.repeat(1_000_000)
    await adapter.write([{ in: 'things', insert: { ...thing, text } }], {})
    const texts: string[] = []
    await dump(things, adapter, (text) => void texts.push(text))
    const pieces = Array.from(
      Buffer.from(texts.join(''))
        .toString('latin1')
        .match(/[\s\S]{1,999}/g) ?? [],
      (piece) => Buffer.from(piece, 'latin1'),
    )
    const { written } = await load(things, createMemoryAdapter(), pieces)
    expect([pieces.length > 2000, written]).toEqual([true, 1])
  })

  test('is read in pieces of any size, also within a character', async () => {
    const lines = await dumpThings(2)
    const text = lines.join('').replaceAll('"createdBy":null', '"createdBy":"ä👩"')
    const bytes = new TextEncoder().encode(text)
    const parts = Array.from(bytes, (byte) => Uint8Array.of(byte))
    expect(await refusalOf(load(things, createMemoryAdapter(), parts))).toBe('wrong_digest')
    expect(await refusalOf(load(things, createMemoryAdapter(), Array.from(lines.join(''))))).toBe('accepted')
  })

  test('whose input fails is rejected', async () => {
    async function* failing() {
      yield head(['things'])
      throw new Error('the disk is gone')
    }
    await expect(load(things, createMemoryAdapter(), failing())).rejects.toMatchObject({
      code: 'input_failed',
      message: 'the input cannot be read: the disk is gone',
    })
  })

  test('needs an adapter with snapshots, and accounts for sessions', async () => {
    const { snapshot, ...without }: StorageAdapter = createMemoryAdapter()
    expect(snapshot).toBeDefined()
    expect(await refusalOf(dump(things, without as StorageAdapter, () => {}))).toBe('no_snapshot')
    const sessions = dump(things, createMemoryAdapter(), () => {}, { sessions: true })
    expect(await refusalOf(sessions)).toBe('no_accounts')
  })

  test('names the collections with documents that the configuration does not declare', async () => {
    const adapter = createMemoryAdapter()
    await adapter.open(['things', 'old', 'none'].map((name) => ({ name, indexes: [] })))
    await adapter.write([{ in: 'old', insert: { _id: 'a', _version: 1 } }], {})
    const { undeclared } = await dump(things, adapter, () => {})
    expect(undeclared).toEqual(['old'])
  })

  test('ends when it is interrupted, or cannot be written', async () => {
    const adapter = createMemoryAdapter()
    await adapter.open([{ name: 'things', indexes: [] }])
    const controller = new AbortController()
    const { signal } = controller
    const interrupted = dump(things, adapter, () => controller.abort(), { signal })
    expect(await refusalOf(interrupted)).toBe('interrupted')
    const failing = dump(things, adapter, () => Promise.reject(new Error('full')))
    await expect(failing).rejects.toThrow('full')
  })
})
