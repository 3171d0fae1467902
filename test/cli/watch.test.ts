import { execFileSync } from 'node:child_process'
import { once } from 'node:events'
import { type FileHandle, open, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { connect } from 'node:net'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { type Command, ORIGIN, STACK, useCommand } from '../support/command.js'
import { judgedFetch } from '../support/judged-fetch.js'

const { folder, spawn, start, writeFiles } = useCommand()

/** A configuration that serves one collection to everyone. */
const configOf = (name: string, schema: object = {}): object => ({
  collections: {
    [name]: {
      schema: { text: { type: 'string' }, ...schema },
      permissions: { '*': { read: true, create: true } },
    },
  },
})

const READY = /^Try: .*$/m

/** The next start anew behind what was printed before. */
async function startsAnew(serving: Command, after: number): Promise<string> {
  await serving.printed(new RegExp(`^[^]{${after}}[^]*again on [^]*\nTry: .*\n`))
  return serving.stdout().slice(after)
}

async function watch(...args: string[]): Promise<{ serving: Command; origin: string }> {
  const serving = start('watched.json', '--watch', '--port', '0', ...args)
  const [origin] = await serving.printed(ORIGIN)
  await serving.printed(READY)
  return { serving, origin }
}

const statusOf = async (url: string): Promise<number> => (await judgedFetch(url)).status

const write = (origin: string, name: string, text: string): Promise<Response> =>
  judgedFetch(`${origin}/${name}`, { method: 'POST', body: JSON.stringify({ text }) })

const textsIn = async (url: string): Promise<unknown> =>
  ((await (await judgedFetch(url)).json()) as { text: string }[]).map(({ text }) => text)

/** How editors write a file that is there already. */
const WRITERS: readonly (readonly [how: string, write: (path: string, text: string) => Promise<void>])[] = [
  ['in place', (path, text) => writeFile(path, text)],
  [
    'and put in its place',
    async (path, text) => {
      await writeFile(`${path}.new`, text)
      await rename(`${path}.new`, path)
    },
  ],
  [
    'after the old one was moved away',
    async (path, text) => {
      await rename(path, `${path}~`)
      await writeFile(path, text)
    },
  ],
]

test.each(WRITERS)('a configuration that is written %s is served anew', async (_, replace) => {
  await writeFiles({ 'watched.json': configOf('before') })
  const { serving, origin } = await watch()
  await write(origin, 'before', 'gone')
  for (const [i, name] of ['first', 'second'].entries()) {
    const length = serving.stdout().length
    await replace(join(folder(), 'watched.json'), JSON.stringify(configOf(name)))
    const printed = await startsAnew(serving, length)
    expect(printed).toContain(`again on ${origin}`)
    expect(printed).toMatch(/deleted.*without documents/)
    expect(await textsIn(`${origin}/${name}`)).toEqual([])
    expect(await statusOf(`${origin}/${i === 0 ? 'before' : 'first'}`)).toBe(404)
  }
  serving.stop()
  expect([await serving.ended, serving.stderr().replaceAll(/^.*limit.*\n/gm, '')]).toEqual([0, ''])
})

test.each<[string, string, readonly string[]]>([
  ['is not JSON', '{ "collections": ', ['watched.json', 'JSON']],
  [
    'has faults',
    JSON.stringify(configOf('after', { text: { type: 'strng' } })),
    ['/collections/after/schema/text'],
  ],
  ['is empty', '', ['watched.json', 'JSON']],
])('one that %s is explained, and the one before goes on', async (_, wrong, said) => {
  await writeFiles({ 'watched.json': configOf('before') })
  const { serving, origin } = await watch()
  await write(origin, 'before', 'kept')
  const path = join(folder(), 'watched.json')
  await writeFile(path, wrong)
  await serving.complained(/previous version/)
  for (const text of said) expect(serving.stderr()).toContain(text)
  expect(serving.stderr()).not.toMatch(STACK)
  expect(await textsIn(`${origin}/before`)).toEqual(['kept'])

  const length = serving.stdout().length
  await writeFile(path, JSON.stringify(configOf('after')))
  await startsAnew(serving, length)
  expect(await statusOf(`${origin}/after`)).toBe(200)
  serving.stop()
  expect(await serving.ended).toBe(0)
})

test('a configuration that is removed is explained, and served anew when it is back', async () => {
  await writeFiles({ 'watched.json': configOf('before') })
  const { serving, origin } = await watch()
  const path = join(folder(), 'watched.json')
  const text = await readFile(path, 'utf8')
  await rm(path)
  await serving.complained(/previous version/)
  expect(serving.stderr()).toContain('there is no file watched.json')
  expect(await statusOf(`${origin}/before`)).toBe(200)
  const length = serving.stdout().length
  await writeFile(path, text)
  await startsAnew(serving, length)
})

test('a seed that changes is what documents in memory begin with', async () => {
  await writeFiles({ 'watched.json': configOf('notes'), 'seed.json': { notes: [{ text: 'one' }] } })
  const { serving, origin } = await watch('--seed', 'seed.json')
  expect(await textsIn(`${origin}/notes`)).toEqual(['one'])
  await writeFiles({ 'seed.json': { notes: [{ text: 1 }] } })
  await serving.complained(/previous version/)
  expect(serving.stderr()).toContain('/notes/0/text')
  const length = serving.stdout().length
  await writeFiles({ 'seed.json': { notes: [{ text: 'two' }] } })
  expect(await startsAnew(serving, length)).toMatch(/deleted.*seed\.json/)
  expect(await textsIn(`${origin}/notes`)).toEqual(['two'])
})

test('documents in a file are there as before', async () => {
  await writeFiles({ 'watched.json': configOf('notes') })
  const { serving, origin } = await watch('--data', 'watched.db')
  await write(origin, 'notes', 'kept')
  const length = serving.stdout().length
  await writeFiles({ 'watched.json': configOf('notes', { more: { type: 'string' } }) })
  expect(await startsAnew(serving, length)).not.toContain('deleted')
  expect(await textsIn(`${origin}/notes`)).toEqual(['kept'])

  // Two documents without it, but one value for both.
  await write(origin, 'notes', 'kept')
  await writeFiles({ 'watched.json': configOf('notes', { text: { type: 'string', unique: true } }) })
  await serving.complained(/previous version/)
  expect(serving.stderr()).toContain('watched.db cannot be opened')
  expect(await textsIn(`${origin}/notes`)).toEqual(['kept', 'kept'])
  serving.stop()
  expect(await serving.ended).toBe(0)
})

test('a request in flight is answered by the service that took it', async () => {
  await writeFiles({ 'watched.json': configOf('before') })
  const { serving, origin } = await watch()
  const socket = connect(Number(new URL(origin).port), 'localhost').setEncoding('utf8')
  const body = JSON.stringify({ text: 'late' })
  socket.write(
    `POST /before HTTP/1.1\r\nHost: h\r\nExpect: 100-continue\r\nContent-Length: ${body.length}\r\n\r\n`,
  )
  expect((await once(socket, 'data'))[0]).toBe('HTTP/1.1 100 Continue\r\n\r\n')
  const length = serving.stdout().length
  await writeFiles({ 'watched.json': configOf('after') })
  await startsAnew(serving, length)
  socket.write(body)
  expect((await once(socket, 'data'))[0]).toMatch(/^HTTP\/1\.1 201 /)
  socket.end()
  serving.stop()
  expect(await serving.ended).toBe(0)
})

test('a configuration that cannot be served at first is not waited for', async () => {
  await writeFiles({ 'watched.json': '{' })
  const serving = start('watched.json', '--watch', '--port', '0')
  expect(await serving.ended).toBe(1)
  expect(serving.stderr()).not.toContain('previous version')
})

test('a version that begins to be served after a signal is not ready either', async () => {
  await writeFiles({ 'watched.json': configOf('notes') })
  const seed = join(folder(), 'seed.fifo')
  execFileSync('mkfifo', [seed])
  // A pipe without a writer holds up whoever reads it.
  const hold = () => open(seed, 'w')
  const release = async (pipe: FileHandle): Promise<void> => {
    await pipe.writeFile('{}')
    await pipe.close()
  }
  const serving = spawn('watched.json', '--watch', '--port', '0', '--seed', seed, '--drain', '2')
  await release(await hold())
  const [origin] = await serving.printed(ORIGIN)
  // The pipe has changed, because it was written to.
  const again = await hold()
  serving.stop()
  await serving.printed(/^SIGTERM: /m)
  await release(again)
  await serving.printed(/ again on (?:.|\n)*\nTry: .*\n/)
  expect((await fetch(`${origin}/_health/ready`)).status).toBe(503)
  expect(await serving.ended).toBe(0)
})
