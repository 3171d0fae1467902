import { once } from 'node:events'
import { connect } from 'node:net'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { type Command, ORIGIN, useCommand } from '../support/command.js'

/** CONTRACT.md §7, "The command", the option `--log`. */

const { folder, start, startIn, run, spawn, writeFiles } = useCommand()

const config = {
  collections: {
    notes: {
      schema: { text: { type: 'string' } },
      permissions: { '*': { read: true, create: true } },
    },
  },
}

type Entry = { readonly [name: string]: unknown }

/** The entries of a log so far. Every line must be one. */
const entriesOf = (command: Command): readonly Entry[] =>
  command
    .stdout()
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line))

/** The entries of requests with a path. */
const requestsTo = (command: Command, path: string): readonly Entry[] =>
  entriesOf(command).filter((entry) => entry.message === 'request' && entry.path === path)

async function serve(how: typeof start, ...args: string[]): Promise<{ serving: Command; origin: string }> {
  await writeFiles({ 'config.json': config })
  const serving = how('--port', '0', '--log', 'json', ...args)
  const [, origin = ''] = await serving.printed(/(http:\/\/localhost:\d+)/)
  return { serving, origin }
}

const ALWAYS = {
  time: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
  level: 'info',
  pid: expect.any(Number),
}

test('each line of --log json is an object: the start, and requests without their queries', async () => {
  const { serving, origin } = await serve(start)
  const [first] = entriesOf(serving)
  expect(first).toEqual({ ...ALWAYS, message: expect.stringContaining(`Serving config.json on ${origin}`) })
  const created = await fetch(`${origin}/notes`, { method: 'POST', body: '{"text":"private"}' })
  expect(created.status).toBe(201)
  const wrong = await fetch(`${origin}/notes?q[nosuch]=s3cret`)
  const { requestId } = (await wrong.json()) as { readonly requestId: string }
  await serving.printed(/"code":"invalid_query"/)
  const request = {
    ...ALWAYS,
    message: 'request',
    requestId: expect.stringMatching(/^[\da-f-]{36}$/),
    address: expect.stringMatching(/^(?:::1|(?:::ffff:)?127\.0\.0\.1)$/),
    path: '/notes',
    milliseconds: expect.any(Number),
  }
  expect(requestsTo(serving, '/notes')).toEqual([
    { ...request, method: 'POST', status: 201 },
    // The id that the client got.
    { ...request, method: 'GET', status: 400, code: 'invalid_query', requestId },
  ])
  expect(serving.stdout()).not.toMatch(/private|s3cret/)
  expect(serving.stderr()).toBe('')
})

test('probes that succeed are not logged, others are', async () => {
  const { serving, origin } = await serve(start)
  for (const path of ['/_health/live', '/_health/ready', '/_health/ready?x=1', '/notes'])
    await (await fetch(origin + path)).arrayBuffer()
  await serving.printed(/"path":"\/notes"/)
  expect(
    entriesOf(serving)
      .filter(({ message }) => message === 'request')
      .map(({ path, status }) => [path, status]),
  ).toEqual([
    ['/_health/ready', 400],
    ['/notes', 200],
  ])
})

test('a client that disconnects is logged as such', async () => {
  const { serving, origin } = await serve(start)
  const socket = connect(Number(new URL(origin).port), 'localhost')
  await once(socket, 'connect')
  socket.write('POST /notes HTTP/1.1\r\nHost: a\r\nContent-Length: 20\r\n\r\n{')
  socket.destroy()
  await serving.printed(/"aborted":true/)
  expect(requestsTo(serving, '/notes')).toMatchObject([{ method: 'POST', aborted: true }])
})

test('no request can write a line of its own', async () => {
  const { serving, origin } = await serve(start)
  const path = '/%0a{"level":"error"}'
  const socket = connect(Number(new URL(origin).port), 'localhost').resume()
  socket.write(`GET ${path} HTTP/1.1\r\nHost: a\r\nX-Request-Id: mine\r\nConnection: close\r\n\r\n`)
  await once(socket, 'close')
  await serving.printed(/"status":404/)
  const [request, ...others] = requestsTo(serving, path)
  expect([request?.level, request?.requestId === 'mine', others]).toEqual(['info', false, []])
})

/** Sends what is no request, and resolves with the answer. */
async function sendRaw(origin: string, text: string): Promise<string> {
  const socket = connect(Number(new URL(origin).port), 'localhost').setEncoding('utf8')
  // The connection may be reset after the answer.
  socket.on('error', () => {})
  socket.write(text)
  let answer = ''
  socket.on('data', (more) => {
    answer += more
  })
  await once(socket, 'close')
  return answer
}

const REJECTED: readonly (readonly [what: string, text: string, status: string, code: string])[] = [
  ['a line of another protocol', 'GET /s3cret RTSP\r\n\r\n', '400 Bad Request', 'HPE_INVALID_CONSTANT'],
  ['no method', 's3cret\r\n\r\n', '400 Bad Request', 'HPE_INVALID_METHOD'],
  [
    'headers that are too large',
    `GET / HTTP/1.1\r\nHost: s3cret\r\nA: ${'a'.repeat(20_000)}\r\n\r\n`,
    '431 Request Header Fields Too Large',
    'HPE_HEADER_OVERFLOW',
  ],
]

test.each(REJECTED)('a request that Node rejects is an entry: %s', async (_, text, status, code) => {
  const { serving, origin } = await serve(start)
  expect(await sendRaw(origin, text)).toBe(`HTTP/1.1 ${status}\r\nConnection: close\r\n\r\n`)
  await serving.printed(/"rejected by Node"/)
  const rejected = { ...ALWAYS, message: 'rejected by Node', code: expect.any(String), count: 1 }
  expect(entriesOf(serving).at(-1)).toEqual({
    ...rejected,
    code,
    connection: expect.stringMatching(/^(?:::1|127\.0\.0\.1)$/),
  })
  expect(serving.stdout()).not.toContain('s3cret')
  expect(serving.stderr()).toBe('')
})

test('many requests that Node rejects are counted, in at most one entry a second', async () => {
  const { serving, origin } = await serve(start)
  await Promise.all(Array.from({ length: 30 }, () => sendRaw(origin, 'GET / RTSP\r\n\r\n')))
  const rejections = () =>
    entriesOf(serving).flatMap(({ message, time, count }) =>
      message === 'rejected by Node' ? [{ at: Date.parse(String(time)), count: Number(count) }] : [],
    )
  const countAll = () => rejections().reduce((sum, { count }) => sum + count, 0)
  await expect.poll(countAll).toBe(30)
  const times = rejections().map(({ at }) => at)
  // The clock of entries may go back a little.
  for (const [i, at] of times.slice(1).entries()) expect(at - (times[i] ?? 0)).toBeGreaterThan(900)
})

test('a client that disconnects, or sends a valid request, is not counted as rejected', async () => {
  const { serving, origin } = await serve(start)
  const socket = connect(Number(new URL(origin).port), 'localhost')
  await once(socket, 'connect')
  socket.write('GET /notes HTTP/1.1\r\n')
  socket.resetAndDestroy()
  expect((await fetch(`${origin}/notes`)).status).toBe(200)
  serving.stop()
  expect(await serving.ended).toBe(0)
  expect(serving.stdout()).not.toContain('rejected by Node')
})

test('without JSON, a request that Node rejects is a line', async () => {
  await writeFiles({ 'config.json': config })
  const serving = start('--port', '0')
  const [origin] = await serving.printed(ORIGIN)
  await sendRaw(origin, 'GET /s3cret RTSP\r\n\r\n')
  await serving.printed(/^Rejected by Node: 1 HPE_INVALID_CONSTANT (?:::1|127\.0\.0\.1)$/m)
  expect(serving.stdout()).not.toContain('s3cret')
})

test('reloads, and versions that cannot be served, are entries', async () => {
  const { serving, origin } = await serve(start, '--watch')
  await writeFiles({ 'config.json': '{ "collections": ' })
  await serving.printed(/"level":"error"/)
  expect(entriesOf(serving).at(-1)).toMatchObject({
    level: 'error',
    message: expect.stringMatching(/config\.json.+\n\nThe previous version continues to run\.$/s),
  })
  await writeFiles({ 'config.json': { ...config, limits: { bulk: 10 } } })
  await serving.printed(/Serving config\.json again/)
  expect((await fetch(`${origin}/notes`)).status).toBe(200)
})

test('a start that fails is an entry', async () => {
  const { code, stdout, stderr } = await run('nosuch.json', '--log', 'json')
  expect([code, stderr]).toEqual([1, ''])
  expect(JSON.parse(stdout)).toMatchObject({
    level: 'error',
    message: expect.stringContaining('nosuch.json'),
  })
})

test('a warning of the start has the level of warnings', async () => {
  const inProduction = (...args: string[]): Command => startIn({ NODE_ENV: 'production' }, ...args)
  const { serving } = await serve(inProduction, '--page')
  await serving.printed(/The admin UI is on/)
  expect(entriesOf(serving)).toContainEqual({
    ...ALWAYS,
    level: 'warn',
    message: 'The admin UI is on in production: anyone who can reach the service can open it.',
  })
  expect([entriesOf(serving).filter(({ level }) => level === 'error'), serving.stderr()]).toEqual([[], ''])
})

test('a signal is logged, in both forms', async () => {
  const { serving } = await serve(spawn)
  serving.stop()
  expect(await serving.ended).toBe(0)
  expect(entriesOf(serving).at(-1)).toMatchObject({ message: 'SIGTERM: finishing the running requests.' })
  const text = spawn('--port', '0')
  await text.printed(/Try: /)
  text.stop()
  expect(await text.ended).toBe(0)
  expect(text.stdout()).toMatch(/\nSIGTERM: finishing the running requests\.\n$/)
})

/** Modules for `--deliver` that crash the process a moment after the start. */
const CRASHES: readonly (readonly [how: string, crash: string, origin: string])[] = [
  ['an exception', `setTimeout(() => { throw new Error('it broke') }, 1000)`, 'uncaughtException'],
  ['a rejection', `setTimeout(() => void Promise.reject(new Error('it broke')), 1000)`, 'unhandledRejection'],
]

test.each(CRASHES)(
  'a crash by %s is the last entry, and ends the command with 1',
  async (how, crash, origin) => {
    const module = `${how.replace(' ', '-')}.mjs`
    await writeFiles({
      [module]: `process.emitWarning('take care', { code: 'CARE' })\nexport const deliver = () => {}\n${crash}`,
    })
    const { serving } = await serve(spawn, '--deliver', join(folder(), module))
    expect(await serving.ended).toBe(1)
    expect(serving.stderr()).toBe('')
    const all = entriesOf(serving)
    expect(all.at(-1)).toMatchObject({
      level: 'error',
      message: 'the process crashed',
      origin,
      cause: { type: 'Error', message: 'it broke', stack: expect.stringContaining(module) },
    })
    expect(all).toContainEqual({
      ...ALWAYS,
      level: 'warn',
      message: 'take care',
      warning: 'Warning',
      code: 'CARE',
    })
  },
)

test('each of several processes writes entries of its own', async () => {
  await writeFiles({ 'config.json': config })
  const serving = spawn('--port', '0', '--log', 'json', '--processes', '2', '--data', 'several.db')
  const [, first = ''] = await serving.printed(/2 processes are serving: ([\d, ]+)\./)
  const [, origin = ''] = await serving.printed(/(http:\/\/localhost:\d+)/)
  const pids = first.split(', ').map(Number)
  await (await fetch(`${origin}/notes`, { headers: { connection: 'close' } })).arrayBuffer()
  await serving.printed(/"path":"\/notes"/)
  const [request] = requestsTo(serving, '/notes')
  expect(pids).toContain(request?.pid)
  const [killed = 0] = pids
  process.kill(killed, 'SIGKILL')
  await serving.printed(/"level":"error".*A new process starts/)
  serving.stop()
  expect(await serving.ended).toBe(0)
  expect(entriesOf(serving).at(-1)).toMatchObject({ message: 'SIGTERM: finishing the running requests.' })
})
