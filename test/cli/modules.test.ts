import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { isAlive, ORIGIN, STACK, useCommand } from '../support/command.js'
import { judgedFetch } from '../support/judged-fetch.js'
import { until } from '../support/until.js'

// CONTRACT.md §7, "Configurations"

const { folder, start, run, spawn, runSpawned, writeFiles } = useCommand()

const SCHEMA = "{ text: { type: 'string', required: true } }"
const PERMISSIONS = "{ '*': { read: true, create: true } }"
const CONFIG = `{ collections: { notes: { schema: ${SCHEMA}, permissions: ${PERMISSIONS} } }, limits: { maxLimit: 10 } }`

/** What a word prints of a configuration, which is the same for a module and for JSON. */
const SOUND: readonly (readonly [
  word: string,
  args: (file: string) => readonly string[],
  printed: string,
])[] = [
  ['check', (file) => ['check', file], 'no findings'],
  ['matrix', (file) => ['matrix', file], 'everyone'],
  ['types', (file) => ['types', file], 'readonly text: string'],
  ['openapi', (file) => ['openapi', file], '"/notes"'],
  ['explain', (file) => ['explain', 'GET', '/notes', file], '200'],
  ['diff', (file) => ['diff', file, 'same.json'], 'no difference.'],
]

test.each(SOUND)('%s takes a module', async (_, args, printed) => {
  await writeFiles({
    'sound.mjs': `export default ${CONFIG}\n`,
    'same.json': {
      collections: {
        notes: {
          schema: { text: { type: 'string', required: true } },
          permissions: { '*': { read: true, create: true } },
        },
      },
      limits: { maxLimit: 10 },
    },
  })
  const { code, stdout, stderr } = await run(...args('sound.mjs'))
  expect([code, stderr]).toEqual([0, ''])
  expect(stdout.toLowerCase()).toContain(printed.toLowerCase())
  expect((await run(...args('same.json'))).stdout.replaceAll('same.json', 'sound.mjs')).toBe(
    stdout.replaceAll('same.json', 'sound.mjs'),
  )
})

test('grant takes a module in the place of a JSON file', async () => {
  const users =
    "{ schema: { email: { type: 'string', unique: true, lowercase: true }, password: { type: 'hash' }, role: { type: 'string' }, since: { type: 'timestamp' } } }"
  await writeFiles({
    'granting.mjs': `export default { collections: { users: ${users} }, auth: { roleField: 'role', verifiedField: 'since' } }\n`,
  })
  const serving = start('granting.mjs', '--data', 'granting.db', '--port', '0')
  const [origin] = await serving.printed(ORIGIN)
  const body = JSON.stringify({ email: 'ann@example.com', password: 'battery staple' })
  expect((await judgedFetch(`${origin}/auth/register`, { method: 'POST', body })).status).toBe(201)
  const granting = ['--data', 'granting.db'] as const
  const { stdout } = await run('grant', 'ann@example.com', 'admin', 'granting.mjs', ...granting)
  expect(stdout).toContain('now has the role admin')
  const verifying = await run('grant', 'ann@example.com', '--verified', 'granting.mjs', ...granting)
  expect(verifying.stdout).toBe('ann@example.com is now verified.\n')
})

test.each([
  ['an ECMAScript module', 'served.mjs', `export default ${CONFIG}`],
  ['a promise', 'promised.mjs', `export default Promise.resolve(${CONFIG})`],
  ['a property that is undefined', 'undefined.mjs', `export default { auth: undefined, ...${CONFIG} }`],
  ['a CommonJS module', 'served.cjs', `module.exports = ${CONFIG}`],
  ['a compiled CommonJS module', 'compiled.cjs', `exports.__esModule = true; exports.default = ${CONFIG}`],
  ['a module without an own kind', 'served.js', `export default ${CONFIG}`],
])('%s is served', async (_, file, text) => {
  await writeFiles({ [file]: `${text}\n` })
  const serving = spawn(file, '--port', '0')
  const [origin] = await serving.printed(ORIGIN)
  expect((await judgedFetch(`${origin}/notes`)).status).toBe(200)
  serving.stop()
  expect([await serving.ended, serving.stderr()]).toEqual([0, ''])
})

test.each<[string, string, string, readonly string[]]>([
  [
    'has no default export',
    'named.mjs',
    'export const config = {}, other = 1',
    ['named.mjs has no default export', 'config, other', 'export default defineConfig'],
  ],
  ['exports nothing', 'nothing.mjs', 'export {}', ['it exports nothing']],
  [
    'exports a function',
    'function.mjs',
    'export default () => ({})',
    ['is a function', 'the configuration itself'],
  ],
  ['exports text', 'text.mjs', "export default '{}'", ['is a string']],
  ['exports null', 'null.cjs', 'module.exports = null', ['is null']],
  [
    'throws',
    'throws.mjs',
    "\nconst fail = () => { throw new TypeError('no colour') }\nfail()",
    ['throws.mjs cannot be loaded: TypeError: no colour (throws.mjs:2:'],
  ],
  ['throws no error', 'text-thrown.mjs', "throw 'no colour'", ['no colour']],
  [
    'is a promise that rejects',
    'rejects.mjs',
    "export default Promise.reject(new Error('no colour'))",
    ['no colour'],
  ],
  ['is a promise without an end', 'endless.mjs', 'export default new Promise(() => {})', ['never resolves']],
  [
    'is no JavaScript',
    'syntax.mjs',
    'export default {\n  a: 1\n  b: 2\n}',
    ['SyntaxError', '(syntax.mjs:3)'],
  ],
  [
    'imports what is no JavaScript',
    'outer.mjs',
    "import './syntax.mjs'",
    ['outer.mjs cannot be', '(syntax.mjs:3)'],
  ],
  ['is no CommonJS', 'syntax.cjs', 'module.exports = {\n', ['SyntaxError', '(syntax.cjs:']],
  ['imports what is not there', 'missing.mjs', "import './none.mjs'", ['Cannot find module', 'none.mjs']],
  [
    'imports a name that is not there',
    'unnamed.mjs',
    "import { x } from './named.mjs'",
    ["named 'x'", 'unnamed.mjs:1'],
  ],
])('a module that %s is explained', async (_, file, text, said) => {
  await writeFiles({
    'named.mjs': 'export const config = {}, other = 1\n',
    'syntax.mjs': 'export default {\n  a: 1\n  b: 2\n}\n',
    [file]: `${text}\n`,
  })
  const { code, stdout, stderr } = await runSpawned('matrix', file)
  expect([code, stdout]).toEqual([1, ''])
  for (const part of said) expect(stderr).toContain(part)
  expect(stderr).not.toMatch(STACK)
  expect((await runSpawned('check', file)).code).toBe(2)
})

test('a value that JSON does not have is a fault where it is', async () => {
  const field =
    "{ type: 'timestamp', default: new Date(0) }, code: { type: 'string', pattern: /x/, default: () => 1 }"
  const read = "{ '*': { read: { where: { code: undefined } } } }"
  await writeFiles({
    'data.mjs': `export default { collections: { notes: { schema: { at: ${field} }, permissions: ${read} } } }\n`,
  })
  const { code, stdout } = await run('check', 'data.mjs', '--format', 'json')
  const { findings } = JSON.parse(stdout)
  const at = '/collections/notes'
  expect(code).toBe(1)
  expect(findings.map(({ pointer }: { pointer: string }) => pointer)).toEqual([
    `${at}/schema/at/default`,
    `${at}/schema/code/pattern`,
    `${at}/schema/code/default`,
    `${at}/permissions/*/read/where/code`,
  ])
  const { stderr } = await run('data.mjs', '--port', '0')
  expect(stderr).toContain(`${at}/schema/code/default: must be JSON, found a function`)
})

test.each([
  ['the default name', [], 'config.json', 'config.mts'],
  ['another ending', ['matrix', 'app.json'], 'app.json', 'app.mjs'],
  ['no ending', ['check', 'app'], 'app', 'app.mjs'],
])(
  'a file that is not there is not replaced, but one with another ending is named: %s',
  async (_, args, file, found) => {
    await writeFiles({ [found]: `export default ${CONFIG}\n` })
    const { code, stderr } = await run(...args)
    expect(code).not.toBe(0)
    expect(stderr).toBe(`there is no file ${file}; found ${found}: name it in the command\n`)
  },
)

const [major = 0, minor = 0] = process.versions.node.split('.').map(Number)
const stripsTypes = major > 23 || (major === 23 && minor >= 6) || (major === 22 && minor >= 18)

test('TypeScript runs where Node removes types, and elsewhere the remedies are named', async () => {
  await writeFiles({
    'typed.mts': `const limit: number = 10\nexport default ${CONFIG.replace('10', 'limit')}\n`,
  })
  const { code, stderr } = await runSpawned('matrix', 'typed.mts')
  if (stripsTypes) return expect([code, stderr]).toEqual([0, ''])
  expect(code).toBe(1)
  expect(stderr).toContain('typed.mts cannot be loaded')
  for (const part of [process.versions.node, 'Node 22.18, 23.6', 'npx tsx node_modules/'])
    expect(stderr).toContain(part)
})

test('--watch serves a module again when it or one of its imports changes', async () => {
  const text = (type: string): string => `export const text = { type: '${type}' }\n`
  await writeFiles({
    'part.mjs': text('string'),
    'watched.mjs': `import { text } from './part.mjs'\nexport default ${CONFIG.replace(SCHEMA, '{ text }')}\n`,
  })
  const serving = spawn('watched.mjs', '--watch', '--port', '0')
  const [origin] = await serving.printed(ORIGIN)
  await serving.printed(/^Try: .*$/m)
  const write = async (value: unknown): Promise<number> =>
    (await judgedFetch(`${origin}/notes`, { method: 'POST', body: JSON.stringify({ text: value }) })).status
  expect([await write(1), await write('one')]).toEqual([400, 201])

  for (const [wrong, said] of [
    ['export const text = {\n', /watched\.mjs cannot be loaded: SyntaxError.*\(part\.mjs:\d+\)/],
    [text('strng'), /\/collections\/notes\/schema\/text\/type: .*strng/],
    ['export const text = { type: () => 1 }\n', /\/collections\/notes\/schema\/text\/type: must be JSON/],
  ] as const) {
    await writeFiles({ 'part.mjs': wrong })
    await serving.complained(said)
    expect(await write('two')).toBe(201)
  }
  expect(serving.stderr()).toContain('The previous version continues to run.')
  expect(serving.stderr()).not.toMatch(STACK)

  await writeFiles({ 'part.mjs': text('integer') })
  await serving.printed(/again on (?:.|\n)*\nTry: .*\n/)
  expect(serving.stdout()).toContain(`again on ${origin}`)
  expect([await write('one'), await write(1)]).toEqual([400, 201])

  const length = serving.stdout().length
  await writeFiles({ 'watched.mjs': `export default ${CONFIG}\n` })
  await serving.printed(new RegExp(`^[^]{${length}}[^]*again on [^]*\nTry: .*\n`))
  expect([await write(1), await write('one')]).toEqual([400, 201])
  serving.stop()
  expect(await serving.ended).toBe(0)
})

test('--watch explains an import that is removed once, and serves again when it is back', async () => {
  const part = `export const schema = ${SCHEMA}\n`
  await writeFiles({
    'removed.mjs': part,
    'importing.mjs': `import { schema } from './removed.mjs'\nexport default ${CONFIG.replace(SCHEMA, 'schema')}\n`,
  })
  const serving = spawn('importing.mjs', '--watch', '--port', '0')
  await serving.printed(/^Try: .*$/m)
  await rm(join(folder(), 'removed.mjs'))
  await serving.complained(/Cannot find module .*removed\.mjs/)
  await writeFiles({ 'importing.mjs': 'export default {\n' })
  await serving.complained(/SyntaxError/)
  await writeFiles({ 'removed.mjs': part })
  await serving.complained(/(?:SyntaxError(?:.|\n)*){2}/)
  await writeFiles({ 'importing.mjs': `export default ${CONFIG}\n` })
  await serving.printed(/again on (?:.|\n)*\nTry: .*\n/)
  expect(serving.stderr().match(/The previous version continues to run\./g)).toHaveLength(3)
  serving.stop()
  expect(await serving.ended).toBe(0)
})

test('--watch explains a module that ends the process that loads it', async () => {
  await writeFiles({ 'ends.mjs': 'process.exit(3)\n' })
  const { code, stderr } = await runSpawned('ends.mjs', '--watch', '--port', '0')
  expect(code).toBe(1)
  expect(stderr).toBe('ends.mjs ended the process that loads it, with the code 3\n')
})

test.each(['SIGTERM', 'SIGKILL'] as const)(
  '--watch leaves no process that loads a module, even one that never ends, after %s',
  async (signal) => {
    await writeFiles({
      'waits.mjs':
        "setInterval(() => {}, 1000)\nconsole.log('loaded by', process.pid, '.')\nexport default new Promise(() => {})\n",
    })
    const serving = spawn('waits.mjs', '--watch', '--port', '0')
    const [, pid] = await serving.printed(/loaded by (\d+) \./)
    serving.child.kill(signal)
    await until(() => !isAlive(Number(pid)), 'it has ended')
  },
)

test('--watch explains a module whose promise never resolves', async () => {
  await writeFiles({ 'endless-watched.mjs': 'export default new Promise(() => {})\n' })
  const { code, stderr } = await runSpawned('endless-watched.mjs', '--watch', '--port', '0')
  expect([code, stderr]).toEqual([1, expect.stringContaining('never resolves')])
})
