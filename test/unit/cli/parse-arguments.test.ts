import { expect, test } from 'vitest'
import { parseArguments, USAGE, UsageError } from '../../../src/cli/parse-arguments.js'

const DEFAULTS = { config: 'config.json', port: 3000, cors: [], seed: undefined, help: false }
const FILE = { kind: 'file', file: 'app.db' }
const URL = 'postgres://me:s3cret@host/app'

test.each<[string[], object]>([
  [[], {}],
  [['a.json'], { config: 'a.json' }],
  [['--port', '0', '--seed', 's.json'], { port: 0, seed: 's.json' }],
  [['--cors', 'https://a.b', '--cors=https://c.d'], { cors: ['https://a.b', 'https://c.d'] }],
  [['--data', 'app.db'], { storage: FILE }],
  [['a.json', '--data=app.db'], { config: 'a.json', storage: FILE }],
  [['--database', URL], { storage: { kind: 'database', url: URL } }],
  [['--database', 'postgresql:///app'], { storage: { kind: 'database', url: 'postgresql:///app' } }],
  [['./grant'], { config: './grant' }],
  [
    ['grant', 'ann', 'admin', '--data', 'app.db'],
    { storage: FILE, grant: { identifier: 'ann', role: 'admin', storage: FILE } },
  ],
  [
    ['--data', 'app.db', 'grant', 'ann', 'admin', 'a.json'],
    { config: 'a.json', storage: FILE, grant: { identifier: 'ann', role: 'admin', storage: FILE } },
  ],
  [['--help'], { help: true }],
  [['grant', '-h'], { help: true }],
  [['--port', 'x', '--help'], { help: true }],
])('%j', (args, expected) => {
  expect(parseArguments(args)).toEqual({ ...DEFAULTS, ...expected })
})

test.each<[string[]]>([
  [['--nosuch']],
  [['a.json', 'b.json']],
  [['--port', '65536']],
  [['--port', '']],
  [['--port', '1', '--port', '2']],
  [['--seed', '']],
  [['--seed', 'a', '--seed', 'b']],
  [['--cors', ' ']],
  [['--data']],
  [['--data', '']],
  [['--data', 'a.db', '--data', 'b.db']],
  [['--data', 'a.db', '--database', URL]],
  [['--database', '']],
  [['--database', 'mysql://me:s3cret@host/app']],
  [['--database', 'me:s3cret@host']],
  [['--database', ` ${URL}`]],
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
])('%j makes no sense', (args) => {
  expect(() => parseArguments(args)).toThrow(UsageError)
  try {
    parseArguments(args)
  } catch (thrown) {
    expect(String(thrown)).not.toContain('s3cret')
  }
})

test('the usage names every option and no other', () => {
  const [synopsis = '', ...explained] = USAGE.split('\n\n')
  const namesOf = (text: string) => [...new Set(text.match(/--[a-z]+/g))].sort()
  const names = ['--cors', '--data', '--database', '--out', '--port', '--seed']
  expect(namesOf(synopsis)).toEqual(names)
  expect(namesOf(explained.join())).toEqual(names)
  for (const line of explained.join('\n').split('\n')) expect(line.length).toBeLessThanOrEqual(80)
})
