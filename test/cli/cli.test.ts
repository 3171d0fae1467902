import { lookup } from 'node:dns/promises'
import { once } from 'node:events'
import { readFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import { type AddressInfo, connect, type Socket } from 'node:net'
import { networkInterfaces, tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { beforeAll, describe, expect, test } from 'vitest'
import { type Command, ORIGIN, root, type SpawnedCommand, STACK, useCommand } from '../support/command.js'
import { judgedFetch } from '../support/judged-fetch.js'

const example = join(root, 'examples', 'config.json')
const documents = join(root, 'examples', 'documents.json')

const { folder, start, startIn, run, spawn, spawnIn, runSpawned, writeFiles } = useCommand()

/** The example, with hashes that take a quarter of the time. */
const cheap = 'cheap.json'
beforeAll(async () => {
  const config = JSON.parse(await readFile(example, 'utf8'))
  await writeFiles({ [cheap]: { ...config, auth: { ...config.auth, cost: 10 } } })
})

describe('the command', () => {
  let serving: Command
  let origin: string
  let port: number
  const begin = async (how: typeof start): Promise<void> => {
    serving = how(cheap, '--seed', documents, '--port', '0', '--cors', 'https://app.example')
    const [found, digits] = await serving.printed(ORIGIN)
    origin = found
    port = Number(digits)
    await serving.printed(/Try: .*\n/)
  }

  test('serves a configuration with its documents and logs requests without their queries', async () => {
    await begin(start)
    expect(serving.stdout()).toContain('/articles')
    const list = await judgedFetch(`${origin}/articles?q[tags]=guide`, {
      headers: { origin: 'https://app.example' },
    })
    expect(list.status).toBe(200)
    expect(list.headers.get('access-control-allow-origin')).toBe('https://app.example')
    expect(await list.json()).toMatchObject([{ title: 'How filters work' }])
    const foreign = await judgedFetch(`${origin}/nosuch?token=s3cret`, {
      headers: { origin: 'https://evil.example' },
    })
    expect(foreign.status).toBe(404)
    expect(foreign.headers.get('access-control-allow-origin')).toBeNull()
    const login = await judgedFetch(`${origin}/auth/login`, {
      method: 'POST',
      body: JSON.stringify({ email: 'bob@example.com', password: 'correct horse' }),
    })
    expect(login.status).toBe(200)
    await serving.printed(/^POST \/auth\/login 200\b/m)
    expect(serving.stdout()).toMatch(/^GET \/articles 200\b/m)
    expect(serving.stdout()).toMatch(/^GET \/nosuch 404\b/m)
    expect(serving.stdout()).not.toMatch(/guide|s3cret|correct horse/)
    expect(serving.stderr()).toBe('')
  })

  test('says at its start who may do what, and where a client can ask what there is', async () => {
    await begin(start)
    expect(serving.stdout()).toMatch(/^articles +create +read +update +delete\nanonymous +– +a, -views +–/m)
    expect(serving.stdout()).toMatch(/^\/ +GET .+\n\/_batch /m)
    const { collections } = await (await judgedFetch(`${origin}/`)).json()
    expect(collections).toContainEqual({ name: 'articles', href: '/articles', operations: ['list', 'read'] })
  })

  test.each(['SIGTERM', 'SIGINT'] as const)(
    'answers the request in flight on %s and ends with 0',
    async (signal) => {
      const spawned: SpawnedCommand[] = []
      await begin((...args) => {
        spawned.push(spawn(...args))
        return spawned[0] as Command
      })
      const body = JSON.stringify({ email: 'nobody@example.com', password: 'correct horse' })
      const socket = connect(port, 'localhost')
      socket.setEncoding('utf8')
      socket.write(
        `POST /auth/login HTTP/1.1\r\nHost: h\r\nExpect: 100-continue\r\nContent-Length: ${body.length}\r\n\r\n`,
      )
      const [first] = await once(socket, 'data')
      expect(first).toBe('HTTP/1.1 100 Continue\r\n\r\n')
      spawned[0]?.child.kill(signal)
      await isClosed(port)
      socket.write(body)
      const [answer] = await once(socket, 'data')
      expect(answer).toMatch(/^HTTP\/1\.1 401 /)
      socket.end()
      expect(await serving.ended).toBe(0)
      expect(serving.stdout()).toMatch(/^POST \/auth\/login 401\b/m)
      expect(serving.stderr()).toBe('')
    },
  )
})

/** Resolves when nobody listens at a port any more. */
async function isClosed(port: number): Promise<void> {
  for (;;) {
    const socket: Socket = connect(port, 'localhost')
    const refused = await once(socket, 'connect').then(
      () => false,
      () => true,
    )
    socket.destroy()
    if (refused) return
  }
}

test.each(['/notes/changes', '/notes/chang%65s/?project=[]'])(
  'a signal ends streams of changes, behind the requests in flight: %s',
  async (path) => {
    const collections = { notes: { changes: true, schema: {}, permissions: { '*': { read: true } } } }
    await writeFiles({ 'config.json': JSON.stringify({ collections }) })
    const serving = start('--port', '0')
    const [origin] = await serving.printed(ORIGIN)
    const stream = await fetch(`${origin}${path}`)
    expect([stream.status, stream.headers.get('connection')]).toEqual([200, 'close'])
    serving.stop()
    expect(await stream.text()).toMatch(/^id: .+\nevent: reset\ndata: \{\}\n\n$/)
    expect([await serving.ended, serving.stderr()]).toEqual([0, ''])
  },
)

test('a client that still reads a long list does not hold up the end', async () => {
  const collections = {
    notes: { schema: { text: { type: 'string' } }, permissions: { '*': { read: true } } },
  }
  const notes = Array.from({ length: 300 }, () => ({ text: 'x'.repeat(100_000) }))
  await writeFiles({
    'config.json': { collections, limits: { requestSeconds: 1 } },
    'documents.json': { notes },
  })
  const serving = spawn('--port', '0', '--seed', 'documents.json')
  const [, port] = await serving.printed(ORIGIN)
  const socket = connect(Number(port), 'localhost').setEncoding('utf8')
  socket.write('GET /notes HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n')
  await once(socket, 'readable')
  serving.stop()
  let last = ''
  for await (const text of socket) {
    last = text
    if (serving.child.exitCode === null) await wait(100)
  }
  expect(await serving.ended).toBe(0)
  // The last chunk of a whole answer is empty.
  expect(last.endsWith('\r\n0\r\n\r\n')).toBe(false)
})

test('--drain serves for some seconds after a signal, but is not ready', async () => {
  const serving = start('--port', '0', '--drain', '1')
  const [origin] = await serving.printed(ORIGIN)
  expect((await judgedFetch(`${origin}/_health/ready`)).status).toBe(200)
  serving.stop()
  const ready = await fetch(`${origin}/_health/ready`)
  expect([ready.status, ready.headers.get('connection')]).toEqual([503, 'close'])
  expect((await judgedFetch(`${origin}/_health/live`)).status).toBe(200)
  expect((await judgedFetch(`${origin}/`)).status).toBe(200)
  expect(await serving.ended).toBe(0)
})

test('a request on a connection that was open before the signal is answered', async () => {
  const serving = spawn(example, '--port', '0')
  const [, port] = await serving.printed(ORIGIN)
  const socket = connect(Number(port), 'localhost')
  socket.setEncoding('utf8')
  await once(socket, 'connect')
  // The command has seen the first connection when it has answered on the second.
  expect((await judgedFetch(`http://localhost:${port}/`)).status).toBe(200)
  serving.child.kill('SIGTERM')
  socket.write('GET / HTTP/1.1\r\nHost: h\r\n\r\n')
  const [answer] = await once(socket, 'data')
  expect(answer).toMatch(/^HTTP\/1\.1 200 /)
  expect(await serving.ended).toBe(0)
})

test('a second signal ends it at once', async () => {
  const serving = spawn(example, '--port', '0')
  const [, port] = await serving.printed(ORIGIN)
  const socket = connect(Number(port), 'localhost')
  socket.on('error', () => {})
  socket.write('POST /auth/login HTTP/1.1\r\nHost: h\r\nExpect: 100-continue\r\nContent-Length: 9\r\n\r\n')
  await once(socket, 'data')
  serving.child.kill('SIGTERM')
  await isClosed(Number(port))
  serving.child.kill('SIGTERM')
  expect(await serving.ended).toBe(1)
  socket.destroy()
})

test('it looks for config.json in its folder where none is named', async () => {
  await writeFiles({ 'config.json': `\ufeff${JSON.stringify({ collections: { notes: { schema: {} } } })}` })
  const serving = start('--port', '0')
  const [origin] = await serving.printed(ORIGIN)
  expect((await judgedFetch(`${origin}/notes`)).status).toBe(401)
})

const USAGE = 'collection-service [config.json] [--port 3000]'

test.each<[string[], string]>([
  [['--help'], USAGE],
  [['-h'], USAGE],
  [['config.json', '--help'], USAGE],
  [['grant', '--help'], 'collection-service grant <identifier> [role]'],
  [['types', '-h'], 'collection-service types [config.json]'],
  [['init', '--help'], 'collection-service init [notes|blog|teams] [folder]'],
])('%j prints what can be said there and ends with 0', async (args, usage) => {
  const { code, stdout, stderr } = await run(...args)
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
  expect(stdout.startsWith(usage)).toBe(true)
})

test('--version prints that of the package', async () => {
  const { version } = JSON.parse(await readFile(join(root, 'package.json'), 'utf8'))
  expect(await runSpawned('--version')).toEqual({ code: 0, stdout: `${version}\n`, stderr: '' })
})

test.each([
  ['an unknown option', ['--prot', '3000']],
  ['two storages', ['--data', 'file.db', '--database', 'postgres://localhost/app']],
  ['no file of data behind the option', ['--data']],
  ['a database of another kind', ['--database', 'mysql://localhost/app']],
  ['a role for nobody', ['grant', '--data', 'file.db']],
  ['no role', ['grant', 'ann@example.com', '--data', 'file.db']],
  ['a role in no storage', ['grant', 'ann@example.com', 'admin']],
  ['a role and a port', ['grant', 'ann@example.com', 'admin', '--data', 'file.db', '--port', '0']],
  ['two configurations', ['a.json', 'b.json']],
  ['a port that is no number', ['--port', 'http']],
  ['a port out of range', ['--port', '65536']],
  ['a negative port', ['--port=-1']],
  ['half a port', ['--port', '1.5']],
  ['an empty port', ['--port', '']],
  ['a blank port', ['--port', ' ']],
  ['no port behind the option', ['--port']],
  ['no file behind the option', ['--seed']],
  ['an origin without a scheme', ['--cors', 'localhost:5173']],
])('arguments that make no sense end with 2 and the usage: %s', async (_, args) => {
  const { code, stdout, stderr } = await run(...args)
  expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
  expect(stderr).toContain(args[0] === 'grant' ? '\n\ncollection-service grant <identifier>' : `\n\n${USAGE}`)
  expect(stderr).not.toMatch(STACK)
})

const notes = {
  collections: {
    notes: {
      schema: {
        text: { type: 'string', required: true, maxLength: 5 },
        code: { type: 'string', unique: true },
      },
    },
  },
}

const FAILURES: readonly (readonly [
  title: string,
  files: { readonly [name: string]: unknown },
  args: readonly string[],
  said: readonly string[],
])[] = [
  ['a configuration that is not there', {}, ['none.json'], ['none.json']],
  ['a folder in place of a file', {}, [tmpdir()], [tmpdir(), 'EISDIR']],
  ['a configuration that is no JSON', { 'a.json': '{ "collections": ' }, ['a.json'], ['a.json', 'JSON']],
  ['an empty file', { 'a.json': '' }, ['a.json'], ['a.json', 'JSON']],
  [
    'a key that stands twice in one object',
    {
      'a.json':
        '{ "collections": { "notes": { "schema": {}, "permissions": { "user": true, "us\\u0065r": false } } } }',
    },
    ['a.json'],
    ['a.json', '"user"', 'twice'],
  ],
  [
    'a configuration with faults, all of them',
    {
      'a.json': {
        collections: {
          notes: { schema: { text: { type: 'strng' }, tags: { type: 'array' } }, permisions: {} },
          auth: { schema: {} },
        },
        limits: { bodyBytes: 0 },
      },
    },
    ['a.json'],
    [
      '/collections/notes/schema/text/type',
      '"string"',
      '/collections/notes/schema/tags/items',
      '/collections/notes/permisions',
      '"permissions"',
      '/collections/auth',
      '/limits/bodyBytes',
    ],
  ],
  ['a configuration that is no object', { 'a.json': '[]' }, ['a.json'], ['object']],
  [
    'documents that cannot be stored, all of them',
    {
      'a.json': notes,
      's.json': {
        notes: [{ text: 'too long' }, { text: 'ok' }, { code: 1 }, 7, { text: 'x', _id: 'x' }],
        nots: [],
      },
    },
    ['a.json', '--seed', 's.json'],
    ['/notes/0/text', '/notes/2/text', '/notes/2/code', '/notes/3', '/notes/4/_id', '/nots', '"notes"'],
  ],
  [
    'documents of which two have one unique value',
    {
      'a.json': notes,
      's.json': {
        notes: [
          { text: 'a', code: 'A' },
          { text: 'b', code: 'A' },
        ],
      },
    },
    ['a.json', '--seed', 's.json'],
    ['code'],
  ],
  ['documents that are not there', { 'a.json': notes }, ['a.json', '--seed', 'none.json'], ['none.json']],
  [
    'documents that are no JSON',
    { 'a.json': notes, 's.json': '{' },
    ['a.json', '--seed', 's.json'],
    ['s.json'],
  ],
  [
    'documents with a key twice',
    { 'a.json': notes, 's.json': '{"notes":[],"notes":[]}' },
    ['a.json', '--seed', 's.json'],
    ['s.json', '"notes"', 'twice'],
  ],
  [
    'documents without a collection',
    { 'a.json': notes, 's.json': '[{"text":"a"}]' },
    ['a.json', '--seed', 's.json'],
    ['must be an object'],
  ],
  [
    'null in place of documents',
    { 'a.json': notes, 's.json': 'null' },
    ['a.json', '--seed', 's.json'],
    ['must be an object'],
  ],
  [
    'an empty list in place of documents',
    { 'a.json': notes, 's.json': '[]' },
    ['a.json', '--seed', 's.json'],
    [],
  ],
]

test.each(FAILURES)('it ends with 1 and says why: %s', async (_, files, args, said) => {
  await writeFiles(files)
  const { code, stdout, stderr } = await run(...args, '--port', '0')
  expect({ code, stdout }).toEqual({ code: 1, stdout: '' })
  expect(stderr).not.toBe('')
  for (const text of said) expect(stderr).toContain(text)
  expect(stderr).not.toMatch(STACK)
})

test('it ends with 1 and says why: a port that is taken', async () => {
  const other = createServer().listen(0, 'localhost')
  await once(other, 'listening')
  const { port } = other.address() as AddressInfo
  const { code, stdout, stderr } = await run(example, '--port', String(port))
  expect({ code, stdout }).toEqual({ code: 1, stdout: '' })
  for (const text of [`Port ${port}`, '--port']) expect(stderr).toContain(text)
  expect(stderr).not.toMatch(STACK)
  other.close()
})

test.each([['203.0.113.77'], ['nobody.invalid']])(
  'it ends with 1 and says why: a host that is not here, %s',
  async (host) => {
    const { code, stdout, stderr } = await run(example, '--port', '0', '--host', host)
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' })
    for (const text of [host, '--host']) expect(stderr).toContain(text)
    expect(stderr).not.toMatch(STACK)
  },
)

describe('where it listens', () => {
  /** Other addresses by which this machine is reached, as far as it has any. */
  const others = Object.values(networkInterfaces())
    .flat()
    .flatMap((one) => (one && !one.internal && one.family === 'IPv4' ? [one.address] : []))

  const isOpen = async (host: string, port: number): Promise<boolean> => {
    const socket = connect(port, host)
    const answer = await once(socket, 'connect').then(
      () => true,
      () => false,
    )
    socket.destroy()
    return answer
  }

  const open = async (port: string | undefined, hosts: readonly string[]) =>
    Promise.all(hosts.map((host) => isOpen(host, Number(port))))

  test('is this machine alone', async () => {
    const [, port] = await start(example, '--port', '0').printed(ORIGIN)
    expect(await open(port, ['localhost', '127.0.0.2', ...others])).toEqual([
      true,
      false,
      ...others.map(() => false),
    ])
  })

  test('is what --host says', async () => {
    const everywhere = start(example, '--port', '0', '--host', '0.0.0.0')
    const [origin, port] = await everywhere.printed(ORIGIN)
    expect(origin).toBe(`http://localhost:${port}`)
    expect(everywhere.stdout()).toContain('every other address')
    expect(await open(port, ['127.0.0.1', ...others])).toEqual([true, ...others.map(() => true)])
    const one = start(example, '--port', '0', '--host', '127.0.0.1')
    expect((await one.printed(ORIGIN))[0]).toMatch(/^http:\/\/127\.0\.0\.1:\d+$/)
    expect(one.stdout()).not.toContain('every other address')
    expect(one.stdout()).not.toContain('(127.0.0.1)')
  })

  test('is the first address of a name, which the start prints', async () => {
    const { address } = await lookup('localhost')
    const serving = start(example, '--port', '0', '--host', 'localhost')
    const [, port, bound = ''] = await serving.printed(/http:\/\/localhost:(\d+) \(([\d.:]+)\), /)
    expect([bound, await open(port, [bound])]).toEqual([address, [true]])
  })

  test('is the port in the variable PORT, unless --port names another', async () => {
    const taken = createServer().listen(0, 'localhost')
    await once(taken, 'listening')
    const { port } = taken.address() as AddressInfo
    const refused = startIn({ PORT: String(port) }, example)
    expect(await refused.ended).toBe(1)
    expect(refused.stderr()).toContain(`Port ${port}`)
    await startIn({ PORT: String(port) }, example, '--port', '0').printed(ORIGIN)
    taken.close()
  })
})

describe('a reader of its output that goes away', () => {
  test('leaves the service as it is', async () => {
    const serving = spawn(example, '--port', '0')
    const [origin] = await serving.printed(ORIGIN)
    serving.child.stdout?.destroy()
    for (let i = 0; i < 3; i++) expect((await judgedFetch(`${origin}/articles`)).status).toBe(200)
    serving.child.kill('SIGTERM')
    expect([await serving.ended, serving.stderr()]).toEqual([0, ''])
  })

  test.each([[['types', example]], [['--help']]])('ends %j in good order', async (args) => {
    const printing = spawn(...args)
    printing.child.stdout?.destroy()
    expect([await printing.ended, printing.stderr()]).toEqual([0, ''])
  })
})

describe('with a file of data', () => {
  const ann = { email: 'ann@example.com', password: 'correct horse' }

  const register = (origin: string): Promise<Response> =>
    judgedFetch(`${origin}/auth/register`, { method: 'POST', body: JSON.stringify(ann) })

  test('documents, accounts and sessions outlast the process, and the first administrator is granted', async () => {
    const data = join(folder(), 'lasting.db')
    const args = [cheap, '--seed', documents, '--data', data, '--port', '0']
    const first = spawn(...args)
    const [origin] = await first.printed(ORIGIN)
    await first.printed(/Try: .*\n/)
    expect(first.stdout()).toContain(`the documents of ${documents} were stored`)
    const { token } = (await (await register(origin)).json()) as { token: string }
    const countUsers = async (at: string): Promise<number> => {
      const answer = await judgedFetch(`${at}/users/count`, { headers: { authorization: `Bearer ${token}` } })
      return ((await answer.json()) as { total: number }).total
    }
    expect(await countUsers(origin)).toBe(1)

    // While the service runs; it need not start anew.
    const granted = await runSpawned('grant', ' Ann@Example.com', 'admin', cheap, '--data', data)
    expect(granted).toEqual({ code: 0, stdout: expect.stringContaining('admin'), stderr: '' })
    const all = await countUsers(origin)
    expect(all).toBeGreaterThan(1)
    // Nobody asks it to end in good order.
    first.child.kill('SIGKILL')
    await first.ended

    const second = spawn(...args)
    const [next] = await second.printed(ORIGIN)
    await second.printed(/Try: .*\n/)
    expect(second.stdout()).toContain('was not stored')
    expect(await countUsers(next)).toBe(all)
    second.child.kill('SIGTERM')
    expect(await second.ended).toBe(0)
    expect(second.stderr()).toBe('')
  })

  test.each<[string, string[], string]>([
    ['for nobody', ['eve@example.com', 'admin'], 'eve@example.com'],
    ['that is not allowed', ['ann@example.com', 'amdin'], 'editor, admin'],
  ])('a role %s ends with 1 and says why', async (_, args, said) => {
    const data = join(folder(), 'roles.db')
    const serving = start(cheap, '--data', data, '--port', '0')
    const [origin] = await serving.printed(ORIGIN)
    // The second case finds the account of the first.
    await register(origin)
    serving.stop()
    await serving.ended
    const { code, stdout, stderr } = await run('grant', ...args, cheap, '--data', data)
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' })
    expect(stderr).toContain(said)
    expect(stderr).not.toMatch(STACK)
  })

  test.each([
    ['a file in a folder that is not there', ['--data', join('none', 'app.db')], 'none'],
    ['a file that is no database', ['--data', 'text.db'], 'not a database'],
    ['a database that nobody serves', ['--database', 'postgres://me:s3cret@127.0.0.1:1/app'], 'ECONNREFUSED'],
  ])('%s ends with 1 and says why', async (_, args, said) => {
    await writeFiles({ 'text.db': 'text\n'.repeat(1000) })
    const { code, stdout, stderr } = await run(example, ...args, '--port', '0')
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' })
    expect(stderr).toContain(said)
    expect(stderr).not.toContain('s3cret')
    expect(stderr).not.toMatch(STACK)
  })
})

test('it refuses doors that are open to everyone where the environment is production', async () => {
  const open = { collections: { notes: { schema: {}, permissions: { '*': true } } } }
  await writeFiles({ 'open.json': open })
  expect(await spawnIn({ NODE_ENV: 'production' }, 'open.json', '--port', '0').ended).toBe(1)
  const warned = start('open.json', '--port', '0')
  await warned.printed(ORIGIN)
  expect(warned.stderr()).toContain('/collections/notes/permissions/*')
})
