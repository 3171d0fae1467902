import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import {
  createMemoryAdapter,
  ServiceError,
  type StorageAdapter,
  type StoredDocument,
} from '../../src/index.js'
import { createTestService, type SendOptions, type Sent } from '../support/service.js'
import { idOf, openStored, readStored } from '../support/stored.js'

// CONTRACT.md §7, "Storage"

/** A storage may answer at once or later, and fail at once or later: what a client is answered is the same. */

/** More than is read at once, and more than is held. */
const COUNT = 1600

const config = {
  collections: {
    notes: {
      schema: {
        text: { type: 'string' },
        n: { type: 'integer', index: true },
        about: { type: 'reference', collection: 'notes' },
      },
      permissions: { '*': true },
    },
  },
} as const

const documents = {
  notes: Array.from({ length: COUNT }, (_, i) => ({
    _id: idOf(i + 1),
    text: `${i} `.repeat(20),
    n: i % 7,
    ...(i === 0 ? { about: idOf(2) } : {}),
  })),
}

type Answering = (answer: () => unknown, call: number) => unknown

/** An adapter over the memory's, which answers each call in one way. */
function answering(how: Answering): StorageAdapter & { calls: number } {
  const inner = createMemoryAdapter({ documents })
  const through = <T>(answer: () => T): T => {
    adapter.calls += 1
    return how(answer, adapter.calls) as T
  }
  const adapter = {
    ...(inner.seed ? { seed: inner.seed } : {}),
    // Those before the first request do not count.
    calls: Number.NaN,
    open: inner.open,
    close: inner.close,
    list: (...args: Parameters<StorageAdapter['list']>) => through(() => inner.list(...args)),
    count: (...args: Parameters<StorageAdapter['count']>) => through(() => inner.count(...args)),
    write: (...args: Parameters<StorageAdapter['write']>) => through(() => inner.write(...args)),
  }
  return adapter
}

/** Has only a `then`, and gives nothing back: enough for `await`. */
const thenable = (
  settle: (resolve: (value: unknown) => void, reject: (reason: unknown) => void) => void,
): unknown => ({
  // biome-ignore lint/suspicious/noThenProperty: what is tested
  then(...settling: Parameters<typeof settle>): void {
    settle(...settling)
  },
})

const json = (body: object): SendOptions => ({ body })

const REQUESTS: readonly (readonly [line: string, options?: SendOptions])[] = [
  [`GET /notes/${idOf(1)}`],
  [`GET /notes/${idOf(9)}?project=["text"]`],
  [`GET /notes/${idOf(1)}?expand=["about"]`],
  [`GET /notes/${idOf(COUNT + 1)}`],
  [`HEAD /notes/${idOf(1)}`],
  ['GET /notes?limit=3&sort[n]=-1&total=true'],
  ['GET /notes?q[text][$regex]=2.5&limit=40&expand=["about"]'],
  ['GET /notes?q[text][$regex]=(1|2)[0-4]*9'],
  ['GET /notes?sort[text]=1'],
  ['GET /notes'],
  ['GET /notes/count?q[n]=3'],
  ['GET /notes/count?q[text][$regex]=(1|2)[0-4]*9'],
  [`PATCH /notes/${idOf(3)}`, json({ n: 5 })],
  [`PUT /notes/${idOf(4)}`, json({ text: 'new', about: idOf(5) })],
  [`DELETE /notes/${idOf(6)}`],
  [`DELETE /notes/${idOf(2)}`],
  [`PUT /notes/${idOf(COUNT + 5)}`, { ...json({ n: 1 }), headers: { 'if-none-match': '*' } }],
  [`GET /notes?limit=5`],
  [
    'POST /_batch',
    json({
      operations: [
        { method: 'GET', path: `/notes/${idOf(7)}` },
        { method: 'PATCH', path: `/notes/${idOf(7)}`, body: { about: idOf(8) } },
        { method: 'PUT', path: `/notes/${idOf(COUNT + 6)}`, ifNoneMatch: '*', body: { about: idOf(7) } },
        { method: 'DELETE', path: `/notes/${idOf(9)}` },
        { method: 'GET', path: `/notes/${idOf(7)}` },
      ],
    }),
  ],
  ['POST /_batch', json({ operations: [{ method: 'GET', path: `/notes/${idOf(9)}` }] })],
]

const comparable = ({ status, headers, text }: Sent): string =>
  JSON.stringify([
    status,
    [...headers].filter(([name]) => name !== 'etag'),
    text.replace(/"(requestId|updatedAt|createdAt)":"[^"]*"|"etag":"\\"[^"]*"/g, '"$1":""'),
  ])

/** What a service answers over an adapter; each request finds what those before it have left. */
async function askAll(how: Answering): Promise<readonly string[]> {
  const adapter = answering(how)
  const { send, handler, logged } = createTestService(config, { adapter })
  await handler.ready()
  const answers: string[] = []
  for (const [line, options] of REQUESTS) {
    adapter.calls = 0
    logged.length = 0
    // A stream that breaks is an answer too.
    const answer = await send(line, { ...options, mayFail: true }).then(comparable, () => 'broken')
    answers.push(`${line} ${answer} ${logged.map(([message]) => message).join()}`)
  }
  await handler.close()
  return answers
}

const unhandled: unknown[] = []
const note = (reason: unknown): void => void unhandled.push(reason)
beforeEach(() => {
  unhandled.length = 0
  process.on('unhandledRejection', note)
})
afterEach(async () => {
  // A rejection is reported as unhandled a turn later.
  await new Promise((resolve) => setImmediate(resolve))
  process.off('unhandledRejection', note)
  expect(unhandled).toEqual([])
})

const asItIs: Answering = (answer) => answer()
const asPromise: Answering = async (answer) => answer()
const asThenable: Answering = (answer) =>
  thenable((resolve, reject) => {
    try {
      resolve(answer())
    } catch (thrown) {
      reject(thrown)
    }
  })

describe('a storage answers', () => {
  let plain: readonly string[] | undefined

  test.each<[how: string, answering: Answering]>([
    ['with promises', asPromise],
    ['with things that have a then', asThenable],
    [
      'now with a value, now with a promise',
      (answer, call) => (call % 2 === 0 ? answer() : asPromise(answer, call)),
    ],
    [
      'now with a promise, now with a value',
      (answer, call) => (call % 2 === 1 ? answer() : asPromise(answer, call)),
    ],
  ])('%s, and its clients get the same', async (_how, how) => {
    plain ??= await askAll(asItIs)
    expect(await askAll(how)).toEqual(plain)
  })
})

describe('of a document that somebody else has stored', () => {
  const open = { collections: { notes: { ...config.collections.notes, additionalProperties: true } } }
  const shown = ['_id', 'n', 'createdAt', 'updatedAt', 'createdBy']

  test('what it inherits is no part', async () => {
    const inner = createMemoryAdapter()
    const inheriting = (document: object): object => Object.assign(Object.create({ _x: 1, x: 1 }), document)
    const list: StorageAdapter['list'] = async (...asked) =>
      (await inner.list(...asked)).map(inheriting) as unknown as StoredDocument[]
    const service = await openStored(open, { notes: [{ n: 1 }] }, { adapter: { ...inner, list } })
    for (const n of [2, 3])
      expect(Object.keys((await service.send(`PATCH ${ONE}`, { body: { n } })).body)).toEqual(shown)
    const stored = (await readStored({ adapter: inner }, 'notes', idOf(1))) ?? {}
    expect(Object.keys(stored).sort()).toEqual([...shown, '_version'].sort())
  })

  test('a property named `__proto__` stays one', async () => {
    const odd = JSON.parse('{ "n": 1, "__proto__": { "text": "x" } }')
    const service = await openStored(open, { notes: [odd] })
    for (const n of [2, 3])
      expect(Object.keys((await service.send(`PATCH ${ONE}`, { body: { n } })).body)).toEqual(shown)
    const stored = (await readStored(service, 'notes', idOf(1))) ?? {}
    expect(Object.getOwnPropertyDescriptor(stored, '__proto__')?.value).toEqual({ text: 'x' })
  })
})

const ONE = `/notes/${idOf(1)}`

const FAULTS: readonly (readonly [what: string, create: () => unknown])[] = [
  ['an error', () => new Error('broken')],
  ['a fault of the storage', () => new ServiceError('storage_unavailable', 'gone')],
  ['nothing', () => undefined],
]

describe.each(FAULTS)('a storage fails with %s', (_what, create) => {
  const failures: readonly Answering[] = [
    () => {
      throw create()
    },
    () => Promise.reject(create()),
    () => thenable((_, reject) => reject(create())),
  ]

  test.each([1, 2, 3])(
    'at call %i of a request, in whatever way, and its clients get the same',
    async (nth) => {
      const answers: (readonly string[])[] = []
      for (const fail of failures)
        answers.push(await askAll((answer, call) => (call === nth ? fail(answer, call) : answer())))
      const [first] = answers
      for (const other of answers) expect(other).toEqual(first)
      expect(first?.some((line) => /\[50[03],/.test(line))).toBe(true)
    },
  )
})
