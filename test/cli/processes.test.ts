import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import pg from 'pg'
import { expect, test } from 'vitest'
import { isAlive, ORIGIN, type SpawnedCommand, useCommand } from '../support/command.js'
import { usePostgres } from '../support/postgres.js'
import { until } from '../support/until.js'

/** The command with several processes. */

const { folder, spawn, spawnIn, runSpawned, writeFiles } = useCommand()
const postgres = usePostgres()

const config = {
  collections: {
    things: {
      schema: { n: { type: 'integer', unique: true } },
      permissions: { '*': { read: true, create: true } },
    },
  },
}

interface Served {
  readonly serving: SpawnedCommand
  readonly origin: string
  readonly pids: readonly number[]
}

async function serve(...args: string[]): Promise<Served> {
  const serving = spawn('config.json', '--port', '0', '--processes', '3', ...args)
  const [origin] = await serving.printed(ORIGIN)
  const [, pids = ''] = await serving.printed(/^3 processes are serving: (.*)\.$/m)
  return { serving, origin, pids: pidsIn(pids) }
}

/** On a connection of its own, so that any process may answer. */
async function statusOf(url: string, body?: object): Promise<number> {
  const more = body ? { method: 'POST', body: JSON.stringify(body) } : {}
  const response = await fetch(url, { headers: { connection: 'close' }, ...more })
  await response.arrayBuffer()
  return response.status
}

const pidsIn = (text: string): number[] => (text.match(/\d+/g) ?? []).map(Number)

/** What three processes do on a storage; the second time with what the first time left. */
async function checkProcesses(...storage: string[]): Promise<void> {
  await writeFiles({ 'config.json': config, 'seed.json': { things: [{ n: 0 }] } })
  const { serving, origin, pids } = await serve(...storage, '--seed', 'seed.json')
  expect(pids).toHaveLength(3)
  expect(await statusOf(`${origin}/things`, { n: 0 })).toBe(409)
  const answers = await Promise.all(
    Array.from({ length: 30 }, (_, i) => statusOf(`${origin}/things`, { n: Math.floor(i / 2) + 1 })),
  )
  expect(answers.toSorted()).toEqual([...Array(15).fill(201), ...Array(15).fill(409)])

  const created = (): number => serving.stdout().match(/^POST \/things 201 /gm)?.length ?? 0
  // Who is killed says nothing more of what it has answered.
  await until(() => created() === 15, 'all are told')
  const [killed = 0, ...others] = pids
  process.kill(killed, 'SIGKILL')
  await serving.complained(new RegExp(`^Process ${killed} ended \\(SIGKILL\\)`, 'm'))
  for (let n = 100; n < 110; n++) expect(await statusOf(`${origin}/things`, { n })).toBe(201)
  expect(others.every(isAlive)).toBe(true)

  serving.child.kill('SIGTERM')
  expect(await serving.ended).toBe(0)
  expect(pids.some(isAlive)).toBe(false)
  // What is served is said once; each request by the one that answered it.
  expect(serving.stdout().match(/^Serving /gm)).toHaveLength(1)
  expect(created()).toBe(25)
}

test('on a file share what is unique; one that is killed is replaced', { timeout: 60_000 }, () =>
  checkProcesses('--data', join(folder(), 'things.db')),
)

test('on a database too', { timeout: 60_000 }, async () => {
  const name = `processes_${process.pid}`
  const client = new pg.Client({ connectionString: postgres.url })
  await client.connect()
  try {
    await client.query(`CREATE DATABASE ${name}`)
    await checkProcesses('--database', Object.assign(new URL(postgres.url), { pathname: `/${name}` }).href)
  } finally {
    await client.query(`DROP DATABASE IF EXISTS ${name} WITH (FORCE)`)
    await client.end()
  }
})

test('that cannot begin are not tried again', { timeout: 60_000 }, async () => {
  await writeFiles({ 'config.json': config, 'faulty.json': { collections: 5 } })
  const data = ['--data', join(folder(), 'other.db'), '--processes', '3']
  const faulty = await runSpawned('faulty.json', ...data)
  expect([faulty.code, faulty.stdout]).toEqual([1, ''])
  expect(faulty.stderr.match(/\/collections/g)).toHaveLength(1)
  const lost = await runSpawned(
    'config.json',
    '--database',
    'postgres://a:s3cret@127.0.0.1:1/app',
    '--processes',
    '3',
  )
  expect(lost.code).toBe(1)
  expect(lost.stderr.match(/cannot be opened/g)).toHaveLength(1)
})

test('end with the first one, whatever ends it', { timeout: 60_000 }, async () => {
  await writeFiles({ 'config.json': config })
  const { serving, pids } = await serve('--data', join(folder(), 'third.db'))
  serving.child.kill('SIGKILL')
  await until(() => !pids.some(isAlive), 'they have ended')
})

/** On SIGUSR2 the first process finds Node no more, and on the next one it finds it again. */
const FORGETFUL = `import cluster from 'node:cluster'
const { execPath } = process
if (cluster.isPrimary)
  process.on('SIGUSR2', () => {
    process.execPath = process.execPath === execPath ? '/none/node' : execPath
    console.log(process.execPath)
  })
`

test('one that cannot be started is tried again', { timeout: 60_000 }, async () => {
  await writeFiles({ 'config.json': config, 'forgetful.mjs': FORGETFUL })
  const env = { NODE_OPTIONS: `--import=${pathToFileURL(join(folder(), 'forgetful.mjs'))}` }
  const data = join(folder(), 'retried.db')
  const serving = spawnIn(env, 'config.json', '--port', '0', '--data', data, '--processes', '2')
  const [origin] = await serving.printed(ORIGIN)
  const [, killed] = await serving.printed(/^2 processes are serving: \d+, (\d+)\.$/m)
  serving.child.kill('SIGUSR2')
  await serving.printed(/^\/none\/node$/m)
  process.kill(Number(killed), 'SIGKILL')
  await serving.complained(/^A process cannot start \(.*ENOENT\)\. A new process starts in 200 ms\.$/m)
  expect(await statusOf(`${origin}/things`)).toBe(200)
  serving.child.kill('SIGUSR2')
  serving.stop()
  expect(await serving.ended).toBe(0)
  expect(serving.stderr()).not.toContain('undefined')
})

/** Stops the command when its address is said, before anything else happens. */
const IMPATIENT = `import cluster from 'node:cluster'
const { stdout } = process
const write = stdout.write.bind(stdout)
stdout.write = (text, ...more) => {
  const isWritten = write(text, ...more)
  if (/^Serving /.test(text)) process.kill(cluster.isWorker ? process.ppid : process.pid, 'SIGTERM')
  return isWritten
}
`

test.each([
  ['one process', []],
  ['several', ['--processes', '2']],
])('%s may be stopped as soon as the address is known', { timeout: 60_000 }, async (_, more) => {
  await writeFiles({ 'config.json': config, 'impatient.mjs': IMPATIENT })
  const env = { NODE_OPTIONS: `--import=${pathToFileURL(join(folder(), 'impatient.mjs'))}` }
  const data = join(folder(), 'stopped.db')
  const serving = spawnIn(env, 'config.json', '--port', '0', '--data', data, ...more)
  expect([await serving.ended, serving.stderr()]).toEqual([0, ''])
  expect(serving.stdout()).toMatch(ORIGIN)
})
