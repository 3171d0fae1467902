import { readFile } from 'node:fs/promises'
import { describe, expect, test } from 'vitest'
import { CODES } from '../../../../../src/tools/insight/check/codes.js'
import { checkConfig } from '../../../../../src/tools/insight/index.js'
import { config, notes, TEXT } from './support/configs.js'

// CONTRACT.md §8, "Check"

const OPEN = { collections: { notes: { schema: { text: { type: 'string' } }, permissions: { '*': true } } } }

const find = (written: unknown, options = {}): readonly string[] =>
  checkConfig(written, options).map(({ level, code, pointer }) => `${level} ${code} ${pointer}`)

describe('a text', () => {
  test('gives each finding its line and column', () => {
    const text = JSON.stringify(OPEN, null, 2)
    expect(checkConfig(text).map(({ code, line, column }) => [code, line, column])).toEqual([
      ['open_to_everyone', 10, 9],
      ['public_list', 10, 9],
    ])
    expect(checkConfig(OPEN).every((finding) => !('line' in finding))).toBe(true)
  })

  test('that has faults gives them the place of what is around, where they are about what is missing', () => {
    const text = '{\n  "collections": {\n    "notes": {}\n  }\n}'
    expect(checkConfig(text)).toEqual([
      expect.objectContaining({ code: 'invalid_config', level: 'error', line: 3, column: 5 }),
    ])
  })

  test.each([
    ['that is not JSON', '{\n  "a": }', 2, 8],
    ['with a key twice', '{ "collections": {},\n "collections": {} }', 2, 2],
    ['that is empty', '', 1, 1],
    ['with a comment', '{ // none\n}', 1, 3],
  ])('%s is one error', (_, text, line, column) => {
    expect(checkConfig(text)).toEqual([
      expect.objectContaining({ code: 'invalid_json', level: 'error', pointer: '', line, column }),
    ])
  })

  test('may begin with a byte order mark', () =>
    expect(checkConfig(`\ufeff${JSON.stringify(config())}`)).toEqual([]))
})

describe('the options', () => {
  test('production makes errors of open doors', () => {
    expect(find(OPEN)).toEqual([
      'warning open_to_everyone /collections/notes/permissions/*',
      'note public_list /collections/notes/permissions/*',
    ])
    expect(find(OPEN, { production: true })).toEqual([
      'error invalid_config /collections/notes/permissions/*',
    ])
  })

  test('authenticate lets roles be any, and takes $user for what the host says', () => {
    const permissions = { reader: { read: { where: { title: '$user.team' } }, create: true } }
    const written = { collections: { notes: { schema: { title: { ...TEXT, index: true } }, permissions } } }
    expect(find(written)).toEqual([expect.stringContaining('error invalid_config')])
    expect(find(written, { authenticate: true })).toEqual([])
  })
})

describe('$ignore', () => {
  const warned = 'open_to_everyone /collections/notes/permissions/*'
  const noted = 'public_list /collections/notes/permissions/*'

  test.each([
    ['silences what it names', [warned, noted], []],
    ['may say why', [`${warned} - for a test`, `${noted} - they are few`], []],
    ['is about one code', [noted], [`warning ${warned}`]],
    [
      'is about one place',
      [warned, noted, 'open_to_everyone /collections/notes'],
      ['warning unused_ignore /$ignore/2'],
    ],
    [
      'takes nothing but " - " for the beginning of a reason',
      [`${warned} for a test`, noted],
      ['warning unused_ignore /$ignore/0', `warning ${warned}`],
    ],
  ])('%s', (_, $ignore, findings) => expect(find({ $ignore, ...OPEN })).toEqual(findings))

  test('silences no error, and is not judged beside one', () => {
    const written = { $ignore: [warned], ...OPEN }
    expect(find(written, { production: true })).toEqual([
      'error invalid_config /collections/notes/permissions/*',
    ])
  })

  test.each([
    ['a text', 'x'],
    ['a line without a code', ['/collections']],
    ['a number', [1]],
  ])('%s is a fault', (_, $ignore) => {
    expect(find({ $ignore, ...OPEN })[0]).toMatch(/^error invalid_config \/\$ignore/)
  })

  test('cannot silence that it silences nothing', () => {
    const $ignore = ['unused_ignore /$ignore/0']
    expect(find(config({ $ignore: $ignore as never }))).toEqual(['warning unused_ignore /$ignore/0'])
  })
})

test('findings are in the order of the configuration', () => {
  const permissions = {
    user: { create: true, read: { where: { title: 'x' } }, delete: { where: { status: 'x' } } },
  }
  const pointers = checkConfig(notes(permissions, { users: { user: { read: true } } })).map(
    ({ pointer }) => pointer,
  )
  expect(pointers).toEqual([
    '/collections/users/permissions/user/read',
    '/collections/notes/permissions/user/read',
    '/collections/notes/permissions/user/delete/where',
  ])
})

test('errors of a text are in its order, whatever finds them first', () => {
  const text = JSON.stringify(
    { limits: { bulk: 0 }, collections: { notes: { schema: { a: { type: 'string', a: 1 } }, b: 1 } }, c: 1 },
    null,
    1,
  )
  const lines = checkConfig(text).map(({ line }) => line)
  expect(lines.length).toBeGreaterThan(2)
  expect(lines).toEqual([...lines].sort((a = 0, b = 0) => a - b))
})

test.each<[what: string, value: unknown]>([
  ['nothing', undefined],
  ['null', null],
  ['an array', []],
  ['a function', () => {}],
  [
    'a cycle',
    (() => {
      const a: { [name: string]: unknown } = {}
      a.collections = a
      return a
    })(),
  ],
  [
    'a getter that throws',
    {
      get collections() {
        throw new Error('no')
      },
    },
  ],
  [
    'a proxy that throws',
    new Proxy(
      {},
      {
        ownKeys() {
          throw new Error('no')
        },
      },
    ),
  ],
])('%s is an error, and nothing is thrown', (_, value) => {
  const findings = checkConfig(value)
  expect(findings.length).toBeGreaterThan(0)
  expect(findings.every(({ code }) => code === 'invalid_config')).toBe(true)
})

test('that accounts not yet verified are hidden is no condition of the author', () => {
  const written = config({
    account: { verifiedAt: { type: 'timestamp' }, name: { type: 'string' } },
    users: { user: { read: { omit: ['email'] } }, owner: { read: true, update: { pick: ['name'] } } },
    auth: { verifiedField: 'verifiedAt', requireVerified: true },
  })
  expect(find(written)).toEqual([])
})

test('every finding says what it is, and what can be done', () => {
  for (const finding of checkConfig(OPEN))
    expect(finding).toEqual({
      ...finding,
      message: expect.stringMatching(/.{10}/),
      mend: expect.stringMatching(/^[A-Z].+\.$/),
    })
})

test('the contract lists every code with its level', async () => {
  const contract = await readFile(new URL('../../../../contract/CONTRACT.md', import.meta.url), 'utf8')
  const [, section = ''] = /^### Check\n(.*?)^### /ms.exec(contract) ?? []
  const listed = [...section.matchAll(/^\| `([a-z_]+)` \| (error|warning|note) \|/gm)].map(
    ([, code, level]) => [code, level],
  )
  expect(listed).toEqual(Object.entries(CODES).map(([code, { level }]) => [code, level]))
})

test('every warning of the start has a code of a finding', async () => {
  const sources = ['config/find-warnings', 'references/config/find-warnings', 'claims/config/warn-of-claims']
  const texts = await Promise.all(
    sources.map((name) => readFile(new URL(`../../../../../src/core/${name}.ts`, import.meta.url), 'utf8')),
  )
  const codes = texts.flatMap((text) =>
    [...text.matchAll(/\.fault\(\s*'([a-z_]+)',/g)].map(([, code]) => code),
  )
  expect(new Set(codes).size).toBeGreaterThan(12)
  expect(Object.keys(CODES)).toEqual(expect.arrayContaining(codes))
})

test.each(['$owner', '$admin', 'Owner', 'USER'])('a host may mistake a role for a subject: %s', (subject) => {
  const config = { collections: { notes: { schema: {}, permissions: { [subject]: { read: true } } } } }
  const pointer = `/collections/notes/permissions/${subject}`
  const found = checkConfig(config, { authenticate: true }).map(({ code, pointer }) => [code, pointer])
  expect(found).toEqual([['mistaken_subject', pointer]])
})
