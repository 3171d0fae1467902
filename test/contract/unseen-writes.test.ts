import { describe, expect, test } from 'vitest'
import type { Caller } from '../../src/index.js'
import { faultsOf, type Sent, type TestService } from '../support/service.js'
import { closeAfterEach, useStorages } from '../support/storages.js'
import { fieldsOf, idOf, LONG_AGO, openStored, readStored } from '../support/stored.js'

// CONTRACT.md §1, "Attributes", §2, "Update"

type Json = { readonly [name: string]: unknown }

const ONE = `/items/${idOf(1)}`
const text = { type: 'string' }
const whole = { type: 'integer' }
const object = (properties: Json, rest: Json = {}): Json => ({ type: 'object', properties, ...rest })

/** Somebody who may write everything, and reads all but `secret` and `when`. */
const WRITER: Caller = { id: 'ann', roles: ['writer'] }
const HIDDEN = ['secret', 'when']

const configOf = (secret: Json, update: unknown = true) => ({
  collections: {
    people: { schema: { name: text }, permissions: { '*': true } },
    items: {
      schema: { a: text, secret, when: text },
      permissions: { writer: { read: { omit: HIDDEN }, update } },
    },
  },
})

const storages = useStorages()
const opened = closeAfterEach()

const comparable = ({ status, headers, text }: Sent): unknown => [
  status,
  [...headers],
  text.replace(/"requestId":"[^"]*"/, ''),
]

interface Case {
  readonly secret: Json
  /** What may be stored there; `undefined` for nothing. */
  readonly stored: readonly unknown[]
  readonly body: Json
  /** The faults; none for 200. */
  readonly faults?: { readonly [path: string]: string }
  /** What is stored after, for each that was. */
  readonly after?: readonly unknown[]
  readonly update?: unknown
}

const nested = object({ a: { ...text, required: true }, b: text })
const fixed = object({ k: { ...whole, immutable: true, required: true }, b: text })
const deep = object({ p: object({ k: { ...whole, immutable: true } }), b: text })
const short = { type: 'string', maxLength: 3 }
const long = ['a long text', 'another long text', 'ok', undefined]
const FIXED = { '/secret': 'immutable' }

const cases: readonly (readonly [method: string, what: string, one: Case])[] = [
  ...['PATCH', 'PUT'].flatMap((method): [string, string, Case][] => [
    [
      method,
      'names one that holds something set once',
      {
        secret: fixed,
        stored: [{ k: 1 }, { k: 2 }, {}, undefined],
        body: { secret: { k: 1 } },
        faults: FIXED,
      },
    ],
    [
      method,
      'names it without what is set once in it',
      { secret: fixed, stored: [{ k: 1 }, {}, 5, undefined], body: { secret: { b: 'x' } }, faults: FIXED },
    ],
    [
      method,
      'names one that holds something set once far inside',
      {
        secret: deep,
        stored: [{ p: { k: 1 } }, { p: {} }, undefined],
        body: { secret: { b: 'x' } },
        faults: FIXED,
      },
    ],
    [
      method,
      'names one that is set once itself',
      {
        secret: { ...whole, immutable: true },
        stored: [1, 2, undefined],
        body: { secret: 1 },
        faults: FIXED,
      },
    ],
    [
      method,
      'is about one that is set once, by the rule',
      {
        secret: { ...whole, immutable: true },
        stored: [1, 2, undefined],
        body: { a: 'x' },
        update: { set: { secret: 1 } },
        faults: FIXED,
      },
    ],
    [
      method,
      'names a part of an object, without what is required in it',
      {
        secret: nested,
        stored: [{ a: 'x' }, { b: 'y' }, [1], undefined],
        body: { secret: { b: 'x' } },
        faults: { '/secret/a': 'required' },
      },
    ],
    [
      method,
      'names a value that is out of date, perhaps the one that is stored',
      { secret: short, stored: long, body: { secret: 'a long text' }, faults: { '/secret': 'too_long' } },
    ],
    [
      method,
      'names elements that are out of date',
      {
        secret: { type: 'array', items: short, minItems: 2 },
        stored: [['a long text'], ['ok'], undefined],
        body: { secret: ['a long text'] },
        faults: { '/secret': 'too_few', '/secret/0': 'too_long' },
      },
    ],
    [
      method,
      'names what is not declared, perhaps what is stored',
      {
        secret: object({ b: text }),
        stored: [{ old: 1 }, { old: 2 }, undefined],
        body: { secret: { old: 1 } },
        faults: { '/secret/old': 'unknown_property' },
      },
    ],
    [
      method,
      'names a reference to what may not be read, perhaps the one that is stored',
      {
        secret: { type: 'reference', collection: 'people' },
        stored: [idOf(7), idOf(8), undefined],
        body: { secret: idOf(7) },
        faults: { '/secret': 'unknown_reference' },
      },
    ],
    [
      method,
      'leaves alone what is required, there or not, valid or not',
      { secret: { ...short, required: true }, stored: long, body: { a: 'x' }, after: long },
    ],
    [
      method,
      'leaves alone what holds something set once',
      {
        secret: fixed,
        stored: [{ k: 1, b: 'x' }, 5, undefined],
        body: { a: 'x' },
        after: [{ k: 1, b: 'x' }, 5],
      },
    ],
    [
      method,
      'names a text in a secret that was once in clear',
      {
        secret: { type: 'hash', minLength: 5 },
        stored: ['abc', 'abd', undefined],
        body: { secret: 'abc' },
        faults: { '/secret': 'too_short' },
      },
    ],
  ]),
  [
    'PATCH',
    'removes what is required',
    {
      secret: { ...text, required: true },
      stored: ['x', undefined],
      body: { secret: null },
      faults: { '/secret': 'required' },
    },
  ],
  [
    'PATCH',
    'removes what is required in an object',
    {
      secret: nested,
      stored: [{ a: 'x' }, {}, undefined],
      body: { secret: { a: null } },
      faults: { '/secret/a': 'required' },
    },
  ],
  [
    'PATCH',
    'merges what is valid by itself',
    {
      secret: nested,
      stored: [{ a: 'x', b: 'y', old: 1 }, { b: 5 }, [1], undefined],
      body: { secret: { a: 'new' } },
      after: [{ a: 'new', b: 'y', old: 1 }, { a: 'new', b: 5 }, { a: 'new' }, { a: 'new' }],
    },
  ],
  [
    'PUT',
    'replaces what is valid by itself',
    {
      secret: nested,
      stored: [{ a: 'x', b: 'y', old: 1 }, { b: 5 }, [1], undefined],
      body: { secret: { a: 'new' } },
      after: [{ a: 'new', old: 1 }, { a: 'new' }, { a: 'new' }, { a: 'new' }],
    },
  ],
  [
    'PUT',
    'takes null for a value',
    {
      secret: { ...text, required: true },
      stored: ['x', undefined],
      body: { secret: null },
      faults: { '/secret': 'wrong_type' },
    },
  ],
]

describe.each(storages)(
  'in %s, the answer to an update is the same whatever is stored unseen',
  (_, create) => {
    test.each(cases)('where %s %s', async (method, _what, one) => {
      const { secret, stored, body, faults = {}, after, update } = one
      const documents = stored.map((value) => ({
        a: '1',
        when: 'x',
        ...(value === undefined ? {} : { secret: value }),
      }))
      const service: TestService = await openStored(
        configOf(secret, update),
        { items: documents },
        { adapter: create(), authenticate: () => null, now: () => Date.parse(LONG_AGO) },
      )
      opened.push(service)
      const answers: Sent[] = []
      for (const i of stored.keys()) {
        answers.push(await service.send(`${method} /items/${idOf(i + 1)}`, { body, caller: WRITER }))
      }
      for (const [i, answer] of answers.entries()) {
        expect(answer.status).toBe(Object.keys(faults).length > 0 ? 400 : 200)
        expect(faultsOf(answer)).toEqual(faults)
        // Where they may say something, they say the same.
        if (answer.status !== 200) expect(comparable(answer)).toEqual(comparable(answers[0] as Sent))
        const now = await fieldsOf(service, 'items', idOf(i + 1))
        if (answer.status === 200) {
          expect(answer.text).not.toMatch(/secret|old/)
          expect(now.secret).toEqual(after?.[i])
        } else expect(now).toEqual(documents[i])
      }
    })
  },
)

describe.each(storages)('in %s, a reference that is stored unseen', (_, create) => {
  const reference = { type: 'reference', collection: 'things' }
  const HOLDER: Caller = { id: 'ann', roles: ['holder'] }
  const open = async (definition: Json, rule: unknown, items: readonly Json[]): Promise<TestService> => {
    const schema = { a: text, team: text, secret: object({ r: definition, v: whole, by: text }) }
    const read = { pick: ['a'] }
    const service = await openStored(
      {
        collections: {
          things: { schema: { team: text }, permissions: { admin: true } },
          items: { schema, permissions: { holder: { read, update: rule } } },
        },
      },
      { things: [{ team: 'T' }], items },
      { adapter: create(), authenticate: () => null, now: () => Date.parse(LONG_AGO) },
    )
    opened.push(service)
    return service
  }
  const held = { a: '1', team: 'T', secret: { r: idOf(1) } }
  const none = { a: '1', team: 'T', secret: {} }
  const gone = { a: '1', team: 'T', secret: { r: idOf(7) } }
  const set = { pick: ['a'], set: { secret: { by: '$user._id' } } }

  test.each<[string, Json, unknown]>([
    ['PATCH', { secret: {} }, true],
    ['PATCH', { secret: { v: 1 } }, true],
    ['PATCH', { a: '2' }, set],
    ['PUT', { a: '2', secret: { v: 1 } }, true],
    ['PUT', { a: '2' }, set],
  ])('is not told by %s %j, whether it has to agree or leads nowhere', async (method, body, rule) => {
    for (const definition of [reference, { ...reference, match: { team: 'team' } }]) {
      const service = await open(definition, rule, [none, held, gone])
      const answers: Sent[] = []
      for (const i of [1, 2, 3])
        answers.push(await service.send(`${method} /items/${idOf(i)}`, { body, caller: HOLDER }))
      for (const { status } of answers) expect(status).toBe(200)
      const operations = [1, 2, 3].map((i) => ({ method, path: `/items/${idOf(i)}`, body }))
      const batch = await service.send('POST /_batch', { body: { operations }, caller: HOLDER })
      expect(batch.status).toBe(200)
      if (method !== 'PATCH') continue
      for (const [i, { secret }] of [none, held, gone].entries())
        expect((await fieldsOf(service, 'items', idOf(i + 1))).secret).toMatchObject(secret)
    }
  })

  test.each(['PATCH', 'PUT'])('is judged where %s names it, though it is there already', async (method) => {
    for (const definition of [reference, { ...reference, match: { team: 'team' } }]) {
      const service = await open(definition, true, [none, held])
      const body = { secret: { r: idOf(1) } }
      for (const i of [1, 2]) {
        const answer = await service.send(`${method} /items/${idOf(i)}`, { body, caller: HOLDER })
        expect([answer.status, faultsOf(answer)]).toEqual([400, { '/secret/r': 'unknown_reference' }])
      }
    }
  })
})

test.each<[string, Json, Json]>([
  ['in an object that is there', { o: { x: '1' } }, { o: { x: '1' } }],
  ['in an object that is new', { a: '1' }, { a: '1', o: { x: '1' } }],
  ['in the default of an object', { a: '1' }, { a: '2' }],
])('PUT gives no default to what is set once %s', async (_, stored, body) => {
  const k = { ...whole, immutable: true, default: 7 }
  const filled = object({ k: { ...whole, immutable: true } }, { default: { k: 7 } })
  const schema = { a: text, o: object({ k, x: text }), filled }
  const service = await openStored(
    { collections: { items: { schema, permissions: { '*': true } } } },
    {
      items: [stored],
    },
  )
  expect((await service.send(`PUT ${ONE}`, { body })).status).toBe(200)
  expect(await fieldsOf(service, 'items', idOf(1))).toEqual(body)
})

describe('what is no longer declared', () => {
  const config = {
    collections: {
      items: {
        schema: {
          a: text,
          o: object({ x: text }),
          list: { type: 'array', items: object({ x: text }), minItems: 2 },
        },
        permissions: { '*': true },
      },
    },
  }
  const both = (stored: Json) => openStored(config, { items: [stored] }, { now: () => Date.parse(LONG_AGO) })

  test.each<[string, string, Json, Json, Json]>([
    [
      'elements that look the same',
      'PATCH',
      { list: [{ x: '1' }] },
      { list: [{ x: '1', old: 1 }] },
      { list: [{ x: '1' }] },
    ],
    ['an object that a PUT leaves out', 'PUT', { o: { x: '1' } }, { o: { x: '1', old: 1 } }, { a: '2' }],
    ['an object that a PUT names', 'PUT', { o: { x: '1' } }, { o: { x: '1', old: 1 } }, { o: {} }],
    [
      'an object that a PATCH names',
      'PATCH',
      { o: { x: '1' } },
      { o: { x: '1', old: 1 } },
      { o: { x: null } },
    ],
  ])('does not show in the answer to an update of %s', async (_, method, one, other, body) => {
    const answers: Sent[] = []
    for (const stored of [one, other]) {
      const service = await both(stored)
      answers.push(await service.send(`${method} ${ONE}`, { body }))
      answers.push(await service.send(`GET ${ONE}`))
    }
    const [first, read, second, readAgain] = answers.map(comparable)
    expect(first).toEqual(second)
    expect(read).toEqual(readAgain)
  })

  test.each<[string, Json, Json]>([
    ['PATCH', { o: { x: '2' } }, { a: '1', o: { x: '2', old: 1 }, gone: 1 }],
    ['PATCH', { a: '2' }, { a: '2', o: { x: '1', old: 1 }, gone: 1 }],
    ['PUT', { o: {} }, { o: { old: 1 }, gone: 1 }],
    ['PUT', { a: '2', o: { x: '2' } }, { a: '2', o: { x: '2', old: 1 }, gone: 1 }],
    ['PUT', { a: '2' }, { a: '2', gone: 1 }],
  ])('%s %j keeps it, and what a newer release has marked', async (method, body, expected) => {
    const marks = { _later: { x: 1 }, _hashes: { pin: 'kept' }, _stamp: 'kept' }
    const service = await both({ a: '1', o: { x: '1', old: 1 }, gone: 1, ...marks })
    const answer = await service.send(`${method} ${ONE}`, { body })
    expect(answer.status).toBe(200)
    expect(answer.text).not.toMatch(/old|gone|_later/)
    expect(await fieldsOf(service, 'items', idOf(1))).toEqual(expected)
    expect(await readStored(service, 'items', idOf(1))).toMatchObject({ ...marks, _version: 2 })
  })
})

test('PUT keeps what is set once however deep it lies, and the objects around it', async () => {
  const schema = { a: text, o: object({ p: object({ k: { ...whole, immutable: true }, x: text }), y: text }) }
  const before = { o: { p: { k: 1, x: 'x', old: 1 }, y: 'y' } }
  const after = { o: { p: { k: 1, old: 1 } } }
  for (const body of [{}, { o: {} }, { o: { p: {} } }, { o: { p: { k: 1 } } }]) {
    const config = { collections: { items: { schema, permissions: { '*': true } } } }
    const service = await openStored(config, { items: [before] })
    expect((await service.send(`PUT ${ONE}`, { body })).status).toBe(200)
    expect(await fieldsOf(service, 'items', idOf(1))).toEqual(after)
  }
})
