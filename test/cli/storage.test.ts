import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import pg from 'pg'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { createPostgresAdapter } from '../../src/adapters/postgres/postgres-adapter.js'
import { createCollectionService } from '../../src/index.js'
import type { ArgumentsOf } from '../../src/tools/cli/arguments/commands.js'
import { parseArguments } from '../../src/tools/cli/arguments/parse-arguments.js'
import { grant } from '../../src/tools/cli/commands/grant.js'
import { type Serving, serve } from '../../src/tools/cli/commands/serve.js'
import { explain } from '../../src/tools/cli/explain.js'
import { createTestHasher } from '../../src/tools/testing/index.js'
import { usePostgres } from '../support/postgres.js'

/** The command in this process, over files of SQLite. */

let folder: string
let names = 0
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'collection-service-storage-'))
})
afterAll(() => rm(folder, { recursive: true, force: true }))

const running = new Set<Serving>()
afterEach(async () => {
  await Promise.all([...running].map((serving) => serving.stop()))
  running.clear()
})

const newPath = (ending: string): string => join(folder, `${++names}${ending}`)

async function write(content: unknown): Promise<string> {
  const path = newPath('.json')
  await writeFile(path, JSON.stringify(content))
  return path
}

const users = {
  schema: {
    email: { type: 'string', unique: true, trim: true, lowercase: true },
    password: { type: 'hash' },
    role: { type: 'string', enum: ['editor', 'admin'] },
  },
  permissions: { owner: { read: true }, admin: true },
}
const notes = {
  schema: { text: { type: 'string', maxLength: 5 } },
  permissions: { '*': { read: true }, admin: true },
}
const config = { collections: { users, notes }, auth: { roleField: 'role', cost: 10 } }
const ann = { email: 'ann@b.co', password: 'secret' }

interface Started {
  readonly origin: string
  readonly printed: string
  stop(): Promise<void>
}

function parseServe(args: readonly string[]): ArgumentsOf<'serve'> {
  const parsed = parseArguments(args)
  if (parsed.word !== 'serve') throw new Error('nothing to serve')
  return parsed
}

async function start(...args: string[]): Promise<Started> {
  const lines: string[] = []
  const write = (line: string): void => void lines.push(line)
  const serving = await serve(parseServe([...args, '--port', '0']), { print: write, complain: write })
  running.add(serving)
  return {
    origin: serving.origin,
    printed: lines.join('\n'),
    async stop() {
      running.delete(serving)
      await serving.stop()
    },
  }
}

/** What the command would print and complain of. */
async function runGrant(...args: string[]): Promise<{ printed: string; said: string }> {
  const lines: string[] = []
  const parsed = parseArguments(['grant', ...args])
  if (parsed.word !== 'grant') throw new Error('no grant')
  const said = await grant(parsed, (line) => void lines.push(line)).then(() => '', explain)
  return { printed: lines.join('\n'), said }
}

const readNotes = async ({ origin }: Started): Promise<unknown[]> => {
  const notes = (await (await fetch(`${origin}/notes`)).json()) as { text: string }[]
  return notes.map(({ text }) => text)
}

async function post({ origin }: Started, path: string, body: object, token?: string) {
  const headers = {
    'content-type': 'application/json',
    ...(token ? { authorization: `Bearer ${token}` } : {}),
  }
  const response = await fetch(origin + path, { method: 'POST', headers, body: JSON.stringify(body) })
  return { status: response.status, body: (await response.json()) as { token: string } }
}

const STACK = /\bat .+:\d+:\d+/

describe('--data', () => {
  test('keeps documents and sessions from one start to the next', async () => {
    const [path, data] = [await write(config), newPath('.db')]
    const first = await start(path, '--data', data)
    expect(first.printed).toContain(`in ${data}.`)
    expect(first.printed).not.toContain('memory')
    const { body } = await post(first, '/auth/register', ann)
    await first.stop()

    const second = await start(path, '--data', data)
    const headers = { authorization: `Bearer ${body.token}` }
    const me = await fetch(`${second.origin}/auth/me`, { headers })
    expect(await me.json()).toMatchObject({ email: 'ann@b.co' })
    expect((await post(second, '/notes', { text: 'one' }, body.token)).status).toBe(403)
    expect((await runGrant('ann@b.co', 'admin', path, '--data', data)).said).toBe('')
    // The service need not start anew.
    expect((await post(second, '/notes', { text: 'one' }, body.token)).status).toBe(201)
    expect(await readNotes(second)).toEqual(['one'])
  })

  test('begins with a seed while it holds nothing, and says so', async () => {
    const [path, data] = [await write(config), newPath('.db')]
    const seed = await write({ notes: [{ text: 'one' }], users: [ann] })
    const first = await start(path, '--data', data, '--seed', seed)
    expect(first.printed).toContain(`the documents of ${seed} were stored`)
    expect(await readNotes(first)).toEqual(['one'])
    await first.stop()
    const second = await start(path, '--data', data, '--seed', seed)
    expect(second.printed).toContain(`${seed} was not stored`)
    expect(await readNotes(second)).toEqual(['one'])
  })

  test('a seed with faults stops it, and the next may be stored', async () => {
    const [path, data] = [await write(config), newPath('.db')]
    const faulty = await write({ notes: [{ text: 'one' }, { text: 'too long' }] })
    const said = await start(path, '--data', data, '--seed', faulty).then(() => '', explain)
    expect(said).toContain('/notes/1/text')
    expect(said).not.toMatch(STACK)
    const seed = await write({ notes: [{ text: 'two' }] })
    expect(await readNotes(await start(path, '--data', data, '--seed', seed))).toEqual(['two'])
  })

  test.each<[string, () => Promise<string>, string]>([
    ['in a folder that is not there', async () => join(folder, 'none', 'app.db'), 'none'],
    ['that is a folder', async () => folder, 'cannot be opened'],
    ['that is no database', () => write({ text: 'x'.repeat(5000) }), 'not a database'],
  ])('a file %s is told in words', async (_, pathOf, word) => {
    const [path, data] = [await write(config), await pathOf()]
    const said = await start(path, '--data', data).then(() => '', explain)
    expect(said).toContain(data)
    expect(said).toContain(word)
    expect(said).not.toMatch(STACK)
  })

  test('a port that is taken leaves the file free', async () => {
    const [path, data] = [await write(config), newPath('.db')]
    const other = createServer().listen(0, 'localhost')
    await new Promise((resolve) => other.once('listening', resolve))
    const { port } = other.address() as AddressInfo
    const args = parseServe([path, '--data', data, '--port', String(port)])
    const terminal = { print: () => {}, complain: () => {} }
    expect(await serve(args, terminal).then(() => '', explain)).toContain(`Port ${port}`)
    other.close()
    // A file of SQLite that is closed has no log beside it.
    expect((await readdir(folder)).filter((name) => join(folder, name).startsWith(data))).toEqual([
      data.slice(folder.length + 1),
    ])
  })
})

describe('--database', () => {
  const postgres = usePostgres()

  /** A database that nobody else uses. */
  async function withDatabase(work: (url: string) => Promise<void>): Promise<void> {
    const name = `cli_${process.pid}_${Date.now()}`
    const client = new pg.Client({ connectionString: postgres.url })
    await client.connect()
    try {
      await client.query(`CREATE DATABASE ${name}`)
      await work(Object.assign(new URL(postgres.url), { pathname: `/${name}` }).href)
    } finally {
      await client.query(`DROP DATABASE IF EXISTS ${name} WITH (FORCE)`)
      await client.end()
    }
  }

  test(
    'keeps documents, begins with a seed once, and takes roles',
    () =>
      withDatabase(async (url) => {
        const [path, seed] = [await write(config), await write({ notes: [{ text: 'one' }] })]
        const args = [path, '--database', url, '--seed', seed]
        const first = await start(...args)
        expect(first.printed).toContain(`the documents of ${seed} were stored`)
        expect(first.printed).not.toContain(url)
        const { body } = await post(first, '/auth/register', ann)
        await first.stop()
        const second = await start(...args)
        expect(second.printed).toContain(`${seed} was not stored`)
        const granted = await runGrant('ann@b.co', 'admin', path, '--database', url)
        expect(granted).toEqual({ printed: expect.stringContaining('now has the role admin'), said: '' })
        expect((await post(second, '/notes', { text: 'two' }, body.token)).status).toBe(201)
        expect(await readNotes(second)).toEqual(['one', 'two'])
        await second.stop()
      }),
    30_000,
  )

  test(
    'gives a role in the schema that is named',
    () =>
      withDatabase(async (url) => {
        const path = await write(config)
        const adapter = createPostgresAdapter({ connectionString: url, schema: 'mine' })
        const handler = createCollectionService(config, adapter, { hasher: createTestHasher() })
        const body = JSON.stringify(ann)
        await handler(new Request('http://localhost/auth/register', { method: 'POST', body }))
        await handler.close()
        const args = ['ann@b.co', 'admin', path, '--database', url]
        expect((await runGrant(...args, '--schema', 'mine')).printed).toContain('now has the role admin')
        expect((await runGrant(...args)).said).toContain('ann@b.co')
        expect((await runGrant(...args, '--schema', 'mine')).printed).toContain('already has the role admin')
      }),
    30_000,
  )

  test.each([
    ['that nobody serves', 'postgres://me:s3cret@127.0.0.1:1/app'],
    ['by a URL that is none', 'postgres://me:s3cret@:x:y/app'],
  ])('a database %s is told in words, without its password', async (_, url) => {
    const path = await write(config)
    const lines = [
      await start(path, '--database', url).then(() => '', explain),
      (await runGrant('ann@b.co', 'admin', path, '--database', url)).said,
    ]
    for (const said of lines) {
      expect(said).toContain('cannot be opened')
      expect(said).not.toContain('s3cret')
      expect(said).not.toMatch(STACK)
    }
  })
})

describe('grant', () => {
  const register = async (path: string, data: string): Promise<void> => {
    const serving = await start(path, '--data', data)
    expect((await post(serving, '/auth/register', ann)).status).toBe(201)
    await serving.stop()
  }

  test('gives a role, and says when it was there already', async () => {
    const [path, data] = [await write(config), newPath('.db')]
    await register(path, data)
    const first = await runGrant(' Ann@B.co', 'admin', path, '--data', data)
    expect(first).toEqual({ printed: expect.stringContaining('now has the role admin'), said: '' })
    const second = await runGrant('ann@b.co', 'admin', path, '--data', data)
    expect(second).toEqual({ printed: expect.stringContaining('already has the role admin'), said: '' })
  })

  test.each<[string, unknown, string[], string[]]>([
    ['an identifier that nobody has', config, ['eve@b.co', 'admin'], ['email', 'eve@b.co']],
    ['a role that is not allowed', config, ['ann@b.co', 'amdin'], ['role', 'editor, admin']],
    [
      'a configuration without a role field',
      { collections: config.collections },
      ['ann@b.co', 'admin'],
      ['/auth/roleField'],
    ],
    ['a configuration without accounts', { collections: { notes } }, ['ann@b.co', 'admin'], ['accounts']],
    ['a configuration with faults', { collections: 5 }, ['ann@b.co', 'admin'], ['/collections']],
  ])('tells in words: %s', async (_, other, args, words) => {
    const data = newPath('.db')
    await register(await write(config), data)
    const { printed, said } = await runGrant(...args, await write(other), '--data', data)
    expect(printed).toBe('')
    for (const word of words) expect(said).toContain(word)
    expect(said).not.toMatch(STACK)
  })

  test('makes no file where there is none', async () => {
    const data = newPath('.db')
    const { said } = await runGrant('ann@b.co', 'admin', await write(config), '--data', data)
    expect(said).toContain(`there is no file ${data}`)
    expect((await readdir(folder)).map((name) => join(folder, name))).not.toContain(data)
  })
})
