import { fork } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { command, ORIGIN, root, useCommand } from '../support/command.js'
import { judgedFetch } from '../support/judged-fetch.js'
import { until } from '../support/until.js'

// CONTRACT.md §7, "The command"; §4, "Delivery"

const { folder, start, run, spawn, runSpawned, writeFiles } = useCommand()

const example = join(root, 'examples', 'config.json')
const ANN = { email: 'ann@example.com', password: 'correct horse' }

const post = (origin: string, way: string, body: object): Promise<Response> =>
  judgedFetch(`${origin}/auth/${way}`, { method: 'POST', body: JSON.stringify(body) })

test('the console prints what is delivered, and it counts', async () => {
  const serving = start(example, '--deliver', 'console', '--port', '0')
  const [origin] = await serving.printed(ORIGIN)
  await serving.printed(/request-reset, reset, request-verification, verify, change-identifier · with email/)
  expect((await post(origin, 'register', ANN)).status).toBe(201)
  const verification =
    /^Message for ann@example\.com: verification\n {2}token ([\w-]{43})\n {2}valid until \S+$/m
  const [, token] = await serving.printed(verification)
  expect((await post(origin, 'verify', { token, current: ANN.password })).status).toBe(204)
  expect((await post(origin, 'request-reset', { email: ANN.email })).status).toBe(202)
  await serving.printed(/^Message for ann@example\.com: reset$/m)
  serving.stop()
  expect([await serving.ended, serving.stderr()]).toEqual([0, ''])
})

test('a module delivers; what it throws is on the terminal, and the answer was there before', async () => {
  await writeFiles({
    'deliver.mjs': `export function deliver({ kind, token }) {
      console.log('own', kind, token.length)
      if (kind === 'reset') throw new Error('no mail today')
    }\n`,
  })
  const serving = spawn(example, '--deliver', './deliver.mjs', '--port', '0')
  const [origin] = await serving.printed(ORIGIN)
  await post(origin, 'register', ANN)
  await serving.printed(/^own verification 43$/m)
  expect((await post(origin, 'request-reset', { email: ANN.email })).status).toBe(202)
  await serving.complained(/no mail today/)
})

test('without it there is nothing to ask for', async () => {
  const serving = start(example, '--port', '0')
  const [origin] = await serving.printed(ORIGIN)
  await serving.printed(/Try: /)
  expect(serving.stdout()).not.toContain('request-reset')
  expect((await post(origin, 'request-reset', { email: ANN.email })).status).toBe(404)
})

const strict = {
  collections: {
    users: {
      schema: {
        email: { type: 'string', unique: true, lowercase: true },
        password: { type: 'hash' },
        since: { type: 'timestamp' },
      },
    },
  },
  auth: { verifiedField: 'since', requireVerified: true },
}

test('a configuration that needs it says so', async () => {
  await writeFiles({ 'strict.json': strict })
  const { code, stderr } = await run('strict.json', '--port', '0')
  expect(code).toBe(1)
  expect(stderr).toContain('/auth/requireVerified')
  expect(stderr).toContain('--deliver')
})

test.each([
  ['one process', []],
  ['several processes', ['--data', 'stuck.db', '--processes', '2']],
])('a module that never has loaded is said to, and %s serves nothing', async (_, more) => {
  await writeFiles({ 'stuck.mjs': 'await new Promise(() => {})\nexport function deliver() {}\n' })
  const { code, stdout, stderr } = await runSpawned(
    example,
    '--deliver',
    './stuck.mjs',
    '--port',
    '0',
    ...more,
  )
  expect([code, stdout]).toEqual([1, ''])
  expect(stderr).toContain('./stuck.mjs cannot be used for --deliver: its top-level await never resolves')
})

test('the command ends when it is told to, though who began it may speak with it', async () => {
  await writeFiles({ 'quiet.mjs': 'export function deliver() {}\n' })
  const options = { cwd: folder(), silent: true }
  const child = fork(command, [example, '--deliver', './quiet.mjs', '--port', '0'], options)
  try {
    const ended = once(child, 'exit')
    let said = ''
    child.stdout?.on('data', (text) => {
      said += text
    })
    await until(() => ORIGIN.test(said), 'it serves', 60)
    child.kill('SIGTERM')
    await until(() => child.exitCode !== null || child.signalCode !== null, 'it ends', 60)
    expect(await ended).toEqual([0, null])
  } finally {
    child.kill('SIGKILL')
  }
})
