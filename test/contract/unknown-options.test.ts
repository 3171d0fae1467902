import { expect, test } from 'vitest'
import { createPostgresAdapter } from '../../src/adapters/postgres/postgres-adapter.js'
import { createSqliteAdapter } from '../../src/adapters/sqlite/sqlite-adapter.js'
import {
  ConfigError,
  type ConfigFault,
  createCollectionService,
  createMemoryAdapter,
  forwardedAddress,
} from '../../src/index.js'
import { createWorkerHasher } from '../../src/mounts/worker-hasher.js'
import {
  checkConfig,
  checkData,
  comparePermissions,
  describeApi,
  describeDifferences,
  explainRequest,
  permissionMatrix,
} from '../../src/tools/insight/index.js'
import { expectAllowed, expectDenied, fuzzAdapter, testAdapter } from '../../src/tools/testing/index.js'

// CONTRACT.md §7, "Options"

const config = { collections: { notes: { schema: {}, permissions: { '*': { read: true } } } } }
const connectionString = 'postgres://a.test/b'
const storage = { list: async () => [] }
const createStorage = async () => ({ connect: () => createMemoryAdapter() })
const request = { caller: null, method: 'GET', path: '/notes' }

/** What a call throws, at once or later. */
async function failureOf(run: () => unknown): Promise<unknown> {
  try {
    await run()
  } catch (thrown) {
    return thrown
  }
  return undefined
}

/** Each takes options; one that is misspelt, and a right name that is near. */
const callers: readonly (readonly [name: string, run: (options: never) => unknown, near: string])[] = [
  ['createMemoryAdapter', createMemoryAdapter, 'documents'],
  ['createSqliteAdapter', (one: object) => createSqliteAdapter({ file: ':memory:', ...one }), 'file'],
  ['createPostgresAdapter', (one: object) => createPostgresAdapter({ connectionString, ...one }), 'schema'],
  ['createWorkerHasher', createWorkerHasher, 'threads'],
  ['checkConfig', (one) => checkConfig(config, one), 'production'],
  ['checkData', (one) => checkData(config, storage, one), 'authenticate'],
  ['permissionMatrix', (one) => permissionMatrix(config, one), 'authenticate'],
  ['comparePermissions', (one) => comparePermissions(config, config, one), 'production'],
  ['explainRequest, beside its request', (one) => explainRequest(config, request, one), 'production'],
  ['forwardedAddress', (one: object) => forwardedAddress({ trust: 1, ...one }), 'header'],
  ['describeApi', (one) => describeApi(config, one), 'basePath'],
  ['testAdapter', (one: object) => testAdapter({ test() {}, createStorage, ...one }), 'fuzz'],
  ['fuzzAdapter', (one) => fuzzAdapter(createStorage, one), 'stores'],
]

test.each(callers)('%s refuses options that it does not know, with the nearest', async (_, run, near) => {
  const misspelt = `${near}s`
  const failure = await failureOf(() => run({ [misspelt]: undefined } as never))
  expect(failure).toBeInstanceOf(ConfigError)
  const [{ path, message } = {} as Partial<ConfigFault>] = (failure as ConfigError).faults
  expect(path).toBe(misspelt)
  expect(message).toContain(`is unknown; did you mean "${near}"? allowed: `)
})

class Options {
  readonly file = ':memory:'
  get documents() {
    return {}
  }
}

test.each<readonly [kind: string, options: object]>([
  ['a map', new Map([['production', true]])],
  ['an instance of a class', new Options()],
  ['an object that inherits its members', Object.create({ production: true })],
])('no options are read of %s, whose members would be lost', async (_, options) => {
  const given = options as never
  const all: readonly (() => unknown)[] = [
    () => createCollectionService(config, createMemoryAdapter(), given),
    () => createMemoryAdapter(given),
    () => createSqliteAdapter(given),
    () => createPostgresAdapter(given),
    () => createWorkerHasher(given),
    () => checkConfig(config, given),
    () => checkData(config, storage, given),
    () => permissionMatrix(config, given),
    () => comparePermissions(config, config, given),
    () => explainRequest(config, request, given),
    () => forwardedAddress(given),
    () => describeApi(config, given),
    () => testAdapter(given),
    () => fuzzAdapter(createStorage, given),
    () => expectAllowed(config, null, 'GET', '/notes', given),
    () => expectDenied(config, null, 'GET', '/notes', given),
  ]
  for (const run of all)
    expect(await failureOf(run), String(run)).toMatchObject({
      message: expect.stringContaining('must be a plain object'),
    })
  const seeded = createCollectionService(config, createMemoryAdapter({ documents: given }))
  expect(await failureOf(() => seeded.ready())).toMatchObject({ code: 'validation_failed' })
  for (const name of ['hooks', 'consumers'])
    expect(
      await failureOf(() => createCollectionService(config, createMemoryAdapter(), { [name]: options })),
    ).toMatchObject({
      faults: expect.arrayContaining([expect.objectContaining({ path: `options.${name}` })]),
    })
})

test.each<readonly [name: string, run: () => unknown]>([
  ['explainRequest', () => explainRequest(config, { ...request, header: {} } as never)],
  ['expectAllowed', () => expectAllowed(config, null, 'GET', '/notes', { header: {} } as never)],
  ['expectDenied', () => expectDenied(config, null, 'GET', '/notes', { header: {} } as never)],
])('%s refuses members of a request that it does not know', async (_, run) => {
  const failure = await failureOf(run)
  expect(failure).toBeInstanceOf(TypeError)
  expect(failure).toMatchObject({
    message: expect.stringContaining('header is unknown; did you mean "headers"?'),
  })
})

test.each([{ caller: null }, { method: 'DELETE' }, { path: '/users' }])(
  'no option of a test says again who asks for what: %j',
  async (option) => {
    for (const expectIt of [expectAllowed, expectDenied])
      expect(await failureOf(() => expectIt(config, null, 'GET', '/notes', option as never))).toMatchObject({
        name: 'TypeError',
        message: expect.stringContaining('is unknown; allowed: body, headers, documents, now'),
      })
  },
)

test.each([undefined, 'ann', 5, [], { roles: ['admin'] }, { id: 'ann', roles: 'admin' }, { id: 'ann\0' }])(
  'a caller that the service would not take is none to describe or to explain: %j',
  async (caller) => {
    const { method, path } = request
    expect(await failureOf(() => explainRequest(config, { caller, method, path } as never))).toBeInstanceOf(
      TypeError,
    )
    if (caller === undefined) return
    expect(await failureOf(() => describeApi(config, { caller: caller as never }))).toMatchObject({
      code: 'invalid_config',
      faults: [{ path: 'caller' }],
    })
  },
)

test.each<object>([
  { body: { text: Number.NaN } },
  { body: { text: () => 'x' } },
  { body: [undefined] },
  { body: new Map([['text', 'x']]) },
  { path: '/notes#a' },
  { documents: null },
  { documents: new Map([['notes', []]]) },
  { now: 1e20 },
  { now: Number.NaN },
])('a request that cannot be sent as it is written is not explained: %s', async (wrong) => {
  const asked = { ...request, method: 'POST', ...wrong }
  expect(await failureOf(() => explainRequest(config, asked))).toBeInstanceOf(TypeError)
})

test('a request to explain has a method and a path', async () => {
  for (const name of ['method', 'path'])
    expect(await failureOf(() => explainRequest(config, { ...request, [name]: undefined }))).toMatchObject({
      name: 'TypeError',
      message: `${name} is missing`,
    })
})

test('options that change nothing are warned of', () => {
  const warned = (of: { readonly [key: string]: unknown }, options: object): readonly string[] => {
    const warnings: string[] = []
    const logger = { info() {}, warn: (text: string) => void warnings.push(text), error() {} }
    createCollectionService(of, createMemoryAdapter(), { logger, production: false, ...options })
    return warnings.filter((text) => text.startsWith('options.'))
  }
  const users = { schema: { name: { type: 'string', unique: true, required: true }, pin: { type: 'hash' } } }
  const withAccounts = { collections: { users: { ...users, permissions: { '*': { create: true } } } } }
  const deliver = async () => {}
  expect(warned(withAccounts, { accounts: false })).toEqual([
    'options.accounts: has no effect: without authenticate the service keeps accounts',
  ])
  expect(warned(config, { deliver })).toEqual([
    'options.deliver: is never called: the service keeps no accounts',
  ])
  expect(warned(config, { accounts: true, authenticate: () => null })).toEqual([
    'options.accounts: has no effect: "users" has no hash field',
  ])
  expect(warned(withAccounts, { deliver, accounts: false, authenticate: () => null })).toHaveLength(1)
  expect(warned(withAccounts, { deliver, accounts: true })).toEqual([])
})

test('describeDifferences knows its formats', () => {
  expect(() => describeDifferences([], 'yaml' as never)).toThrow(TypeError)
})

test('what they know has its kind', async () => {
  const kinds: readonly (readonly [run: () => unknown, path: string])[] = [
    [() => checkConfig(config, { production: 'yes' as never }), 'production'],
    [() => describeApi(config, { basePath: 'api' }), 'basePath'],
    [() => fuzzAdapter(createStorage, { stores: -1 }), 'stores'],
    [() => createSqliteAdapter({ file: 5 as never }), 'file'],
    [() => createMemoryAdapter(null as never), ''],
    [() => expectAllowed(config, null, 'GET', '/notes', { ignored: 'text' as never }), 'ignored'],
    [() => expectDenied(config, null, 'GET', '/notes', { ignored: [5] as never }), 'ignored'],
  ]
  for (const [run, path] of kinds)
    expect(await failureOf(run)).toMatchObject({ code: 'invalid_config', faults: [{ path }] })
})
