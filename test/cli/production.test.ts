import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { ORIGIN, useCommand } from '../support/command.js'
import { judgedFetch } from '../support/judged-fetch.js'

// CONTRACT.md §7, "Production"; §8, "Check"

const { folder, startIn, spawnIn, run, writeFiles } = useCommand()

const PRODUCTION = { NODE_ENV: 'production' }
const users = {
  schema: { email: { type: 'string', unique: true, lowercase: true }, password: { type: 'hash' } },
  permissions: { owner: { read: true } },
}
const config = { collections: { users }, auth: { cost: 10 }, limits: { maxLimit: 10 } }
const accounts = { users: [{ email: 'ann@example.com', password: 'battery staple' }] }

const UNASKED = 'The admin UI is off, because NODE_ENV is production: --page serves it.'
const ON = 'Warning: The admin UI is on in production: anyone who can reach the service can open it.\n'
const SEEDED = 'Warning: seed.json contains 1 account: everyone who reads the file can sign in.\n'

test.each<[string, { [name: string]: string }, readonly string[], number, string]>([
  ['development', {}, [], 200, ''],
  ['development', {}, ['--page'], 200, ''],
  ['development', {}, ['--no-page'], 404, ''],
  ['production', PRODUCTION, [], 404, ''],
  ['production', PRODUCTION, ['--page'], 200, ON],
  ['production', PRODUCTION, ['--no-page'], 404, ''],
  ['development', {}, ['--seed', 'seed.json'], 200, ''],
  ['production', PRODUCTION, ['--seed', 'seed.json'], 404, SEEDED],
  ['production', PRODUCTION, ['--seed', 'empty.json'], 404, ''],
])('in %s (%j), %j: the admin UI and the warnings of the start', async (_, env, args, status, warned) => {
  await writeFiles({ 'config.json': config, 'seed.json': accounts, 'empty.json': { users: [] } })
  const serving = startIn(env, ...args, '--port', '0')
  const [origin] = await serving.printed(ORIGIN)
  await serving.printed(/^Try: /m)
  expect((await judgedFetch(`${origin}/_page`)).status).toBe(status)
  expect(serving.stderr()).toBe(warned)
  expect(serving.stdout().includes('/_page to see')).toBe(status === 200)
  expect(serving.stdout().includes(UNASKED)).toBe(
    'NODE_ENV' in env && !args.includes('--no-page') && status === 404,
  )
})

test('several processes warn once', async () => {
  await writeFiles({ 'config.json': config })
  const args = ['--page', '--data', 'several.db', '--processes', '2', '--port', '0']
  const serving = spawnIn(PRODUCTION, ...args)
  await serving.printed(/2 processes are serving/)
  expect(
    serving
      .stderr()
      .split('\n')
      .filter((line) => line.startsWith('Warning')),
  ).toEqual([ON.trim()])
})

test('--page and --no-page contradict each other', async () => {
  const { code, stderr } = await run('--page', '--no-page')
  expect(code).toBe(2)
  expect(stderr).toContain('--page and --no-page cannot be used together')
})

test('check --production reports the accounts in a seed, in the three formats', async () => {
  const written = JSON.stringify(accounts, null, 2)
  await writeFiles({ 'config.json': config, 'seed.json': written, 'empty.json': {} })
  const check = ['check', '--production', '--seed', 'seed.json']
  const text = await run(...check)
  expect(text.code).toBe(1)
  expect(text.stdout).toMatch(/^note {2}low_cost {2}config\.json:\d+:\d+$/m)
  expect(text.stdout).toMatch(/^warning {2}seeded_secret {2}seed\.json:5:\d+\n {2}\/users\/0\/password$/m)
  expect((await run(...check, '--format', 'markdown')).stdout).toContain('seeded_secret')
  const { findings, seed } = JSON.parse((await run(...check, '--format', 'json')).stdout)
  expect([findings, seed]).toMatchObject([[{ code: 'low_cost' }], [{ code: 'seeded_secret', line: 5 }]])

  const sound = await run('check', '--production', '--seed', 'empty.json')
  expect([sound.code, sound.stdout.includes('empty.json: no findings.')]).toEqual([0, true])
  expect(await readFile(join(folder(), 'seed.json'), 'utf8')).toBe(written)
})

test('a seed that cannot be checked is not passed over', async () => {
  await writeFiles({ 'config.json': config, 'wrong.json': '{', 'faulty.json': { collections: 1 } })
  for (const seed of ['wrong.json', 'none.json']) {
    const { code, stderr } = await run('check', '--production', '--seed', seed)
    expect([code, stderr.includes(seed)]).toEqual([2, true])
  }
  const faulty = await run('check', 'faulty.json', '--production', '--seed', 'wrong.json')
  expect(faulty.code).toBe(1)
  expect(faulty.stdout).toContain('The seed was not checked: correct the errors first.')
  const { code, stderr } = await run('check', '--seed', 'wrong.json')
  expect([code, stderr.includes('--seed needs --production here')]).toEqual([2, true])
})
