import { expect, test } from 'vitest'
import { OPTION_NAMES, UsageError } from '../../../../../src/tools/cli/arguments/options.js'
import { parseArguments, readWord } from '../../../../../src/tools/cli/arguments/parse-arguments.js'
import { describeUsage } from '../../../../../src/tools/cli/arguments/usage.js'

// CONTRACT.md §7, "The command"

const SERVE = {
  word: 'serve',
  config: 'config.json',
  port: 3000,
  host: 'localhost',
  watch: false,
  processes: 1,
  drain: 0,
  cors: [],
  seed: undefined,
  migrates: false,
  page: 'on',
  log: 'text',
  isProduction: false,
  basePath: '',
}
const FILE = { kind: 'file', file: 'app.db' }
const URL = 'postgres://me:s3cret@host/app'
const GRANT = {
  word: 'grant',
  config: 'config.json',
  identifier: 'ann',
  role: 'admin',
  isVerified: false,
  storage: FILE,
}
const { fromEntries } = Object
const FILLING = (fills: readonly string[]) => ({ fills, before: expect.any(Function) })
const INSIGHT = { config: 'config.json', format: 'text', authenticate: false, production: false }
const DIFF = {
  ...INSIGHT,
  word: 'diff',
  before: 'a.json',
  after: 'b.json',
  failsOnWidening: false,
  config: undefined,
}
const EXPLAIN = {
  ...INSIGHT,
  word: 'explain',
  method: 'GET',
  path: '/notes',
  caller: undefined,
  body: undefined,
  headers: [],
  seed: undefined,
  now: undefined,
}
const INIT = { word: 'init', template: 'notes', folder: '.' }

test.each<[string[], object]>([
  [[], SERVE],
  [['a.json'], { ...SERVE, config: 'a.json' }],
  [['./chek'], { ...SERVE, config: './chek' }],
  [['config'], { ...SERVE, config: 'config' }],
  [['--port', '0', '--seed', 's.json'], { ...SERVE, port: 0, seed: 's.json' }],
  [['--host', '0.0.0.0', '--watch'], { ...SERVE, host: '0.0.0.0', watch: true }],
  [['--watch', 'a.json'], { ...SERVE, config: 'a.json', watch: true }],
  [['--data', 'app.db', '--processes', '4'], { ...SERVE, storage: FILE, processes: 4 }],
  [['--processes', '1', '--watch'], { ...SERVE, watch: true }],
  [['--cors', 'https://a.b', '--cors=https://c.d'], { ...SERVE, cors: ['https://a.b', 'https://c.d'] }],
  [['--base-path', '/desk'], { ...SERVE, basePath: '/desk' }],
  [['--base-path', '/'], { ...SERVE, basePath: '/' }],
  [['--base-path', '/desk', '--stripped'], { ...SERVE, publicPath: '/desk' }],
  [['--trust-proxy', '2'], { ...SERVE, proxies: { trust: 2, header: 'x-forwarded-for' } }],
  [
    ['--trust-proxy', '10.0.0.0/8, 192.0.2.7', '--proxy-header', 'forwarded'],
    { ...SERVE, proxies: { trust: ['10.0.0.0/8', '192.0.2.7'], header: 'forwarded' } },
  ],
  [
    ['--trust-proxy', '192.0.2.7'],
    { ...SERVE, proxies: { trust: ['192.0.2.7'], header: 'x-forwarded-for' } },
  ],
  [['--migrate', '--data', 'app.db'], { ...SERVE, migrates: true, storage: FILE }],
  [
    ['--migrate', '--migrations', 'steps', '--data', 'app.db'],
    { ...SERVE, migrates: true, migrations: 'steps', storage: FILE },
  ],
  [['--deliver', 'console'], { ...SERVE, deliver: 'console' }],
  [['--deliver', './deliver.mjs'], { ...SERVE, deliver: './deliver.mjs' }],
  [['--data', 'app.db'], { ...SERVE, storage: FILE }],
  [['a.json', '--data=app.db'], { ...SERVE, config: 'a.json', storage: FILE }],
  [['--database', URL], { ...SERVE, storage: { kind: 'database', url: URL } }],
  [
    ['--database', 'postgresql:///app'],
    { ...SERVE, storage: { kind: 'database', url: 'postgresql:///app' } },
  ],
  [['./grant'], { ...SERVE, config: './grant' }],
  [['grant', 'ann', 'admin', '--data', 'app.db'], GRANT],
  [['grant', 'ann', 'admin', '--verified', '--data', 'app.db'], { ...GRANT, isVerified: true }],
  [['grant', 'ann', '--verified', '--data', 'app.db'], { ...GRANT, role: undefined, isVerified: true }],
  [
    ['grant', 'ann', '--verified', 'a.json', '--data', 'app.db'],
    { ...GRANT, role: undefined, isVerified: true, config: 'a.json' },
  ],
  [['--data', 'app.db', 'grant', 'ann', 'admin', 'a.json'], { ...GRANT, config: 'a.json' }],
  [
    ['grant', 'ann', 'admin', '--database', URL, '--schema', 'mine'],
    { ...GRANT, storage: { kind: 'database', url: URL, schema: 'mine' } },
  ],
  [['check'], { ...INSIGHT, word: 'check' }],
  [['check', 'a.json', '--data', 'app.db'], { ...INSIGHT, word: 'check', config: 'a.json', storage: FILE }],
  [['matrix', '--format', 'markdown'], { ...INSIGHT, word: 'matrix', format: 'markdown' }],
  [['matrix', '--production'], { ...INSIGHT, word: 'matrix', production: true }],
  [['diff', 'a.json', 'b.json'], DIFF],
  [['diff', 'a.json', 'b.json', '--fail-on', 'widening'], { ...DIFF, failsOnWidening: true }],
  [
    ['check', '--fills', 'a.one', '--fills', 'b.one', '--fills', 'a.two'],
    { ...INSIGHT, word: 'check', hooks: { a: FILLING(['one', 'two']), b: FILLING(['one']) } },
  ],
  [
    ['types', '--fills', '__proto__.toString'],
    {
      word: 'types',
      config: 'config.json',
      out: undefined,
      hooks: fromEntries([['__proto__', FILLING(['toString'])]]),
    },
  ],
  [['explain', 'GET', '/notes'], EXPLAIN],
  [
    ['explain', 'GET', '/notes', 'a.json', '--authenticate'],
    { ...EXPLAIN, config: 'a.json', authenticate: true },
  ],
  [
    [
      ...['explain', 'patch', '/notes/1?a=b', '--body', '{}', '--caller', 'ann.json', '--seed', 's.json'],
      ...['--header', 'If-Match: *', '--header', 'X-A:b', '--now', '2026-01-01'],
    ],
    {
      ...EXPLAIN,
      method: 'PATCH',
      path: '/notes/1?a=b',
      body: '{}',
      caller: 'ann.json',
      seed: 's.json',
      headers: ['If-Match: *', 'X-A:b'],
      now: '2026-01-01',
    },
  ],
  [['openapi', '--caller', 'anonymous'], { ...INSIGHT, word: 'openapi', caller: 'anonymous' }],
  [['init'], INIT],
  [['init', 'blog'], { ...INIT, template: 'blog' }],
  [['init', 'notes', 'my notes'], { ...INIT, folder: 'my notes' }],
  [['--help'], { word: 'help', of: undefined }],
  [['-h', 'a.json'], { word: 'help', of: undefined }],
  [['grant', '-h'], { word: 'help', of: 'grant' }],
  [['--help', 'init'], { word: 'help', of: 'init' }],
  [['--port', 'x', '--help'], { word: 'help', of: undefined }],
  [['--version'], { word: 'version' }],
  [['-v'], { word: 'version' }],
])('%j', (args, expected) => {
  expect(parseArguments(args)).toEqual(expected)
})

test.each([
  ['development', [], 'on'],
  ['development', ['--no-page'], 'off'],
  ['production', [], 'unasked'],
  ['production', ['--page'], 'on'],
  ['production', ['--no-page'], 'off'],
])('the page with NODE_ENV=%s and %j is %s', (NODE_ENV, args, page) => {
  const isProduction = NODE_ENV === 'production'
  expect(parseArguments(args, { NODE_ENV })).toEqual({ ...SERVE, page, isProduction })
})

test('a verified identifier leaves room for a configuration that is a module', () => {
  const { role: _, ...granted } = GRANT
  const args = ['grant', 'ann', '--verified', 'app.ts', '--data', 'app.db']
  expect(parseArguments(args)).toEqual({ ...granted, config: 'app.ts', role: undefined, isVerified: true })
})

test.each<[string | undefined, string[], number]>([
  ['8080', [], 8080],
  ['8080', ['--port', '9090'], 9090],
  ['http', ['--port', '9090'], 9090],
  ['0', [], 0],
  ['', [], 3000],
  [undefined, [], 3000],
])('with %j in the variable PORT, %j listens on %d', (PORT, args, port) => {
  expect(parseArguments(args, { PORT })).toEqual({ ...SERVE, port })
})

test.each(['http', '65536', '-1', ' '])('%j in the variable PORT makes no sense', (PORT) => {
  expect(() => parseArguments([], { PORT })).toThrow(UsageError)
  expect(parseArguments(['init'], { PORT })).toEqual(INIT)
})

test.each<[string[]]>([
  [['--nosuch']],
  [['--constructor', 'x']],
  [['-x']],
  [['a.json', 'b.json']],
  [['']],
  [['--port', '65536']],
  [['--port', '']],
  [['--port', '1', '--port', '2']],
  [['--host', '']],
  [['--host']],
  [['--watch=yes']],
  [['--no-watch']],
  [['--watch', '--watch']],
  [['--processes', '0', '--data', 'a.db']],
  [['--processes', 'all', '--data', 'a.db']],
  [['--processes', '2']],
  [['--processes', '2', '--data', ':memory:']],
  [['--processes', '2', '--data', 'a.db', '--watch']],
  [['--seed', '']],
  [['--seed', 'a', '--seed', 'b']],
  [['--cors', ' ']],
  [['--deliver', '']],
  [['--deliver', 'console', '--deliver', './deliver.mjs']],
  [['grant', 'ann', 'admin', '--data', 'a.db', '--deliver', 'console']],
  [['--data']],
  [['--data', '']],
  [['--data', 'a.db', '--data', 'b.db']],
  [['--data', 'a.db', '--database', URL]],
  [['--database', '']],
  [['--database', 'mysql://me:s3cret@host/app']],
  [['--database', 'me:s3cret@host']],
  [['--database', ` ${URL}`]],
  [['--database', URL, '--schema', 'mine']],
  [['grant', '--data', 'a.db']],
  [['grant', 'ann', '--data', 'a.db']],
  [['grant', 'ann', 'admin']],
  [['grant', '', 'admin', '--data', 'a.db']],
  [['grant', 'ann', ' ', '--data', 'a.db']],
  [['grant', 'ann', 'admin', 'a.json', 'b.json', '--data', 'a.db']],
  [['grant', 'ann', 'admin', '--data', 'a.db', '--database', URL]],
  [['grant', 'ann', 'admin', '--data', 'a.db', '--port', '3000']],
  [['grant', 'ann', 'admin', '--data', 'a.db', '--seed', 's.json']],
  [['grant', 'ann', 'admin', '--data', 'a.db', '--cors', '*']],
  [['grant', 'ann', 'admin', '--data', 'a.db', '--watch']],
  [['grant', 'ann', 'admin', '--data', 'a.db', '--schema', 'mine']],
  [['grant', 'ann', 'admin', '--database', URL, '--schema', 'a b']],
  [['grant', 'ann', 'admin', '--database', URL, '--schema', '']],
  [['types', '--host', '0.0.0.0']],
  [['types', 'a.json', 'b.json']],
  [['diff', 'a.json']],
  [['diff', 'a.json', 'b.json', 'c.json']],
  [['diff', 'a.json', 'b.json', '--fail-on', 'narrowing']],
  [['explain']],
  [['explain', 'GET']],
  [['explain', 'GET', 'notes']],
  [['explain', '/notes', 'GET']],
  [['explain', 'GET', '/notes', 'a.json', 'b.json']],
  [['explain', 'GET', '/notes', '--header', 'If-Match']],
  [['matrix', '--body', '{}']],
  [['matrix', '--fills', 'a.b']],
  [['explain', 'GET', '/notes', '--fills', 'a.b']],
  [['--fills', 'a.b']],
  [['check', '--fills']],
  [['check', '--fills', 'tickets']],
  [['check', '--fills', '.number']],
  [['check', '--fills', 'tickets.']],
  [['check', '--fills', 'tickets.place.city']],
  [['matrix', '--format', 'yaml']],
  [['--log', 'yaml']],
  [['matrix', '--data', 'app.db']],
  [['check', '--data', 'app.db', '--database', URL]],
  [['init', 'nots']],
  [['init', '']],
  [['init', 'my-folder']],
  [['init', 'notes', '']],
  [['init', 'notes', 'a', 'b']],
  [['init', '--port', '1']],
])('%j makes no sense', (args) => {
  expect(() => parseArguments(args)).toThrow(UsageError)
  try {
    parseArguments(args)
  } catch (thrown) {
    expect(String(thrown)).not.toContain('s3cret')
  }
})

test.each<[string[], string]>([
  [['--prot', '1'], '"--port"'],
  [['--wacth'], '"--watch"'],
  [['--hots=0.0.0.0'], '"--host"'],
  [['grant', 'ann', 'admin', '--databse', URL], '"--database"'],
  [['init', 'nots'], '"notes"'],
  [['chek'], '"check"'],
  [['chek', 'config.json'], '"check"'],
])('%j names the nearest: %s', (args, nearest) => {
  expect(() => parseArguments(args)).toThrow(nearest)
})

test.each<[string[], string | undefined]>([
  [[], undefined],
  [['a.json', 'init'], undefined],
  [['grant', '--nosuch'], 'grant'],
  [['--watch', 'init'], 'init'],
])('the word of %j is %s', (args, word) => {
  expect(readWord(args)).toBe(word)
})

const namesIn = (text: string): readonly string[] => [...new Set(text.match(/--[a-z]+(?:-[a-z]+)*/g))].sort()
const FLAGS = ['--help', '--version']

test('the log has two forms', () => {
  expect(parseArguments(['--log', 'json'])).toEqual({ ...SERVE, log: 'json' })
  expect(parseArguments(['--log', 'text'])).toEqual(SERVE)
})

test('the usage names every option and no other', () => {
  const [synopsis = '', ...explained] = describeUsage().split('\n\n')
  const names = OPTION_NAMES.map((name) => `--${name}`).sort()
  expect(namesIn(synopsis)).toEqual(names)
  expect(namesIn(explained.join())).toEqual([...names, ...FLAGS].sort())
  for (const line of explained.join('\n').split('\n')) expect(line.length).toBeLessThanOrEqual(80)
})

test.each(['init', 'grant', 'types', 'check', 'matrix', 'diff', 'explain', 'openapi'] as const)(
  'the usage of %s names what it takes and no more',
  (word) => {
    const [synopsis = '', ...explained] = describeUsage(word).split('\n\n')
    expect(synopsis).toMatch(new RegExp(`^collection-service ${word} .*$`))
    const explainedNames = namesIn(explained.join()).filter((name) => name !== '--help')
    expect(explainedNames).toEqual(namesIn(synopsis))
  },
)
