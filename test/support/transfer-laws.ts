import { expect } from 'vitest'
import { everything, ID } from '../../src/core/filter/filter.js'
import type { StorageAdapter, StoredDocument } from '../../src/index.js'
import { createMemoryAdapter } from '../../src/index.js'
import type { dump, load } from '../../src/tools/transfer/index.js'
import { createTestService, type Sent, type TestService } from './service.js'

/** What holds for documents that were moved from one storage to another. CONTRACT.md §7, "Dumps" */

export const config = {
  collections: {
    projects: {
      changes: true,
      schema: {
        name: { type: 'string', unique: true, required: true },
        open: { type: 'boolean', default: true },
        tags: { type: 'array', items: { type: 'string', maxLength: 20 }, maxItems: 5, index: true },
        budget: { type: 'number', index: true },
        due: { type: 'timestamp' },
        settings: { type: 'json' },
        place: { type: 'object', properties: { zip: { type: 'string' }, city: { type: 'string' } } },
      },
      permissions: {
        '*': { read: { where: { open: true }, omit: ['budget'] } },
        owner: true,
        admin: true,
        user: { create: true },
      },
    },
    tasks: {
      schema: {
        project: { type: 'reference', collection: 'projects', required: true },
        number: { type: 'integer', required: true },
        text: { type: 'string' },
        pin: { type: 'hash' },
      },
      indexes: [{ fields: ['project', 'number'], unique: true }],
      permissions: { user: { read: true, create: true }, owner: true },
    },
    users: {
      schema: {
        email: { type: 'string', unique: true, required: true, lowercase: true },
        password: { type: 'hash', required: true },
        role: { type: 'string', enum: ['admin'] },
      },
      permissions: { owner: { read: true }, admin: { read: true, update: true } },
    },
  },
  auth: { roleField: 'role', cost: 10 },
} as const

export const NAMES = ['projects', 'tasks', 'users'] as const

/** A caller of the service: the token of its session, if it has one. */
type Tokens = readonly (string | undefined)[]

const CALLERS = 9
const credentials = (i: number) => ({ email: `caller${i}@example.com`, password: `secret ${i}` })

/** Texts that storages might write in another way. */
const TEXTS = ['', 'ä ö\u2028', '"\\', '👩‍🚀', '0', 'null', '\u0001\u007f', 'x'.repeat(900)]

/** Values whose keys, numbers and texts storages might change. */
const SETTINGS: readonly unknown[] = [
  { zeta: 1, alpha: { 10: 'ten', 9: 'nine', b: null }, '': [], 'a.b': true },
  [1.5e-300, 5e-324, -0.1, 0.1 + 0.2, 1.5e-7, 4503599627370495.5, -9007199254740991, 9007199254740991, 0],
  nest(30),
  { text: 'ä\u{10ffff}'.repeat(20_000), '\u{10ffff}': '\ud7ff\ue000\uffff' },
  { toString: 'own', constructor: 1, hasOwnProperty: {} },
  'text',
  null,
]

/** A value that is nested as deep as a body may be. */
function nest(levels: number): unknown {
  return levels === 0 ? 'deep' : levels % 2 === 0 ? [nest(levels - 1)] : { b: nest(levels - 1), a: null }
}

/** Makes the last caller an administrator. */
async function makeAdmin(adapter: StorageAdapter): Promise<void> {
  const { email } = credentials(CALLERS - 1)
  const users = await adapter.list('users', { filter: everything, sort: [], skip: 0, limit: null })
  const user = users.find((one) => one.email === email)
  if (!user) throw new Error('there is no last caller')
  const version = user._version
  await adapter.write(
    [{ in: 'users', replace: { ...user, role: 'admin', _version: version + 1 }, version }],
    {},
  )
}

export interface Filled {
  readonly service: TestService
  readonly tokens: Tokens
}

/** A service over an adapter. */
export const serveTransferred = (adapter: StorageAdapter, options: object = {}): TestService =>
  createTestService(config, { adapter, deliver: () => {}, ...options })

/** A service with accounts, sessions, failed logins, delivered tokens, and documents of several versions. */
export async function fill(adapter: StorageAdapter): Promise<Filled> {
  const works: Promise<unknown>[] = []
  const service = serveTransferred(adapter, { background: (work: Promise<unknown>) => void works.push(work) })
  const tokens: string[] = []
  for (let i = 0; i < CALLERS; i++) tokens.push((await service.register(credentials(i))).token)
  await makeAdmin(adapter)
  const [token = ''] = tokens
  const send = async (line: string, body?: unknown, by = token): Promise<Sent> => {
    const sent = await service.send(line, { token: by, ...(body === undefined ? {} : { body }) })
    expect(sent.status, `${line} ${sent.text}`).toBeLessThan(300)
    return sent
  }
  for (let i = 0; i < 40; i++) {
    const by = tokens[i % CALLERS]
    const { body } = await send(
      'POST /projects',
      {
        name: `project ${i} ${TEXTS[i % TEXTS.length]}`,
        open: i % 3 > 0,
        tags: [`tag${i % 4}`, TEXTS[i % 7] ?? ''],
        budget: i % 5 === 0 ? -0.5 : i * 1000.25,
        due: `2026-0${1 + (i % 9)}-01T00:00:00.${String(i).padStart(3, '0')}Z`,
        settings: SETTINGS[i % SETTINGS.length],
        place: i % 2 === 0 ? { city: 'Bern', zip: '3000' } : { zip: '3000' },
      },
      by,
    )
    for (let number = 0; number < i % 4; number++)
      await send('POST /tasks', { project: body._id, number, text: TEXTS[number], pin: '1234' }, by)
    for (let version = 0; version < i % 3; version++)
      await send(`PATCH /projects/${body._id}`, { budget: i + version }, by)
  }
  for (let i = 0; i < 2; i++)
    await service.send('POST /auth/login', { body: { ...credentials(0), password: 'wrong' } })
  await service.send('POST /auth/request-reset', { body: { email: credentials(1).email } })
  await Promise.all(works)
  return { service, tokens }
}

/** What an adapter has stored of a collection, as texts. `isExact`: with the order of keys. */
export async function readTexts(
  adapter: StorageAdapter,
  collection: string,
  isExact: boolean,
): Promise<readonly string[]> {
  const sort = [{ field: ID, descending: false }]
  const all = await adapter.list(collection, { filter: everything, sort, skip: 0, limit: null })
  return all.map((document) => JSON.stringify(isExact ? document : sortKeys(document)))
}

const sortKeys = (value: unknown): unknown =>
  Array.isArray(value)
    ? value.map(sortKeys)
    : typeof value === 'object' && value !== null
      ? Object.fromEntries(
          Object.entries(value)
            .sort(([a], [b]) => (a < b ? -1 : 1))
            .map(([name, inner]) => [name, sortKeys(inner)]),
        )
      : value

/** Logs in all callers again: their hashes have been moved. */
export async function logIn(service: TestService): Promise<Tokens> {
  const tokens: (string | undefined)[] = [undefined]
  for (let i = 0; i < CALLERS; i++) {
    const { status, body } = await service.send('POST /auth/login', { body: credentials(i) })
    expect(status, `the login of caller ${i}`).toBe(200)
    tokens.push(body.token)
  }
  return tokens
}

const LISTS = [
  '/projects',
  '/projects?sort[name]=-1&limit=7&total=true',
  '/projects?q[tags]=tag1&sort[name]=1',
  '/projects?q[due][$gt]=2026-03-01T00:00:00Z&project=name&limit=5',
  '/projects?q[place.city]=Bern&sort[due]=-1&skip=3&limit=4',
  '/projects?q[name][$regex]=project 1&sort[name]=-1',
  '/tasks?expand=["project"]&sort[number]=1&limit=9',
  '/tasks?q[number]=1',
  '/users?limit=3',
  '/auth/me',
]

/** Sends fifty requests of each of ten callers. Returns what may not depend on the storage. */
export async function ask(service: TestService, tokens: Tokens): Promise<readonly unknown[]> {
  const stored = await service.adapter.list('projects', {
    filter: everything,
    sort: [{ field: ID, descending: false }],
    skip: 0,
    limit: null,
  })
  const lines = [...LISTS, ...stored.map(({ _id }: StoredDocument) => `/projects/${_id}`)]
  const answers: unknown[] = []
  for (const token of tokens)
    for (const line of lines) {
      const { status, headers, body } = await service.send(
        `GET ${line}`,
        token === undefined ? {} : { token },
      )
      // An invalid request has the same answer everywhere.
      expect([200, 401, 404], line).toContain(status)
      const { requestId: _, ...shown } = Array.isArray(body) ? { documents: body } : body
      answers.push([line, status, shown, headers.get('etag'), headers.get('x-total-count')])
    }
  expect(answers).toHaveLength(500)
  // The last caller is an administrator, and sees the budgets of others.
  const budgets = answers.map((answer) => JSON.stringify(answer).includes('"budget"'))
  expect(budgets.slice(-40)).not.toContain(false)
  expect(budgets.slice(10, 50)).not.toContain(true)
  return answers
}

/** The functions under test. */
export interface Transfer {
  readonly dump: typeof dump
  readonly load: typeof load
}

/** The lines of a dump. */
export async function dumpLines(
  { dump }: Pick<Transfer, 'dump'>,
  adapter: StorageAdapter,
  options: Parameters<typeof dump>[3] = {},
): Promise<readonly string[]> {
  const texts: string[] = []
  await dump(config, adapter, (text) => void texts.push(text), options)
  return texts.join('').match(/[^\n]*\n/g) ?? []
}

export interface Target {
  readonly adapter: StorageAdapter
  /** Whether it keeps the order of keys. */
  readonly isExact: boolean
}

/** Moves a filled source to a target, and compares both. */
export async function checkMoved(
  transfer: Transfer,
  { service, tokens }: Filled,
  { adapter, isExact }: Target,
): Promise<TestService> {
  const before = await ask(service, [undefined, ...tokens])
  const lines = await dumpLines(transfer, service.adapter)
  const loaded = await transfer.load(config, adapter, lines)
  expect(Object.keys(loaded.collections)).toEqual(NAMES)
  expect([loaded.written, loaded.present]).toEqual([lines.length - 2, 0])
  for (const name of NAMES)
    expect(await readTexts(adapter, name, isExact), name).toEqual(
      await readTexts(service.adapter, name, isExact),
    )
  const moved = serveTransferred(adapter)
  // A token of the source is not valid in the target.
  expect((await moved.send('GET /auth/me', { token: tokens[0] ?? '' })).status).toBe(401)
  expect(await ask(moved, await logIn(moved))).toEqual(before)
  return moved
}

/** What must hold for any dump and load, over memory: for mutants. */
export async function checkTransfer(transfer: Transfer): Promise<void> {
  const filled = await fill(createMemoryAdapter())
  await checkLeftOut(transfer, filled)
  await checkMoved(transfer, filled, { adapter: createMemoryAdapter(), isExact: true })
  await checkDamaged(transfer, await dumpLines(transfer, filled.service.adapter))
}

/** The internal collections that a dump has. */
export async function checkLeftOut(transfer: Pick<Transfer, 'dump'>, { service }: Filled): Promise<void> {
  const { adapter } = service
  for (const name of ['_ledgers', '_deliveries', '_sessions'])
    expect(await adapter.count(name, everything, {}), `${name} has documents`).toBeGreaterThan(0)
  const collectionsIn = (lines: readonly string[]) =>
    new Set(lines.slice(1, -1).map((line) => JSON.parse(line).in))
  expect(collectionsIn(await dumpLines(transfer, adapter))).toEqual(new Set(NAMES))
  expect(collectionsIn(await dumpLines(transfer, adapter, { sessions: true }))).toEqual(
    new Set([...NAMES, '_sessions']),
  )
}

/** The code with which a load is rejected. */
export const refusalOf = (loading: Promise<unknown>): Promise<unknown> =>
  loading.then(
    () => 'accepted',
    (thrown: { readonly code?: string }) => thrown.code ?? thrown,
  )

/** A dump that is not as it was written is rejected. */
export async function checkDamaged(
  { load }: Pick<Transfer, 'load'>,
  lines: readonly string[],
): Promise<void> {
  const damage: readonly (readonly [what: string, lines: readonly string[], code: string])[] = [
    ['without its last line', lines.slice(0, -1), 'incomplete'],
    ['cut within a line', [lines.join('').slice(0, -40)], 'incomplete'],
    ['cut within a document', [lines.slice(0, 9).join('').slice(0, -5)], 'incomplete'],
    ['without a document', lines.toSpliced(5, 1), 'wrong_digest'],
    ['with another text', lines.toSpliced(5, 1, (lines[5] ?? '').replace('3000', '3001')), 'wrong_digest'],
    [
      'with another version',
      lines.toSpliced(5, 1, (lines[5] ?? '').replace(/"_version":\d+/, '"_version":1')),
      'wrong_digest',
    ],
    ['with a document twice', lines.toSpliced(5, 0, lines[5] ?? ''), 'invalid_line'],
    ['with two lines exchanged', lines.toSpliced(5, 2, lines[6] ?? '', lines[5] ?? ''), 'invalid_line'],
    ['with another dump after it', [...lines, ...lines], 'invalid_line'],
  ]
  for (const [what, changed, code] of damage)
    expect(await refusalOf(load(config, createMemoryAdapter(), changed)), `a dump ${what}`).toBe(code)
}
