import { createHash } from 'node:crypto'
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import Database from 'better-sqlite3'
import pg from 'pg'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createPostgresAdapter } from '../../src/adapters/postgres/postgres-adapter.js'
import { readExistingDatabase } from '../../src/adapters/postgres/read-existing.js'
import { readExistingFile } from '../../src/adapters/sqlite/read-existing.js'
import { createSqliteAdapter } from '../../src/adapters/sqlite/sqlite-adapter.js'
import { createCollectionService, createMemoryAdapter, type StorageAdapter } from '../../src/index.js'
import { parseArguments } from '../../src/tools/cli/arguments/parse-arguments.js'
import { check } from '../../src/tools/cli/commands/check.js'
import { checkData } from '../../src/tools/insight/index.js'
import { migrateCollections } from '../../src/tools/migrate/index.js'
import { createTestHasher } from '../../src/tools/testing/index.js'
import { newSchema, usePostgres } from '../support/postgres.js'

// CONTRACT.md §8, "Check"

const postgres = usePostgres()

let folder: string
let names = 0
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'collection-service-check-'))
})
afterAll(() => rm(folder, { recursive: true, force: true }))

const newPath = (ending: string): string => join(folder, `${++names}${ending}`)

async function write(content: unknown): Promise<string> {
  const path = newPath('.json')
  await writeFile(path, typeof content === 'string' ? content : JSON.stringify(content, null, 2))
  return path
}

/** Runs `check` in this process. */
async function run(content: unknown, ...args: string[]) {
  const path = await write(content)
  const printed: string[] = []
  const complained: string[] = []
  const parsed = parseArguments(['check', path, ...args])
  if (parsed.word !== 'check') throw new Error('another word')
  const code = await check(parsed, {
    print: (line) => printed.push(line),
    complain: (line) => complained.push(line),
  })
  return { code, printed: printed.join('\n'), complained: complained.join('\n') }
}

const users = {
  schema: {
    email: { type: 'string', unique: true, required: true, lowercase: true },
    password: { type: 'hash', required: true },
  },
  permissions: { owner: { read: true } },
}
const notes = (schema: object, permissions: object = { user: { read: true, create: true } }) => ({
  collections: { users, notes: { schema, permissions } },
  limits: { maxLimit: 100 },
})
const text = { type: 'string' }
const before = notes({ text, code: text, hidden: text })
const after = notes(
  {
    text: { type: 'string', maxLength: 3, required: true },
    code: { type: 'string', unique: true },
    state: { type: 'string', default: 'open', index: true },
  },
  { user: { create: true, read: { where: { $or: [{ text: 'a' }, { code: '$user.email', text: 'b' }] } } } },
)

const idOf = (number: number): string => `0190163d-8694-7000-8000-${String(number).padStart(12, '0')}`

const DOCUMENTS = {
  users: [{ _id: idOf(1), email: 'ann@example.com', password: 'secret' }],
  notes: [
    { _id: idOf(11), text: 'a', code: '1' },
    { _id: idOf(12), text: 'abcd', code: '1' },
    { _id: idOf(13), code: '2', hidden: 'x' },
    { _id: idOf(14), text: 'b' },
    { _id: idOf(15), text: 'b', code: 'ann@example.com' },
  ],
}

const REPORT = {
  documents: 5,
  invalid: { count: 2, ids: [idOf(12), idOf(13)] },
  cut: { count: 1, ids: [idOf(13)] },
  unreadable: { count: 3, ids: [idOf(12), idOf(13), idOf(14)] },
  notUnique: [{ fields: ['code'], count: 2, ids: [idOf(11), idOf(12)], isLeast: false }],
  misfits: [
    {
      field: 'text',
      error: 'too_long',
      message: 'must have at most 3 characters',
      count: 1,
      ids: [idOf(12)],
    },
    { field: 'text', error: 'required', message: 'is required', count: 1, ids: [idOf(13)] },
    {
      field: 'hidden',
      error: 'unknown_property',
      message: 'is not in the schema',
      count: 1,
      ids: [idOf(13)],
    },
  ],
  leftUnique: [],
  steps: [],
}
const NONE = { count: 0, ids: [] }
const UNHURT = {
  documents: 1,
  invalid: NONE,
  cut: NONE,
  unreadable: NONE,
  notUnique: [],
  misfits: [],
  leftUnique: [],
  steps: [],
  unfixed: [],
}
const EXPECTED = [
  { collection: 'users', ...UNHURT },
  { collection: 'notes', ...REPORT, unfixed: REPORT.misfits },
]

/** Stores the documents under the configuration of before. */
async function fill(adapter: StorageAdapter): Promise<void> {
  const service = createCollectionService(
    before,
    { ...adapter, seed: DOCUMENTS },
    { hasher: createTestHasher() },
  )
  await service.ready()
}

describe('what a document is judged by', () => {
  const judge = async (
    schema: object,
    document: object,
    { becomes = schema, where }: { readonly becomes?: object; readonly where?: object },
  ) => {
    const configOf = (fields: object, read: object) =>
      ({ collections: { users, notes: { schema: fields, permissions: { user: read } } } }) as never
    const adapter = createMemoryAdapter()
    const service = createCollectionService(
      configOf(schema, { read: true }),
      { ...adapter, seed: { notes: [document] } } as never,
      { hasher: createTestHasher() },
    )
    await service.ready()
    const reports = await checkData(configOf(becomes, { read: where ? { where } : true }), adapter)
    const { invalid, unreadable } = reports.find(({ collection }) => collection === 'notes') ?? {}
    return { invalid: invalid?.count, unreadable: unreadable?.count }
  }

  test('text in the place of a hash is none', async () => {
    const pin = { pin: { type: 'string' } }
    const becomes = { pin: { type: 'hash', required: true } }
    expect(await judge(pin, { pin: 'plain text' }, { becomes })).toMatchObject({ invalid: 1 })
    const hash = { pin: { type: 'hash' } }
    expect(await judge(hash, { pin: 'plain text' }, { becomes })).toMatchObject({ invalid: 0 })
  })

  test.each<[where: object, document: object, unreadable: number]>([
    [{ text: { $regex: '^x' }, by: '$user.email' }, { text: 'abc', by: 'q' }, 1],
    [{ text: { $regex: '^x' }, by: '$user.email' }, { text: 'xbc', by: 'q' }, 0],
    [{ text: { $regex: '^x', $options: 'i' }, by: '$user.email' }, { text: 'Xbc', by: 'q' }, 0],
    [{ by: { $in: ['a', '$user.email'] } }, { text: 'a' }, 1],
    [{ by: { $in: ['a', '$user.email'] } }, { by: 'b' }, 0],
    [{ by: { $in: [null, '$user.email'] } }, { text: 'a' }, 0],
  ])('by %j somebody may read, or nobody: %j', async (where, document, unreadable) => {
    expect(await judge({ text, by: text }, document, { where })).toMatchObject({ unreadable })
  })
})

describe('stored documents', () => {
  test('in memory', async () => {
    const adapter = createMemoryAdapter()
    await fill(adapter)
    expect(await checkData(after, adapter)).toEqual(EXPECTED)
  })

  test('in a file, which stays as it is', async () => {
    const file = newPath('.db')
    const adapter = createSqliteAdapter({ file })
    await fill(adapter)
    await adapter.close()
    const stamp = async () =>
      createHash('sha256')
        .update(await readFile(file))
        .digest('hex')
    const old = await stamp()
    const { code, printed } = await run(after, '--data', file, '--format', 'json')
    expect(code).toBe(1)
    expect(JSON.parse(printed).documents).toEqual(EXPECTED)
    expect(await stamp()).toBe(old)
    expect((await readdir(folder)).filter((name) => join(folder, name).startsWith(file))).toHaveLength(1)
  })

  test('in a file that another process writes, whose log stays', async () => {
    const file = newPath('.db')
    const adapter = createSqliteAdapter({ file })
    await fill(adapter)
    const logged = await readFile(`${file}-wal`)
    expect(logged.length).toBeGreaterThan(0)
    const documents = await readExistingFile(file)
    expect(await checkData(after, documents)).toEqual(EXPECTED)
    await documents.close()
    expect(await readFile(`${file}-wal`)).toEqual(logged)
    await adapter.close()
  })

  test('in PostgreSQL, where nothing is created', async () => {
    const schema = newSchema()
    const adapter = createPostgresAdapter({ connectionString: postgres.url, schema })
    await fill(adapter)
    await adapter.close()
    const client = new pg.Client({ connectionString: postgres.url })
    await client.connect()
    const list = async () =>
      (
        await client.query('SELECT relname FROM pg_class WHERE relnamespace = $1::regnamespace ORDER BY 1', [
          schema,
        ])
      ).rows
    const old = await list()
    const documents = await readExistingDatabase(postgres.url, schema)
    const extended = { ...after, collections: { ...after.collections, others: after.collections.notes } }
    expect(await checkData(extended, documents)).toEqual([
      ...EXPECTED,
      { collection: 'others', ...UNHURT, documents: 0 },
    ])
    await documents.close()
    expect(await list()).toEqual(old)
    await client.end()
  })

  test('in a schema that is missing', async () => {
    const documents = await readExistingDatabase(postgres.url, newSchema())
    expect(await checkData(after, documents)).toEqual(
      ['users', 'notes'].map((collection) => ({ collection, ...UNHURT, documents: 0 })),
    )
    await documents.close()
  })

  test('of many pages, each within its bytes', async () => {
    const file = newPath('.db')
    const adapter = createSqliteAdapter({ file })
    const schema = { text, code: { type: 'string' } }
    const long = 'x'.repeat(100_000)
    const documents = Array.from({ length: 1200 }, (_, i) => ({
      text: i % 100 === 0 ? long : 'a',
      code: String(i % 1199),
    }))
    const service = createCollectionService(notes(schema), { ...adapter, seed: { notes: documents } })
    await service.ready()
    const existing = await readExistingFile(file)
    const limited = notes({ text: { type: 'string', maxLength: 9 }, code: { type: 'string', unique: true } })
    const [, found] = await checkData(limited, existing)
    expect(found).toMatchObject({ documents: 1200, invalid: { count: 12 }, notUnique: [{ count: 2 }] })
    await existing.close()
    await service.close()
  })
})

describe('the exit code', () => {
  const permissions = { user: { read: true, create: true, update: true } }
  const sound = notes({ text }, permissions)
  test.each<[what: string, content: unknown, args: string[], code: number]>([
    ['nothing is found', sound, [], 0],
    ['there is a note', { ...notes({ text }, { '*': { read: true }, ...permissions }), limits: {} }, [], 0],
    ['there is a warning', notes({ text }, { '*': true }), [], 1],
    [
      'the warning is silenced',
      {
        ...notes({ text }, { '*': true }),
        $ignore: ['open_to_everyone /collections/notes/permissions/* - a test'],
      },
      [],
      0,
    ],
    [
      'production makes it an error',
      {
        ...notes({ text }, { '*': true }),
        $ignore: ['open_to_everyone /collections/notes/permissions/* - a test'],
      },
      ['--production'],
      1,
    ],
    ['there is an error', { collections: 1 }, [], 1],
    ['the text is not JSON', '{ "collections": }', [], 2],
    ['there is no such file of documents', sound, ['--data', '/nowhere/at/all.db'], 2],
    ['the documents are no database', sound, ['--data', 'package.json'], 2],
    ['the database is away', sound, ['--database', 'postgres://localhost:1/none'], 2],
  ])('where %s', async (_, content, args, code) => {
    expect((await run(content, ...args)).code).toBe(code)
  })

  test('where there is no such file', async () => {
    const parsed = parseArguments(['check', newPath('.json')])
    const terminal = { print() {}, complain() {} }
    expect(parsed.word === 'check' && (await check(parsed, terminal))).toBe(2)
  })
})

describe('what is printed', () => {
  const content = notes({ text }, { user: { create: true, read: { where: { text: 'a' } } } })

  test('has the place in the text, and lines of at most 100 characters', async () => {
    const { printed } = await run(content)
    expect(printed).toMatch(/warning {2}read_without_index {2}.*\.json:\d+:\d+/)
    for (const line of printed.split('\n')) if (!line.includes(folder)) expect(line.length).toBeLessThan(101)
    expect(printed).not.toContain('\u001b')
  })

  test('is a table of Markdown', async () => {
    const { printed } = await run(content, '--format', 'markdown')
    expect(printed.split('\n')).toHaveLength(3)
    expect(printed).toContain('`read_without_index`')
  })

  test('is JSON', async () => {
    const { printed } = await run(content, '--format', 'json')
    expect(JSON.parse(printed)).toEqual({
      findings: [
        expect.objectContaining({ code: 'read_without_index', level: 'warning', line: expect.any(Number) }),
      ],
    })
  })

  test('says what was found of documents, with ids', async () => {
    const file = newPath('.db')
    const adapter = createSqliteAdapter({ file })
    await fill(adapter)
    await adapter.close()
    const { printed } = await run(after, '--data', file)
    expect(printed).toMatch(/^notes +5 +2 +1 +3 +2 \(code\)$/m)
    expect(printed).toContain(`notes: text is required (required); in 1: ${idOf(13)}`)
    expect(printed).not.toContain('no findings')
    const faulty = await run({ collections: 1 }, '--data', file)
    expect(faulty.printed).toContain('not checked')
  })

  test('a database of others is left alone too', async () => {
    const file = newPath('.db')
    new Database(file).exec('CREATE TABLE a (b)').close()
    const old = await readFile(file)
    expect((await run(notes({ text }, { user: true }), '--data', file)).code).toBe(0)
    expect(await readFile(file)).toEqual(old)
  })
})

test('pending steps are printed, and the exit code is then 1', async () => {
  const file = newPath('.db')
  const adapter = createSqliteAdapter({ file })
  const open = { permissions: { user: { read: true } } }
  const first = { collections: { notes: { ...open, schema: { text, at: { type: 'integer' } } } } }
  const seed = { notes: [{ text: 'A' }, { text: 'b', at: 1 }] }
  const service = createCollectionService(first, { ...adapter, seed } as never, {
    logger: { warn() {}, error() {} },
  })
  await service.ready()
  await service.close()
  const schema = {
    text: { ...text, lowercase: true },
    at: { type: 'integer' },
    lang: { ...text, required: true, fill: 'en' },
  }
  const config = { migrations: ['one'], collections: { notes: { ...open, schema } } }
  const { code, printed } = await run(config, '--data', file)
  expect(code).toBe(1)
  for (const line of ['notes: lang', 'notes: text', 'The migration one', '--migrations FOLDER'])
    expect(printed).toContain(line)
  const { printed: json } = await run(config, '--data', file, '--format', 'json')
  expect(JSON.parse(json)).toMatchObject({
    migrations: [{ name: 'one', failed: { count: 0, ids: [] } }],
    documents: [
      {
        steps: [
          { field: 'lang', kind: 'fill', count: 2 },
          { field: 'text', kind: 'form' },
        ],
      },
    ],
  })
  const { printed: table } = await run(config, '--data', file, '--format', 'markdown')
  expect(table).toContain('- The migration one is not finished')
  await migrateCollections(config, createSqliteAdapter({ file }), {
    migrations: { one: { collections: { notes: () => undefined } } },
  })
  expect(await run(config, '--data', file)).toMatchObject({
    printed: expect.not.stringContaining('run collection-service migrate'),
  })
})
