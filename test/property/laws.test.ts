import { describe, expect, test } from 'vitest'
import { compare } from '../../src/core/filter/compare.js'
import { compilePattern } from '../../src/core/filter/pattern/compile-pattern.js'
import { parsePattern } from '../../src/core/filter/pattern/parse-pattern.js'
import { PatternFault } from '../../src/core/filter/pattern/syntax/read-syntax.js'
import { createBoundedMap } from '../../src/core/kept/bounded-map.js'
import { parseQueryString, type QueryForms, type RawQuery } from '../../src/core/query/query-string.js'
import { isServiceError } from '../../src/index.js'
import fc from '../support/fast-check.js'
import { createTestService } from '../support/service.js'
import { perRound, rounds } from '../support/tier.js'

const collection = {
  schema: {
    title: { type: 'string', unique: true },
    views: { type: 'integer' },
    tags: { type: 'array', items: { type: 'string' } },
    at: { type: 'timestamp' },
    data: { type: 'json' },
    o: { type: 'object', properties: { x: { type: 'number' } } },
    hasOwnProperty: { type: 'boolean' },
  },
  permissions: { '*': true },
}

const name = fc.constantFrom(
  ...[
    'title',
    'views',
    'tags',
    'at',
    'data',
    'o.x',
    'o',
    'nope',
    'hasOwnProperty',
    'toString',
    '__proto__',
    'constructor',
  ],
  ...[
    '',
    'a.b',
    '$or',
    '0',
    '$eq',
    '$gt',
    '$regex',
    '$options',
    '$in',
    '$where',
    'title]',
    '[title',
    '\u0000',
    'é',
  ],
)
const value = fc.oneof(
  fc.constantFrom(
    '"a"',
    'a',
    '5',
    '-0',
    '1e400',
    'null',
    'true',
    '["a",null]',
    '[',
    '{"$gt":""}',
    '(',
    '^a',
    'i',
    '-1',
    '',
  ),
  fc.string({ unit: 'binary', maxLength: 6 }),
)
const key = fc.oneof(
  { weight: 4, arbitrary: name.map((field) => `q[${field}]`) },
  { weight: 4, arbitrary: fc.tuple(name, name).map(([field, operator]) => `q[${field}][${operator}]`) },
  { weight: 2, arbitrary: name.map((field) => `sort[${field}]`) },
  {
    weight: 1,
    arbitrary: fc.constantFrom('skip', 'limit', 'project', 'q', 'sort', '', 'x', 'q[a]b', 'Q[title]'),
  },
)
const encode = fc.constantFrom(
  (text: string) => encodeURIComponent(text.toWellFormed()),
  (text: string) => encodeURIComponent(text.toWellFormed()).replaceAll('%5B', '[').replaceAll('%5D', ']'),
  (text: string) => text.replace(/[^\x21-\x7e]/g, '%'),
)
const pair = fc.tuple(key, value, encode).map(([k, v, write]) => `${write(k)}=${write(v)}`)
const queryString = fc.oneof(
  fc.array(pair, { maxLength: 5 }).map((pairs) => pairs.join('&')),
  // One parameter many times: where a parser would turn a list into something else.
  fc.tuple(pair, fc.integer({ min: 18, max: 40 })).map(([text, times]) => Array(times).fill(text).join('&')),
  // Empty pairs among others.
  fc.array(fc.oneof(pair, fc.constant('')), { maxLength: 5 }).map((pairs) => pairs.join('&')),
  fc.string({ maxLength: 40 }),
)

function countValues({ conditions, sort, skip, limit, project = [] }: RawQuery): number {
  const values = [...conditions.values()].flatMap((operators) => [...operators.values()].flat())
  return values.length + sort.size + [skip, limit, ...project].filter((text) => text !== undefined).length
}

const ALLOWED = ['q', 'sort', 'skip', 'limit', 'project'] as const

/** What becomes of a query string, as text, with everything in its order. */
function tryParse(text: string, forms?: QueryForms): string {
  try {
    const query = parseQueryString(text, ALLOWED, { queryBytes: 8192 }, forms)
    return JSON.stringify(query, (_, value: unknown) => (value instanceof Map ? [...value] : value))
  } catch (thrown) {
    if (!isServiceError(thrown)) throw thrown
    return JSON.stringify(thrown.errors)
  }
}

describe('any query string', () => {
  test('is refused as a whole, or every one of its parameters comes out of the parser', () => {
    let accepted = 0
    const forms: QueryForms = createBoundedMap({ isOn: true }, 10_000)
    fc.assert(
      fc.property(queryString, (text) => {
        const once = tryParse(text)
        // The names of parameters are read once for all queries that have the same ones.
        for (let i = 0; i < 2; i++) expect(tryParse(text, forms)).toEqual(once)
        try {
          const query = parseQueryString(text, ALLOWED, { queryBytes: 8192 })
          accepted += 1
          expect(countValues(query)).toBe(text.split('&').filter((part) => part !== '').length)
        } catch (thrown) {
          if (!isServiceError(thrown)) throw thrown
        }
      }),
      { numRuns: rounds(5000) },
    )
    expect(perRound(accepted, rounds(5000))).toBeGreaterThan(0.05)
  })

  test('gets a list or a 4xx', async () => {
    const { send, handler } = createTestService({ collections: { things: collection } })
    await send('POST /things', { body: { title: 'a', views: 5 } })
    await fc.assert(
      fc.asyncProperty(queryString, async (text) => {
        // Past the test's own encoding: as it is.
        const response = await handler(
          new Request(`http://service.test/things?${text.replaceAll('#', '%23')}`),
        )
        expect([200, 400, 414]).toContain(response.status)
      }),
      { numRuns: rounds(2000) },
    )
  })
})

describe('any body', () => {
  const property = fc.constantFrom(
    'title',
    'views',
    'tags',
    'at',
    'data',
    'o',
    '_id',
    '$set',
    '__proto__',
    'toString',
    'constructor',
    '',
  )
  const body = fc.oneof(
    fc
      .dictionary(property, fc.jsonValue({ maxDepth: 3 }), { maxKeys: 5 })
      .map((object) => JSON.stringify(object)),
    fc
      .array(fc.tuple(property, fc.json()), { maxLength: 4 })
      .map((pairs) => `{${pairs.map(([key, json]) => `${JSON.stringify(key)}:${json}`).join(',')}}`),
    fc.constantFrom(
      '{"n":1e400}',
      '{"title":"\\ud800"}',
      '{"title":"\\u0000"}',
      '{"views":-0}',
      '[{}]',
      'null',
      '{"title":',
    ),
    fc.json(),
    fc.string(),
  )
  test('is stored whole or refused whole', async () => {
    const { send } = createTestService({ collections: { things: collection } })
    let stored = 0
    await fc.assert(
      fc.asyncProperty(body, async (raw) => {
        const { status } = await send('POST /things', {
          raw,
          headers: { 'content-type': 'application/json' },
        })
        expect([201, 400, 409]).toContain(status)
        if (status === 201) stored += 1
        expect((await send('GET /things/count')).body).toEqual({ total: stored })
      }),
      { numRuns: rounds(1000) },
    )
    expect(perRound(stored, rounds(1000))).toBeGreaterThan(0)
  })
})

describe('the order of values', () => {
  const scalar = fc.oneof(
    fc.constantFrom<undefined | boolean | number>(undefined, true, false, 0, 1, -1.5),
    fc.string({ unit: 'binary', maxLength: 3 }),
    fc.constantFrom('\uffff', '\u{10000}', '\ue000', 'a', 'ab', ''),
  )
  test('is total: antisymmetric, transitive, and zero for the same value only', () => {
    fc.assert(
      fc.property(scalar, scalar, scalar, (a, b, c) => {
        expect(Math.sign(compare(a, b))).toBe(-Math.sign(compare(b, a)) + 0)
        if (compare(a, b) <= 0 && compare(b, c) <= 0) expect(compare(a, c)).toBeLessThanOrEqual(0)
        expect(compare(a, b) === 0).toBe(a === b)
      }),
      { numRuns: rounds(5000) },
    )
  })
})

describe('a portable pattern', () => {
  const atom = fc.constantFrom(
    'a',
    'b',
    'K',
    '.',
    '\\d',
    '\\w',
    '\\W',
    '[ab]',
    '[^a]',
    '[a-c\\d]',
    '^',
    '$',
    '\\b',
    '\\.',
    'é',
    's',
  )
  const pattern = fc.letrec<{ pattern: string }>((tie) => ({
    pattern: fc.oneof(
      { maxDepth: 4 },
      atom,
      fc.tuple(tie('pattern'), tie('pattern')).map(([a, b]) => a + b),
      fc.tuple(tie('pattern'), tie('pattern')).map(([a, b]) => `(${a}|${b})`),
      fc
        .tuple(tie('pattern'), fc.constantFrom('*', '+', '?', '*?', '{2}', '{1,3}', '{0,}'))
        .map(([a, times]) => `(?:${a})${times}`),
    ),
  })).pattern
  const text = fc.string({
    unit: fc.constantFrom('a', 'b', 'k', 'K', '\u212a', 's', 'ſ', 'é', 'É', '.', '5', ' ', '😀'),
    maxLength: 8,
  })

  test('matches what the same expression matches natively', () => {
    fc.assert(
      fc.property(pattern, text, fc.boolean(), (source, candidate, ignoreCase) => {
        // In the language \w and \b stay ASCII whatever the case; natively they do not.
        fc.pre(!ignoreCase || !/\\[wWb]/.test(source))
        const native = new RegExp(
          source.replaceAll('.', (dot, at) => (source[at - 1] === '\\' ? dot : '[^\\n]')),
          ignoreCase ? 'iu' : 'u',
        )
        expect(compilePattern(parsePattern(source, { ignoreCase })).test(candidate)).toBe(
          native.test(candidate),
        )
      }),
      { numRuns: rounds(3000) },
    )
  })

  test('or a PatternFault: any text is one or the other', () => {
    fc.assert(
      fc.property(
        fc.oneof(fc.string(), fc.string({ unit: fc.constantFrom(...'()[]{}|*+?^$\\.ab1-,:=!<') })),
        fc.boolean(),
        (source, ignoreCase) => {
          try {
            expect(typeof compilePattern(parsePattern(source, { ignoreCase })).test('ab1')).toBe('boolean')
          } catch (thrown) {
            expect(thrown).toBeInstanceOf(PatternFault)
          }
        },
      ),
      { numRuns: rounds(3000) },
    )
  })
})
