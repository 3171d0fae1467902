import { mkdir, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { beforeAll, describe, expect, test } from 'vitest'
import { createPostgresAdapter } from '../../src/adapters/postgres/postgres-adapter.js'
import { createSqliteAdapter } from '../../src/adapters/sqlite/sqlite-adapter.js'
import { everything } from '../../src/core/filter/filter.js'
import type { StorageAdapter, StoredDocument } from '../../src/index.js'
import { useCommand } from '../support/command.js'
import { newSchema, usePostgres } from '../support/postgres.js'
import { createTestService } from '../support/service.js'
import { idOf } from '../support/stored.js'

// CONTRACT.md §7, "Migrating"

const { folder, run, writeFiles } = useCommand()
const postgres = usePostgres()

const text = { type: 'string' } as const
const configOf = (schema: object) => ({ collections: { articles: { schema, permissions: { '*': true } } } })
const BEFORE = configOf({ title: text, email: { ...text, unique: true } })
const AFTER = configOf({
  title: text,
  lang: { ...text, required: true, fill: 'en' },
  email: { ...text, unique: true, lowercase: true },
})

const DOCUMENTS = [{ email: 'Ann@x.de' }, { email: 'ann@X.de' }, { email: 'bob@x.de' }]

/** Stores documents under the configuration `BEFORE`. */
async function fill(connect: () => StorageAdapter): Promise<void> {
  const service = createTestService(BEFORE as never, { adapter: connect(), holdsOthers: true })
  for (const document of DOCUMENTS)
    expect((await service.send('POST /articles', { body: document })).status).toBe(201)
  await service.handler.close()
}

async function read(adapter: StorageAdapter): Promise<readonly StoredDocument[]> {
  await adapter.open([])
  try {
    return await adapter.list('articles', { filter: everything, sort: [], skip: 0, limit: null })
  } finally {
    await adapter.close()
  }
}

beforeAll(async () => {
  await writeFiles({ 'config.json': AFTER })
})

describe.each(['SQLite', 'PostgreSQL'] as const)('migrate of documents in %s', (engine) => {
  const place = () => {
    if (engine === 'SQLite') {
      const file = `${idOf(1)}.db`
      return { args: ['--data', file], connect: () => createSqliteAdapter({ file: join(folder(), file) }) }
    }
    const schema = newSchema()
    const options = { connectionString: postgres.url, schema }
    return {
      args: ['--database', postgres.url, '--schema', schema],
      connect: () => createPostgresAdapter(options),
    }
  }

  test('prints each step, exits 1 if a document failed, and leaves that document', async () => {
    const { args, connect } = place()
    await fill(connect)
    const before = await read(connect())
    const dry = await run('migrate', ...args, '--dry-run')
    expect(await read(connect())).toEqual(before)
    expect(dry.code).toBe(1)
    expect(dry.stdout).toMatch(/^articles\.lang {3}fill {9}3 documents would change$/m)
    expect(dry.stdout).toMatch(
      /^articles\.email {2}normal form {2}1 document would change {3}1 document would fail \(another document/m,
    )
    const { code, stdout } = await run('migrate', ...args)
    expect(code).toBe(1)
    expect(stdout).toMatch(/^articles\.lang {3}fill {9}3 documents changed$/m)
    const after = await read(connect())
    expect(after.map(({ lang }) => lang)).toEqual(['en', 'en', 'en'])
    expect(after.map(({ email }) => String(email)).sort()).toEqual(['ann@X.de', 'ann@x.de', 'bob@x.de'])
    const again = await run('migrate', ...args, '--format', 'json')
    const [failed] = after.filter(({ email }) => email === 'ann@X.de').map(({ _id }) => _id)
    expect(JSON.parse(again.stdout)).toEqual({
      steps: [
        {
          name: 'articles.email',
          collection: 'articles',
          field: 'email',
          kind: 'form',
          done: 0,
          failed: 1,
          ids: [failed],
        },
      ],
    })
  })
})

describe('a unique index', () => {
  const TWINS = configOf({ title: text, email: text })
  const args = ['--data', 'unique.db', '--drop-unique', 'articles', 'email']
  const connect = () => createSqliteAdapter({ file: join(folder(), 'unique.db') })

  test('that is no longer declared is dropped, after it is named by the warning of check', async () => {
    await fill(connect)
    await writeFiles({ 'twins.json': TWINS })
    const warned = await run('check', 'twins.json', '--data', 'unique.db')
    expect(warned.stdout.replaceAll(/\s+/g, ' ')).toContain(
      'to end this, run collection-service migrate --drop-unique articles email --yes',
    )
    const declared = await run('migrate', ...args, '--yes')
    expect([declared.code, declared.stderr]).toEqual([
      1,
      expect.stringContaining('/collections/articles: articles email is unique in this configuration'),
    ])
    const { code, stdout } = await run('migrate', 'twins.json', ...args, '--yes')
    expect([code, stdout]).toEqual([0, 'The unique index articles email is dropped.\n'])
    const again = await run('migrate', 'twins.json', ...args, '--yes')
    expect([again.code, again.stderr]).toEqual([1, expect.stringContaining('there is no unique index')])
    const service = createTestService(TWINS as never, { adapter: connect(), holdsOthers: true })
    expect((await service.send('POST /articles', { body: DOCUMENTS[0] ?? {} })).status).toBe(201)
    await service.handler.close()
  })

  test.each([
    ['without --yes', args, 'needs --yes'],
    ['without fields', [...args.slice(0, 4), '--yes'], 'needs the stored names'],
    ['beside a dry run', [...args, '--yes', '--dry-run'], '--drop-unique and --dry-run cannot'],
    ['beside --erase', [...args, '--yes', '--erase'], '--drop-unique and --erase cannot'],
  ])('is not dropped %s', async (_, line, message) => {
    const { code, stderr } = await run('migrate', ...line)
    expect([code, stderr]).toEqual([2, expect.stringContaining(message)])
  })
})

describe('migrations', () => {
  const MIGRATED = { ...configOf({ title: text, email: text }), migrations: ['2026-11-titles'] }
  const CODE = `export default {
  collections: {
    articles({ email, title }) {
      if (!email.endsWith('.de')) throw new Error(JSON.stringify(email) + ' is not in .de')
      return { set: { title: email.split('@')[0] } }
    },
  },
}
`
  const start = async (file: string) => {
    await fill(() => createSqliteAdapter({ file: join(folder(), file) }))
    await writeFiles({ 'migrated.json': MIGRATED })
    await mkdir(join(folder(), 'migrations'), { recursive: true })
    await writeFile(join(folder(), 'migrations', '2026-11-titles.mjs'), CODE)
    return ['--data', file]
  }

  test('run from a folder, and are finished when no document fails', async () => {
    const args = await start('titles.db')
    const dry = await run('migrate', 'migrated.json', ...args, '--migrations', 'migrations', '--dry-run')
    expect(dry).toMatchObject({ code: 0, stdout: '2026-11-titles  articles  3 documents would change\n' })
    const without = await run('migrate', 'migrated.json', ...args)
    expect(without).toMatchObject({ code: 1 })
    expect(without.stderr).toContain('/migrations/0: "2026-11-titles" has to run, and its code is missing')
    const { code, stdout } = await run('migrate', 'migrated.json', ...args, '--migrations', 'migrations')
    expect([code, stdout]).toEqual([0, '2026-11-titles  articles  3 documents changed\n'])
    const after = await read(createSqliteAdapter({ file: join(folder(), 'titles.db') }))
    expect(after.map(({ title }) => String(title)).sort()).toEqual(['Ann', 'ann', 'bob'])
    expect(await run('migrate', 'migrated.json', ...args)).toMatchObject({
      code: 0,
      stdout: 'All documents fit the configuration.\n',
    })
  })

  test('print the first reason of what failed', async () => {
    const args = await start('failing.db')
    const connect = () => createSqliteAdapter({ file: join(folder(), 'failing.db') })
    const service = createTestService(BEFORE as never, { adapter: connect(), holdsOthers: true })
    await service.send('POST /articles', { body: { email: 'cy@x.org' } })
    await service.handler.close()
    const { code, stdout } = await run('migrate', 'migrated.json', ...args, '--migrations', 'migrations')
    expect(code).toBe(1)
    expect(stdout).toMatch(
      /^2026-11-titles {2}articles {2}3 documents changed {2}1 document failed \("cy@x\.org" is not in \.de\):\s+\S+\n$/,
    )
  })

  test('that the list of the configuration lacks are rejected', async () => {
    const args = await start('unlisted.db')
    await writeFile(join(folder(), 'migrations', 'other.mjs'), CODE)
    const { code, stderr } = await run('migrate', 'migrated.json', ...args, '--migrations', 'migrations')
    await rm(join(folder(), 'migrations', 'other.mjs'))
    expect(code).toBe(1)
    expect(stderr).toContain(
      'migrations/other.mjs is a migration that "migrations" of the configuration lacks',
    )
  })
})

test('migrate says that nothing is left', async () => {
  const file = 'fresh.db'
  await fill(() => createSqliteAdapter({ file: join(folder(), file) }))
  await writeFiles({ 'before.json': BEFORE })
  expect(await run('migrate', 'before.json', '--data', file)).toMatchObject({
    code: 0,
    stdout: 'All documents fit the configuration.\n',
  })
})

test.each<[what: string, args: readonly string[], code: number, said: string]>([
  ['no storage', [], 2, 'migrate needs --data or --database'],
  ['a file that does not exist', ['--data', 'none.db'], 1, 'there is no file none.db'],
  ['another format', ['--data', 'x.db', '--format', 'markdown'], 2, 'migrate has the formats text and json'],
  ['a folder that does not exist', ['--data', 'fresh.db', '--migrations', 'none'], 1, 'none of --migrations'],
  ['an unknown option', ['--data', 'x.db', '--dry-runs'], 2, 'dry-run'],
])('migrate with %s is rejected', async (_, args, code, said) => {
  const result = await run('migrate', ...args)
  expect(result.code).toBe(code)
  expect(result.stderr).toContain(said)
})
