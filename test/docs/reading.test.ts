import { describe, expect, test } from 'vitest'
import { readCurl, readWords } from './curl.js'
import { Guide, nameOfProgram } from './guide.js'
import { fits, mask, readShown } from './shown.js'

// What a page of the guide may hold: anything else makes test/docs/guide.test.ts fail.

const variables = new Map([['ANN', 'abc']])
const read = (line: string): Request => readCurl(readWords(line, variables), 'http://localhost:3000')

test('a line of curl is the request that curl would send', async () => {
  const request = read(
    `curl -g 'http://localhost:3000/a?q[b]="c"' --oauth2-bearer $ANN -X PATCH -H 'If-Match: "1"' --json '{ "d": "'$ANN'" }'`,
  )
  expect([request.method, request.url]).toEqual(['PATCH', 'http://localhost:3000/a?q[b]=%22c%22'])
  expect([...request.headers]).toEqual([
    ['accept', 'application/json'],
    ['authorization', 'Bearer abc'],
    ['content-type', 'application/json'],
    ['if-match', '"1"'],
  ])
  expect(await request.text()).toBe('{ "d": "abc" }')
})

test.each([
  ['brackets without -g', 'curl http://localhost:3000/a?q[b]=c'],
  ['a pipe', 'curl http://localhost:3000/a | head'],
  ['an & outside of quotes', 'curl http://localhost:3000/a?b=1&c=2'],
  ['a space in a URL', "curl 'http://localhost:3000/a?b=1 2'"],
  ['a variable that nothing has set', 'curl http://localhost:3000/$BOB'],
  ['another server', 'curl http://example.org/'],
  ['an option that is not known', 'curl -k http://localhost:3000/a'],
  ['another command', 'wget http://localhost:3000/a'],
])('%s is refused', (_, line) => expect(() => read(line)).toThrow())

describe('an answer that a page shows', () => {
  const shown = readShown('{ "a": "x…z", "b": [1, …], … }')
  test('fits', () => expect(mask({ a: 'xyz', b: [1, 2, 3], c: true }, shown)).toEqual(shown))

  test.each([[{ a: 'xy', b: [1] }], [{ a: 'xyz', b: [2] }], [{ b: [1] }], [{ a: 'x"z', b: [1] }]])(
    'differs from %j',
    (value) => expect(mask(value, shown)).not.toEqual(shown),
  )

  test('names all properties and elements, unless it says that there are more', () => {
    const whole = readShown('{ "a": [1] }')
    expect(mask({ a: [1], b: 2 }, whole)).not.toEqual(whole)
    expect(mask({ a: [1, 2] }, whole)).not.toEqual(whole)
  })

  test('is text, in which … is text too', () => {
    expect(fits('</a?…>', '</a?b=(1)>')).toBe(true)
    expect(fits('</a?…>', '</b?c=1>')).toBe(false)
  })
})

test.each([
  { language: 'python', title: '', text: '1' },
  { language: 'json', title: '', text: '{}' },
  { language: 'ts', title: '', text: '' },
  { language: 'sh', title: '', text: 'rm -r app.db\n' },
  { language: 'http', title: '', text: 'HTTP/1.1 200 OK\n' },
])('a block that no test knows fails: $language', async (block) => {
  const guide = new Guide('')
  await expect(guide.take({ place: 'docs/page.md:1', ...block })).rejects.toThrow()
})

test('a program has the name of a module or a test', () => {
  expect(nameOfProgram('a-b.test.ts')).toBe('a-b.test.ts')
  expect(() => nameOfProgram('../a.ts')).toThrow()
})
