import { runInNewContext } from 'node:vm'
import { describe, expect, test } from 'vitest'
import { compileConfig } from '../../../../src/core/config/compile-config.js'
import {
  ConfigError,
  createCollectionService,
  createMemoryAdapter,
  type StorageAdapter,
} from '../../../../src/index.js'
import { faultsOf, field, limits, notes, permissions, schema } from './support/configs.js'

describe('a configuration is copied', () => {
  const written = () => ({
    collections: {
      notes: {
        schema: {
          text: { type: 'string', enum: ['a', 'b'], default: 'a' },
          hidden: { type: 'json', default: { deep: [1] } },
        },
        permissions: { '*': { create: true, read: { omit: ['hidden'], where: { text: 'a' } } } } as {
          [subject: string]: unknown
        },
      },
    },
    limits: { maxLimit: 5 },
  })

  test('so that changing it afterwards changes nothing', async () => {
    const config = written()
    const handler = createCollectionService(config)
    const { notes } = config.collections
    notes.schema.text.enum.push('c')
    notes.schema.text.default = 'c'
    notes.schema.hidden.default.deep.push(2)
    notes.permissions['*'] = true
    config.limits.maxLimit = 1000
    Object.assign(config.collections, { others: { schema: {}, permissions: { '*': true } } })

    const send = (path: string, body?: object): Promise<Response> =>
      handler(
        new Request(`http://localhost${path}`, body ? { method: 'POST', body: JSON.stringify(body) } : {}),
      )
    expect((await send('/notes', { text: 'c' })).status).toBe(400)
    const created = await (await send('/notes', {})).json()
    expect(created).toMatchObject({ text: 'a' })
    expect(created).not.toHaveProperty('hidden')
    expect((await send('/notes?limit=6')).status).toBe(400)
    expect((await send('/others')).status).toBe(404)
  })

  test('so that a frozen one will do, and one that names a definition twice', () => {
    const definition = Object.freeze({ type: 'string', enum: Object.freeze(['a']) })
    const config = Object.freeze({
      collections: Object.freeze({
        notes: Object.freeze({ schema: Object.freeze({ a: definition, b: definition }) }),
      }),
    })
    expect(faultsOf(config)).toEqual([])
  })

  test('so that defaults of one document are not shared with another', async () => {
    const plan = compileConfig(written(), { production: false, hasAuthenticate: false })
    const [, hidden] = plan.collections.get('notes')?.fields ?? []
    const definition = hidden?.definition as { readonly default: { readonly deep: readonly number[] } }
    expect(Object.isFrozen(definition.default.deep)).toBe(true)
    expect(Object.isFrozen(definition)).toBe(true)
  })

  test('so that an adapter is told of collections and indexes, and not of the rest', async () => {
    let told: readonly unknown[] = []
    const inner = createMemoryAdapter()
    const adapter: StorageAdapter = {
      ...inner,
      open(plans) {
        told = plans
        return inner.open(plans)
      },
    }
    const config = notes({ indexes: [{ fields: ['text'], unique: true }] })
    await createCollectionService(config, adapter).ready()
    expect(told).toEqual([
      {
        name: 'notes',
        indexes: [
          { fields: [{ path: 'createdAt', type: 'timestamp', each: false }], unique: false },
          { fields: [{ path: 'text', type: 'string', each: false }], unique: true },
        ],
      },
      { name: '_schema', indexes: [] },
    ])
  })
})

class Settings {
  collections = {}
}

const thrower = (): never => {
  throw new RangeError('not a configuration')
}

const cyclic = (): object => {
  const config: { collections: { [name: string]: unknown } } = { collections: {} }
  config.collections.notes = config
  return config
}

/** A list that holds itself twice has as many paths as there are configurations. */
const bush = (): unknown[] => {
  const list: unknown[] = []
  list.push(list, list)
  return list
}

const nest = (depth: number): unknown => {
  let value: unknown = { type: 'json' }
  for (let i = 0; i < depth; i++) value = { type: 'array', items: value }
  return value
}

const HOSTILE: readonly (readonly [title: string, create: () => unknown])[] = [
  ['undefined', () => undefined],
  ['a number', () => 42],
  ['a function', () => () => ({ collections: {} })],
  ['a symbol', () => Symbol('config')],
  ['a function inside', () => notes({ permissions: { user: () => true } })],
  ['a function as a collection', () => ({ collections: { notes: () => {} } })],
  ['a method that JSON would call', () => ({ collections: {}, toJSON: () => ({}) })],
  ['a symbol inside', () => field({ type: 'string', description: Symbol('x') })],
  ['a bigint', () => limits({ bodyBytes: 10n })],
  ['NaN', () => limits({ bodyBytes: Number.NaN })],
  ['infinity', () => limits({ requestSeconds: Number.POSITIVE_INFINITY })],
  ['NaN in a default', () => field({ type: 'json', default: [Number.NaN] })],
  ['an instance of a class', () => new Settings()],
  ['an instance inside', () => ({ collections: new Settings() })],
  ['a Map', () => ({ collections: new Map([['notes', { schema: {} }]]) })],
  ['a Date', () => field({ type: 'timestamp', default: new Date(0) })],
  ['a regular expression', () => field({ type: 'string', pattern: /a/ })],
  ['a boxed text', () => field({ type: new String('string') })],
  ['a promise', () => Promise.resolve({ collections: {} })],
  ['inherited settings', () => Object.create({ collections: {} })],
  ['an own __proto__', () => JSON.parse('{"collections":{},"__proto__":{"limits":{}}}')],
  ['an own __proto__ as a collection', () => JSON.parse('{"collections":{"__proto__":{"schema":{}}}}')],
  ['an own __proto__ as a field', () => schema(JSON.parse('{"__proto__":{"type":"json"}}'))],
  ['an own __proto__ as a role', () => permissions(JSON.parse('{"__proto__":true}'))],
  ['an own __proto__ in a default', () => field({ type: 'json', default: JSON.parse('{"__proto__":{}}') })],
  ['undefined in a list', () => permissions({ user: { read: { pick: [undefined] } } })],
  ['holes in a list', () => permissions({ user: { read: { pick: new Array(3) } } })],
  ['a hole in a default', () => field({ type: 'array', items: { type: 'string' }, default: new Array(1) })],
  ...['$and', '$or', '$nin', '$in'].flatMap((name): [string, () => unknown][] =>
    [[undefined], new Array(1), [Number.NaN], [() => {}], [Symbol('x')], [new Date(0)]].map((list, i) => {
      const condition = name.endsWith('in')
        ? { text: { [name]: list } }
        : { [name]: [...list, { text: 'a' }] }
      return [`${name} of kind ${i}`, () => permissions({ user: { read: { where: condition } } })]
    }),
  ),
  [
    'a hole among conditions',
    () => permissions({ user: { read: { where: { $and: Object.assign([], { 1: { text: 'a' } }) } } } }),
  ],
  ['a symbol as a key', () => permissions({ user: { read: { where: { [Symbol('text')]: 'a' } } } })],
  ['a cycle', cyclic],
  [
    'a list that holds itself',
    () => {
      const list: unknown[] = []
      list.push(list)
      return field({ type: 'json', default: list })
    },
  ],
  ['a list that holds itself twice', () => field({ type: 'json', default: bush() })],
  ['depth without end', () => field(nest(100_000))],
  [
    'a getter that throws',
    () => Object.defineProperty({}, 'collections', { enumerable: true, get: thrower }),
  ],
  ['a proxy that throws', () => new Proxy({}, { getPrototypeOf: thrower, ownKeys: thrower, get: thrower })],
  [
    'a proxy that was revoked',
    () => {
      const { proxy, revoke } = Proxy.revocable({}, {})
      revoke()
      return proxy
    },
  ],
]

describe('what is no configuration is refused like a wrong one', () => {
  test.each(HOSTILE)('%s', (_, create) => {
    const config = create()
    const attempt = (): unknown => {
      try {
        return createCollectionService(config as { readonly [key: string]: unknown })
      } catch (thrown) {
        return thrown
      }
    }
    // The limit of time ends what would never end by itself.
    const thrown = runInNewContext('attempt()', { attempt }, { timeout: 20_000 })
    expect(thrown).toBeInstanceOf(ConfigError)
    expect(Object.keys(Object.prototype)).toEqual([])
  })
})
